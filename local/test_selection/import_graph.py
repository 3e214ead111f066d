"""Which files of the project import which others."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from local.paths import ROOT, module_name
from local.test_selection.source_files import MODULE, SourceFile, is_code

_CATALOGUE: Final = "chalicelib/entrypoints/catalogue.py"
_LAZY_IMPORTERS: Final = frozenset({"chalicelib/entrypoints/http.py", "chalicelib/entrypoints/workers.py"})
"""They import the catalogue, but load only the features that a request or a task needs."""


class ImportGraph:
    """The imports of all files. `files`: by path."""

    def __init__(self, files: Mapping[str, SourceFile]) -> None:
        self._paths_by_module = {module_name(ROOT / path): path for path in files if is_code(path)}
        self._importers_by_path = defaultdict[str, set[tuple[str, str]]](set)
        for path, file in files.items():
            for block in file.digests:
                for imported in self._imported_paths(path, file.imports.get(block, ()), block):
                    self._importers_by_path[imported].add((path, block))

    def find_importers(self, imported: Iterable[str]) -> set[tuple[str, str]]:
        """Return the blocks that import one of the files, directly or through files that import it."""
        found, remaining, followed = set[tuple[str, str]](), list(imported), set[str]()
        while remaining:
            path = remaining.pop()
            if path not in followed:
                followed.add(path)
                found |= self._importers_by_path[path]
                remaining.extend(path for path, block in self._importers_by_path[path] if block == MODULE)
        return found

    def find_importers_of_catalogue(self) -> set[str]:
        """Return the files that list the operations, tasks or record types of all features when they are imported."""
        return {path for path, block in self.find_importers([_CATALOGUE]) if block == MODULE}

    def _imported_paths(self, path: str, imported: Iterable[str], block: str) -> set[str]:
        names = {name for module in imported for name in _with_packages(module)}
        paths = {self._paths_by_module[name] for name in names if name in self._paths_by_module}
        if path.startswith("tests/") and block == MODULE:  # pytest imports the fixtures of all folders above.
            folders = path.split("/")[:-1]
            paths |= {"/".join([*folders[:depth], "conftest.py"]) for depth in range(1, len(folders) + 1)}
        if path in _LAZY_IMPORTERS:
            paths.discard(_CATALOGUE)
        return paths - {path}


def _with_packages(module: str) -> Iterable[str]:
    parts = module.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))
