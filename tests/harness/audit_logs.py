"""Audit logs, over HTTP and as someone with access to the table sees and changes them."""

from hashlib import sha256
from typing import Any, Final

from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.crypto.checkpoints import Checkpoint
from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.memory_aws import Item
from tests.harness.organizations import CreatedOrganization
from tests.harness.workers import Workers

UNLOGGED_FIELDS: Final = ("updatedAt", "version")
"""Fields whose changes are not logged."""


def list_entries(api: ApiClient, organization: CreatedOrganization, **query: object) -> list[Json]:
    """List the entries of a log as the owner, the newest first."""
    return api.get_items(f"{organization.path}/audit-log", caller=organization.owner, query=query)


def get_last_entry(api: ApiClient, organization: CreatedOrganization) -> Json:
    page = api.get(f"{organization.path}/audit-log", caller=organization.owner, query={"limit": 1}).json
    entry: Json = page["items"][0]
    return entry


def expected_changes(before: Json, now: Json) -> list[Json]:
    """Return the changes that an entry records for two states of a record."""
    return [
        {"field": name, "from": before.get(name), "to": now.get(name)}
        for name in {**now, **before}
        if before.get(name) != now.get(name) and name not in UNLOGGED_FIELDS
    ]


def verify_integrity(api: ApiClient, organization: CreatedOrganization, **query: object) -> Json:
    answer = api.get(f"{organization.path}/audit-log/verify-integrity", caller=organization.owner, query=query)
    return answer.expect(200).json


def verification_failure(api: ApiClient, organization: CreatedOrganization, **query: object) -> tuple[object, object]:
    """Return the failure and the first invalid sequence that a verification reports, or None and None."""
    report = verify_integrity(api, organization, **query)
    assert report["valid"] == (report["failure"] is None)
    assert report["failure"] is None or report["nextCursor"] is None
    return report["failure"], report["firstInvalidSequence"]


def add_entries(api: ApiClient, workers: Workers, organization: CreatedOrganization, count: int = 1) -> None:
    """Append entries to a log by renaming the organization."""
    for n in range(count):
        body = {"name": f"Name {n} after {head_item(organization)['size']}"}
        assert api.patch(organization.path, caller=organization.owner, json=body).status == 200
    workers.deliver()


def entry_item(organization: CreatedOrganization, sequence: int) -> Item:
    return next(
        item
        for item in memory_aws.all_items()
        if item["pk"] == f"A#{organization.id}" and item.get("sequence") == sequence
    )


def head_item(organization: CreatedOrganization) -> Item:
    return next(item for item in memory_aws.all_items() if (item["pk"], item["sk"]) == (f"Q#{organization.id}", "!"))


def alter_item(item: Item, **attributes: Any) -> None:
    memory_aws.put_item({**item, **attributes})


def hash_leaf(body: bytes) -> bytes:
    return sha256(b"\x00" + body).digest()


def sign_checkpoint(organization: CreatedOrganization, size: int, root: bytes) -> str:
    """Return a checkpoint signed with the service's signing key."""
    key = from_base64(settings().audit_signing_key)
    return checkpoints.sign_checkpoint_note(Checkpoint(f"atrium/{organization.id}", size, root), key)
