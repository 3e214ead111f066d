"""Custom domains: claimed, looked for in vain, given up; and the inventory of them."""

from typing import Final

from hypothesis import strategies as st

from tests.model.actions import deed, which
from tests.model.entities import Thing
from tests.model.story import By, Story

_DAY: Final = 24 * 3600
_WEEK: Final = 7 * _DAY

domains = st.sampled_from(["engines.example.com", "looms.example.org", "mills.example.org"])


@deed(platform=which, domain=domains)
def set_custom_domain(story: Story, by: By, platform: int, domain: str) -> None:
    known = story.model.pick("platform", platform)
    if known is None:
        return
    claimed, state = known.hidden.get("domain"), known.hidden.get("domainStatus")
    again = 200 if claimed == domain and state == "pending" else None
    answer = story.ask(By(by.who), "set_custom_domain", known, body={"domain": domain}, success=again)
    if answer:
        assert (answer.json["domain"], answer.json["status"]) == (domain, "pending")
        if again is None:
            known.hidden |= {"domain": domain, "domainStatus": "pending", "domainUntil": story.seconds + _WEEK}
            story.tells(by, "set_custom_domain", known)


@deed(platform=which)
def verify_custom_domain(story: Story, by: By, platform: int) -> None:
    """Look for what nobody has put into the DNS."""
    known = story.model.pick("platform", platform)
    if known is None:
        return
    unless = None if known.hidden.get("domain") else "409 invalid_transition"
    if answer := story.ask(By(by.who), "verify_custom_domain", known, unless=unless):
        assert (answer.json["status"], answer.json["lastError"]) == ("pending", "TXT_NOT_FOUND")
        if known.hidden["domainStatus"] == "failed":
            known.hidden |= {"domainStatus": "pending", "domainUntil": story.seconds + _WEEK}
        story.tells(by, "verify_custom_domain", known)


@deed(often=2, platform=which)
def remove_custom_domain(story: Story, by: By, platform: int) -> None:
    known = story.model.pick("platform", platform)
    if known and story.ask(By(by.who), "remove_custom_domain", known) and known.hidden.get("domain"):
        known.hidden |= {"domain": None, "domainStatus": None}
        story.tells(by, "remove_custom_domain", known)


@deed(place=which)
def list_domain_inventory(story: Story, by: By, place: int) -> None:
    organization = story.model.pick("organization", place)
    if organization and (answer := story.ask(by, "list_domain_inventory", organization, query={"limit": 100})):
        listed = [(i["platformId"], i["customDomain"], i["verificationStatus"]) for i in answer.json["items"]]
        assert listed == [
            (p.id, p.hidden.get("domain"), p.hidden.get("domainStatus") or "none")
            for p in story.model.of("platform", organization)
        ]


def grows_old(story: Story, platform: Thing) -> None:
    """Note that a domain was looked for a week in vain; in the week's last day it may be so already, or not yet."""
    if platform.hidden.get("domainStatus") != "pending":
        return
    status = story.api.get(f"{platform.path}/custom-domain", as_=story.owner(platform)).json["status"]
    since = story.seconds - platform.hidden["domainUntil"]
    assert status == ("pending" if since < 0 else "failed") or 0 <= since < _DAY
    if status == "failed":
        platform.hidden["domainStatus"] = "failed"
        story.model.later.setdefault(platform.log, []).append(("platform.custom_domain.failed", platform.id))
