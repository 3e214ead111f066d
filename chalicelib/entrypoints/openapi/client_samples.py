"""Samples of the clients: a program in TypeScript and one in Python for each operation (`x-codeSamples`).

Each makes the request of the sample for curl. Its names are those of the clients (`x-atrium-client`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from chalicelib.entrypoints.openapi.client_operations import ClientOperation, iter_operations
from chalicelib.entrypoints.openapi.code_samples import example_query
from chalicelib.entrypoints.openapi.examples import EXAMPLES_BY_PATH_PARAMETER, example_uuid
from chalicelib.kernel.operations.operation import Operation

_JSON: Final = "application/json"


class Credential(Enum):
    """How the client of a sample authenticates. The value is the name of the setting, in TypeScript."""

    NONE = ""
    TOKEN = "token"  # noqa: S105 - the name of a setting
    LINK_TOKEN = "linkToken"  # noqa: S105 - the name of a setting


@dataclass(frozen=True)
class SampleCall:
    """The call of a sample. `result_name` names the variable of the result, or of an item, in camel case."""

    operation: ClientOperation
    credential: Credential
    path_values: tuple[str, ...]
    query: Mapping[str, Any]
    body: Mapping[str, Any] | None
    has_lead_token: bool
    result_name: str


def iter_sample_calls(
    document: Mapping[str, Any], operations: Iterable[Operation]
) -> Iterator[tuple[dict[str, Any], SampleCall]]:
    """Yield the operation objects of a document, each with the call of its samples."""
    queries_by_id = {each.id: example_query(each) for each in operations}
    schemas = document["components"]["schemas"]
    for operation in iter_operations(document):
        described = document["paths"][operation.path][operation.http_method.lower()]
        yield described, _build_call(operation, described, queries_by_id[operation.id], schemas)


def _build_call(
    operation: ClientOperation, described: Mapping[str, Any], query: Mapping[str, Any], schemas: Mapping[str, Any]
) -> SampleCall:
    content = described.get("requestBody", {}).get("content", {})
    return SampleCall(
        operation=operation,
        credential=_credential_of(described),
        path_values=tuple(EXAMPLES_BY_PATH_PARAMETER.get(n) or example_uuid(n) for n in operation.path_parameters),
        query=query,
        body=content.get(_JSON, {}).get("example"),
        has_lead_token=any(each.name == "Lead-Token" for each in operation.headers),
        result_name=_result_name(operation, schemas),
    )


def _credential_of(described: Mapping[str, Any]) -> Credential:
    schemes = [name for requirement in described["security"] for name in requirement]
    if not schemes:
        return Credential.NONE
    return Credential.LINK_TOKEN if schemes == ["linkToken"] else Credential.TOKEN


def _result_name(operation: ClientOperation, schemas: Mapping[str, Any]) -> str:
    """Return a name such as `apiKey` for the record of the model ApiKey."""
    if operation.is_text:
        return "text"
    if not operation.result:
        return "document"
    model = operation.result
    if operation.is_page:
        model = schemas[model]["properties"]["items"]["items"]["$ref"].rpartition("/")[2]
    name = model.removesuffix("ListItem").removesuffix("OfCaller")
    return name[:1].lower() + name[1:]
