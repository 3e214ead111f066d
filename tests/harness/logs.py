"""A log as it is verified over HTTP, and as someone with access to the table sees and alters it."""

from hashlib import sha256
from typing import Any, Final

from chalicelib.kernel.audit_log.mac_chains import shard_of
from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint
from tests.harness import cloud
from tests.harness.api import Api, Json
from tests.harness.cloud import Item
from tests.harness.organizations import Founded
from tests.harness.workers import Workers

UNLOGGED: Final = ("updatedAt", "version")
"""Fields whose change goes without saying."""


def log_of(api: Api, organization: Founded, **query: object) -> list[Json]:
    """Return the entries as the owner sees them, the newest first."""
    return api.items(f"{organization.path}/audit-log", as_=organization.owner, query=query)


def differences(before: Json, now: Json) -> list[Json]:
    """Return what an entry says of the difference between two states of a record, as callers see it."""
    return [
        {"field": name, "from": before.get(name), "to": now.get(name)}
        for name in {**now, **before}
        if before.get(name) != now.get(name) and name not in UNLOGGED
    ]


def verify(api: Api, organization: Founded, **query: object) -> Json:
    answer = api.get(f"{organization.path}/audit-log/verify-integrity", as_=organization.owner, query=query)
    assert answer.status == 200, answer.text
    return answer.json


def finding(api: Api, organization: Founded, **query: object) -> tuple[object, object]:
    """Return what is found, and where; a whole log is found valid."""
    report = verify(api, organization, **query)
    assert report["valid"] == (report["failure"] is None)
    assert report["failure"] is None or report["nextCursor"] is None
    return report["failure"], report["firstInvalidSequence"]


def grow(api: Api, workers: Workers, organization: Founded, entries: int = 1) -> None:
    """Let a log get so many entries more."""
    for n in range(entries):
        body = {"name": f"Name {n} after {head(organization)['size']}"}
        assert api.patch(organization.path, as_=organization.owner, json=body).status == 200
    workers.deliver()


def entry(organization: Founded, sequence: int) -> Item:
    return next(
        item for item in cloud.stored() if item["pk"] == f"A#{organization.id}" and item.get("sequence") == sequence
    )


def head(organization: Founded) -> Item:
    return next(item for item in cloud.stored() if (item["pk"], item["sk"]) == (f"Q#{organization.id}", "!"))


def chains(organization: Founded) -> list[Item]:
    """Return the items that say how far the chains of a log are."""
    return [item for item in cloud.stored() if item["pk"] == f"Q#{organization.id}" and shard_of(item) is not None]


def alter(item: Item, **changed: Any) -> None:
    cloud.put({**item, **changed})


def leaf_of(body: bytes) -> bytes:
    return sha256(b"\x00" + body).digest()


def signed(organization: Founded, size: int, root: bytes) -> str:
    """Return a checkpoint as the holder of the service's signing key would make it."""
    key = from_base64(settings().audit_signing_key)
    return checkpoints.sign(Checkpoint(f"atrium/{organization.id}", size, root), key)
