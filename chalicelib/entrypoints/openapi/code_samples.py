"""An example request of each operation, as a command for curl (`x-codeSamples`, which documentation tools show)."""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from chalicelib.entrypoints.openapi import schemas
from chalicelib.entrypoints.openapi.examples import EXAMPLES_BY_PATH_PARAMETER, example_for_schema, example_uuid
from chalicelib.kernel.identity.signed_links import LINK_TOKEN_HEADER
from chalicelib.kernel.operations.access_rules import Caller, RequireRecordToken
from chalicelib.kernel.operations.operation import Operation

BASE_URL: Final = "https://api.example.com"
"""The URL of the service in samples. The reference replaces it by its own."""


def build_curl_sample(operation: Operation, components: Mapping[str, Any]) -> dict[str, str]:
    """Return the example of a request. Variables of the shell stand for secrets."""
    lines = [f"curl {shlex.quote(_example_url(operation))}", *_iter_option_lines(operation, components)]
    return {"lang": "Shell", "label": "curl", "source": " \\\n  ".join(lines)}


def _example_url(operation: Operation) -> str:
    parameters = {
        name: EXAMPLES_BY_PATH_PARAMETER.get(name) or example_uuid(name) for name in operation.path_parameter_names
    }
    query = example_query(operation)
    return f"{BASE_URL}{operation.path.format_map(parameters)}{f'?{urlencode(query)}' if query else ''}"


def example_query(operation: Operation) -> dict[str, Any]:
    """Return the query of a sample: the required parameters and, to get one record, those with examples."""
    if operation.query_model is None:
        return {}
    shown = schemas.required_query_parameters(operation.query_model)
    fields = schemas.query_parameter_schemas(operation.query_model)
    if operation.method == "GET" and not operation.is_list:
        shown |= {name for name, field in fields.items() if field.get("examples", [None])[0] is not None}
    return {name: example_for_schema(field, {}, name) for name, field in fields.items() if name in shown}


def _iter_option_lines(operation: Operation, components: Mapping[str, Any]) -> Iterator[str]:
    if operation.method not in ("GET", "POST") or (operation.method == "POST" and operation.body_model is None):
        yield f"-X {operation.method}"
    if isinstance(operation.access, RequireRecordToken):
        yield f'-H "{operation.access.header}: $TOKEN"'
    elif operation.access is Caller.LINK:
        yield f'-H "{LINK_TOKEN_HEADER}: $TOKEN"'
    elif operation.takes_credential:
        yield '-H "Authorization: Bearer $TOKEN"'
    if operation.body_model:
        body = example_for_schema(schemas.schema_reference(operation.body_model.__name__), components)
        yield "-H 'Content-Type: application/json'"
        yield f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}"
