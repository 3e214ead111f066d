"""`make test-changed` selects the tests that depend on a change, also through code that has run for another test."""

import re
import sys

import pytest

from local.test_selection import source_files
from local.test_selection.dependency_map import FILE, DependencyMap, RecordedTest, Recording
from tests.harness.project_copies import copy_project, run_in_copy

pytestmark = pytest.mark.exhaustive

PROJECT = (
    ".gitignore",
    "app.py",
    "chalicelib",
    "infrastructure",
    "local",
    "openapi.json",
    "pyproject.toml",
    "tests/conftest.py",
    "tests/harness",
)
SAMPLE = "tests/local/selection_sample"
CODE = f"{SAMPLE}/once_per_process.py"
TESTS = {"test_alone", "test_fixture", "test_cache", "test_scenario", "test_rejected_request"}
REQUEST = {"test_rejected_request"}

CHANGES = {
    "a function": (CODE, "in one test", "changed", {"test_alone"}),
    "a fixture of the session": (CODE, "in a fixture", "changed", {"test_fixture"}),
    "a cached function": (CODE, "in a cached function", "changed", {"test_cache"}),
    "a file": (f"{SAMPLE}/data.txt", "in a file", "changed", {"test_cache"}),
    "a new file in a listed folder": (f"{SAMPLE}/new.txt", "", "new", {"test_cache"}),
    "a file that is read at import": (f"{SAMPLE}/read_at_import.md", "Read", "Changed", TESTS),
    "a scenario": (CODE, "in a scenario", "changed", {"test_scenario"}),
    "code that runs at import": (CODE, "at import", "changed", TESTS),
    "a cached property": ("chalicelib/kernel/operations/operation.py", "is not NoneType", "is NoneType", REQUEST),
    "the declaration of a field": ("chalicelib/features/leads/models.py", "source: Name", "source: Text", REQUEST),
    "another feature": ("chalicelib/features/research/models/schemas.py", "id: Uuid", "id: str", set()),
    "a new test": (
        f"{SAMPLE}/test_sample.py",
        "def test_alone",
        "def test_new():\n    pass\n\n\ndef test_alone",
        TESTS,
    ),
    "a comment": (CODE, "\n\n\n", "\n\n# Changed.\n", set()),
    "the version of a library": ("pyproject.toml", "[tool.ruff]", "[tool.ruff] # Changed.", TESTS),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with the tests of the sample, and the recording of these."""
    folder = tmp_path_factory.mktemp("project")
    (folder / SAMPLE).parent.mkdir(parents=True)
    copy_project([*PROJECT, SAMPLE], folder)
    (folder / SAMPLE / "sample_tests.py").rename(folder / SAMPLE / "test_sample.py")
    run_in_copy(["git", "init"], folder)
    output = run_in_copy(["bash", "-c", f"{sys.executable} -m local.test_selection 2>&1 || true"], folder)
    assert "1 failed, 9 passed" in output, output
    return folder


@pytest.mark.parametrize(("path", "old", "new", "selected"), CHANGES.values(), ids=CHANGES)
def test_a_change_selects_the_tests_that_depend_on_it_and_those_that_failed(
    project, monkeypatch, path, old, new, selected
):
    monkeypatch.setattr(source_files, "ROOT", project)
    recorded = DependencyMap.load(project / FILE.name)
    file = project / path
    content = file.read_text() if file.exists() else ""
    assert old in content
    file.write_text(content.replace(old, new, 1))
    try:
        selection = recorded.select_tests(source_files.read_files(recorded.files))
    finally:
        file.write_text(content) if content else file.unlink()
    functions = {name: re.split(r"::|\[", name)[1] for name in recorded.recording.tests}
    assert selection.tests == {name for name, each in functions.items() if each in selected | {"test_failing"}}


def test_a_test_whose_process_died_runs_again_and_one_that_was_removed_is_forgotten():
    recorded = DependencyMap()
    for collected in ({"finished", "unfinished"}, {"finished"}):
        recording = Recording(tests={"finished": RecordedTest()}, collected=collected)
        recorded.update_tests({}, [recording], recorded.select_tests({}))
        assert recorded.select_tests({}).tests == collected - {"finished"}
