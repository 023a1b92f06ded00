"""The record store of Azure DNS, by Azure's SDK.

    store     what is written, and in which order    values    record sets as the SDK's, and back
    writer    the steps of one change                calls     requests, and what their errors mean
    transport   its bounded connections

The SDK (`azure-mgmt-dns`, `azure-identity`) is an extra, and is imported when a store makes its first
request.
"""

from provider.dns.azure.calls import AzureSettings
from provider.dns.azure.store import AzureStore

__all__ = ["AzureSettings", "AzureStore"]
