"""Invitations to organizations: sent, sent again, revoked, answered, forgotten."""

from typing import Final

from hypothesis import strategies as st

from tests.harness.api import Answer
from tests.harness.invitations import ACCEPTANCE, token_of
from tests.model.actions import deed, roles, which
from tests.model.entities import NOT_FOUND, Caller, Json, Thing
from tests.model.interface import OPERATIONS, covers
from tests.model.nouns.members import TOO_LOW, grantable, people
from tests.model.nouns.organizations import welcome
from tests.model.story import By, Story

REVOKED: Final = "410 invitation_revoked"
_TOO_LATE: Final = "409 invalid_transition"
_SECONDS_BETWEEN: Final = 60
_DAY: Final = 24 * 3600
_MAILS: Final = {3600: 5, _DAY: 20}
"""How many mails an address gets in so many seconds."""


def status(story: Story, invitation: Thing) -> str:
    """Return what has become of an invitation by now."""
    over = invitation.shown["status"] == "pending" and invitation.hidden["until"] <= story.seconds
    return "expired" if over else str(invitation.shown["status"])


@deed(place=which, whom=people, role=roles, days=st.sampled_from([1, 7]))
def invite_to_organization(story: Story, by: By, place: int, whom: str, role: str, days: int) -> None:
    if organization := story.model.pick("organization", place):
        invited(story, by, "invite_to_organization", organization, whom, {"role": role, "expiresInDays": days})


def invited(story: Story, by: By, operation: str, place: Thing, whom: str, fields: Json) -> Thing | None:
    """Let somebody be invited to a place."""
    person, (who, _) = story.people[whom], story.caller(by.who)
    unless = None
    if not covers(grantable(story.model, who, place), fields["role"]):
        unless = TOO_LOW
    elif story.model.membership(place, person.id):
        unless = "409 already_member"
    elif any(i.shown["email"] == person.email and status(story, i) == "pending" for i in sent_to(story, place)):
        unless = "409 already_exists"
    body = {"email": person.email, **fields}
    answer = story.ask(by, operation, place, body=body, unless=unless)
    if answer is None:
        return None
    organization = place.above("organization")
    expected = {
        **body,
        "status": "pending",
        "invitedBy": who.id,
        "platformId": None if place.kind != "platform" else place.id,
        "mailWithheld": not _mailed(story, person.email),
    }
    made = story.makes("invitation", answer, organization, expected, "acceptUrl")
    made.hidden |= {"place": place, "inviter": who, "invitedAs": voucher(story, who, place)}
    _sent(story, made)
    story.tells(by, operation, made)
    return made


def voucher(story: Story, who: Caller, place: Thing) -> Thing | None:
    """Return the membership that lets somebody invite: the outermost that makes them an admin."""
    own = [story.model.membership(each, who.id) for each in [*place.chain][::-1]]
    return next((member for member in own if member and covers(member.shown["role"], "admin")), None)


def sent_to(story: Story, place: Thing) -> list[Thing]:
    """Return the invitations to a place itself."""
    return [i for i in story.model.of("invitation") if i.hidden["place"] is place]


def _sent(story: Story, invitation: Thing) -> None:
    invitation.hidden["until"] = story.seconds + invitation.shown["expiresInDays"] * _DAY
    invitation.hidden["second"] = story.seconds
    invitation.hidden["tokens"] = [*invitation.hidden.get("tokens", []), token_of(invitation.hidden["acceptUrl"])]


def _mailed(story: Story, address: str) -> bool:
    """Return whether an address gets a mail now, and count it if so."""
    counts = story.model.mails.setdefault(address, {})
    now = {window: counts.get(window, (0.0, 0)) for window in _MAILS}
    now = {window: told if told[0] > story.seconds else (story.seconds + window, 0) for window, told in now.items()}
    if any(used >= _MAILS[window] for window, (_, used) in now.items()):
        return False
    counts |= {window: (until, used + 1) for window, (until, used) in now.items()}
    return True


def vouched(story: Story, invitation: Thing) -> bool:
    """Return whether its inviter could invite so today."""
    inviter, voucher = invitation.hidden["inviter"], invitation.hidden["invitedAs"]
    if inviter.key:
        return True
    role = story.model.role(inviter, invitation.hidden["place"])
    return voucher is not None and not voucher.gone and covers(role, invitation.shown["role"])


@deed(invitation=which)
def resend_invitation(story: Story, by: By, invitation: int) -> None:
    known = story.model.pick("invitation", invitation)
    if known is None:
        return
    who = story.caller(by.who)[0]
    unless = None
    if status(story, known) != "pending":
        unless = _TOO_LATE
    elif not covers(grantable(story.model, who, known.hidden["place"]), known.shown["role"]):
        unless = TOO_LOW
    elif not vouched(story, known):
        unless = _TOO_LATE
    elif story.seconds - known.hidden["second"] < _SECONDS_BETWEEN:
        unless = "429 rate_limited"
    answer = story.ask(by, "resend_invitation", known.within, known, unless=unless, instead=known.hidden["place"])
    if answer:
        withheld = not _mailed(story, known.shown["email"])
        new = {"expiresAt": answer.json["expiresAt"], "sentAt": answer.json["sentAt"], "mailWithheld": withheld}
        assert (new["sentAt"] is None) is withheld
        assert withheld or new["sentAt"] > (known.shown["sentAt"] or "")
        story.changes(known, answer, new, acceptUrl=True)
        _sent(story, known)
        story.tells(by, "resend_invitation", known, f"{known.hidden['place'].kind}.invitation.resent")


@deed(often=1, invitation=which)
def revoke_invitation(story: Story, by: By, invitation: int) -> None:
    known = story.model.pick("invitation", invitation)
    if known is None:
        return
    now = status(story, known)
    unless = _TOO_LATE if now not in ("pending", "revoked") else None
    at = known.hidden["place"]
    answer = story.ask(by, "revoke_invitation", known.within, known, unless=unless, instead=at)
    if answer and now == "pending":
        known.shown["status"], known.touched = "revoked", True
        story.tells(by, "revoke_invitation", known, f"{at.kind}.invitation.revoked")


@deed(invitation=which, decision=st.sampled_from(["accept", "accept", "decline"]), old=st.integers(0, 4))
def answer_as_invited(story: Story, by: By, invitation: int, decision: str, old: int) -> None:
    """Let the invited person answer, mostly by the link that was sent last."""
    if known := story.model.pick("invitation", invitation):
        whom = next(name for name, p in story.people.items() if p.email == known.shown["email"])
        answered(story, By(whom, once=by.once), known, decision, latest=old > 0)


@deed(invitation=which, decision=st.sampled_from(["accept", "decline"]))
def answer_invitation(story: Story, by: By, invitation: int, decision: str) -> None:
    if known := story.model.pick("invitation", invitation):
        answered(story, By(by.who), known, decision, latest=True)


def answered(story: Story, by: By, known: Thing, decision: str, *, latest: bool) -> None:
    """Let somebody answer an invitation, and note what comes of it."""
    who, credential = story.caller(by.who)
    token = known.hidden["tokens"][-1 if latest else 0]
    answer = story.api.post(ACCEPTANCE, as_=credential, json={"token": token, "decision": decision})
    expected = _expected(story, who, known, token, decision)
    said = answer.code if answer.status >= 400 else str(answer.status)
    assert said == expected.partition(" again")[0], f"{said} instead of {expected}"
    if expected == "200":
        _noted(story, by, known, answer, decision)


def _expected(story: Story, who: Caller, known: Thing, token: str, decision: str) -> str:
    row = OPERATIONS["respond_to_invitation"]
    if refused := story.model.refused(who, row, None):
        return refused
    if not known.hidden["place"].there:
        return NOT_FOUND
    return _dead(story, known, token) or _by_person(story, who, known, decision)


def _dead(story: Story, known: Thing, token: str) -> str | None:
    now = status(story, known)
    replaced = token != known.hidden["tokens"][-1]
    if replaced or now == "revoked" or (now == "pending" and not vouched(story, known)):
        return REVOKED
    return "410 invitation_expired" if now == "expired" else None


def _by_person(story: Story, who: Caller, known: Thing, decision: str) -> str:
    if story.people[who.name].email != known.shown["email"]:
        return "403 email_mismatch"
    now, member = status(story, known), story.model.membership(known.hidden["place"], who.id)
    if now != "pending":
        holds = now == "declined" or (member is not None and member is known.hidden.get("joinedAs"))
        return "200 again" if holds and now.startswith(decision) else "410 invitation_used"
    raised = decision == "accept" and member and not covers(member.shown["role"], known.shown["role"])
    return "409 already_member" if raised else "200"


def _noted(story: Story, by: By, known: Thing, answer: Answer, decision: str) -> None:
    outcome, place = {"accept": "accepted", "decline": "declined"}[decision], known.hidden["place"]
    assert answer.json["status"] == outcome
    known.shown["status"], known.touched = outcome, True
    if outcome == "accepted":
        who = story.caller(by.who)[0]
        present = story.model.membership(place, who.id)
        known.hidden["joinedAs"] = present or welcome(story, place, who.id, known.shown["role"])
        assert answer.json["membership"]["role"] == known.hidden["joinedAs"].shown["role"]
    kind = "platform" if place.kind == "platform" else "organization"
    story.tells(by, "respond_to_invitation", known, f"{kind}.invitation.{outcome}")


@deed(place=which)
def list_invitations(story: Story, by: By, place: int) -> None:
    organization = story.model.pick("organization", place)
    if organization is None or not story.model.of("organization"):
        return
    who = story.caller(by.who)[0]
    if who.kind == "user" and not covers(story.model.role(who, organization), "admin"):
        return  # Admins of its platforms may, too.
    if answer := story.ask(by, "list_invitations", organization, query={"limit": 100}):
        expected = [(i.id, status(story, i)) for i in story.model.of("invitation", organization)]
        known = {each for each, _ in expected}  # Those to a platform that is gone go with it, in a moment.
        assert [(i["id"], i["status"]) for i in answer.json["items"] if i["id"] in known] == expected
