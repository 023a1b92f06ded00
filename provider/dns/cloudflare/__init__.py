"""The record store of Cloudflare, by Cloudflare's SDK.

    store       what is read and written         values    record sets as the API's records, and back
    zone_copy   a zone's records, for looks      calls     requests, and what their errors mean
    transport   its bounded connections

The SDK (`cloudflare`) is an extra, and is imported when a store makes its first request.
"""

from provider.dns.cloudflare.calls import CloudflareSettings
from provider.dns.cloudflare.store import CloudflareStore

__all__ = ["CloudflareSettings", "CloudflareStore"]
