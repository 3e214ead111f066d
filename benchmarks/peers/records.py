"""The peers' table, which is the same for both: what is stored where, and what a new space consists of.

One table with `pk`, `sk` and one index, `gsi1`. The peers do what the contract demands of Atrium: a space's slug is
unique in its platform, its creator becomes its admin, and the audit entry is in the same transaction; the event goes to
a queue behind it. They don't do what Atrium does beyond that: ETags and conditions, idempotent repetition, counting
requests, an outbox for the event, a hash-chained log, API keys, retries of a lost race.
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
    """Return the time, in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def member_keys(user_id: str, record: Mapping[str, Any]) -> list[Item]:
    """Return where the memberships are that decide what a user may do at a platform, or at a space."""
    partition_keys = [f"ORG#{record['organizationId']}"]
    partition_keys += [f"PLATFORM#{record['platformId']}", f"SPACE#{record['id']}"] if "platformId" in record else []
    partition_keys += [f"PLATFORM#{record['id']}"] if "platformId" not in record else []
    return [{"pk": place, "sk": f"MEMBER#{user_id}"} for place in partition_keys]


def highest_role_index(members: list[Item]) -> int:
    """Return the highest of the roles of some memberships, -1 if there is none."""
    return max((ROLES.index(member["role"]) for member in members), default=-1)


def derive_slug(name: str) -> str:
    """Return a slug made of a name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63]


def build_space(body: SpaceCreate, platform: Mapping[str, Any], position: int) -> Item:
    """Return a new space."""
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
    """Return what is committed with a new space: the guard of its slug, its creator's membership, the audit entry."""
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
