"""Modules of the TypeScript client: `resources.ts` with an interface for each group, and `operations.ts` with a table.

The table contains a line of text for each operation, from which the client creates its methods when it starts. It is a
tenth of the size of generated functions, and the console loads all of it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from chalicelib.entrypoints.openapi.client_operations import ClientOperation, OperationGroup, build_group_tree

_HEADER: Final = "// The resources of the API. `make clients` writes this file.\n"
_API_VERSION: Final = """\
/** The version of the API for which this client is made. */
export const API_VERSION = '{}';
"""
_QUERY_TYPE: Final = """\
/** The parameters in the query of an operation. */
export type QueryOf<Id extends keyof operations> = AllowUndefined<NonNullable<operations[Id]['parameters']['query']>>;

/** Optional parameters can be undefined, and are then not sent. */
type AllowUndefined<Query> = {
  [Name in keyof Query]: object extends Pick<Query, Name> ? Query[Name] | undefined : Query[Name];
};
"""
_TABLE_HEADER: Final = "// The operations of the API. `make clients` writes this file.\n"
_TABLE_DOCUMENTATION: Final = "/** The operations of each group: HTTP method, path and what else a call has. */\n"
_INDENT: Final = "  "
_CONDITION: Final = "If-None-Match"
_LEAD_OPTIONS: Final = "LeadOptions"
_OPTION_TYPES: Final[Mapping[str, str]] = {
    "Idempotency-Key": "CreateOptions",
    "If-Match": "ChangeOptions",
    _CONDITION: "CreateOnlyOptions",
    "Lead-Token": _LEAD_OPTIONS,
}
"""The types of options by the header that they set."""


def resources_source(document: Mapping[str, Any]) -> str:
    """Return the source of the module with the interfaces."""
    root = build_group_tree(document)
    groups = list(root.iter_bottom_up())
    parts = [
        _HEADER,
        _imports([operation for group in groups for operation in group.operations]),
        _API_VERSION.format(document["info"]["x-api-version"]),
        _QUERY_TYPE,
        *(_interface(group) for group in groups),
    ]
    return "\n".join(parts)


def operations_source(document: Mapping[str, Any]) -> str:
    """Return the source of the module with the table. Pages that call few operations are built without it."""
    table = _table(build_group_tree(document), 0)
    return f"{_TABLE_HEADER}\n{_TABLE_DOCUMENTATION}export const OPERATIONS = {table};\n"


def _imports(operations: list[ClientOperation]) -> str:
    models = sorted({name for each in operations for name in (each.body, each.result) if name})
    options = sorted({*_OPTION_TYPES.values(), "CallOptions", "ConditionalOptions", "ReadOptions"})
    imports = {
        "./schema.ts": ["operations", *models],
        "../pagination.ts": ["Call", "ListCall"],
        "../options.ts": options,
    }
    return "".join(f"import type {{ {', '.join(names)} }} from '{module}';\n" for module, names in imports.items())


def _interface(group: OperationGroup) -> str:
    members = [line for operation in group.operations for line in _iter_signatures(operation)]
    members += [f"readonly {name}: {_interface_name(child)};" for name, child in group.children.items()]
    title = f"The operations of `{group.name}`." if group.name else "All resources of the API."
    body = "".join(f"{_INDENT}{line}\n" for line in members)
    return f"/** {title} */\nexport interface {_interface_name(group)} {{\n{body}}}\n"


def _interface_name(group: OperationGroup) -> str:
    """Return the name of a group's interface, such as `OrganizationsMembersResource`."""
    name = "".join(part[:1].upper() + part[1:] for part in group.name.split("."))
    return f"{name}Resource" if name else "Resources"


def _iter_signatures(operation: ClientOperation) -> Iterator[str]:
    """Yield the documentation and the signatures of a method.

    A conditional read has a signature of its own, because only its result can be undefined.
    """
    deprecation = " @deprecated" if operation.is_deprecated else ""
    yield f"/** {operation.summary}. `{operation.http_method} {operation.path}`{deprecation} */"
    result = _result_type(operation)
    is_conditional = _is_conditional_read(operation)
    requires_options = any(header.is_required for header in operation.headers)
    types = _options_type(operation, *(["ReadOptions"] if is_conditional else []))
    options = f"options{'' if requires_options else '?'}: {types}"
    parameters = [*_iter_parameters(operation, with_options=requires_options), options]
    yield f"{operation.method}({', '.join(parameters)}): {'ListCall' if operation.is_page else 'Call'}<{result}>;"
    if is_conditional:
        options = f"options: {_options_type(operation, 'ConditionalOptions')}"
        parameters = [*_iter_parameters(operation, with_options=True), options]
        yield f"{operation.method}({', '.join(parameters)}): Call<{result} | undefined>;"


def _iter_parameters(operation: ClientOperation, *, with_options: bool) -> Iterator[str]:
    """Yield the parameters before the options. If options are required, no parameter before them can be omitted."""
    yield from (f"{_camel_case(name)}: string" for name in operation.path_parameters)
    if operation.body is not None:
        yield _parameter("body", operation.body, is_required=operation.requires_body, with_options=with_options)
    elif operation.query:
        yield _parameter(
            "query", f"QueryOf<'{operation.id}'>", is_required=operation.requires_query, with_options=with_options
        )


def _parameter(name: str, type_: str, *, is_required: bool, with_options: bool) -> str:
    if is_required:
        return f"{name}: {type_}"
    return f"{name}: {type_} | undefined" if with_options else f"{name}?: {type_}"


def _options_type(operation: ClientOperation, *types: str) -> str:
    """Return the type of the options: the given types, and those of the operation."""
    names = [*types]
    for header in operation.headers:
        if not (header.name == _CONDITION and _is_conditional_read(operation)):
            name = _OPTION_TYPES[header.name]
            names.append(name if header.is_required or name != _LEAD_OPTIONS else f"Partial<{name}>")
    if operation.body is not None and operation.query:
        names.append(f"{{ query{'' if operation.requires_query else '?'}: QueryOf<'{operation.id}'> }}")
    return " & ".join(names) or "CallOptions"


def _is_conditional_read(operation: ClientOperation) -> bool:
    return operation.http_method == "GET" and any(header.name == _CONDITION for header in operation.headers)


def _result_type(operation: ClientOperation) -> str:
    if operation.is_text:
        return "string"
    return "void" if operation.result is None else operation.result or "Record<string, unknown>"


def _table(group: OperationGroup, depth: int) -> str:
    inner, outer = _INDENT * (depth + 1), _INDENT * depth
    lines = [f"{inner}{each.method}: '{_table_entry(each)}',\n" for each in group.operations]
    lines += [f"{inner}{name}: {_table(child, depth + 1)},\n" for name, child in group.children.items()]
    return f"{{\n{''.join(lines)}{outer}}}"


def _table_entry(operation: ClientOperation) -> str:
    """Return the line of an operation, such as `GET /organizations/{organization_id}/members page`."""
    content = "body" if operation.body is not None else "query" if operation.query else ""
    words = ["page" if operation.is_page else content, "text" if operation.is_text else ""]
    return " ".join(filter(None, (operation.http_method, operation.path, *words)))


def _camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)
