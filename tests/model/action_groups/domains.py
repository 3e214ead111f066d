"""Custom domains: claims, failing verification and removal; and the domain inventory."""

from typing import Final

from hypothesis import strategies as st

from tests.model.actions import action, record_index
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import ModelRecord

_DAY: Final = 24 * 3600
_WEEK: Final = 7 * _DAY

domains = st.sampled_from(["engines.example.com", "looms.example.org", "mills.example.org"])


@action(platform=record_index, domain=domains)
def set_custom_domain(run: ModelRun, by: Sender, record: ModelRecord, domain: str) -> None:
    claimed_domain, domain_status = record.internal.get("domain"), record.internal.get("domain_status")
    repeat_status = 200 if claimed_domain == domain and domain_status == "pending" else None
    response = run.request(
        Sender(by.caller_name), "set_custom_domain", record, body={"domain": domain}, success_status=repeat_status
    )
    if response:
        assert (response.json["domain"], response.json["status"]) == (domain, "pending")
        if repeat_status is None:
            record.internal |= {
                "domain": domain,
                "domain_status": "pending",
                "domain_expires_at_seconds": run.elapsed_seconds + _WEEK,
            }
            run.expect_entry(by, "set_custom_domain", record)


@action(platform=record_index)
def verify_custom_domain(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    """Verify a domain whose DNS records do not exist."""
    refusal = None if record.internal.get("domain") else "409 invalid_transition"
    if response := run.request(Sender(by.caller_name), "verify_custom_domain", record, refusal=refusal):
        assert (response.json["status"], response.json["lastError"]) == ("pending", "TXT_NOT_FOUND")
        if record.internal["domain_status"] == "failed":
            record.internal |= {"domain_status": "pending", "domain_expires_at_seconds": run.elapsed_seconds + _WEEK}
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
        assert listed == [
            (p.id, p.internal.get("domain"), p.internal.get("domain_status") or "none")
            for p in run.model.list_existing("platform", organization)
        ]


def apply_verification_timeout(run: ModelRun, platform: ModelRecord) -> None:
    """Apply the failure of a verification that ran for a week. On the last day it may be pending or failed."""
    if platform.internal.get("domain_status") != "pending":
        return
    status = run.api.get(f"{platform.path}/custom-domain", caller=run.owner_of(platform)).json["status"]
    seconds_overdue = run.elapsed_seconds - platform.internal["domain_expires_at_seconds"]
    assert status == ("pending" if seconds_overdue < 0 else "failed") or 0 <= seconds_overdue < _DAY
    if status == "failed":
        platform.internal["domain_status"] = "failed"
        run.model.expected_system_entries.setdefault(platform.log_id, []).append(
            ("platform.custom_domain.failed", platform.id)
        )
