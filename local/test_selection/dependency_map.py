"""Which test depends on which blocks of code: what a run recorded, and what the next run compares with."""

import platform
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from local.paths import ROOT, write_private
from local.test_selection.import_graph import ImportGraph
from local.test_selection.source_files import MODULE, SourceFile, bounded_context_of, digest_of

FILE: Final = ROOT / ".test_dependencies.json"

_PATHS_AFFECTING_ALL_TESTS: Final = ("pyproject.toml", "requirements")
"""The beginnings of these paths."""

BlocksByPath = dict[str, set[str]]


@dataclass
class RecordedTest:
    """A test. `block_set_indexes`: the sets of blocks on which it depends.

    `covers_most_features`: if so, the code of features is not among these. `make test` runs such a test.
    """

    block_set_indexes: list[int] = field(default_factory=list)
    covers_most_features: bool = False
    has_passed: bool = True
    seconds: float = 0


@dataclass
class Recording:
    """The tests that a process has run.

    `block_sets`: a path and blocks of this file, which many tests share. `run_at_import`: blocks that run when a module
    is imported. `importers_by_read_path`: the modules that read a file when they are imported. `collected`: the names
    of all tests of the run, of which other processes may have run some.
    """

    block_sets: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    tests: dict[str, RecordedTest] = field(default_factory=dict)
    run_at_import: BlocksByPath = field(default_factory=dict)
    importers_by_read_path: dict[str, set[str]] = field(default_factory=dict)
    collected: set[str] = field(default_factory=set)

    def add_tests(self, other: "Recording") -> None:
        """Add the tests of another recording, and replace those that are in both."""
        indexes: dict[tuple[str, frozenset[str]], int] = {}

        def translate(recording: Recording, test: RecordedTest) -> RecordedTest:
            used = (recording.block_sets[index] for index in test.block_set_indexes)
            return replace(test, block_set_indexes=[indexes.setdefault(each, len(indexes)) for each in used])

        retained = {name: test for name, test in self.tests.items() if name not in other.tests}
        self.tests = {name: translate(self, test) for name, test in retained.items()}
        self.tests |= {name: translate(other, test) for name, test in other.tests.items()}
        self.block_sets = list(indexes)
        for mine, others in (
            (self.run_at_import, other.run_at_import),
            (self.importers_by_read_path, other.importers_by_read_path),
        ):
            for path, names in others.items():
                mine.setdefault(path, set()).update(names)


@dataclass(frozen=True)
class Selection:
    """The known tests to run. `files_to_collect`: those that contain a selected test or may contain a new one."""

    tests: frozenset[str]
    files_to_collect: frozenset[str]
    changed_files: tuple[str, ...]


def _digest_of_recorder() -> str:
    sources = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    return digest_of(b"".join([platform.python_version().encode(), *sources]))


@dataclass
class DependencyMap:
    """The recorded tests, and the files as they were when the tests ran.

    `recorded_by`: a digest of this package and of the version of Python.
    """

    files: dict[str, SourceFile] = field(default_factory=dict)
    recording: Recording = field(default_factory=Recording)
    recorded_by: str = field(default_factory=_digest_of_recorder)

    @classmethod
    def load(cls, file: Path = FILE) -> "DependencyMap":
        """Return the stored map, or an empty one if there is none of this package and this version of Python."""
        empty = cls()
        try:
            stored = _ADAPTER.validate_json(file.read_bytes())
        except (FileNotFoundError, ValidationError):
            return empty
        return stored if stored.recorded_by == empty.recorded_by else empty

    def save(self) -> None:
        """Replace the stored map."""
        write_private(FILE, _ADAPTER.dump_json(self).decode())

    def select_tests(self, files: Mapping[str, SourceFile]) -> Selection:
        """Return the tests that depend on a difference between these files and those of the map."""
        changed = _changed_blocks(self.files, files)
        all_files = {**self.files, **files}
        if any(path.startswith(_PATHS_AFFECTING_ALL_TESTS) for path in changed):
            return Selection(frozenset(self.recording.tests), frozenset(all_files), tuple(changed))
        graph = ImportGraph(all_files)
        affected = self._affected_blocks(changed, graph)
        affected_sets = self._affected_sets(affected)
        tests = frozenset(
            name
            for name, test in self.recording.tests.items()
            if not test.has_passed or not affected_sets.isdisjoint(test.block_set_indexes)
        )
        test_files = {name.partition("::")[0] for name in tests}
        modules = {path for path, blocks in affected.items() if MODULE in blocks}
        listing_tests = graph.find_importers_of_catalogue() if any(map(bounded_context_of, modules)) else set()
        return Selection(tests, frozenset(test_files | modules | listing_tests), tuple(changed))

    def update_tests(self, files: dict[str, SourceFile], recordings: list[Recording], selection: Selection) -> None:
        """Replace the files and the tests that have run.

        A selected test that was not collected does not exist any more. One that was collected but has not run, because
        its process died, counts as failed.
        """
        self.files = files
        collected: set[str] = set().union(*(recording.collected for recording in recordings))
        finished: set[str] = set().union(*(recording.tests for recording in recordings))
        for name in selection.tests - collected:
            del self.recording.tests[name]
        for recording in recordings:
            self.recording.add_tests(recording)
        for name in collected - finished:
            self.recording.tests[name] = RecordedTest(has_passed=False)

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
        changed_at_import = {
            path for path, blocks in changed.items() if blocks & {MODULE, *run_at_import.get(path, ())}
        }.union(*(self.recording.importers_by_read_path.get(path, ()) for path in changed))
        affected = defaultdict[str, set[str]](set)
        for path, block in {*graph.find_importers(changed_at_import), *((path, MODULE) for path in changed_at_import)}:
            affected[path].add(block)
        for path, blocks in changed.items():
            affected[path] |= blocks
        return affected


def _changed_blocks(old: Mapping[str, SourceFile], new: Mapping[str, SourceFile]) -> BlocksByPath:
    changed = BlocksByPath()
    for path in sorted(old.keys() | new.keys()):
        before, after = (files[path].digests if path in files else {} for files in (old, new))
        if before != after:
            changed[path] = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return changed


_ADAPTER: Final = TypeAdapter(DependencyMap)
