"""Erasures of people whom only the application knows, by the actor of application events."""

from hypothesis import strategies as st

from tests.model.action_groups.events import ACTORS
from tests.model.actions import action, record_index
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Json, ModelRecord

MAX_RUNNING_ERASURES = 10


@action(weight=2, place=record_index, actor=st.sampled_from(ACTORS))
def erase_actor(run: ModelRun, by: Sender, organization: ModelRecord, actor: Json) -> None:
    """Erase a person, whose events that are written meanwhile may be erased, too."""
    body, expected = {"actor": {"type": actor["type"], "id": actor["id"]}}, {"status": "queued", "erasedEntries": 0}
    # The model does not know which erasures are completed.
    options: Json = {}
    if len(run.model.list_existing("erasure", organization)) >= MAX_RUNNING_ERASURES:
        options["possible_refusals"] = ("409 limit_exceeded",)
    if erasure := run.create(by, "erase_person", "erasure", organization, body, expected, **options):
        erasure.has_unseen_version = True
        run.model.erased_actors.setdefault(organization.id, []).append(actor)
        for entry in run.model.expected_entries[organization.id]:
            if entry.asserted_actor == actor:
                entry.is_erased = True


def check_erasures(run: ModelRun, organization: ModelRecord) -> None:
    """Assert that all erasures of an organization are completed."""
    for erasure in run.model.list_existing("erasure", organization):
        shown = run.read_as_owner(erasure).json
        assert (shown["status"], shown["error"]) == ("completed", None)
