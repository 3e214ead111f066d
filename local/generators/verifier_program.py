"""The program `verify.py`, which verifies exports and receipts without the service, as one file.

It is joined from modules of the service. Its file does not end in `.py`, because the package contains no source files.
"""

import ast
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Final

from chalicelib.features.audit.exports.logic import (
    verify,
    verify_anchors,
    verify_command,
    verify_receipts,
    verify_witnesses,
)

PARTS: Final[tuple[ModuleType, ...]] = (verify, verify_receipts, verify_witnesses, verify_anchors, verify_command)
"""The modules of the program, each after those that it imports. The docstring is that of the first."""


def verifier_program() -> str:
    """Return the text of the program."""
    sources = [Path(str(part.__file__)).read_text() for part in PARTS]
    docstring = ast.get_source_segment(sources[0], ast.parse(sources[0]).body[0])
    return "\n\n".join([f"{docstring}\n\n{_imports_of_libraries(sources)}", *map(_body, sources)]) + "\n"


def _imports_of_libraries(sources: Iterable[str]) -> str:
    """Return the imports of all modules except those of one another, once each."""
    nodes = [node for source in sources for node in ast.parse(source).body]
    modules = sorted({name.name for node in nodes if isinstance(node, ast.Import) for name in node.names})
    names_by_module: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and not str(node.module).startswith("chalicelib."):
            names_by_module.setdefault(str(node.module), set()).update(name.name for name in node.names)
    lines = [f"import {name}" for name in modules]
    lines += [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(names_by_module.items())]
    return "\n".join(lines)


def _body(source: str) -> str:
    """Return a module without its docstring and imports."""
    nodes = ast.parse(source).body
    first = next(node for node in nodes[1:] if not _is_import(node))
    return "\n".join(source.splitlines()[first.lineno - 1 :])


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)
