"""Python types of JSON schemas, as annotations.

The client does not check what the service checks, so formats and limits have no types.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

_SCALARS: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class TypeWriter:
    """Writes types of one place: fields of models or, with `of_parameters`, parameters of methods.

    Parameters accept every sequence and mapping. A class with a method named `list` could not name the type, either.
    """

    def __init__(self, components: Mapping[str, Schema], *, of_parameters: bool = False) -> None:
        self._sequence, self._mapping = ("Sequence", "Mapping") if of_parameters else ("list", "dict")
        self._unions = {
            frozenset(_references(each["oneOf"])): name for name, each in components.items() if "oneOf" in each
        }

    def write(self, schema: Schema) -> str:
        """Return the annotation of a schema."""
        return " | ".join(dict.fromkeys(self._iter_members(schema))) or "Any"

    def write_union(self, schema: Schema) -> str:
        """Return the members of a union that has a name."""
        return " | ".join(_references(schema["oneOf"]))

    def _iter_members(self, schema: Schema) -> Iterator[str]:
        if "$ref" in schema:
            yield _name_of(schema["$ref"])
        elif "anyOf" in schema or "oneOf" in schema:
            yield from self._iter_union(schema.get("anyOf") or schema["oneOf"])
        elif "const" in schema:
            yield _literal([schema["const"]])
        elif "enum" in schema:
            yield _literal([each for each in schema["enum"] if each is not None])
            if None in schema["enum"]:
                yield "None"
        else:
            types = schema.get("type", [])
            for each in [types] if isinstance(types, str) else types:
                yield self._write_type(each, schema)

    def _iter_union(self, members: list[Schema]) -> Iterator[str]:
        named = self._unions.get(frozenset(_references(members)))
        if named:
            yield named
        for each in members:
            if not (named and "$ref" in each):
                yield from self._iter_members(each)

    def _write_type(self, type_: str, schema: Schema) -> str:
        if type_ == "array":
            return f"{self._sequence}[{self.write(schema.get('items', {}))}]"
        if type_ == "object":
            values = schema.get("additionalProperties", {})
            return f"{self._mapping}[str, {self.write(values) if isinstance(values, Mapping) else 'Any'}]"
        return _SCALARS[type_]


def iter_references(part: Any, *, is_map_of_fields: bool = False) -> Iterator[str]:
    """Yield the names of the schemas to which a part of the document refers, with repetitions.

    In a map of fields, `$ref`, `example` and `properties` are names of fields and no annotations.
    """
    if isinstance(part, Mapping):
        if not is_map_of_fields and isinstance(part.get("$ref"), str):
            yield _name_of(part["$ref"])
        for name, each in part.items():
            if is_map_of_fields or name not in ("example", "examples"):
                yield from iter_references(each, is_map_of_fields=not is_map_of_fields and name == "properties")
    elif isinstance(part, list):
        for each in part:
            yield from iter_references(each)


def reachable_names(names: set[str], components: Mapping[str, Schema]) -> set[str]:
    """Return the names of schemas, and of those to which they refer."""
    found: set[str] = set()
    pending = [*names]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(iter_references(components[name]))
    return found


def _references(members: list[Schema]) -> list[str]:
    return [_name_of(each["$ref"]) for each in members if "$ref" in each]


def _name_of(reference: str) -> str:
    return reference.rpartition("/")[2]


def _literal(values: list[Any]) -> str:
    return f"Literal[{', '.join(map(repr, values))}]"
