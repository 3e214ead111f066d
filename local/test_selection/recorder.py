"""Records which blocks of code each test executes, and which files it reads.

Some code runs once in a process and serves many tests, such as a fixture of the session. It is recorded as a step of
its own, and every test that uses the step depends on its code.
"""

import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import coverage
from coverage.numbits import numbits_to_nums

from local.paths import ROOT
from local.test_selection.dependency_map import RecordedTest, Recording
from local.test_selection.source_files import CONTENT, FOLDERS_OF_CODE, MODULE, SourceFile, bounded_context_of, is_code

IMPORT: Final = ""
"""The step before the tests. Other steps whose names begin with `COLLECTION` also import modules."""
COLLECTION: Final = "collection "

_MAX_RECORDED_CALLS: Final = 50
_MIN_SHARE_OF_CONTEXTS: Final = 0.8
"""A test or step that executes code of at least this share of the bounded contexts counts as covering most features."""
_EXECUTED_LINES: Final = """
SELECT context.context, file.path, line_bits.numbits
FROM line_bits JOIN context ON context.id = line_bits.context_id JOIN file ON file.id = line_bits.file_id
"""
"""The tables are documented: https://coverage.readthedocs.io/en/latest/dbschema.html"""

BlockSets = set[tuple[str, frozenset[str]]]


class Recorder:
    """Records this process. There is one recorder per process, because caches are per process."""

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
        self._importers_by_read_path = defaultdict[str, set[str]](set)
        self._thread = threading.get_ident()

    def start(self) -> None:
        """Start recording."""
        self._coverage.start()

    @contextmanager
    def record_step(self, name: str) -> Iterator[None]:
        """Attribute the code in the `with` statement to a step, on which the enclosing step depends.

        Only the first calls are recorded. Later calls are attributed to the enclosing step.
        """
        self.depend_on_step(name)
        self._calls[name] += 1
        if threading.get_ident() != self._thread:  # Attributed to the enclosing step, like all code of other threads.
            if self._calls[name] == 1:
                self._used_steps[name].add(self._open_steps[-1])
            yield
        elif self._calls[name] > _MAX_RECORDED_CALLS:
            yield
        else:
            with self._attribute_to(name):
                yield

    @contextmanager
    def record_test(self, name: str) -> Iterator[None]:
        """Attribute the code in the `with` statement to a test."""
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

    def depend_on_step(self, step: str) -> None:
        """Let the current step depend on another one."""
        self._used_steps[self._open_steps[-1]].add(step)

    def depend_on_block(self, path: str, block: str) -> None:
        """Let the current step depend on a block of a file, and on what the file defines when it is imported."""
        self._block_sets[self._open_steps[-1]].add((path, frozenset({block})))

    def depend_at_import(self, path: str, importer: str) -> None:
        """Note that a module reads a file or folder when it is imported."""
        self._importers_by_read_path[path].add(importer)

    def finish_recording(self, files: Mapping[str, SourceFile]) -> Recording:
        """Stop recording, and return the tests with all that they depend on. `files`: as they were before the tests."""
        self._coverage.stop()
        self._coverage.save()
        self._add_executed_blocks(files)
        recording = Recording(tests=self._tests, importers_by_read_path=dict(self._importers_by_read_path))
        indexes: dict[tuple[str, frozenset[str]], int] = {}
        min_contexts = _MIN_SHARE_OF_CONTEXTS * len(_contexts_of(files))
        broad = {step for step, used in self._block_sets.items() if len(_contexts_of(dict(used))) >= min_contexts}
        narrowed = {step: _without_features(used) if step in broad else used for step, used in self._block_sets.items()}
        for name, test in self._tests.items():
            used: BlockSets = set().union(*(narrowed.get(step, ()) for step in self._steps_of(name)))
            test.covers_most_features = name in broad
            test.block_set_indexes = sorted(indexes.setdefault(block_set, len(indexes)) for block_set in used)
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
        sets_by_lines: dict[tuple[str, bytes], tuple[str, frozenset[str]]] = {}
        with closing(sqlite3.connect(Path(self._folder.name) / "coverage")) as database:
            for step, executed_file, lines in database.execute(_EXECUTED_LINES):
                path = executed_file.removeprefix(f"{ROOT}/")
                if path in files:
                    if path not in names_by_path:
                        names_by_path[path] = _names_by_line(files[path])
                    if (path, lines) not in sets_by_lines:
                        otherwise = MODULE if is_code(path) else CONTENT  # Jinja runs templates as code.
                        blocks = {names_by_path[path].get(line, otherwise) for line in numbits_to_nums(lines)}
                        sets_by_lines[path, lines] = path, frozenset(blocks)
                    self._block_sets[step].add(sets_by_lines[path, lines])


def _contexts_of(paths: Iterable[str]) -> set[str]:
    return {context for path in paths if (context := bounded_context_of(path))}


def _without_features(block_sets: BlockSets) -> BlockSets:
    return {(path, blocks) for path, blocks in block_sets if not bounded_context_of(path)}


def _names_by_line(file: SourceFile) -> dict[int, str]:
    return {line: name for name, (first, last) in file.lines.items() for line in range(first, last + 1)}
