"""Generates the table of operation groups in `docs/reference/operations.md`."""

from collections import defaultdict
from typing import Final

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.entrypoints.openapi import GROUP_DESCRIPTIONS
from chalicelib.kernel.operations.operation import Operation
from local.generators.markdown import code, put_between, table

_BEGIN: Final = "<!-- operations: `make generate` -->"
_END: Final = "<!-- end of operations -->"


def write_table_into(text: str) -> str:
    """Replace the table between the two markers of a document. Raises ValueError if a marker is missing."""
    return put_between(text, _BEGIN, _END, _operations())


def _operations() -> str:
    by_group: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in all_operations():
        by_group[operation.group].append(operation)
    rows = [
        (group, GROUP_DESCRIPTIONS[group], str(len(members)), _path_prefixes(members))
        for group, members in by_group.items()
    ]
    return table(
        ("group", "description", "operations", "paths"), [*rows, ("", "total", str(len(all_operations())), "")]
    )


def _path_prefixes(group: list[Operation]) -> str:
    """Return the first segments of the paths of operations, each once."""
    return ", ".join(dict.fromkeys(code(f"/{operation.path.split('/')[1]}") for operation in group))
