"""The receivers of `docs/guides/webhooks.md` accept the deliveries that Atrium signs, and no others.

The tests run the documented code in Python and in Node, with and without the official packages.
"""

import json
import re
import runpy
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
from standardwebhooks import WebhookVerificationError

from chalicelib.features.notifications.models.standard_webhooks import (
    decode_secret,
    generate_secret,
    signed_headers,
)
from chalicelib.kernel.core.encoding import to_base64
from local.paths import ROOT
from local.tools.node import find_node

BLOCKS: Final = re.compile(r"^```(python|js)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PACKAGES: Final = ROOT / "tests/docs/receiver/node_modules"
EVENT: Final = {
    "type": "organization.updated",
    "timestamp": "2026-11-21T12:00:00.000Z",
    "data": {"name": "Zoë's Mühle ⚙"},
    "organizationId": "01939d3c-5f2e-7c4e-9d3a-0242ac120002",
    "sequence": 42,
}
DELIVERY_ID: Final = "01939d3c-5f2e-7c4e-9d3a-0242ac120009"


@dataclass(frozen=True)
class Delivery:
    """A request as it reaches a receiver."""

    headers: Mapping[str, str]
    body: bytes


Receiver = Callable[[str, Delivery], Any]
"""Verifies a delivery with a secret and returns its event. Raises VerificationError."""


class VerificationError(Exception):
    """The receiver rejects the delivery."""


def create_delivery(*secrets: str, seconds_ago: int = 0) -> Delivery:
    """Return a delivery as Atrium sends it, signed with each of the secrets."""
    body = json.dumps(EVENT, ensure_ascii=False).encode()
    sent_at = int(time.time()) - seconds_ago
    return Delivery(signed_headers(map(decode_secret, secrets), DELIVERY_ID, sent_at, body), body)


def with_headers(delivery: Delivery, **changed: str | None) -> Delivery:
    """Return a delivery with changed headers. None removes a header."""
    changed_headers = {f"webhook-{name}": value for name, value in changed.items()}
    merged = {**delivery.headers, **changed_headers}
    return replace(delivery, headers={name: value for name, value in merged.items() if value is not None})


def snippets(language: str) -> tuple[str, str]:
    """Return the two code blocks of a language: without a package, and with the official one."""
    blocks = BLOCKS.findall((ROOT / "docs/guides/webhooks.md").read_text())
    own, official = (text for block_language, text in blocks if block_language == language)
    return own, official


def create_python_receiver(folder: Path, code: str) -> Receiver:
    """Return a receiver that runs documented code: it defines the function `verified`, or sets `event`."""
    file = folder / "receiver.py"
    file.write_text(code)

    def receive(secret: str, delivery: Delivery) -> Any:
        variables = {"secret": secret, "headers": delivery.headers, "body": delivery.body}
        try:
            if "def verified(" in code:
                return runpy.run_path(str(file))["verified"](*variables.values())
            return runpy.run_path(str(file), variables)["event"]
        except (WebhookVerificationError, ValueError) as error:
            raise VerificationError from error

    return receive


def create_node_receiver(folder: Path, module: str) -> Receiver:
    """Return a receiver that calls the function `verified` of a module in Node. Only its exceptions are rejections."""
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
  answer = { rejection: error.message };
}
console.log(JSON.stringify(answer));
"""
    )
    assert PACKAGES.is_dir(), "`make pytest` installs the Node packages"
    (folder / "node_modules").symlink_to(PACKAGES)

    def receive(secret: str, delivery: Delivery) -> Any:
        process_input = json.dumps({"secret": secret, "headers": delivery.headers, "body": to_base64(delivery.body)})
        command = [find_node().program, str(folder / "receive.mjs")]
        answer = json.loads(
            subprocess.run(command, input=process_input, capture_output=True, text=True, check=True).stdout
        )
        if "event" not in answer:
            raise VerificationError(answer["rejection"])
        return answer["event"]

    return receive


@pytest.fixture(params=["python", "python package", "js", "js package"])
def receive(request, tmp_path):
    """Each of the documented receivers: those without and those with the official package."""
    language, _, package = request.param.partition(" ")
    code = snippets(language)[1 if package else 0]
    if language == "python":
        return create_python_receiver(tmp_path, code)
    if package:
        imports, _, statements = code.partition("\n")
        code = f"{imports}\nexport function verified(secret, headers, body) {{\n{statements}return event;\n}}\n"
    return create_node_receiver(tmp_path, code)


SECRET: Final = generate_secret()
FORMER_SECRET: Final = generate_secret()


def test_a_signed_delivery_is_accepted(receive):
    with_slash_and_plus = [f"whsec_{to_base64(bytes(range(255, 255 - size, -1)))}" for size in (24, 64)]
    for secret in (SECRET, *with_slash_and_plus):
        assert receive(secret, create_delivery(secret)) == EVENT
    rotated = create_delivery(SECRET, FORMER_SECRET)
    assert receive(SECRET, rotated) == receive(FORMER_SECRET, rotated) == EVENT
    for seconds in (-280, 280):
        assert receive(SECRET, create_delivery(SECRET, seconds_ago=seconds)) == EVENT
    signed = create_delivery(SECRET)
    other_version = f"v1a,AAAA {signed.headers['webhook-signature']}"
    assert receive(SECRET, with_headers(signed, signature=other_version)) == EVENT


REJECTED: Final[dict[str, Callable[[Delivery], Delivery]]] = {
    "signed with another secret": lambda _: create_delivery(generate_secret(), FORMER_SECRET),
    "altered body": lambda signed: replace(signed, body=signed.body.replace(b"42", b"43")),
    "too new": lambda _: create_delivery(SECRET, seconds_ago=-400),
    "too old": lambda _: create_delivery(SECRET, seconds_ago=310),
    "changed time": lambda signed: with_headers(
        create_delivery(SECRET, seconds_ago=400), timestamp=signed.headers["webhook-timestamp"]
    ),
    "changed id": lambda signed: with_headers(signed, id="01939d3c-5f2e-7c4e-9d3a-0242ac12000a"),
    "another version": lambda signed: with_headers(
        signed, signature=signed.headers["webhook-signature"].replace("v1,", "v1a,")
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_any_other_delivery_is_rejected(name, receive):
    with pytest.raises(VerificationError):
        receive(SECRET, REJECTED[name](create_delivery(SECRET)))


@pytest.mark.parametrize("name", ["id", "timestamp", "signature"])
@pytest.mark.parametrize("value", [None, "", "NaN", "v1", "v1,", "v1,AAAA", "v2,", "é"])
def test_missing_or_malformed_headers_are_rejected(name, value, receive):
    with pytest.raises(VerificationError):
        receive(SECRET, with_headers(create_delivery(SECRET), **{name: value}))


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_function_without_a_package_has_at_most_ten_lines(language):
    body_lines = [line for line in snippets(language)[0].splitlines() if line.startswith("  ")]
    assert 0 < len(body_lines) <= 10
