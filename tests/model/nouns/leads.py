"""Leads: sent by anybody, looked after by operators, withdrawn by whoever sent them."""

from typing import Final

from hypothesis import strategies as st

from tests.model.actions import deed, names, texts, which
from tests.model.entities import Thing
from tests.model.story import By, Story

NEXT: Final = {
    "new": ["contacted"],
    "contacted": ["qualified"],
    "qualified": ["converted"],
    "converted": [],
    "unqualified": [],
    "spam": [],
    "withdrawn": [],
}
ENDS: Final = ("unqualified", "spam", "withdrawn")


def _follows(present: str, wanted: str) -> bool:
    if present in ENDS:
        return wanted == "new"
    return wanted in NEXT[present] or (present != "converted" and wanted in ENDS)


@deed(often=6, name=names, message=texts)
def create_public_lead(story: Story, by: By, name: str, message: str | None) -> None:
    address = f"lead{len(story.model.things)}@example.org"
    body = {"contactName": name, "contactEmail": address, "message": message}
    if answer := story.ask(by, "create_public_lead", body=body):
        made = story.makes("lead", answer, None, {**body, "status": "new"}, "leadToken")
        story.tells(by, "create_public_lead", made)


@deed(often=6, lead=which, status=st.sampled_from([*NEXT]), anybody=st.integers(0, 4))
def change_marketing_lead_status(story: Story, by: By, lead: int, status: str, anybody: int) -> None:
    known = story.model.pick("lead", lead)
    if known is None:
        return
    by = by if anybody == 0 else By("operator", by.match)
    present = known.shown["status"]
    unless = None if status == present or _follows(present, status) else "409 invalid_transition"
    if answer := story.ask(by, "change_marketing_lead_status", None, known, {"status": status}, unless=unless):
        assert answer.json["status"] == status
        _turned(story, by, "change_marketing_lead_status", known, status)


def _turned(story: Story, by: By, operation: str, lead: Thing, status: str) -> None:
    lead.hidden["withdrawn"] = status == "withdrawn"
    if lead.shown["status"] != status:
        lead.shown |= {"status": status, "version": lead.shown["version"] + 1}
        story.tells(by, operation, lead)


@deed(lead=which, with_token=st.booleans())
def get_public_lead(story: Story, by: By, lead: int, with_token: bool) -> None:  # noqa: FBT001 - by its name
    """Come back to what was sent, with the token, or without."""
    known = story.model.pick("lead", lead)
    if known is None or story.caller(by.who)[0].key:
        return
    headers = {"Lead-Token": known.hidden["leadToken"]} if with_token else {}
    answer = story.api.get(f"/public/leads/{known.id}", as_=story.caller(by.who)[1], headers=headers)
    if with_token:
        assert answer.status == 200, answer.text
        assert (answer.json["contactEmail"], answer.json["leadToken"]) == (known.shown["contactEmail"], None)
    else:
        assert answer.code == "401 unauthenticated"


@deed(lead=which)
def list_marketing_leads(story: Story, by: By, lead: int) -> None:
    known = story.model.pick("lead", lead)
    if known and (answer := story.ask(by, "list_marketing_leads", query={"email": known.shown["contactEmail"]})):
        assert [(item["id"], item["status"]) for item in answer.json["items"]] == [(known.id, known.shown["status"])]
