"""Custom domains of platforms, and their DNS records."""

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
    """Return the path of a platform's custom domain."""
    return f"{platform.path}/custom-domain"


def claim(api: Api, platform: Running, domain: str = SHOP, *, as_: Person | None = None) -> Json:
    """Claim a domain for a platform, and return the response with the required DNS records."""
    answer = api.post(path(platform), as_=as_ or platform.owner, json={"domain": domain})
    assert answer.status == 201, answer.text
    return answer.json


def verify(api: Api, platform: Running) -> Answer:
    """Request the verification of a platform's domain."""
    return api.post(f"{path(platform)}/verify", as_=platform.owner, json={})


def shown(api: Api, platform: Running) -> Json:
    """Read a platform's custom domain."""
    return api.get(path(platform), as_=platform.owner).json


def holds(nameserver: Nameserver, claimed: Json) -> None:
    """Publish all required DNS records of a claim. An alias has the same addresses as its target."""
    for record in claimed["records"]:
        if record["type"] == "ALIAS":
            nameserver.says(record["expected"], ["192.0.2.7", "2001:db8::7"])
            nameserver.says(record["name"], ["192.0.2.7", "2001:db8::7"])
        else:
            nameserver.says(record["name"], [record["expected"]], of=record["type"])


def stored(platform: Running) -> CustomDomain:
    """Return the stored custom domain of a platform."""
    return CustomDomain.from_item(table.get(CustomDomain.make_item_key(platform_id=platform.id)) or {})


def came_to(platform: Running, status: str, domain: str = SHOP, **fields: str | None) -> None:
    """Store a state of a platform's custom domain, bypassing HTTP. No task is scheduled for it."""
    changes = UnitOfWork(now())
    defaults = {"status": status, "pending_since": None, "next_check_at": None}
    changes.update(stored(platform), **claim_fields(platform.id, domain, changes.now) | defaults | fields)
    changes.commit()


def told(api: Api, organization: Founded) -> list[str]:
    """Return the events of custom domains in an organization's log, without their prefix, the oldest first."""
    names = [entry["type"].removeprefix("platform.custom_domain.") for entry in log_of(api, organization)]
    return [name for name in reversed(names) if "." not in name]


def entry_of(api: Api, organization: Founded, platform: Running) -> tuple[object, object, object]:
    """Return a platform's domain, status and time of the last check from the organization's inventory."""
    items = api.items(f"{organization.path}/domains/inventory", as_=organization.owner)
    (item,) = [item for item in items if item["platformId"] == platform.id]
    return item["customDomain"], item["verificationStatus"], item["lastCheckedAt"]
