"""The TypeScript client in `clients/typescript`: generated files, types, package, and calls of the service."""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chalicelib.kernel.core.version import API_VERSION, VERSION
from local.generators import clients
from local.paths import ROOT
from local.seed.organization import person_by_username
from local.tools.node import find_node
from tests.harness.generated_files import require_current_files

CLIENT = ROOT / "clients" / "typescript"
TSC = CLIENT / "node_modules" / "typescript" / "bin" / "tsc"
pytestmark = pytest.mark.xdist_group("clients")


def run_node(*arguments: str | Path, folder: Path = CLIENT, variables: Mapping[str, str] | None = None) -> str:
    """Run a program of Node and return what it printed. Fails with its output if it fails."""
    assert (CLIENT / "node_modules").is_dir(), "`make pytest` installs the Node packages"
    command = [find_node().program, *arguments]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **(variables or {})}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(*files: Path, **variables: str) -> int:
    """Run tests with Node's own runner and return how many passed. Fails if one fails."""
    output = run_node("--import", "tsx", "--test", "--test-reporter", "tap", *files, variables=variables)
    return int(re.findall(r"^# pass (\d+)$", output, re.MULTILINE)[0])


def test_generated_files_are_current(tmp_path):
    folder = CLIENT / "src" / "generated"
    clients.generate_typescript(tmp_path)
    require_current_files(folder, {file.name: file.read_bytes() for file in tmp_path.iterdir()}, "make clients")


def test_types_are_strict():
    run_node(TSC)


def test_its_own_tests_pass():
    assert run_tests(*sorted(CLIENT.glob("test/*.test.ts"))) > 30


def test_the_package_has_the_version_of_the_release():
    manifest = json.loads((CLIENT / "package.json").read_text())
    lock = json.loads((CLIENT / "package-lock.json").read_text())
    assert manifest["version"] == lock["version"] == VERSION
    assert f"API_VERSION = '{API_VERSION}'" in (CLIENT / "src" / "generated" / "resources.ts").read_text()


@pytest.fixture
def consumer(tmp_path: Path) -> Path:
    """A folder in which the built package is installed, with the files that npm would publish."""
    package = tmp_path / "node_modules" / "atrium-client"
    manifest = json.loads((CLIENT / "package.json").read_text())
    run_node(TSC, "--project", "tsconfig.build.json", "--outDir", package / "dist")
    for name in ("package.json", "README.md", "LICENSE"):
        shutil.copy(CLIENT / name, package)
    for name in (*manifest["dependencies"], "openapi-typescript-helpers", "@stablelib", "fast-sha256"):
        (package.parent / name).symlink_to(CLIENT / "node_modules" / name)
    return tmp_path


def test_the_built_package_runs_without_tools(consumer):
    program = """
import { Atrium, NotFound, API_VERSION } from "atrium-client";
import { verifyWebhook, WebhookVerificationError } from "atrium-client/webhooks";
const client = new Atrium({ baseUrl: "http://127.0.0.1:1", maxRetries: 0 });
const failure = await client.me.get().catch((error) => error.name);
let rejection;
try { verifyWebhook("{}", {}, "whsec_AAAA"); } catch (error) { rejection = error instanceof WebhookVerificationError; }
console.log(JSON.stringify([API_VERSION, failure, NotFound.prototype.name, rejection]));
"""
    (consumer / "program.mjs").write_text(program)
    output = json.loads(run_node("program.mjs", folder=consumer))
    assert output == [API_VERSION, "ConnectionFailed", "NotFound", True]


def test_the_examples_of_the_readme_compile(consumer):
    blocks = re.findall(r"^```ts\n(.*?)^```$", (CLIENT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 3
    imports, *statements, receiver = blocks
    declarations = (
        "declare const getAccessToken: (refresh: boolean) => Promise<string>;\ndeclare const organizationId: string;\n"
    )
    (consumer / "calls.ts").write_text(imports + declarations + "".join(statements) + "export {};\n")
    (consumer / "receiver.ts").write_text(receiver)
    options = {
        "strict": True,
        "exactOptionalPropertyTypes": True,
        "noEmit": True,
        "target": "ES2022",
        "lib": ["ES2023", "DOM", "DOM.Iterable"],
        "module": "NodeNext",
        "types": ["node"],
        "typeRoots": [str(CLIENT / "node_modules" / "@types")],
    }
    (consumer / "package.json").write_text('{"type": "module"}')
    (consumer / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    run_node(TSC, folder=consumer)


def test_a_program_uses_the_seeded_service(server, seed_issuer, seeded_service):
    def token(username: str) -> str:
        return seed_issuer.create_token(person_by_username(username))

    tokens = {f"{username.upper()}_TOKEN": token(username) for username in ("maud", "hattie")}
    passed = run_tests(CLIENT / "test" / "service" / "service.test.ts", ATRIUM_URL=server.url, **tokens)
    assert passed > 8
    owner = seeded_service.caller_for(person_by_username("maud"))
    assert names_of_organizations(owner)["Lost and found"] == 1
    creations = [key for method, path, key in server.requests if (method, path) == ("POST", "/organizations")]
    assert max(Counter(creations).values()) > 1, "a retry had another idempotency key"


def names_of_organizations(caller: Any) -> Counter[str]:
    return Counter(each["name"] for each in caller.list_all("/organizations"))
