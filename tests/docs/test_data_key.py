"""The command by which a data key is made makes one that the service takes."""

import argparse
import re
import shlex
from typing import Any

import pytest

from chalicelib.kernel import aws
from chalicelib.kernel.encoding import to_base64
from chalicelib.kernel.sealing import seal, unseal
from local.folders import ROOT
from tests.conftest import Configure
from tests.harness.data_keys import wrapped

COMMAND = re.compile(r"^    aws kms ((?:.*\\\n)*.*)", re.MULTILINE)


def documented() -> dict[str, Any]:
    """Return what the documented command asks of KMS, as boto3 names it."""
    (command,) = COMMAND.findall((ROOT / "docs/adr/0013-data-key.md").read_text())
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["generate-data-key-without-plaintext"])
    for name in ("key-id", "key-spec", "encryption-context", "query", "output"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args(shlex.split(command.replace("\\\n", "")))
    assert (given.query, given.output) == ("CiphertextBlob", "text")
    context = dict(pair.split("=") for pair in given.encryption_context.split(","))
    return {"KeyId": given.key_id, "KeySpec": given.key_spec, "EncryptionContext": context}


@pytest.mark.usefixtures("aws")
def test_the_documented_command_makes_a_data_key(configure: Configure) -> None:
    wrapped()  # The alias is there.
    answer = aws.client("kms").generate_data_key_without_plaintext(**documented())
    configure(data_key=f"kms:{to_base64(answer['CiphertextBlob'])}")
    assert unseal(seal(b"secret", "a place"), "a place") == b"secret"
