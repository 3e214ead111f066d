"""Which test depends on which blocks of code: what a run recorded, and what the next run compares with."""

import platform
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from local.paths import ROOT
from local.test_selection.import_graph import ImportGraph
from local.test_selection.source_files import MODULE, SourceFile, context_or_none

FILE: Final = ROOT / ".test_dependencies.json"

_VERSIONS: Final = ("pyproject.toml", "requirements")
"""The beginnings of the paths of files on which all tests depend."""

BlocksByPath = dict[str, set[str]]


@dataclass
class RecordedTest:
    """A test. `uses`: the indexes of the `block_sets` on which it depends.

    `covers_most_features`: if so, `uses` does not contain the code of features. `make test` runs such a test.
    """

    uses: list[int] = field(default_factory=list)
    covers_most_features: bool = False
    has_passed: bool = True
    seconds: float = 0


@dataclass
class Recording:
    """The tests that a process has run. `block_sets`: a path and blocks of this file, which many tests share."""

    block_sets: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    tests: dict[str, RecordedTest] = field(default_factory=dict)
    run_at_import: BlocksByPath = field(default_factory=dict)

    def add(self, other: "Recording") -> None:
        """Add the tests of another recording, and replace those that are in both."""
        indexes = {block_set: index for index, block_set in enumerate(self.block_sets)}
        translated = [indexes.setdefault(block_set, len(indexes)) for block_set in other.block_sets]
        self.block_sets = list(indexes)
        for name, test in other.tests.items():
            self.tests[name] = replace(test, uses=sorted(translated[index] for index in test.uses))
        for path, blocks in other.run_at_import.items():
            self.run_at_import.setdefault(path, set()).update(blocks)


@dataclass(frozen=True)
class Selection:
    """The known tests to run. `files`: those whose tests have to be listed, because one is selected or may be new."""

    tests: frozenset[str]
    files: frozenset[str]
    changed_files: tuple[str, ...]


@dataclass
class DependencyMap:
    """The recorded tests, and the files as they were when the tests ran."""

    files: dict[str, SourceFile] = field(default_factory=dict)
    recording: Recording = field(default_factory=Recording)
    python: str = platform.python_version()

    @classmethod
    def load(cls, file: Path = FILE) -> "DependencyMap":
        """Return the stored map, or an empty one if there is none of this format and this version of Python."""
        try:
            stored = _ADAPTER.validate_json(file.read_bytes())
        except (FileNotFoundError, ValidationError):
            return cls()
        return stored if stored.python == platform.python_version() else cls()

    def save(self, file: Path = FILE) -> None:
        """Replace the stored map."""
        draft = file.with_suffix(".draft")
        draft.write_bytes(_ADAPTER.dump_json(self))
        draft.replace(file)

    def select(self, files: Mapping[str, SourceFile]) -> Selection:
        """Return the tests that depend on a difference between these files and those of the map."""
        changed = _changed_blocks(self.files, files)
        all_files = {**self.files, **files}
        if any(path.startswith(_VERSIONS) for path in changed):
            return Selection(frozenset(self.recording.tests), frozenset(all_files), tuple(changed))
        graph = ImportGraph(all_files)
        affected = self._affected_blocks(changed, graph)
        uses = self._affected_sets(affected)
        tests = frozenset(
            name for name, test in self.recording.tests.items() if not test.has_passed or not uses.isdisjoint(test.uses)
        )
        test_files = {name.partition("::")[0] for name in tests}
        reloaded = {path for path, blocks in affected.items() if MODULE in blocks}
        readers = graph.find_readers_of_catalogue() if any(map(context_or_none, reloaded)) else set()
        return Selection(tests, frozenset(test_files | reloaded | readers), tuple(changed))

    def update(self, files: dict[str, SourceFile], recordings: list[Recording], selection: Selection) -> None:
        """Replace the files and the tests that have run. A selected test that has not run does not exist any more."""
        self.files = files
        for name in selection.tests.difference(*(recording.tests for recording in recordings)):
            del self.recording.tests[name]
        for recording in recordings:
            self.recording.add(recording)

    def _affected_sets(self, affected: BlocksByPath) -> set[int]:
        """Return the indexes of the sets with an affected block. Each block depends on the module around it."""
        return {
            index
            for index, (path, blocks) in enumerate(self.recording.block_sets)
            if not affected.get(path, set()).isdisjoint({MODULE, *blocks})
        }

    def _affected_blocks(self, changed: BlocksByPath, graph: ImportGraph) -> BlocksByPath:
        """Return the changed blocks, and those that import a module whose import runs a changed block."""
        run_at_import = self.recording.run_at_import
        reloaded = {path for path, blocks in changed.items() if blocks & {MODULE, *run_at_import.get(path, ())}}
        affected = defaultdict[str, set[str]](set)
        for path, block in {*graph.find_importers(reloaded), *((path, MODULE) for path in reloaded)}:
            affected[path].add(block)
        for path, blocks in changed.items():
            affected[path] |= blocks
        return affected


def _changed_blocks(old: Mapping[str, SourceFile], new: Mapping[str, SourceFile]) -> BlocksByPath:
    changed = BlocksByPath()
    for path in sorted(old.keys() | new.keys()):
        before, after = (dict(files[path].digests) if path in files else {} for files in (old, new))
        if before != after:
            changed[path] = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return changed


_ADAPTER: Final = TypeAdapter(DependencyMap)
