"""The table in `docs/reference/operations.md`, group by group, made from the operations themselves."""

from collections import defaultdict
from typing import Final

from chalicelib.entrypoints.catalogue import operations
from chalicelib.entrypoints.openapi import GROUPS
from chalicelib.kernel.operations.operation import Operation
from local.generators.markdown import code, put_between, table

_BEGIN: Final = "<!-- operations: `make generate` -->"
_END: Final = "<!-- end of operations -->"


def written_into(text: str) -> str:
    """Return a document with the table between its two marks. Raises ValueError if it has none."""
    return put_between(text, _BEGIN, _END, _operations())


def _operations() -> str:
    grouped: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in operations():
        grouped[operation.group].append(operation)
    rows = [(group, GROUPS[group], str(len(own)), _below(own)) for group, own in grouped.items()]
    return table(("group", "what it is", "operations", "paths"), [*rows, ("", "in all", str(len(operations())), "")])


def _below(own: list[Operation]) -> str:
    """Return what the paths of operations begin with, each once."""
    return ", ".join(dict.fromkeys(code(f"/{operation.path.split('/')[1]}") for operation in own))
