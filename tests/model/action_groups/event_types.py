"""Event types of the application, which operators declare for the deployment, with versions of their schemas."""

from typing import Final

from hypothesis import strategies as st

from tests.harness.event_types import INVOICE_SCHEMA
from tests.model.actions import action, operators
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import SYSTEM, ExpectedEntry, Json

DECLARED_TYPE: Final = "invoice.approved"
"""The type that is declared at the beginning of stories. Its data require an amount of at least 1."""

TYPES: Final = (DECLARED_TYPE, "ticket.opened", "ticket.closed")
_RESERVED_TYPE: Final = "organization.approved"

event_types = st.sampled_from([*[DECLARED_TYPE] * 6, *TYPES[1:], "organization.updated"])


@action(
    by=operators,
    event_type=st.sampled_from([*TYPES, *TYPES, _RESERVED_TYPE]),
    min_amount=st.sampled_from([1, 2, 100]),
    deprecated=st.booleans(),
)
def put_event_type(run: ModelRun, by: Sender, event_type: str, min_amount: int, deprecated: bool) -> None:  # noqa: FBT001 - passed by name
    former = run.model.event_types.get(event_type)
    min_amounts = former["min_amounts"] if former else []
    if min_amounts[-1:] != [min_amount]:
        min_amounts = [*min_amounts, min_amount]
    declared: Json = {"deprecated": deprecated, "min_amounts": min_amounts}
    response = run.request(
        by,
        "put_event_type",
        body={
            "description": "It happened.",
            "sentence": "{actor} approved {target}.",
            "schema": _schema(min_amount),
            "deprecated": deprecated,
        },
        event_type=event_type,
        success_status=200 if former else 201,
        refusal="422 validation_failed" if event_type == _RESERVED_TYPE else None,
    )
    if response:
        assert response.json["version"] == len(min_amounts)
        run.model.event_types[event_type] = declared
        if declared != former:
            event = f"system.event_type.{'updated' if former else 'created'}"
            entry = ExpectedEntry(event, event_type, run.caller_of(by).id, "put_event_type")
            run.model.expected_entries.setdefault(SYSTEM, []).append(entry)


def check_event_types(run: ModelRun) -> None:
    """Assert that each declared type has the fields and the schemas of all its versions."""
    for event_type, declared in run.model.event_types.items():
        for version, min_amount in enumerate(declared["min_amounts"], 1):
            query = {"version": version}
            shown = run.api.get(f"/event-types/{event_type}", caller=run.people["operator"], query=query).json
            assert (shown["schema"]["properties"]["amount"]["minimum"], shown["version"]) == (min_amount, version)
            assert [each["version"] for each in shown["versions"]] == [*range(1, len(declared["min_amounts"]) + 1)]
            assert shown["deprecated"] == declared["deprecated"]


def is_valid_event(run: ModelRun, event_type: str, version: int | None, amount: int) -> bool:
    """Return whether the data of an event match the version of the type that it names, or else the latest one."""
    declared = run.model.event_types.get(event_type)
    if declared is None or (version or 1) > len(declared["min_amounts"]):
        return False
    return bool(amount >= declared["min_amounts"][(version or 0) - 1])


def _schema(min_amount: int) -> Json:
    """Return the schema of the type that is declared at the beginning, with another smallest amount."""
    properties = {**INVOICE_SCHEMA["properties"], "amount": {"type": "integer", "minimum": min_amount}}
    return {**INVOICE_SCHEMA, "properties": properties}
