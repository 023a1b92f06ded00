"""Access to the API server: the only package that imports the `kubernetes` library.

Objects are JSON objects (dicts) everywhere; errors are those of `kube.errors`.
"""
