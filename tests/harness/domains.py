"""Custom domains of platforms, claimed over HTTP, and what their DNS holds."""

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.domains.logic.verification import claim_fields
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.nameserver import Nameserver
from tests.harness.organizations import Founded
from tests.harness.platforms import Running

SHOP = "shop.example.com"
PROOF = f"_atrium-challenge.{SHOP}"


def path(platform: Running) -> str:
    """Return where a platform's custom domain is found."""
    return f"{platform.path}/custom-domain"


def claim(api: Api, platform: Running, domain: str = SHOP, *, as_: Person | None = None) -> Json:
    """Let a platform claim a domain, and return what its DNS has to hold."""
    answer = api.post(path(platform), as_=as_ or platform.owner, json={"domain": domain})
    assert answer.status == 201, answer.text
    return answer.json


def verify(api: Api, platform: Running) -> Answer:
    """Let a platform's domain be looked at."""
    return api.post(f"{path(platform)}/verify", as_=platform.owner, json={})


def shown(api: Api, platform: Running) -> Json:
    """Return a platform's custom domain as it is."""
    return api.get(path(platform), as_=platform.owner).json


def holds(nameserver: Nameserver, claimed: Json) -> None:
    """Let a domain's DNS hold all that it has to; an alias is known by the addresses of what it leads to."""
    for record in claimed["records"]:
        if record["type"] == "ALIAS":
            nameserver.says(record["expected"], ["192.0.2.7", "2001:db8::7"])
            nameserver.says(record["name"], ["192.0.2.7", "2001:db8::7"])
        else:
            nameserver.says(record["name"], [record["expected"]], of=record["type"])


def stored(platform: Running) -> CustomDomain:
    """Return a platform's custom domain as it is stored."""
    return CustomDomain.from_item(table.get(CustomDomain.make_item_key(platform_id=platform.id)) or {})


def came_to(platform: Running, status: str, domain: str = SHOP, **fields: str | None) -> None:
    """Let it have come to this with a domain that a platform has claimed, below HTTP; nothing is due of it."""
    changes = UnitOfWork(now())
    usual = {"status": status, "pending_since": None, "next_check_at": None}
    changes.update(stored(platform), **claim_fields(platform.id, domain, changes.now) | usual | fields)
    changes.commit()


def told(api: Api, organization: Founded) -> list[str]:
    """Return what has happened to the custom domains of an organization's platforms, the first first."""
    named = [entry["type"].removeprefix("platform.custom_domain.") for entry in log_of(api, organization)]
    return [name for name in reversed(named) if "." not in name]


def entry_of(api: Api, organization: Founded, platform: Running) -> tuple[object, object, object]:
    """Return what the organization's inventory says of a platform's domain."""
    items = api.items(f"{organization.path}/domains/inventory", as_=organization.owner)
    (item,) = [item for item in items if item["platformId"] == platform.id]
    return item["customDomain"], item["verificationStatus"], item["lastCheckedAt"]
