"""Fields of a schema, as the reference lists them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Schema = Mapping[str, Any]

MAX_DEPTH: Final = 4
"""Levels of objects in objects. Below them, a field only names its type."""


@dataclass(frozen=True)
class Field:
    """A field of an object: its name, the words for its type, its constraints, and the fields of its own objects."""

    name: str
    type: str
    description: str
    constraints: tuple[str, ...]
    is_required: bool
    children: tuple["Variant", ...]


@dataclass(frozen=True)
class Variant:
    """The fields of an object. A union has several variants, each with a title."""

    title: str
    fields: tuple[Field, ...]


class Schemas:
    """The schemas of an OpenAPI document."""

    def __init__(self, components: Mapping[str, Schema]) -> None:
        self._components = components

    def resolve(self, schema: Schema) -> Schema:
        """Return a schema with the content of the component to which it refers."""
        if "$ref" not in schema:
            return schema
        rest = {name: value for name, value in schema.items() if name != "$ref"}
        return {"title": _component_name(schema["$ref"]), **self._components[_component_name(schema["$ref"])], **rest}

    def list_variants(self, schema: Schema, ancestors: tuple[str, ...] = ()) -> tuple[Variant, ...]:
        """Return the fields of each object that a schema admits, also as the items of a list."""
        return tuple(self._iter_variants(schema, ancestors))

    def _iter_variants(self, schema: Schema, ancestors: tuple[str, ...]) -> Iterator[Variant]:
        reference = str(schema.get("$ref", ""))
        if reference in ancestors or len(ancestors) > MAX_DEPTH:
            return
        path = (*ancestors, reference) if reference else ancestors
        resolved = self.resolve(schema)
        for option in self._options(resolved):
            yield from self._iter_variants(option, path)
        if "items" in resolved:
            yield from self._iter_variants(resolved["items"], path)
        if isinstance(resolved.get("additionalProperties"), Mapping):
            yield from self._iter_variants(resolved["additionalProperties"], path)
        if properties := resolved.get("properties"):
            required = resolved.get("required", ())
            fields = (
                self._field(name, value, path, is_required=name in required) for name, value in properties.items()
            )
            yield Variant(str(resolved.get("title", "")), tuple(fields))

    def parameter_field(self, parameter: Mapping[str, Any]) -> Field:
        """Return the field of a parameter of a request."""
        schema = {"description": parameter.get("description", ""), **parameter["schema"]}
        return self._field(parameter["name"], schema, (), is_required=parameter.get("required", False))

    def _field(self, name: str, schema: Schema, ancestors: tuple[str, ...], *, is_required: bool) -> Field:
        resolved = self.resolve(schema)
        return Field(
            name,
            self.type_words(schema),
            str(resolved.get("description", "")),
            tuple(_iter_constraints(self._without_null(resolved))),
            is_required,
            self.list_variants(schema, (*ancestors, "")) if len(ancestors) < MAX_DEPTH else (),
        )

    def type_words(self, schema: Schema) -> str:
        """Return the words for the type of a schema, such as "list of strings or null"."""
        resolved = self.resolve(schema)
        if options := self._options(resolved):
            return " or ".join(dict.fromkeys(self.type_words(option) for option in options))
        if "const" in resolved or "enum" in resolved:
            values = [resolved["const"]] if "const" in resolved else resolved["enum"]
            return ("one of " if len(values) > 1 else "") + ", ".join(map(_code, values))
        types = resolved.get("type", "any")
        names = types if isinstance(types, list) else [types]
        return " or ".join(self._name_type(name, resolved) for name in names)

    def _name_type(self, name: str, schema: Schema) -> str:
        if name == "array":
            return f"list of {self.type_words(schema.get('items', {}))}"
        if name != "object":
            return f"{name} ({schema['format']})" if "format" in schema else name
        if "properties" in schema:
            return _code(schema["title"]) if schema.get("title") else name
        values = schema.get("additionalProperties")
        return f"map to {self.type_words(values)}" if isinstance(values, Mapping) and values else name

    def _options(self, schema: Schema) -> list[Schema]:
        options: list[Schema] = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        return options

    def _without_null(self, schema: Schema) -> Schema:
        options = [option for option in self._options(schema) if self.resolve(option).get("type") != "null"]
        return {**self.resolve(options[0]), **schema} if len(options) == 1 else schema


def _iter_constraints(schema: Schema) -> Iterator[str]:
    for name, words in _CONSTRAINTS.items():
        if name in schema:
            yield words.format(_code(schema[name]))
    if "default" in schema and schema["default"] is not None:
        yield f"default {_code(schema['default'])}"


_CONSTRAINTS: Final[Mapping[str, str]] = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "pattern": "matches {}",
}


def _component_name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _code(value: object) -> str:
    text = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`"
