"""Marketing leads: anyone submits and may withdraw their own, operators manage them."""

from typing import Final

from hypothesis import strategies as st

from tests.model.actions import action, names, optional_texts, record_index
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import ModelRecord

NEXT_STATUSES: Final = {
    "new": ["contacted"],
    "contacted": ["qualified"],
    "qualified": ["converted"],
    **{status: list[str]() for status in ("converted", "unqualified", "spam", "withdrawn")},
}
CLOSED_STATUSES: Final = ("unqualified", "spam", "withdrawn")


def _can_transition(current: str, target: str) -> bool:
    if current in CLOSED_STATUSES:
        return target == "new"
    return target in NEXT_STATUSES[current] or (current != "converted" and target in CLOSED_STATUSES)


@action(weight=6, name=names, message=optional_texts)
def create_public_lead(run: ModelRun, by: Sender, name: str, message: str | None) -> None:
    email_address = f"lead{len(run.model.records)}@example.org"
    body = {"contactName": name, "contactEmail": email_address, "message": message}
    run.create(by, "create_public_lead", "lead", None, body, {**body, "status": "new"}, "leadToken")


@action(weight=6, lead=record_index, status=st.sampled_from([*NEXT_STATUSES]), sender_choice=st.integers(0, 4))
def change_marketing_lead_status(
    run: ModelRun, by: Sender, record: ModelRecord, status: str, sender_choice: int
) -> None:
    by = by if sender_choice == 0 else Sender("operator", by.if_match)
    current = record.fields["status"]
    refusal = None if status == current or _can_transition(current, status) else "409 invalid_transition"
    if response := run.request(by, "change_marketing_lead_status", record, {"status": status}, refusal=refusal):
        assert response.json["status"] == status
        if current != status:
            record.fields |= {"status": status, "version": record.fields["version"] + 1}
            run.expect_entry(by, "change_marketing_lead_status", record)


@action(lead=record_index, with_token=st.booleans())
def get_public_lead(run: ModelRun, by: Sender, record: ModelRecord, with_token: bool) -> None:  # noqa: FBT001 - passed by name
    """Read a lead with its token or without one."""
    if run.resolve_caller(by.caller_name)[0].key:
        return
    headers = {"Lead-Token": record.internal["leadToken"]} if with_token else {}
    response = run.api.get(f"/public/leads/{record.id}", caller=run.resolve_caller(by.caller_name)[1], headers=headers)
    if with_token:
        response.expect(200)
        assert (response.json["contactEmail"], response.json["leadToken"]) == (record.fields["contactEmail"], None)
    else:
        assert response.status_and_code == "401 unauthenticated"


@action(lead=record_index)
def list_marketing_leads(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "list_marketing_leads", query={"email": record.fields["contactEmail"]}):
        listed = [(item["id"], item["status"]) for item in response.json["items"]]
        assert listed == [(record.id, record.fields["status"])]
