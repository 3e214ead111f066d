"""The table of the peers, which is the same for both: keys, and the items of a new space.

One table with `pk`, `sk` and one index, `gsi1`. The peers meet these requirements of Atrium's contract: a space's slug
is unique in its platform, its creator becomes its admin, the audit entry is written in the same transaction, and the
event is sent to a queue afterwards. They leave out: ETags and conditions, idempotency keys, request counting, an outbox
for the event, a hash-chained log, API keys, and retries after a conflict.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from benchmarks.peers.models import SpaceCreate

META: Final = "META"
ROLES: Final = ("member", "editor", "admin", "owner")

Item = dict[str, Any]


def now() -> str:
    """Return the current time, in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def member_keys(user_id: str, record: Mapping[str, Any]) -> list[Item]:
    """Return the keys of the memberships that decide about a user's access to a platform or a space."""
    partition_keys = [f"ORG#{record['organizationId']}"]
    partition_keys += [f"PLATFORM#{record['platformId']}", f"SPACE#{record['id']}"] if "platformId" in record else []
    partition_keys += [f"PLATFORM#{record['id']}"] if "platformId" not in record else []
    return [{"pk": partition_key, "sk": f"MEMBER#{user_id}"} for partition_key in partition_keys]


def highest_role_index(members: list[Item]) -> int:
    """Return the index of the highest role of some memberships, or -1 if there are none."""
    return max((ROLES.index(member["role"]) for member in members), default=-1)


def derive_slug(name: str) -> str:
    """Derive a slug from a name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63]


def build_space(body: SpaceCreate, platform: Mapping[str, Any], position: int) -> Item:
    """Build a new space."""
    space_id, at = str(uuid4()), now()
    return {
        "pk": f"SPACE#{space_id}",
        "sk": META,
        "gsi1pk": f"PLATFORM#{platform['id']}#SPACES",
        "gsi1sk": f"{position:09d}#{space_id}",
        "id": space_id,
        "createdAt": at,
        "updatedAt": at,
        "version": 1,
        "platformId": platform["id"],
        "organizationId": platform["organizationId"],
        "name": body.name,
        "slug": body.slug or derive_slug(body.name),
        "description": body.description,
        "visibility": body.visibility,
        "position": position,
    }


def build_extra_items(space: Mapping[str, Any], user: Mapping[str, Any], request_id: str) -> tuple[Item, Item, Item]:
    """Build the items that are committed with a space: its slug's guard, its creator's membership, the audit entry."""
    guard = {"pk": f"SLUG#{space['platformId']}#{space['slug']}", "sk": META, "spaceId": space["id"]}
    member = {
        "pk": space["pk"],
        "sk": f"MEMBER#{user['sub']}",
        "role": "admin",
        "userId": user["sub"],
        "name": user.get("name"),
        "email": user.get("email"),
        "joinedAt": space["createdAt"],
    }
    entry_id = str(uuid4())
    entry = {
        "pk": f"AUDIT#{space['organizationId']}",
        "sk": f"{space['createdAt']}#{entry_id}",
        "id": entry_id,
        "type": "space.created",
        "occurredAt": space["createdAt"],
        "requestId": request_id,
        "actor": {"type": "user", "id": user["sub"], "name": user.get("name")},
        "target": {"type": "space", "id": space["id"], "name": space["name"]},
        "changes": {name: {"from": None, "to": space[name]} for name in ("name", "slug", "description", "visibility")},
    }
    return guard, member, entry
