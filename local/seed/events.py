"""The application events: their types, which the operator declares, and the events themselves."""

from local.seed.content.events import EVENT_TYPES, EVENTS
from local.seed.leads import operator_caller
from local.seed.organization import Company


def ensure_events(company: Company) -> None:
    """Declare the missing event types, and report all events unless the log contains some of them."""
    operator = operator_caller(company.service)
    for name, declaration in EVENT_TYPES.items():
        if operator.find(f"/event-types/{name}") is None:
            operator.put(f"/event-types/{name}", declaration)
    if not company.owner.list_all(f"{company.path}/events"):
        company.owner.post(f"{company.path}/events/batch", {"events": EVENTS})
