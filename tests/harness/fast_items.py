"""Makes moto write items as fast as any other JSON.

It walks through the model of DynamoDB's ten types for each attribute of each item, and looks every type up under six
spellings: four fifths of the time that a page of a list takes. An attribute value is already what is to be written.
"""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from botocore.model import StructureShape
from moto.core.serialize import BaseJSONSerializer

_ORIGINAL: Final = BaseJSONSerializer._serialize_type_structure  # noqa: SLF001


@contextmanager
def written_as_they_are() -> Iterator[None]:
    """Write attribute values as they are within the block."""
    with patch.object(BaseJSONSerializer, "_serialize_type_structure", _serialize):
        yield


def _serialize(serializer: Any, serialized: Any, value: Any, shape: StructureShape, key: str) -> None:
    if shape.name == "AttributeValue":
        serialized[serializer.get_serialized_name(shape, key)] = _on_the_wire(value)
    else:
        _ORIGINAL(serializer, serialized, value, shape, key)


def _on_the_wire(value: Any) -> Any:
    ((kind, content),) = value.items()
    if kind == "B":
        return {kind: base64.b64encode(content).decode()}
    if kind == "M":
        return {kind: {name: _on_the_wire(element) for name, element in content.items()}}
    if kind == "L":
        return {kind: [_on_the_wire(element) for element in content]}
    return value
