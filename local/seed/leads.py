"""The leads: submissions by the public, and their processing by operators."""

from typing import Any

from local.seed.callers import Caller, Json, Service
from local.seed.content.leads import LEADS, OPERATOR
from local.server.issuer import Person


def operator(service: Service) -> Caller:
    """Return a caller who is an operator of the service."""
    return service.called_by(Person(OPERATOR, operator=True))


def gather(service: Service) -> None:
    """Create the missing leads, and move each to its status. A lead that somebody processed differently stays."""
    operator_caller = operator(service)
    for content in LEADS:
        _apply_steps(operator_caller, _find_or_create(service, operator_caller, content), content["steps"])


def _find_or_create(service: Service, operator_caller: Caller, content: Json) -> Json:
    """Return the lead with an e-mail address. If there is none, record it as an operator or submit it publicly."""
    listed = operator_caller.items("/marketing-leads", email=content["lead"]["contactEmail"])
    if listed:
        return listed[0]
    if content.get("noted"):
        return operator_caller.post("/marketing-leads", content["lead"])
    submission = service.called_by_anybody().post("/public/leads", content["lead"])
    return operator_caller.get(f"/marketing-leads/{submission['id']}")


def _apply_steps(operator_caller: Caller, lead: Json, steps: list[Any]) -> None:
    """Change the status of a lead step by step, unless its history differs from the steps."""
    history, planned = [change["status"] for change in lead["history"]], ["new", *(status for status, _ in steps)]
    if history == planned[: len(history)]:
        for status, note in steps[len(history) - 1 :]:
            operator_caller.patch(
                f"/marketing-leads/{lead['id']}/status", {"status": status, **({"note": note} if note else {})}
            )
