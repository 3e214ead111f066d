"""The leads: as they came in, and what the operators made of them."""

from typing import Any

from local.seed.callers import Caller, Json, Service
from local.seed.content.leads import LEADS, OPERATOR
from local.server.issuer import Person


def operator(service: Service) -> Caller:
    """Return an operator of the service."""
    return service.called_by(Person(OPERATOR, operator=True))


def gather(service: Service) -> None:
    """Let every lead be there, and as far as it is to be. One that somebody took another way stays where it is."""
    desk = operator(service)
    for content in LEADS:
        _go_on(desk, _there(service, desk, content), content["steps"])


def _there(service: Service, desk: Caller, content: Json) -> Json:
    """Return a lead; let it be noted, or come in, unless there is one of the same address."""
    listed = desk.items("/marketing-leads", email=content["lead"]["contactEmail"])
    if listed:
        return listed[0]
    if content.get("noted"):
        return desk.post("/marketing-leads", content["lead"])
    sent = service.called_by_anybody().post("/public/leads", content["lead"])
    return desk.get(f"/marketing-leads/{sent['id']}")


def _go_on(desk: Caller, lead: Json, steps: list[Any]) -> None:
    done, wanted = [given["status"] for given in lead["history"]], ["new", *(status for status, _ in steps)]
    if done == wanted[: len(done)]:
        for status, note in steps[len(done) - 1 :]:
            desk.patch(f"/marketing-leads/{lead['id']}/status", {"status": status, **({"note": note} if note else {})})
