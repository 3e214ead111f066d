"""Custom domains of platforms, and their DNS records."""

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.domains.logic.verification import claim_fields
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.callers import Person
from tests.harness.nameserver import Nameserver
from tests.harness.organizations import CreatedOrganization
from tests.harness.platforms import CreatedPlatform

SHOP_DOMAIN = "shop.example.com"
CHALLENGE_NAME = f"_atrium-challenge.{SHOP_DOMAIN}"


def custom_domain_path(platform: CreatedPlatform) -> str:
    return f"{platform.path}/custom-domain"


def claim_domain(
    api: ApiClient, platform: CreatedPlatform, domain: str = SHOP_DOMAIN, *, caller: Person | None = None
) -> Json:
    """Claim a domain for a platform, and return the response with the required DNS records."""
    answer = api.post(custom_domain_path(platform), caller=caller or platform.owner, json={"domain": domain})
    return answer.expect(201).json


def verify_domain(api: ApiClient, platform: CreatedPlatform) -> ApiResponse:
    return api.post(f"{custom_domain_path(platform)}/verify", caller=platform.owner, json={})


def get_custom_domain(api: ApiClient, platform: CreatedPlatform) -> Json:
    return api.get(custom_domain_path(platform), caller=platform.owner).json


def publish_dns_records(nameserver: Nameserver, claim: Json) -> None:
    """Publish all required DNS records of a claim. An alias has the same addresses as its target."""
    for record in claim["records"]:
        if record["type"] == "ALIAS":
            nameserver.set_replies(record["expected"], ["192.0.2.7", "2001:db8::7"])
            nameserver.set_replies(record["name"], ["192.0.2.7", "2001:db8::7"])
        else:
            nameserver.set_replies(record["name"], [record["expected"]], record_type=record["type"])


def stored_custom_domain(platform: CreatedPlatform) -> CustomDomain:
    return CustomDomain.from_item(table.get(CustomDomain.make_item_key(platform_id=platform.id)) or {})


def set_domain_state(platform: CreatedPlatform, status: str, domain: str = SHOP_DOMAIN, **fields: str | None) -> None:
    """Store a state of a platform's custom domain, bypassing HTTP. No task is scheduled for it."""
    changes = UnitOfWork(now())
    defaults = {"status": status, "pending_since": None, "next_check_at": None}
    changes.update(stored_custom_domain(platform), **claim_fields(platform.id, domain, changes.now) | defaults | fields)
    changes.commit()


def custom_domain_events(api: ApiClient, organization: CreatedOrganization) -> list[str]:
    """Return the events of custom domains in an organization's log, without their prefix, the oldest first."""
    names = [entry["type"].removeprefix("platform.custom_domain.") for entry in list_entries(api, organization)]
    return [name for name in reversed(names) if "." not in name]


def inventory_entry(
    api: ApiClient, organization: CreatedOrganization, platform: CreatedPlatform
) -> tuple[object, object, object]:
    """Return a platform's domain, status and time of the last check from the organization's inventory."""
    items = api.get_items(f"{organization.path}/domains/inventory", caller=organization.owner)
    (item,) = [item for item in items if item["platformId"] == platform.id]
    return item["customDomain"], item["verificationStatus"], item["lastCheckedAt"]
