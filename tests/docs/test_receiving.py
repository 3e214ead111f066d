"""What `docs/guides/webhooks.md` tells receivers to do believes what Atrium signs, and nothing else.

Its lines are run as they stand there, in Python and in Node, and so are those with the official packages.
"""

import json
import re
import runpy
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
from standardwebhooks import WebhookVerificationError

from chalicelib.features.notifications.webhooks.models.standard_webhooks import (
    decode_secret,
    generate_secret,
    signed_headers,
)
from chalicelib.kernel.core.encoding import to_base64
from local.paths import ROOT

BLOCKS: Final = re.compile(r"^```(python|js)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PACKAGES: Final = ROOT / "tests/docs/receiver/node_modules"
EVENT: Final = {
    "type": "organization.updated",
    "timestamp": "2026-11-21T12:00:00.000Z",
    "data": {"name": "Zoë's Mühle ⚙"},
    "organizationId": "01939d3c-5f2e-7c4e-9d3a-0242ac120002",
    "sequence": 42,
}
ID: Final = "01939d3c-5f2e-7c4e-9d3a-0242ac120009"


@dataclass(frozen=True)
class Delivery:
    """A message as it reaches a receiver."""

    headers: Mapping[str, str]
    body: bytes


Receiver = Callable[[str, Delivery], Any]
"""Returns the event of a message by a secret. Raises Refused."""


class Refused(Exception):
    """The receiver does not believe it."""


def delivery(*secrets: str, seconds_ago: int = 0) -> Delivery:
    """Return a message as Atrium sends it, signed with each of the secrets."""
    body = json.dumps(EVENT, ensure_ascii=False).encode()
    return Delivery(signed_headers(map(decode_secret, secrets), ID, int(time.time()) - seconds_ago, body), body)


def with_headers(message: Delivery, **changed: str | None) -> Delivery:
    """Return a message with other headers; None takes one away."""
    named = {f"webhook-{name}": value for name, value in changed.items()}
    merged = {**message.headers, **named}
    return replace(message, headers={name: value for name, value in merged.items() if value is not None})


def snippets(language: str) -> tuple[str, str]:
    """Return the document's two blocks of a language: without a package, and with the official one."""
    own, official = (
        text for found, text in BLOCKS.findall((ROOT / "docs/guides/webhooks.md").read_text()) if found == language
    )
    return own, official


def in_python(folder: Path) -> Receiver:
    """Return a receiver that calls the documented function."""
    file = folder / "own.py"
    file.write_text(snippets("python")[0])
    verified = runpy.run_path(str(file))["verified"]

    def receive(secret: str, message: Delivery) -> Any:
        try:
            return verified(secret, message.headers, message.body)
        except ValueError as refusal:
            raise Refused from refusal

    return receive


def in_python_by_the_package(folder: Path) -> Receiver:
    """Return a receiver that runs the documented two lines."""
    file = folder / "official.py"
    file.write_text(snippets("python")[1])

    def receive(secret: str, message: Delivery) -> Any:
        known = {"secret": secret, "headers": message.headers, "body": message.body}
        try:
            return runpy.run_path(str(file), known)["event"]
        except (WebhookVerificationError, ValueError) as refusal:
            raise Refused from refusal

    return receive


def in_javascript(folder: Path) -> Receiver:
    """Return a receiver that calls the documented function in Node."""
    return in_node(folder, snippets("js")[0])


def in_javascript_by_the_package(folder: Path) -> Receiver:
    """Return a receiver that runs the documented two lines in Node."""
    imports, _, verifying = snippets("js")[1].partition("\n")
    return in_node(
        folder, f"{imports}\nexport function verified(secret, headers, body) {{\n{verifying}return event;\n}}\n"
    )


def in_node(folder: Path, module: str) -> Receiver:
    """Return a receiver that lets Node import a module and call its `verified`; only what that throws is a refusal."""
    (folder / "verified.mjs").write_text(module)
    (folder / "receive.mjs").write_text(
        """
import { readFileSync } from "node:fs";
import { verified } from "./verified.mjs";

const { secret, headers, body } = JSON.parse(readFileSync(0));
let answer;
try {
  answer = { event: verified(secret, headers, Buffer.from(body, "base64")) };
} catch (error) {
  answer = { refused: error.message };
}
console.log(JSON.stringify(answer));
"""
    )
    node = shutil.which("node")
    assert node, "Node is needed; see README.md"
    assert PACKAGES.is_dir(), "`make pytest` installs what Node needs"
    (folder / "node_modules").symlink_to(PACKAGES)

    def receive(secret: str, message: Delivery) -> Any:
        given = json.dumps({"secret": secret, "headers": message.headers, "body": to_base64(message.body)})
        command = [node, str(folder / "receive.mjs")]
        answer = json.loads(subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout)
        if "event" not in answer:
            raise Refused(answer["refused"])
        return answer["event"]

    return receive


@pytest.fixture(
    params=[in_python, in_python_by_the_package, in_javascript, in_javascript_by_the_package],
    ids=lambda made: made.__name__,
)
def receive(request: pytest.FixtureRequest, tmp_path: Path) -> Receiver:
    """Each of the documented ways to receive."""
    made: Receiver = request.param(tmp_path)
    return made


@pytest.fixture
def secret() -> str:
    """The secret of a webhook."""
    return generate_secret()


def test_what_atrium_signs_is_believed(receive: Receiver, secret: str) -> None:
    assert receive(secret, delivery(secret)) == EVENT


@pytest.mark.parametrize("size", [24, 64])
def test_secrets_of_every_length_are_understood(size: int, receive: Receiver) -> None:
    own = f"whsec_{to_base64(bytes(range(255, 255 - size, -1)))}"  # with + and / in it
    assert receive(own, delivery(own)) == EVENT


def test_while_a_secret_is_rotated_the_former_and_the_new_one_do(receive: Receiver, secret: str) -> None:
    former = generate_secret()
    message = delivery(secret, former)
    assert receive(former, message) == EVENT
    assert receive(secret, message) == EVENT
    with pytest.raises(Refused):
        receive(generate_secret(), message)


def test_another_secret_is_refused(receive: Receiver, secret: str) -> None:
    with pytest.raises(Refused):
        receive(secret, delivery(generate_secret()))


def test_an_altered_body_is_refused(receive: Receiver, secret: str) -> None:
    message = delivery(secret)
    with pytest.raises(Refused):
        receive(secret, replace(message, body=message.body.replace(b"42", b"43")))


@pytest.mark.parametrize("seconds", [-400, 310])
def test_what_was_signed_long_ago_or_in_the_future_is_refused(seconds: int, receive: Receiver, secret: str) -> None:
    with pytest.raises(Refused):
        receive(secret, delivery(secret, seconds_ago=seconds))


@pytest.mark.parametrize("seconds", [-280, 280])
def test_clocks_may_differ_by_minutes(seconds: int, receive: Receiver, secret: str) -> None:
    assert receive(secret, delivery(secret, seconds_ago=seconds)) == EVENT


def test_an_old_message_can_not_be_made_new(receive: Receiver, secret: str) -> None:
    with pytest.raises(Refused):
        receive(secret, with_headers(delivery(secret, seconds_ago=400), timestamp=str(int(time.time()))))


def test_another_id_is_refused(receive: Receiver, secret: str) -> None:
    with pytest.raises(Refused):
        receive(secret, with_headers(delivery(secret), id="01939d3c-5f2e-7c4e-9d3a-0242ac12000a"))


@pytest.mark.parametrize("name", ["id", "timestamp", "signature"])
@pytest.mark.parametrize("value", [None, "", "NaN", "v1", "v1,", "v1,AAAA", "v2,", "é"])
def test_headers_that_are_missing_or_mean_nothing_are_refused(
    name: str, value: str | None, receive: Receiver, secret: str
) -> None:
    with pytest.raises(Refused):
        receive(secret, with_headers(delivery(secret), **{name: value}))


def test_a_signature_of_another_version_counts_for_nothing(receive: Receiver, secret: str) -> None:
    message = delivery(secret)
    signature = message.headers["webhook-signature"]
    with pytest.raises(Refused):
        receive(secret, with_headers(message, signature=signature.replace("v1,", "v1a,")))
    assert receive(secret, with_headers(message, signature=f"v1a,AAAA {signature}")) == EVENT


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_lines_without_a_package_are_ten_at_most(language: str) -> None:
    inside = [line for line in snippets(language)[0].splitlines() if line.startswith("  ")]
    assert 0 < len(inside) <= 10
