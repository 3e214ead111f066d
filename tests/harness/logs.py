"""Audit logs, over HTTP and as someone with access to the table sees and changes them."""

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
"""Fields whose changes are not logged."""


def log_of(api: Api, organization: Founded, **query: object) -> list[Json]:
    """List the entries of a log as the owner, the newest first."""
    return api.items(f"{organization.path}/audit-log", as_=organization.owner, query=query)


def differences(before: Json, now: Json) -> list[Json]:
    """Return the changes that an entry records for two states of a record."""
    return [
        {"field": name, "from": before.get(name), "to": now.get(name)}
        for name in {**now, **before}
        if before.get(name) != now.get(name) and name not in UNLOGGED
    ]


def verify(api: Api, organization: Founded, **query: object) -> Json:
    """Verify a log as the owner, and return the report."""
    answer = api.get(f"{organization.path}/audit-log/verify-integrity", as_=organization.owner, query=query)
    assert answer.status == 200, answer.text
    return answer.json


def finding(api: Api, organization: Founded, **query: object) -> tuple[object, object]:
    """Return the failure and the first invalid sequence that a verification reports, or None and None."""
    report = verify(api, organization, **query)
    assert report["valid"] == (report["failure"] is None)
    assert report["failure"] is None or report["nextCursor"] is None
    return report["failure"], report["firstInvalidSequence"]


def grow(api: Api, workers: Workers, organization: Founded, entries: int = 1) -> None:
    """Append entries to a log by renaming the organization."""
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
    """Return the items of the chains of a log."""
    return [item for item in cloud.stored() if item["pk"] == f"Q#{organization.id}" and shard_of(item) is not None]


def alter(item: Item, **attributes: Any) -> None:
    cloud.put({**item, **attributes})


def leaf_of(body: bytes) -> bytes:
    return sha256(b"\x00" + body).digest()


def signed(organization: Founded, size: int, root: bytes) -> str:
    """Return a checkpoint signed with the service's signing key."""
    key = from_base64(settings().audit_signing_key)
    return checkpoints.sign(Checkpoint(f"atrium/{organization.id}", size, root), key)
