"""The provider's validating webhooks: early feedback on what the API server's own rules cannot see.

`rules` decides, from one write and from `facts`. A webhook gives no security: the controller enforces the
same rules, with conditions (docs/decisions/0040).
"""
