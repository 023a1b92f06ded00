"""Provider configs: their users, Secrets, credentials, restrictions, and their deletion while in use.

The entry point is `edgetenants_runtime.providerconfigs`. Reconciles of managed resources do not belong here.
"""
