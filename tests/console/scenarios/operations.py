"""The screens of operators, and the data that belong to no organization."""

from typing import Final

from local.seed.callers import Service
from local.seed.content.leads import OPERATOR
from local.seed.leads import operator_caller
from local.seed.organization import person_by_username
from tests.console.scenarios.scenario import Area, Scenario
from tests.harness import memory_aws
from tests.harness.dead_letters import put_dead_letter
from tests.harness.reference_data import load_small_dataset
from tests.harness.research_records import ARTEFACT_ID, JOB_ID, OUTPUT_ID, build_research_records


def operated_records(service: Service) -> dict[str, str]:
    """Create what operators look at beside the leads, and return the ids of records that they open."""
    operator = operator_caller(service)
    load_small_dataset()
    put_dead_letter("jobs", {"task": "erasures.run", "pk": "O#gone", "sk": "#", "requestIds": ["request-1"]})
    return {
        "key": operator.post("/system/service-keys", {"name": "Invoicing", "types": ["invoice.*"]})["id"],
        "found": operator.list_all("/system/organizations")[0]["id"],
        "redrive": operator.post("/system/dead-letters/redrive", {"queue": "events"})["id"],
        "verification": operator.post("/system/log-verifications")["id"],
        "lead": operator.list_all("/marketing-leads", status="new")[0]["id"],
        "entry": operator.list_all("/system/audit-log")[0]["id"],
        **research_records(service),
    }


def research_records(service: Service) -> dict[str, str]:
    """Store a work, its artefact and the job that built it, and return their ids."""
    starter = service.caller_for(person_by_username("maud")).get("/me")["id"]
    for record in build_research_records(starter):
        memory_aws.put_item(record.item())
    return {"artefact": ARTEFACT_ID, "work": OUTPUT_ID, "job": JOB_ID}


OPERATIONS_AREA: Final = Area(
    scenarios={
        "/operate": Scenario(calls=2, user=OPERATOR),
        "/operate/migrations": Scenario(calls=1, user=OPERATOR),
        "/operate/leads": Scenario(calls=1, user=OPERATOR, dialogs=("create", "lead:<lead>", "move:<lead>")),
        "/operate/backfill": Scenario(calls=1, user=OPERATOR, dialogs=("backfill:neurips",)),
        "/operate/dead-letters": Scenario(calls=2, user=OPERATOR, dialogs=("redrive:jobs", "progress:<redrive>")),
        "/operate/organizations": Scenario(calls=1, user=OPERATOR, dialogs=("<found>",)),
        "/operate/log-verifications": Scenario(calls=1, user=OPERATOR, dialogs=("start", "<verification>")),
        "/operate/service-keys": Scenario(
            calls=1, user=OPERATOR, dialogs=("create", "key:<key>", "rotate:<key>", "revoke:<key>")
        ),
        "/operate/audit-log": Scenario(calls=1, user=OPERATOR, dialogs=("export", "<entry>")),
        "/research": Scenario(calls=1, dialogs=("import", "reconcile")),
        "/research/works/:work": Scenario(calls=1, dialogs=("artefact:<artefact>",)),
        "/research/artefacts": Scenario(calls=1, dialogs=("artefact:<artefact>",)),
        "/research/jobs": Scenario(calls=1, dialogs=("job:<job>",)),
        "/research/venues": Scenario(calls=1),
        "/reference": Scenario(calls=1, dialogs=("AD",)),
    },
    prepare=operated_records,
)
