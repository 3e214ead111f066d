"""Records which blocks of code each test executes, and which files it reads.

Some code runs once in a process and serves many tests, such as a fixture of the session. It is recorded as a step of
its own, and every test that uses the step depends on its code.
"""

import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import coverage
from coverage.numbits import numbits_to_nums

from local.paths import ROOT
from local.test_selection.dependency_map import RecordedTest, Recording
from local.test_selection.source_files import CONTENT, FOLDERS_OF_CODE, MODULE, SourceFile, context_or_none, is_code

IMPORT: Final = ""
"""The step before the tests. Other steps whose names begin with `COLLECTION` also import modules."""
COLLECTION: Final = "collection "

_MAX_RECORDED_CALLS: Final = 50
_MIN_CONTEXTS: Final = 9
"""Number of bounded contexts, of eleven, from which on a test or step counts as one that covers most features."""
_EXECUTED_LINES: Final = """
SELECT context.context, file.path, line_bits.numbits
FROM line_bits JOIN context ON context.id = line_bits.context_id JOIN file ON file.id = line_bits.file_id
"""
"""The tables are documented: https://coverage.readthedocs.io/en/latest/dbschema.html"""

BlockSets = set[tuple[str, frozenset[str]]]


class Recorder:
    """Records this process. A process has one, because what functions cache is the process's, too."""

    def __init__(self) -> None:
        self._tests: dict[str, RecordedTest] = {}
        self._folder = TemporaryDirectory()
        self._coverage = coverage.Coverage(
            data_file=Path(self._folder.name) / "coverage",
            include=[f"{ROOT}/app.py", *(f"{ROOT}/{folder}/*" for folder in FOLDERS_OF_CODE)],
            omit=[f"{Path(__file__).parent}/*"],
            config_file=False,
        )
        self._coverage.set_option("run:core", "ctrace")  # From Python 3.14 on, the default reports a line only once.
        self._open_steps = [IMPORT]
        self._calls = Counter[str]()
        self._used_steps = defaultdict[str, set[str]](set)
        self._block_sets = defaultdict[str, BlockSets](set)
        self._thread = threading.get_ident()

    def start(self) -> None:
        """Start recording."""
        self._coverage.start()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Attribute what the block executes to a step. The step around it uses this step.

        After many calls, those that are left execute the same code. They are attributed to the step around them.
        """
        self.use(name)
        self._calls[name] += 1
        if self._calls[name] > _MAX_RECORDED_CALLS or threading.get_ident() != self._thread:
            yield
            return
        with self._attribute_to(name):
            yield

    @contextmanager
    def test(self, name: str) -> Iterator[None]:
        """Record what the block executes as a test."""
        self._tests[name] = RecordedTest()
        with self._attribute_to(name):
            yield

    @contextmanager
    def _attribute_to(self, step_or_test: str) -> Iterator[None]:
        self._open_steps.append(step_or_test)
        self._coverage.switch_context(step_or_test)
        try:
            yield
        finally:
            self._open_steps.pop()
            self._coverage.switch_context(self._open_steps[-1])

    def note_result(self, test: str, *, has_passed: bool, seconds: float) -> None:
        """Add the result of a phase of a test, and its time."""
        if test in self._tests:
            self._tests[test].has_passed &= has_passed
            self._tests[test].seconds += seconds

    def use(self, step: str) -> None:
        """Let the current step depend on another one."""
        self._used_steps[self._open_steps[-1]].add(step)

    def depend_on(self, path: str, *blocks: str) -> None:
        """Let the current step depend on blocks of a file, and on what the file defines when it is imported."""
        self._block_sets[self._open_steps[-1]].add((path, frozenset(blocks)))

    def finish(self, files: Mapping[str, SourceFile]) -> Recording:
        """Stop recording, and return the tests with all that they depend on. `files`: as they were before the tests."""
        self._coverage.stop()
        self._coverage.save()
        self._add_executed_blocks(files)
        recording = Recording()
        indexes: dict[tuple[str, frozenset[str]], int] = {}
        narrowed = {step: _without_features_if_most(block_sets) for step, block_sets in self._block_sets.items()}
        for name, test in self._tests.items():
            used: BlockSets = set().union(*(narrowed.get(step, ()) for step in self._steps_of(name)))
            test.covers_most_features = _covers_most_features(self._block_sets[name])
            test.uses = sorted(indexes.setdefault(block_set, len(indexes)) for block_set in used)
            recording.tests[name] = test
        recording.block_sets = list(indexes)
        importing = [step for step in self._block_sets if step == IMPORT or step.startswith(COLLECTION)]
        for imported in {each for step in importing for each in self._steps_of(step)}:
            for path, blocks in self._block_sets[imported]:
                recording.run_at_import.setdefault(path, set()).update(blocks - {CONTENT})
        return recording

    def _steps_of(self, test: str) -> set[str]:
        found, remaining = set[str](), [test]
        while remaining:
            step = remaining.pop()
            if step not in found:
                found.add(step)
                remaining.extend(self._used_steps[step])
        return found

    def _add_executed_blocks(self, files: Mapping[str, SourceFile]) -> None:
        names_by_path: dict[str, dict[int, str]] = {}
        known: dict[tuple[str, bytes], tuple[str, frozenset[str]]] = {}
        with closing(sqlite3.connect(Path(self._folder.name) / "coverage")) as database:
            for step, executed_file, lines in database.execute(_EXECUTED_LINES):
                path = executed_file.removeprefix(f"{ROOT}/")
                if path in files:
                    if path not in names_by_path:
                        names_by_path[path] = _names_by_line(files[path])
                    if (path, lines) not in known:
                        otherwise = MODULE if is_code(path) else CONTENT  # Jinja runs templates as code.
                        blocks = {names_by_path[path].get(line, otherwise) for line in numbits_to_nums(lines)}
                        known[path, lines] = path, frozenset(blocks)
                    self._block_sets[step].add(known[path, lines])


def _covers_most_features(block_sets: BlockSets) -> bool:
    return len({context_or_none(path) for path, _ in block_sets} - {None}) >= _MIN_CONTEXTS


def _without_features_if_most(block_sets: BlockSets) -> BlockSets:
    """Return the sets of a test or step. A change of any feature would affect those that execute most of them."""
    if not _covers_most_features(block_sets):
        return block_sets
    return {(path, blocks) for path, blocks in block_sets if not context_or_none(path)}


def _names_by_line(file: SourceFile) -> dict[int, str]:
    return {line: name for name, (first, last) in file.lines.items() for line in range(first, last + 1)}
