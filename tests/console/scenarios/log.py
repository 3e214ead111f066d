"""The screens of an organization's log: entries, exports, reconciliations, and files to verify."""

from typing import Final

from chalicelib.kernel.audit_log import ledger
from local.seed.callers import Service
from local.seed.organization import person_by_username
from tests.console.scenarios.organization import organization_ids
from tests.console.scenarios.scenario import Area, Scenario


def log_ids(service: Service) -> dict[str, str]:
    """Start an export and a reconciliation, and append all entries of the sample organization to its log.

    Returns the ids, and that of an entry with a difference.
    """
    ids = organization_ids(service)
    maud = service.caller_for(person_by_username("maud"))
    path = f"/organizations/{ids['organization']}/audit-log"
    export = maud.post(f"{path}/export-async", {"filters": {"type": "organization.*"}})
    reconciliation = maud.post(f"{path}/reconciliations", {})
    ledger.append_pending_and_return_longest_wait_ms(ids["organization"])
    entry = next(each for each in maud.list_all(path) if len(each["changes"]) > 1)
    return {**ids, "entry": entry["id"], "export": export["id"], "reconciliation": reconciliation["id"]}


LOG_AREA: Final = Area(
    scenarios={
        "/o/:organization/log": Scenario(calls=1, dialogs=("export",)),
        "/o/:organization/log/:entry": Scenario(calls=3),
        "/o/:organization/exports": Scenario(calls=1, dialogs=("verify:<export>",)),
        "/o/:organization/reconciliations": Scenario(calls=1, dialogs=("start",)),
        "/o/:organization/reconciliations/:reconciliation": Scenario(calls=1),
        "/o/:organization/verification": Scenario(calls=0),
    },
    prepare=log_ids,
)
