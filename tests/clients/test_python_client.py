"""The Python client in `clients/python`: generated files, types, package, and a method for each operation."""

import inspect
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from packaging.requirements import Requirement
from pydantic import BaseModel

import atrium_client
from chalicelib.entrypoints.openapi.client_operations import ClientOperation, iter_operations
from chalicelib.entrypoints.openapi.python_names import python_name
from chalicelib.kernel.core.version import API_VERSION, VERSION
from local.generators import clients
from local.generators.python_client.types import iter_references
from local.paths import ROOT
from tests.clients.recorded_requests import RecordingService, python_blocks
from tests.harness.conformance import openapi_document
from tests.harness.coroutines import run_coroutine
from tests.harness.generated_files import require_current_file

CLIENT = ROOT / "clients" / "python"
PACKAGE = CLIENT / "src" / "atrium_client"
OPERATIONS = list(iter_operations(openapi_document()))
PROGRAM = Path(__file__).with_name("python_program.py")
CLIENT_OF_NOBODY = RecordingService().client()
pytestmark = pytest.mark.xdist_group("clients")


def method_of(client: object, operation: Any) -> Any:
    for name in operation.group.split("."):
        client = getattr(client, python_name(name))
    return getattr(client, python_name(operation.method))


def test_fields_that_are_called_like_annotations_are_no_annotations():
    fields = {
        "example": {"$ref": "#/components/schemas/A"},
        "properties": {"properties": {"$ref": {"type": "string"}, "b": {"$ref": "#/components/schemas/B"}}},
    }
    schema = {"properties": fields, "example": {"$ref": "#/components/schemas/C"}}
    assert list(iter_references(schema)) == ["A", "B"]


def test_generated_files_are_current(tmp_path):
    clients.generate_python(tmp_path)
    generated = {path.name: path for path in PACKAGE.glob("*.py") if "`make clients` writes" in path.read_text()[:300]}
    assert {file.name for file in tmp_path.iterdir()} == generated.keys()
    for file in tmp_path.iterdir():
        require_current_file(generated[file.name], file.read_bytes(), "make clients")


def check_types(*files: Path) -> None:
    """Check programs and the client as mypy does without settings. Fails with its errors."""
    cache = ROOT / ".mypy_cache" / "client"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(cache)]
    variables = {**os.environ, "MYPYPATH": str(CLIENT / "src")}
    done = subprocess.run([*command, *map(str, files)], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_of_programs_are_strict(tmp_path):
    imports, *statements, receiver = python_blocks(CLIENT / "README.md")
    declarations = "organization_id: str\ndef get_access_token(refresh: bool) -> str:\n    return str(refresh)\n"
    (tmp_path / "readme.py").write_text(imports + declarations + "".join(statements))
    (tmp_path / "receiver.py").write_text(receiver)
    check_types(PROGRAM, *tmp_path.glob("*.py"))


def test_each_operation_is_a_method_that_sends_its_request():
    for operation in OPERATIONS:
        for is_async in (False, True):
            sent = send(operation, is_async=is_async)
            values = {name: f"{name}/1" for name in operation.path_parameters}
            assert sent.method == operation.http_method
            assert sent.url.raw_path.decode().partition("?")[0] == operation.path.format(
                **{name: quote(value, safe="") for name, value in values.items()}
            )
    assert len(OPERATIONS) > 200


def send(operation: ClientOperation, *, is_async: bool) -> httpx.Request:
    """Call the method of an operation with values for all that it requires, and return its request."""
    service = RecordingService(httpx.Response(404))
    client = service.async_client() if is_async else service.client()
    method = method_of(client, operation)
    parameters = inspect.signature(method).parameters.values()
    required = [each for each in parameters if each.default is inspect.Parameter.empty]
    keywords = {each.name: "value" for each in required if each.kind is inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(atrium_client.UnexpectedAnswer):
        finish(method(*(f"{name}/1" for name in operation.path_parameters), **keywords))
    return service.requests[0]


def finish(result: Any) -> None:
    """Send the request of a list, or wait for the answer of an asynchronous call. Others have been sent."""
    pending = result.first_page() if hasattr(result, "first_page") else result
    run_coroutine(pending)


def test_parameters_are_those_of_the_operation():
    """A parameter that is missing in a method, or that the operation does not have, is found here."""
    for operation in OPERATIONS:
        parameters = set(inspect.signature(method_of(CLIENT_OF_NOBODY, operation)).parameters)
        schema = openapi_document()["components"]["schemas"].get(operation.body or "", {})
        names = [*operation.path_parameters, *(each.name for each in operation.query), *schema.get("properties", ())]
        options = {"Idempotency-Key": "idempotency_key", "If-Match": "if_match", "Lead-Token": "lead_token"}
        expected = {python_name(name) for name in names} | {"timeout"}
        if operation.http_method != "GET":
            options["If-None-Match"] = "if_none_match"
        expected |= {options[each.name] for each in operation.headers if each.name in options}
        assert parameters == expected, operation.id


def test_models_have_names_without_numbers():
    models = inspect.getmembers(atrium_client.models, inspect.isclass)
    names = [name for name, model in models if issubclass(model, BaseModel)]
    assert len(names) > 150
    assert [name for name in names if re.search(r"\d$|Type\d|Inner", name)] == []


def test_the_package_has_the_version_of_the_release():
    assert atrium_client.__version__ == VERSION
    assert atrium_client.API_VERSION == API_VERSION


def test_the_package_requires_the_libraries_that_it_imports():
    manifest = tomllib.loads((CLIENT / "pyproject.toml").read_text())
    required = {Requirement(each).name for each in manifest["project"]["dependencies"]}
    sources = [path.read_text() for path in PACKAGE.glob("*.py")]
    imported = {name for text in sources for name in re.findall(r"^(?:    )?(?:from|import) (\w+)", text, re.MULTILINE)}
    assert imported - sys.stdlib_module_names - {"atrium_client"} == required
    for each in manifest["project"]["dependencies"]:
        assert Requirement(each).specifier.contains(version(Requirement(each).name)), each


def test_the_package_has_what_is_published():
    assert (PACKAGE / "py.typed").is_file()
    assert (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert len((CLIENT / "README.md").read_text().splitlines()) < 150
