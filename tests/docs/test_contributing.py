"""The steps of CONTRIBUTING.md that add an operation work in a copy of the project."""

import json
import re
import sys
from pathlib import Path

import pytest

from local.paths import ROOT
from tests.harness import project_copies

pytestmark = pytest.mark.xdist_group("contributing")  # So that the project is copied only once.

CODE_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE_COMMENT = re.compile(r"^# ([\w/]+\.py).*\n", re.MULTILINE)
IMPORTS = {
    "chalicelib/features/tenancy/api_keys/models.py": "from chalicelib.kernel.http.models import Patch\n",
    "chalicelib/features/tenancy/api_keys/operations.py": (
        "from chalicelib.features.tenancy.api_keys.models import ApiKeyPatch\n"
    ),
}
COPIED_PATHS = (
    *("app.py", "chalicelib", "infrastructure", "local", "tests", "docs"),
    *("openapi.json", "pyproject.toml", "README.md"),
)
OPERATION = "update_api_key"


def example_steps() -> list[tuple[str, str]]:
    """Return the file name and code of each step."""
    (block,) = CODE_BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text())
    _, *parts = FILE_COMMENT.split(block)
    return list(zip(parts[::2], parts[1::2], strict=True))


def insert_code(file: Path, block: str, imports: str) -> None:
    """Insert code as a reader of the steps would: entries of a dictionary at its start, other code at the end."""
    text = file.read_text()
    dictionary = re.search(r"^(EXAMPLES|EVENT_TYPES|EXTRA_OPERATIONS): .*\n", text, re.MULTILINE)
    if dictionary:
        text = text[: dictionary.end()] + block + text[dictionary.end() :]
    else:
        text = re.sub(r"^from ", f"{imports}from ", text, count=1, flags=re.MULTILINE) + f"\n\n{block}"
    file.write_text(text)


def run_module(project: Path, *arguments: str) -> str:
    """Run a Python module, which has to succeed, and return its output."""
    return project_copies.run_in_copy([sys.executable, "-m", *arguments], project)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which the steps were followed."""
    copy = project_copies.copy_project(COPIED_PATHS, tmp_path_factory.mktemp("project"), "emulator")
    for name, block in example_steps():
        insert_code(copy / name, block, IMPORTS.get(name, ""))
    (copy / "openapi.json").write_text(run_module(copy, "chalicelib.entrypoints.openapi"))
    run_module(copy, "local.generators.generate")
    run_module(copy, "tests.docs.access_patterns")
    return copy


def test_the_example_takes_fewer_than_30_lines():
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Add an operation\n")[2].partition("\n## ")[0]
    assert len(section.strip().splitlines()) < 30


def test_the_operation_has_a_route_and_documentation(project):
    assert "PATCH" in run_module(project, "local", "routes", OPERATION)
    paths = json.loads((project / "openapi.json").read_text())["paths"]
    documented = paths["/organizations/{organization_id}/api-keys/{api_key_id}"]["patch"]
    assert documented["operationId"] == OPERATION
    assert documented["summary"].startswith("Change the name of an API key. ")
    assert f"`{OPERATION}`" in (project / "docs/reference/access-patterns.md").read_text()


def test_the_operation_passes_the_tests_of_the_catalogue_and_is_listed_as_an_extra_operation(project):
    selection = f"{OPERATION} or test_interface and beyond"
    output = run_module(
        project, "pytest", "tests/catalogue", "-q", "-k", selection, "-p", "no:cacheprovider", "--show-capture=no"
    )
    passed = re.search(r"(\d+) passed", output)
    assert passed, output
    assert int(passed[1]) > 10


def test_the_code_follows_the_style_of_the_project(project):
    files = [name for name, _ in example_steps()]
    run_module(project, "ruff", "check", "--select=F,E,D,ANN,N", *files)
