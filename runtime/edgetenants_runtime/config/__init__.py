"""Provider configs: who uses one, its Secrets and credentials, what it may say, its deletion while in use.

The way in is `edgetenants_runtime.providerconfigs`. Reconciles of managed resources do not belong here.
"""
