"""The samples of the clients in the OpenAPI document: each has the types of its client and makes its request."""

import json
import shlex
import textwrap
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx
import pytest

from chalicelib.entrypoints.openapi import build_document
from chalicelib.entrypoints.openapi.client_operations import iter_operations
from tests.clients.recorded_requests import RecordingService, example_of, json_answer
from tests.clients.test_python_client import check_types
from tests.clients.test_typescript_client import CLIENT as TYPESCRIPT_CLIENT
from tests.clients.test_typescript_client import TSC, run_node

DOCUMENT = build_document()
OPERATIONS = list(iter_operations(DOCUMENT))
pytestmark = pytest.mark.xdist_group("clients")


def samples_of(operation: Any) -> dict[str, str]:
    """Return the samples of an operation by their labels."""
    described = DOCUMENT["paths"][operation.path][operation.http_method.lower()]
    return {each["label"]: each["source"] for each in described["x-codeSamples"]}


def test_each_operation_has_a_sample_for_curl_and_for_each_client():
    assert len(OPERATIONS) > 200
    assert {tuple(samples_of(operation)) for operation in OPERATIONS} == {("curl", "TypeScript", "Python")}


def test_samples_have_the_types_of_the_typescript_client(tmp_path):
    source = start = "import { Atrium } from 'atrium-client';\n"
    for operation in OPERATIONS:
        first, *lines = samples_of(operation)["TypeScript"].splitlines()
        assert f"{first}\n" == start
        source += f"async function {operation.id}() {{\n" + "\n".join(lines) + "\n}\n"
    functions = ", ".join(operation.id for operation in OPERATIONS)
    (tmp_path / "samples.ts").write_text(f"{source}export const SAMPLES = [{functions}];\n")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    options = {
        "paths": {"atrium-client": [str(TYPESCRIPT_CLIENT / "src" / "index.ts")]},
        "typeRoots": [str(TYPESCRIPT_CLIENT / "node_modules" / "@types")],
        "types": ["node"],
    }
    configuration = {"extends": str(TYPESCRIPT_CLIENT / "tsconfig.json"), "compilerOptions": options}
    (tmp_path / "tsconfig.json").write_text(json.dumps({**configuration, "include": ["samples.ts"]}))
    run_node(TSC, "--project", tmp_path)


def test_samples_have_the_types_of_the_python_client(tmp_path):
    source = "import os\nfrom atrium_client import Atrium, models\n"
    for operation in OPERATIONS:
        statements = samples_of(operation)["Python"].partition("\n\nclient = ")[2]
        source += f"def {operation.id}() -> None:\n" + textwrap.indent(f"client = {statements}\n", "    ")
    (tmp_path / "samples.py").write_text(source)
    check_types(tmp_path / "samples.py")


@pytest.fixture
def service(monkeypatch):
    """A service that answers the next sample, in place of the network."""
    recording = RecordingService()
    http_client = httpx.Client(transport=httpx.MockTransport(recording.handle))
    monkeypatch.setattr("atrium_client._client.httpx.Client", lambda: http_client)
    monkeypatch.setenv("TOKEN", "secret-token")
    return recording


def test_samples_in_python_make_the_request_of_the_sample_for_curl(service, capsys):
    for operation in OPERATIONS:
        service.answers = iter([answer_for(operation)])
        service.requests.clear()
        samples = samples_of(operation)
        exec(compile(samples["Python"], operation.id, "exec"), {})  # noqa: S102 - the project's own sample
        (request,) = service.requests
        assert comparable_request(request) == comparable_curl(samples["curl"]), operation.id
    assert len(capsys.readouterr().out.splitlines()) > 150


def answer_for(operation: Any) -> httpx.Response:
    """Return a response with the example of the operation's result."""
    if operation.is_text:
        return httpx.Response(200, text="text")
    if operation.result is None:
        return httpx.Response(204)
    return json_answer(example_of(operation.result) if operation.result else {"openapi": "3.1.0"})


def comparable_request(request: httpx.Request) -> dict[str, Any]:
    tokens = {name: request.headers.get(name) for name in ("Authorization", "Link-Token", "Lead-Token")}
    return {
        "method": request.method,
        "path": unquote(request.url.path),
        "query": dict(request.url.params),
        "body": json.loads(request.read() or "null"),
        "tokens": {name: value for name, value in tokens.items() if value},
    }


def comparable_curl(sample: str) -> dict[str, Any]:
    _, address, *options = shlex.split(sample.replace("\\\n", " "))
    pairs = list(zip(options[::2], options[1::2], strict=True))
    values = dict(pairs)
    headers = dict(value.split(": ", 1) for option, value in pairs if option == "-H")
    headers.pop("Content-Type", None)
    url = urlsplit(address)
    return {
        "method": values.get("-X", "POST" if "-d" in values else "GET"),
        "path": unquote(url.path),
        "query": dict(parse_qsl(url.query)),
        "body": json.loads(values.get("-d", "null")),
        "tokens": {name: value.replace("$TOKEN", "secret-token") for name, value in headers.items()},
    }
