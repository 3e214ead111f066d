"""The leads: submissions by the public, and their processing by operators."""

from typing import Any

from local.seed.callers import Caller, Json, Service
from local.seed.content.leads import LEADS, OPERATOR
from local.server.issuer import Person


def operator_caller(service: Service) -> Caller:
    """Return a caller who is an operator of the service."""
    return service.caller_for(Person(OPERATOR, operator=True))


def ensure_leads(service: Service) -> None:
    """Create the missing leads, and move each to its status. A lead that somebody processed differently stays."""
    operator = operator_caller(service)
    for content in LEADS:
        _apply_steps(operator, _find_or_create(service, operator, content), content["steps"])


def _find_or_create(service: Service, operator: Caller, content: Json) -> Json:
    """Return the lead with an e-mail address. If there is none, record it as an operator or submit it publicly."""
    listed = operator.list_all("/marketing-leads", email=content["lead"]["contactEmail"])
    if listed:
        return listed[0]
    if content.get("noted"):
        return operator.post("/marketing-leads", content["lead"])
    submission = service.anonymous_caller().post("/public/leads", content["lead"])
    return operator.get(f"/marketing-leads/{submission['id']}")


def _apply_steps(operator: Caller, lead: Json, steps: list[Any]) -> None:
    """Change the status of a lead step by step, unless its history differs from the steps."""
    history, planned = [change["status"] for change in lead["history"]], ["new", *(status for status, _ in steps)]
    if history == planned[: len(history)]:
        for status, note in steps[len(history) - 1 :]:
            operator.patch(
                f"/marketing-leads/{lead['id']}/status", {"status": status, **({"note": note} if note else {})}
            )
