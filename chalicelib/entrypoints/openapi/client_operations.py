"""What generators of clients and of samples need of the operations in the OpenAPI document, in no language."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_HTTP_METHODS: Final = ("get", "post", "put", "patch", "delete")
_JSON_MEDIA_TYPES: Final = ("application/json", "application/merge-patch+json")
_HEADERS_OF_ALL_OPERATIONS: Final = frozenset({"API-Version", "Prefer"})
"""Headers that a client sets by itself."""

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query or in a header."""

    name: str
    is_required: bool
    schema: Mapping[str, Any] = field(default_factory=dict, hash=False)
    description: str = ""


@dataclass(frozen=True)
class ClientOperation:
    """An operation as a method of a client.

    `body` and `result` are names of schemas, or None. `result` is an empty string if the response is JSON without a
    schema of its own. `is_text`: the response is a text. `is_page`: the response is a page, and `cursor` requests the
    next one. `headers` are those that the caller may set.
    """

    id: str
    group: str
    method: str
    http_method: str
    path: str
    summary: str
    path_parameters: tuple[str, ...]
    query: tuple[Parameter, ...]
    headers: tuple[Parameter, ...]
    body: str | None
    requires_body: bool
    result: str | None
    is_text: bool
    is_page: bool
    is_deprecated: bool

    @property
    def requires_query(self) -> bool:
        """Whether a parameter of the query is required."""
        return any(parameter.is_required for parameter in self.query)


@dataclass(frozen=True)
class OperationGroup:
    """A group of operations, such as `organizations.members`, with the groups below it."""

    name: str
    operations: list[ClientOperation] = field(default_factory=list)
    children: dict[str, "OperationGroup"] = field(default_factory=dict)

    def iter_bottom_up(self) -> Iterator["OperationGroup"]:
        """Yield all groups below this one, and then this one."""
        for child in self.children.values():
            yield from child.iter_bottom_up()
        yield self


def build_group_tree(document: Document) -> OperationGroup:
    """Return the root of all groups. It has no name and no operations."""
    root = OperationGroup("")
    for operation in iter_operations(document):
        group = root
        for part in operation.group.split("."):
            name = f"{group.name}.{part}" if group.name else part
            group = group.children.setdefault(part, OperationGroup(name))
        group.operations.append(operation)
    return root


def iter_operations(document: Document) -> Iterator[ClientOperation]:
    """Yield the operations of a document, in its order."""
    reader = _OperationReader(document["components"])
    for path, item in document["paths"].items():
        for http_method in _HTTP_METHODS:
            if http_method in item:
                yield reader.read(path, http_method, item[http_method])


class _OperationReader:
    """Reads operations, with the components to which they refer."""

    def __init__(self, components: Document) -> None:
        self._components = components

    def read(self, path: str, http_method: str, operation: Document) -> ClientOperation:
        parameters = [self._resolve(each) for each in operation.get("parameters", ())]
        query = tuple(_parameters_in("query", parameters))
        body_content = operation.get("requestBody", {}).get("content", {})
        content = self._success_content(operation)
        result = _json_schema_or_none(content)
        return ClientOperation(
            id=operation["operationId"],
            **operation["x-atrium-client"],
            http_method=http_method.upper(),
            path=path,
            summary=operation["summary"],
            path_parameters=tuple(each["name"] for each in parameters if each["in"] == "path"),
            query=query,
            headers=tuple(each for each in _parameters_in("header", parameters) if _is_set_by_caller(each)),
            body=_schema_name(_json_schema_or_none(body_content)),
            requires_body=operation.get("requestBody", {}).get("required", False),
            result=None if _is_text(content) else _schema_name(result),
            is_text=_is_text(content),
            is_page=any(each.name == "cursor" for each in query) and self._is_page(result),
            is_deprecated=operation.get("deprecated", False),
        )

    def _success_content(self, operation: Document) -> Document:
        statuses = [status for status in operation["responses"] if status.startswith("2")]
        content: Document = self._resolve(operation["responses"][statuses[0]]).get("content", {})
        return content

    def _is_page(self, schema: Document | None) -> bool:
        return {"items", "nextCursor"} <= set(self._resolve(schema or {}).get("properties", {}))

    def _resolve(self, part: Document) -> Document:
        if "$ref" not in part:
            return part
        section, name = part["$ref"].split("/")[-2:]
        resolved: Document = self._components[section][name]
        return resolved


def _parameters_in(place: str, parameters: list[Document]) -> Iterator[Parameter]:
    for each in parameters:
        if each["in"] == place:
            yield Parameter(each["name"], each.get("required", False), each["schema"], each.get("description", ""))


def _is_set_by_caller(header: Parameter) -> bool:
    return header.name not in _HEADERS_OF_ALL_OPERATIONS


def _json_schema_or_none(content: Document) -> Document | None:
    return next((content[each]["schema"] for each in _JSON_MEDIA_TYPES if each in content), None)


def _is_text(content: Document) -> bool:
    """Return whether a response can be something else than JSON, so that clients return it as text."""
    return any(media_type not in _JSON_MEDIA_TYPES for media_type in content)


def _schema_name(schema: Document | None) -> str | None:
    return None if schema is None else schema.get("$ref", "").rpartition("/")[2]
