"""The offline check of a log believes neither the service nor whoever copied the log."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chalicelib.kernel import checkpoints
from local.verify_log import Broken, main, tree_root, verify
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.organizations import Founded
from tests.harness.workers import Workers

Entry = dict[str, Any]
Altered = Callable[[list[Entry]], list[Entry]]

# The roots of the trees over the first leaves of Certificate Transparency's own test data (RFC 6962).
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


@pytest.fixture
def log(api: Api, organization: Founded, workers: Workers) -> tuple[list[Entry], str, bytes]:
    """The entries of a log, newest first; its checkpoint; the public key."""
    workers.deliver()
    for number in range(3):
        api.patch(organization.path, as_=organization.owner, json={"name": f"Engine {number}"})
    workers.deliver()
    report = api.get(f"{organization.path}/audit-log/verify-integrity", as_=organization.owner).json
    entries = api.items(f"{organization.path}/audit-log", as_=organization.owner)
    return entries, report["checkpoint"], base64.b64decode(api.get("/status").json["auditPublicKey"])


def lines(entries: list[Entry]) -> list[str]:
    return [json.dumps(entry) for entry in entries]


def changed(number: int, **fields: Any) -> Altered:
    return lambda entries: [e | fields if e["sequence"] == number else e for e in entries]


@pytest.mark.parametrize("size", ROOTS)
def test_roots_are_those_of_certificate_transparency(size: int) -> None:
    from hashlib import sha256

    leaves = [sha256(b"\0" + bytes.fromhex(leaf)).digest() for leaf in LEAVES[:size]]
    assert tree_root(leaves).hex() == ROOTS[size]


def test_a_whole_log_verifies_in_any_order(log: tuple[list[Entry], str, bytes]) -> None:
    entries, checkpoint, key = log
    assert f"{len(entries)} entries, whole and unaltered" in verify(lines(entries), checkpoint, key)
    assert verify(lines(entries[::-1]), checkpoint, key) == verify(lines(entries), checkpoint, key)
    assert verify([json.dumps({"items": entries})], checkpoint, key) == verify(lines(entries), checkpoint, key)


def test_what_came_after_the_checkpoint_does_not_count(
    log: tuple[list[Entry], str, bytes], api: Api, organization: Founded, workers: Workers, ada: Person
) -> None:
    _, checkpoint, key = log
    api.patch(organization.path, as_=ada, json={"name": "Later"})
    workers.deliver()
    api.patch(organization.path, as_=ada, json={"name": "Later still, and not in the tree yet"})
    entries = api.items(f"{organization.path}/audit-log", as_=ada)
    assert "whole" in verify(lines(entries), checkpoint, key)


@pytest.mark.parametrize(
    "altered",
    [
        changed(2, occurredAt="2020-01-01T00:00:00.000Z"),
        changed(5, data=None),
        changed(1, sequence=99),
        lambda entries: entries[:-1],
        lambda entries: entries[1:],
        lambda entries: [e | {"sequence": {2: 3, 3: 2}.get(e["sequence"], e["sequence"])} for e in entries],
    ],
    ids=["modified", "emptied", "renumbered", "first removed", "last removed", "reordered"],
)
def test_any_alteration_is_found(altered: Altered, log: tuple[list[Entry], str, bytes]) -> None:
    entries, checkpoint, key = log
    with pytest.raises(Broken):
        verify(lines(altered(entries)), checkpoint, key)


def test_a_checkpoint_of_another_key_proves_nothing(log: tuple[list[Entry], str, bytes]) -> None:
    entries, checkpoint, _ = log
    with pytest.raises(Broken, match="not signed with this key"):
        verify(lines(entries), checkpoint, checkpoints.public_key(b"x" * 32))


def test_the_command_says_what_it_found(
    log: tuple[list[Entry], str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries, checkpoint, key = log
    (tmp_path / "checkpoint").write_text(checkpoint)
    (tmp_path / "log").write_text("\n".join(lines(entries)))
    (tmp_path / "cut").write_text("\n".join(lines(entries[:3])))
    last = [str(tmp_path / "checkpoint"), base64.b64encode(key).decode()]
    assert main([str(tmp_path / "log"), *last]) == 0
    assert main([str(tmp_path / "cut"), *last]) == 1
    said = capsys.readouterr().out
    assert "the signature is right" in said
    assert "sequence 1 is missing" in said
