"""Custom domains: claims, failing verification and removal; and the domain inventory."""

from typing import Final

from hypothesis import strategies as st

from tests.model.actions import action, record_index
from tests.model.model_run import DAY_SECONDS, ModelRun, Sender
from tests.model.service_model import ModelRecord

_WEEK: Final = 7 * DAY_SECONDS

domains = st.sampled_from(["engines.example.com", "looms.example.org", "mills.example.org"])


@action(platform=record_index, domain=domains)
def set_custom_domain(run: ModelRun, by: Sender, record: ModelRecord, domain: str) -> None:
    is_repeated = (record.internal.get("domain"), record.internal.get("domain_status")) == (domain, "pending")
    success_status = 200 if is_repeated else None
    sender, body = Sender(by.caller_name), {"domain": domain}
    if response := run.request(sender, "set_custom_domain", record, body, success_status=success_status):
        assert (response.json["domain"], response.json["status"]) == (domain, "pending")
        if not is_repeated:
            _begin_verification(run, record, domain)
            run.expect_entry(by, "set_custom_domain", record)


def _begin_verification(run: ModelRun, platform: ModelRecord, domain: str) -> None:
    platform.internal |= {"domain": domain, "domain_status": "pending"}
    platform.internal["domain_expires_at_seconds"] = run.elapsed_seconds + _WEEK


@action(platform=record_index)
def verify_custom_domain(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    """Verify a domain whose DNS records do not exist."""
    refusal = None if record.internal.get("domain") else "409 invalid_transition"
    if response := run.request(Sender(by.caller_name), "verify_custom_domain", record, refusal=refusal):
        assert (response.json["status"], response.json["lastError"]) == ("pending", "TXT_NOT_FOUND")
        if record.internal["domain_status"] == "failed":
            _begin_verification(run, record, record.internal["domain"])
        run.expect_entry(by, "verify_custom_domain", record)


@action(weight=2, platform=record_index)
def remove_custom_domain(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(Sender(by.caller_name), "remove_custom_domain", record) and record.internal.get("domain"):
        record.internal |= {"domain": None, "domain_status": None}
        run.expect_entry(by, "remove_custom_domain", record)


@action(place=record_index)
def list_domain_inventory(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if response := run.request(by, "list_domain_inventory", organization, query={"limit": 100}):
        listed = [(i["platformId"], i["customDomain"], i["verificationStatus"]) for i in response.json["items"]]
        platforms = run.model.list_existing("platform", organization)
        states = [(p.id, p.internal.get("domain"), p.internal.get("domain_status")) for p in platforms]
        assert listed == [(platform_id, domain, status or "none") for platform_id, domain, status in states]


def apply_verification_timeout(run: ModelRun, platform: ModelRecord) -> None:
    """Apply the failure of a verification that ran for a week. On the last day it may be pending or failed."""
    if platform.internal.get("domain_status") != "pending":
        return
    status = run.api.get(f"{platform.path}/custom-domain", caller=run.owner_of(platform)).json["status"]
    seconds_overdue = run.elapsed_seconds - platform.internal["domain_expires_at_seconds"]
    assert status == ("pending" if seconds_overdue < 0 else "failed") or 0 <= seconds_overdue < DAY_SECONDS
    if status == "failed":
        platform.internal["domain_status"] = "failed"
        run.expect_system_entry(platform, "platform.custom_domain.failed")
