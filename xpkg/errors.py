"""The error of this package."""


class PackagingError(Exception):
    """A package cannot be built; the message names the file or tool, and what to do."""
