"""Builds edgetenants' Crossplane packages, without a container engine.

    python -m xpkg build      packages/*.xpkg, the same bytes each time
    python -m xpkg lock       the lock of Debian packages of which the runtime images consist

contents.py   what each package holds: its metadata, its objects, its examples
image.py      an OCI image: layers, config, the .xpkg file
debian.py     Debian packages, by version and hash
runtime.py    the root file system in which the provider and the function run
"""
