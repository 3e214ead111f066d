"""Generators of clients and linters accept `openapi.json`, without warnings and with their defaults."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version

from chalicelib.kernel.core.version import API_VERSION, VERSION
from local.tools.node import find_node
from tests.harness.conformance import openapi_document

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "openapi.json"
PACKAGES = HERE / "node_modules"
OFFLINE = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
pytestmark = pytest.mark.xdist_group("clients")  # So that each client is generated only once.


def run_program(*command: str | Path, folder: Path) -> str:
    """Run a program and return what it printed. Fails with its output if it fails."""
    environment = {**os.environ, **OFFLINE, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return output


def run_node(script: str, *arguments: str | Path, folder: Path = HERE) -> str:
    return run_program(find_node().program, PACKAGES / script, *arguments, folder=folder)


@pytest.fixture(scope="module")
def python_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The client that openapi-python-client generates. Warnings are failures."""
    folder = tmp_path_factory.mktemp("python") / "client"
    program = Path(sys.executable).parent / "openapi-python-client"
    command: list[str | Path] = [program, "generate", "--fail-on-warning", "--path", DOCUMENT, "--output-path", folder]
    output = run_program(*command, folder=folder.parent)
    assert "WARNING" not in output
    yield folder
    shutil.rmtree(folder)


def test_redocly_reports_no_warning():
    output = run_node("@redocly/cli/bin/cli.js", "lint", "--config", "redocly.yaml", DOCUMENT)
    assert "Your API description is valid" in output
    assert not re.search(r"\d+ (warning|error)", output), output


# It reads the document for half a minute, and Redocly has most of its rules.
@pytest.mark.exhaustive
def test_spectral_reports_no_warning():
    output = run_node(
        *("@stoplight/spectral-cli/dist/index.js", "lint", "--ruleset", "spectral.yaml", "--fail-severity", "hint"),
        DOCUMENT,
    )
    assert "No results with a severity of 'hint' or higher found" in output


def test_a_program_that_invites_and_accepts_compiles_with_the_types_of_openapi_typescript(tmp_path):
    for name in ("newcomer.ts", "tsconfig.json"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(PACKAGES)
    run_node("openapi-typescript/bin/cli.js", DOCUMENT, "--output", tmp_path / "schema.d.ts", folder=tmp_path)
    run_node("typescript/bin/tsc", "--project", tmp_path, folder=tmp_path)


def test_openapi_python_client_generates_each_operation(python_client):
    generated = {path.stem for path in python_client.glob("*/api/*/*.py")} - {"__init__"}
    documented = {
        operation["operationId"] for path in openapi_document()["paths"].values() for operation in path.values()
    }
    assert generated == documented


def test_classes_of_the_python_client_have_names_without_numbers(python_client):
    modules = [path.stem for path in python_client.glob("*/models/*.py")]
    # The document of OpenAPI itself is the one response without a schema of its own.
    numbered = [name for name in modules if re.search(r"_type_\d|_\d+$", name)]
    assert numbered == ["get_openapi_document_response_200"]
    assert len(modules) > 200


def test_enums_of_the_python_client_have_more_than_one_value(python_client):
    sources = {path.stem: path.read_text() for path in python_client.glob("*/models/*.py")}
    sizes = {
        name: len(re.findall(r"^    [A-Z]\w* = ", text, re.MULTILINE))
        for name, text in sources.items()
        if re.search(r"^class \w+\(\w*Enum\)", text, re.MULTILINE)
    }
    assert sizes
    assert [name for name, size in sizes.items() if size < 2] == []


def test_the_python_client_has_the_version_of_the_release(python_client):
    text = (python_client / "pyproject.toml").read_text()
    assert f'version = "{VERSION}"' in text
    assert str(Version(VERSION)) == VERSION
    assert openapi_document()["info"]["x-api-version"] == API_VERSION
