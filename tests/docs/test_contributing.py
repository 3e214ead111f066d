"""CONTRIBUTING's steps to add an operation, followed in a copy of the project."""

import json
import re
import sys
from pathlib import Path

import pytest

from local.paths import ROOT
from tests.harness import project_copies

pytestmark = pytest.mark.xdist_group("contributing")  # One copy of the project is enough.

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"^# ([\w/]+\.py).*\n", re.MULTILINE)
IMPORTS = {
    "chalicelib/features/tenancy/api_keys/models.py": "from chalicelib.kernel.http.models import Patch\n",
    "chalicelib/features/tenancy/api_keys/operations.py": (
        "from chalicelib.features.tenancy.api_keys.models import ApiKeyPatch\n"
    ),
}
COPIED = (
    "app.py",
    "chalicelib",
    "infrastructure",
    "local",
    "tests",
    "openapi.json",
    "pyproject.toml",
    "README.md",
    "docs",
)
OPERATION = "update_api_key"


def steps() -> list[tuple[str, str]]:
    """Return what CONTRIBUTING adds: file and text."""
    (block,) = BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text())
    _, *parts = FILE.split(block)
    return list(zip(parts[::2], parts[1::2], strict=True))


def put_in(file: Path, block: str, imports: str) -> None:
    """Put a block where a person would: one of many among the others, anything else below; the imports on top."""
    text = file.read_text()
    others = re.search(r"^(EXAMPLES|EVENT_TYPES|BEYOND): .*\n", text, re.MULTILINE)
    if others:
        text = text[: others.end()] + block + text[others.end() :]
    else:
        text = re.sub(r"^from ", f"{imports}from ", text, count=1, flags=re.MULTILINE) + f"\n\n{block}"
    file.write_text(text)


def run(project: Path, *words: str) -> str:
    """Return what a program of the environment printed; it has to succeed."""
    return project_copies.run_in_copy([sys.executable, "-m", *words], project)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which the steps were followed."""
    copy = project_copies.copy_project(COPIED, tmp_path_factory.mktemp("project"), "emulator")
    for name, block in steps():
        put_in(copy / name, block, IMPORTS.get(name, ""))
    (copy / "openapi.json").write_text(run(copy, "chalicelib.entrypoints.openapi"))
    run(copy, "local.generators.generate")
    run(copy, "tests.docs.access_patterns")
    return copy


def test_it_takes_less_than_30_lines() -> None:
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Add an operation\n")[2].partition("\n## ")[0]
    assert len(section.strip().splitlines()) < 30


def test_the_operation_has_its_route_and_its_documentation(project: Path) -> None:
    assert "PATCH" in run(project, "local", "routes", OPERATION)
    paths = json.loads((project / "openapi.json").read_text())["paths"]
    described = paths["/organizations/{organization_id}/api-keys/{api_key_id}"]["patch"]
    assert (described["operationId"], described["summary"]) == (OPERATION, "Change the name of an API key")
    assert f"`{OPERATION}`" in (project / "docs/reference/access-patterns.md").read_text()


def test_the_operation_holds_what_every_operation_holds(project: Path) -> None:
    said = run(
        project, "pytest", "tests/catalogue", "-q", "-k", OPERATION, "-p", "no:cacheprovider", "--show-capture=no"
    )
    passed = re.search(r"(\d+) passed", said)
    assert passed, said
    assert int(passed[1]) > 10


def test_the_operation_is_on_the_list_of_what_is_beyond_the_interface(project: Path) -> None:
    run(project, "pytest", "tests/catalogue/test_interface.py", "-q", "-k", "beyond", "-p", "no:cacheprovider")


def test_the_code_is_of_the_projects_style(project: Path) -> None:
    files = [name for name, _ in steps()]
    run(project, "ruff", "check", "--select=F,E,D,ANN,N", *files)
