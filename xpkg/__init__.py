"""Builds edgetenants' Crossplane packages, without a container engine.

    python -m xpkg build      packages/*.xpkg, the same bytes each time
    python -m xpkg sbom FILE  the SBOM in a package
    python -m xpkg audit      advisories and licences of the locked wheels
    python -m xpkg lock       the lock of Debian packages of which the runtime images consist

contents.py   what each package holds: its metadata, its objects, its examples
image.py      an OCI image: layers, config, the .xpkg file
debian.py     Debian packages, by version and hash
wheels.py     the locked wheels: names, and what pip installed
runtime.py    the root file system in which the provider and the function run
sbom.py       the list of what is in it, in CycloneDX
licences.py   the licences of Python packages, and those that are allowed
audit.py      whether the locked wheels have advisories, or other licences
"""
