"""A plugin of pytest that runs the affected tests, and records what they depend on.

With pytest-xdist, each worker records its tests, and the controller stores the recordings of all workers.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import TypeAdapter

from local.paths import ROOT
from local.test_selection.dependency_map import DependencyMap, Recording
from local.test_selection.instrumentation import Instrumentation
from local.test_selection.recorder import COLLECTION, Recorder
from local.test_selection.source_files import MODULE, path_of_module, read_files
from local.test_selection.xdist_names import remove_xdist_group

_RECORDING: Final = "test_dependencies"
_ADAPTER: Final = TypeAdapter(Recording)

recorder: Final = Recorder()
instrumentation: Final = Instrumentation(recorder)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Start recording before `tests/conftest.py` imports the service."""
    instrumentation.start()
    recorder.start()


def pytest_configure(config: pytest.Config) -> None:
    """Add the hooks."""
    config.pluginmanager.register(TestSelection(is_worker=hasattr(config, "workerinput")))


class TestSelection:
    """The hooks of one process."""

    __test__ = False

    def __init__(self, *, is_worker: bool) -> None:
        self._is_worker = is_worker
        self._map = DependencyMap.load()
        self._files = read_files(self._map.files)
        self._selection = self._map.select_tests(self._files)
        self._recordings: list[Recording] = []
        self._collected: set[str] = set()
        self._shared_fixtures: set[tuple[str, str]] = set()

    def pytest_collection(self) -> None:
        """Import the service, after `tests/conftest.py` has set its environment."""
        instrumentation.import_service()

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Ignore the files whose tests are all known and not affected."""
        path = str(collection_path.relative_to(ROOT))
        is_unaffected = path in self._map.files and path not in self._selection.files_to_collect
        return True if is_unaffected and collection_path.name.startswith("test_") else None

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """Record what the import of a file with tests executes."""
        with recorder.record_step(_collection_step(collector)):
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Exclude the known tests that are not affected."""
        unaffected = self._map.recording.tests.keys() - self._selection.tests
        config.hook.pytest_deselected(items=[item for item in items if remove_xdist_group(item.nodeid) in unaffected])
        items[:] = [item for item in items if remove_xdist_group(item.nodeid) not in unaffected]
        self._collected = {remove_xdist_group(item.nodeid) for item in items}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Record a fixture that several tests share as a step."""
        if fixturedef.scope == "function":
            return (yield)
        self._shared_fixtures.add((fixturedef.baseid, fixturedef.argname))
        with recorder.record_step(_fixture_step(fixturedef.baseid, fixturedef.argname)):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        """Record a test."""
        name = remove_xdist_group(item.nodeid)
        with recorder.record_test(name):
            recorder.depend_on_step(_collection_step(item.getparent(pytest.Module)))
            for path in _operation_files(item):
                recorder.depend_on_block(path, MODULE)
            try:
                return (yield)
            finally:
                for folder_or_file, fixture in self._shared_fixtures:
                    if fixture in item.fixturenames and name.startswith(folder_or_file):
                        recorder.depend_on_step(_fixture_step(folder_or_file, fixture))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the result and the time of a test."""
        recorder.note_result(remove_xdist_group(report.nodeid), has_passed=not report.failed, seconds=report.duration)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Store the recording, unless the run was interrupted or no worker has returned one."""
        if self._is_worker:
            session.config.workeroutput[_RECORDING] = _ADAPTER.dump_json(self._finish_recording())  # type: ignore[attr-defined]
        elif exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
            has_workers = session.config.pluginmanager.hasplugin("dsession")
            recordings = self._recordings if has_workers else [self._finish_recording()]
            if recordings:
                self._map.update_tests(self._files, recordings, self._selection)
                self._map.save()

    def _finish_recording(self) -> Recording:
        recording = recorder.finish_recording(self._files)
        recording.collected = self._collected
        return recording

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the recording of a worker. A worker that died has none."""
        if recording := getattr(node, "workeroutput", {}).get(_RECORDING):
            self._recordings.append(_ADAPTER.validate_json(recording))


def _collection_step(collector: pytest.Collector | None) -> str:
    return f"{COLLECTION}{collector.path.relative_to(ROOT)}" if collector else COLLECTION


def _fixture_step(folder_or_file: str, name: str) -> str:
    return f"fixture {name} of {folder_or_file}"


def _operation_files(item: pytest.Function) -> list[str]:
    """Return the file of each operation with which a test is parametrized."""
    from chalicelib.kernel.operations.operation import Operation

    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return [path_of_module(each.function.__module__) for each in parameters if isinstance(each, Operation)]
