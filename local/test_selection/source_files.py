"""The project's files, divided into blocks whose changes are tracked separately."""

import ast
import hashlib
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from local.paths import ROOT

CONTENT: Final = "(content)"
"""The block that is the whole file as text. A test that reads the file depends on it."""
MODULE: Final = "(module)"
"""The block of a Python file that runs when it is imported: all of it without the bodies of its functions."""

_GENERATED: Final = frozenset(
    {
        "openapi.json",
        "chalicelib/entrypoints/kinds.py",
        "chalicelib/entrypoints/routes.py",
        "chalicelib/features/declarations.py",
    }
)
"""Files that `make generate` derives from the declarations of all features. A change of them alone selects no test."""
_PARTS_OF_CONTEXT: Final = 3
FOLDERS_OF_CODE: Final = ("chalicelib", "tests", "local", "infrastructure", "benchmarks")


@dataclass(frozen=True)
class SourceFile:
    """A file, by the names of its blocks. `imports`: names that may be modules. `lines`: the first and the last one.

    Lines that are in no block of `lines` belong to the block `MODULE`.
    """

    digests: dict[str, str]
    imports: dict[str, list[str]] = field(default_factory=dict)
    lines: dict[str, tuple[int, int]] = field(default_factory=dict)


def list_files() -> list[str]:
    """Return the paths of all files that Git tracks or does not ignore, except the generated ones."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(path for path in set(listed.split("\0")) - _GENERATED if (ROOT / path).is_file())


def is_code(path: str) -> bool:
    """Return whether the tests of this process can execute a file."""
    return path.endswith(".py") and (path == "app.py" or path.partition("/")[0] in FOLDERS_OF_CODE)


def bounded_context_of(path: str) -> str | None:
    """Return the bounded context of a file, such as `tenancy`, if it belongs to a feature."""
    parts = path.split("/")
    return parts[2] if path.startswith("chalicelib/features/") and len(parts) > _PARTS_OF_CONTEXT else None


def path_of_module(name: str) -> str:
    """Return the path of the file of a module that is not a package."""
    return f"{name.replace('.', '/')}.py"


def read_files(previous: Mapping[str, SourceFile]) -> dict[str, SourceFile]:
    """Return all files and folders by path. Files that are as in `previous` are not parsed again.

    The path of a folder ends with a slash. Its content is the list of its entries.
    """
    files = {path: _read_file(path, previous.get(path)) for path in list_files()}
    for folder, entries in entries_by_folder(files).items():
        files[folder] = SourceFile({CONTENT: digest_of("/".join(sorted(entries)).encode())})
    return files


def entries_by_folder(paths: Iterable[str]) -> dict[str, set[str]]:
    """Return the names of the entries of each folder that contains one of the files."""
    entries = defaultdict[str, set[str]](set)
    for path in paths:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            entries["/".join([*parts[:depth], ""])].add(parts[depth])
    return entries


def _read_file(path: str, previous: SourceFile | None) -> SourceFile:
    content = (ROOT / path).read_bytes()
    digest = digest_of(content)
    if previous and previous.digests[CONTENT] == digest:
        return previous
    file = SourceFile({CONTENT: digest})
    if is_code(path):
        try:
            _add_blocks(file, ast.parse(content))
        except SyntaxError:  # The tests that import it report the error.
            file.digests[MODULE] = digest
    return file


def _add_blocks(file: SourceFile, tree: ast.Module) -> None:
    _add_functions(file, tree.body, "", Counter())
    _add_block(file, MODULE, [tree])


def _add_functions(file: SourceFile, statements: Iterable[ast.AST], prefix: str, counts: Counter[str]) -> None:
    """Add a block for the body of each function, and remove it from the syntax tree."""
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            counts[prefix + node.name] += 1  # A property and its setter have one name.
            name = f"{prefix}{node.name}#{counts[prefix + node.name]}"
            file.lines[name] = node.body[0].lineno, node.end_lineno or node.lineno
            docstring = ast.get_docstring(node)
            _add_block(file, name, node.body[1:] if docstring else node.body)
            # A decorator can read the docstring when the module is imported, as that of operations does.
            node.body = [ast.Expr(ast.Constant(docstring))] if node.decorator_list else []
        else:
            inner = f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix
            _add_functions(file, _inner_statements(node), inner, counts)


def _add_block(file: SourceFile, name: str, nodes: Sequence[ast.AST]) -> None:
    file.digests[name] = digest_of("".join(map(ast.dump, nodes)).encode())
    if imported := sorted({module for node in nodes for module in _imported_names(node)}):
        file.imports[name] = imported


def _inner_statements(node: ast.AST) -> Iterator[ast.AST]:
    return (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.ExceptHandler))


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def digest_of(content: bytes) -> str:
    """Return a short digest that differs if the content differs."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()
