"""Installs edgetenants in a sandbox as a user would: packages in a registry, Crossplane's package manager,
and processes that run from the packages' own images.

install.py    builds and pushes the packages, applies the package objects, waits until they are healthy
external.py   an external package runtime: what core's Deployment runtime does, without containers
pull.py       an image from the registry, unpacked into a root file system
confined.py   the launcher of a process in such a root
"""
