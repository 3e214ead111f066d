"""Samples for the Python client, in the style of Ruff."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from chalicelib.entrypoints.openapi.client_samples import Credential, SampleCall
from chalicelib.entrypoints.openapi.code_samples import BASE_URL
from chalicelib.entrypoints.openapi.python_names import field_name, python_name
from chalicelib.entrypoints.openapi.source_layout import Source, enclosed, labelled, lay_out

Schema = Mapping[str, Any]

_STEP: Final = 4
_CREDENTIAL: Final = 'os.environ["TOKEN"]'


def build_python_sample(call: SampleCall, schemas: Mapping[str, Schema]) -> dict[str, str]:
    """Return the sample of a call. `schemas` are those of the document, whose objects are models of the client."""
    settings = [_literal(BASE_URL)]
    if call.credential is not Credential.NONE:
        settings.append(f"{python_name(call.credential.value)}={_CREDENTIAL}")
    client = lay_out(enclosed("client = Atrium(", settings, ")"), _STEP)
    body = f"{client}\n\n{_statements(call, schemas)}"
    names = "Atrium, models" if "models." in body else "Atrium"
    imports = "import os\n\n" if _CREDENTIAL in body else ""
    return {"lang": "Python", "label": "Python", "source": f"{imports}from atrium_client import {names}\n\n{body}"}


def _statements(call: SampleCall, schemas: Mapping[str, Schema]) -> str:
    operation, name = call.operation, python_name(call.result_name)
    path = ".".join(map(python_name, (*operation.group.split("."), operation.method)))
    method = enclosed(f"client.{path}(", _iter_arguments(call, schemas), ")")
    if operation.is_page:
        return f"{lay_out(labelled(f'for {name} in ', method), _STEP)}:\n    print({name})"
    if operation.result is None and not operation.is_text:
        return lay_out(method, _STEP)
    return f"{lay_out(labelled(f'{name} = ', method), _STEP)}\nprint({name})"


def _iter_arguments(call: SampleCall, schemas: Mapping[str, Schema]) -> Iterator[Source]:
    yield from map(_literal, call.path_values)
    writer = _ValueWriter(schemas)
    fields = schemas[call.operation.body]["properties"] if call.operation.body else {}
    for name, value in (call.body or {}).items():
        yield labelled(f"{python_name(name)}=", writer.write(value, fields[name]))
    for name, value in call.query.items():
        yield f"{python_name(name)}={_literal(value)}"
    if call.has_lead_token:
        yield f"lead_token={_CREDENTIAL}"


class _ValueWriter:
    """Writes values of JSON as Python, with models for the objects that have one."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def write(self, value: Any, schema: Schema) -> Source:
        """Return the source of a value with a schema."""
        name, schema = self._resolve(value, schema)
        if isinstance(value, Mapping):
            return self._write_model(value, name) if name else self._write_mapping(value, schema)
        if isinstance(value, list):
            return enclosed("[", (self.write(each, schema.get("items", {})) for each in value), "]")
        return _literal(value)

    def _write_model(self, value: Mapping[str, Any], name: str) -> Source:
        fields = self._schemas[name].get("properties", {})
        arguments = [labelled(f"{field_name(key)}=", self.write(each, fields[key])) for key, each in value.items()]
        return enclosed(f"models.{name}(", arguments, ")")

    def _write_mapping(self, value: Mapping[str, Any], schema: Schema) -> Source:
        values = schema.get("additionalProperties")
        each_schema = values if isinstance(values, Mapping) else {}
        return enclosed("{", (labelled(f"{_literal(n)}: ", self.write(v, each_schema)) for n, v in value.items()), "}")

    def _resolve(self, value: Any, schema: Schema) -> tuple[str, Schema]:
        """Return the name of the model, if there is one, and the schema without references and alternatives."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            found, target = self._resolve(value, self._schemas[name])
            return (found or name if target.get("type") == "object" else ""), target
        alternatives = schema.get("anyOf") or schema.get("oneOf") or ()
        for each in alternatives:
            name, target = self._resolve(value, each)
            if _accepts(target, value):
                return name, target
        return "", schema


def _accepts(schema: Schema, value: Any) -> bool:
    """Return whether a schema is that of a value, by its JSON type and the fields with only one value."""
    types = schema.get("type", [])
    if isinstance(value, Mapping):
        constants = {name: each["const"] for name, each in schema.get("properties", {}).items() if "const" in each}
        return "object" in types and all(value.get(name) == each for name, each in constants.items())
    return ("array" in types) == isinstance(value, list) and "object" not in types


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)
