"""JSON in protobuf's wire format, with the fields of each object in the order of the Python dict.

Go serializes maps in random order, so Crossplane never sends the same bytes twice, even for equal requests.
protobuf for Python has a fixed order.
"""

import random
from collections.abc import Mapping
from typing import Any

from function.protocol.wire import sized

_FIRST, _KEY, _VALUE = 1, 1, 2
_META, _OBSERVED, _INPUT = 1, 2, 4
_COMPOSITE, _RESOURCES = 1, 2


def shuffled(json: Any, order: random.Random) -> Any:
    """The same JSON with the fields of all objects in another order."""
    if isinstance(json, Mapping):
        keys = order.sample(sorted(json), len(json))
        return {key: shuffled(json[key], order) for key in keys}
    return [shuffled(each, order) for each in json] if isinstance(json, list) else json


def request(composite: bytes, resources: Mapping[str, bytes], input_: bytes) -> bytes:
    """A RunFunctionRequest. The objects are serialized Structs."""
    observed = sized(_COMPOSITE, sized(_FIRST, composite)) + b"".join(
        sized(_RESOURCES, sized(_KEY, name.encode()) + sized(_VALUE, sized(_FIRST, each)))
        for name, each in resources.items()
    )
    return sized(_META, sized(_FIRST, b"bench")) + sized(_OBSERVED, observed) + sized(_INPUT, input_)
