"""The external clients of the CloudFront kinds: knows CloudFront and its companions, never Kubernetes.

connector   a managed resource's provider config → account → client
tenant      observe, create, update, delete a distribution tenant
desired, observed, applied → diff → assessment → plan → apply → report    (pure but for apply)
calls, aws  the only places that know boto3
errors      AWS's errors, classified by one table
"""
