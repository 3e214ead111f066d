"""What the template of the resources shows: a class for each group of operations, and its methods."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.entrypoints.openapi.client_operations import ClientOperation, OperationGroup, build_group_tree
from chalicelib.entrypoints.openapi.python_names import class_name, python_name
from local.generators.python_client.prose import describe
from local.generators.python_client.types import Schema, TypeWriter

_OPTIONS_BY_HEADER: Final = {
    "Idempotency-Key": (
        "idempotency_key",
        "A key with which other processes can repeat the request. By default, each call has one of its own.",
    ),
    "If-Match": (
        "if_match",
        "The ETag of the record as you read it. If it has changed since, PreconditionFailed is raised.",
    ),
    "If-None-Match": (
        "if_none_match",
        'With "*", the record is only created. If it exists already, PreconditionFailed is raised.',
    ),
    "Lead-Token": ("lead_token", "The token from the response that created the lead."),
}
"""The parameter that sets a header, and its description."""
_TIMEOUT: Final = "The time for each attempt, in seconds, in place of that of the client."


@dataclass(frozen=True)
class MethodParameter:
    """A parameter of a method. `json_name` is its name in the request; headers have none."""

    name: str
    json_name: str
    type: str
    is_required: bool
    description: str = ""

    @property
    def declaration(self) -> str:
        """The parameter with its type and default."""
        if self.is_required:
            return f"{self.name}: {self.type}"
        members = self.type.split(" | ")
        null = ["None"] if "None" in members else []
        return f"{self.name}: {' | '.join([*(each for each in members if each != 'None'), 'Omitted', *null])} = OMITTED"


@dataclass(frozen=True)
class Method:
    """An operation as a method: values of the path, fields of the body, parameters of the query, and options."""

    name: str
    operation: ClientOperation
    path: tuple[MethodParameter, ...]
    body: tuple[MethodParameter, ...]
    query: tuple[MethodParameter, ...]
    headers: tuple[MethodParameter, ...]
    item_type: str | None

    @property
    def keywords(self) -> list[MethodParameter]:
        """The parameters of the body and of the query. Those that are required come first."""
        return sorted((*self.body, *self.query), key=lambda each: not each.is_required)

    @property
    def documentation(self) -> str:
        """The docstring of the method without its parameters."""
        operation = self.operation
        note = " It is deprecated." if operation.is_deprecated else ""
        return f"{operation.summary}.{note}\n\n`{operation.http_method} {operation.path}`"

    @property
    def arguments(self) -> dict[str, str]:
        """The descriptions of the parameters."""
        described = {each.name: each.description for each in (*self.keywords, *self.headers) if each.description}
        return {**{name: " ".join(text.split()) for name, text in described.items()}, "timeout": _TIMEOUT}

    @property
    def sender(self) -> str:
        """The function of the client that sends the request and reads its answer."""
        operation = self.operation
        if operation.is_text:
            return "send_for_text"
        if operation.result is None:
            return "send"
        return "send_for_record" if operation.result else "send_for_json"

    @property
    def result_type(self) -> str:
        """The type of the result."""
        if self.operation.is_text:
            return "str"
        return "None" if self.operation.result is None else self.operation.result or "dict[str, Any]"


@dataclass(frozen=True)
class Group:
    """A group of operations as a class. `children` are the names and the groups below it."""

    path: str
    class_name: str
    methods: tuple[Method, ...]
    children: tuple[tuple[str, "Group"], ...]

    @property
    def python_path(self) -> str:
        """The group in a program, such as `organizations.api_keys`."""
        return ".".join(python_name(each) for each in self.path.split("."))


def used_models(groups: list[Group], components: Mapping[str, Schema]) -> list[str]:
    """Return the names of the models that the signatures of the methods contain."""
    methods = [method for group in groups for method in group.methods]
    types = [each.type for method in methods for each in method.keywords]
    types += [each for method in methods for each in (method.result_type, method.item_type or "")]
    return sorted(set(re.findall(r"\w+", " ".join(types))) & set(components))


def describe_groups(document: Mapping[str, Any]) -> list[Group]:
    """Return all groups, each after those below it. The last one is the root."""
    writer = _MethodWriter(document["components"]["schemas"])
    groups: dict[str, Group] = {}
    for each in build_group_tree(document).iter_bottom_up():
        groups[each.name] = _describe_group(each, groups, writer)
    return list(groups.values())


def _describe_group(group: OperationGroup, groups: Mapping[str, Group], writer: "_MethodWriter") -> Group:
    described = Group(
        path=group.name,
        class_name=class_name(group.name, "Resource") if group.name else "Resources",
        methods=tuple(writer.describe(each) for each in group.operations),
        children=tuple((python_name(name), groups[child.name]) for name, child in group.children.items()),
    )
    names = [each.name for each in described.methods] + [name for name, _ in described.children]
    if len(names) != len(set(names)):
        raise ValueError(f"A method and a group have the same name: change one in client_names.py: {sorted(names)}")
    return described


class _MethodWriter:
    """Describes methods with the schemas of their parameters."""

    def __init__(self, components: Mapping[str, Schema]) -> None:
        self._components = components
        self._types = TypeWriter(components, of_parameters=True)

    def describe(self, operation: ClientOperation) -> Method:
        """Return an operation as a method."""
        return Method(
            name=python_name(operation.method),
            operation=operation,
            path=tuple(
                MethodParameter(python_name(each), each, "str", is_required=True) for each in operation.path_parameters
            ),
            body=tuple(self._iter_body(operation)),
            query=tuple(
                self._describe(each.name, each.schema, each.description, is_required=each.is_required)
                for each in operation.query
            ),
            headers=tuple(_iter_headers(operation)),
            item_type=self._item_type(operation),
        )

    def _iter_body(self, operation: ClientOperation) -> Iterator[MethodParameter]:
        if operation.body is not None:
            schema = self._components[operation.body]
            required = schema.get("required", ())
            for name, field in schema["properties"].items():
                yield self._describe(name, field, field.get("description", ""), is_required=name in required)

    def _describe(self, name: str, schema: Schema, description: str, *, is_required: bool) -> MethodParameter:
        type_ = self._types.write(schema)
        return MethodParameter(python_name(name), name, type_, is_required, describe(schema, description))

    def _item_type(self, operation: ClientOperation) -> str | None:
        if not operation.is_page or operation.result is None:
            return None
        items = self._components[operation.result]["properties"]["items"]["items"]
        return self._types.write(items)


def _iter_headers(operation: ClientOperation) -> Iterator[MethodParameter]:
    for each in operation.headers:
        is_conditional_read = operation.http_method == "GET" and each.name == "If-None-Match"
        if each.name in _OPTIONS_BY_HEADER and not is_conditional_read:
            name, description = _OPTIONS_BY_HEADER[each.name]
            yield MethodParameter(name, each.name, "str", each.is_required, description)
