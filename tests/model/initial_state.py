"""The initial state of every run: two organizations, their members, and a record of each kind."""

from typing import Final

from tests.model.model_run import ModelRun
from tests.model.service_model import Json


def _sender(who: str | int = "ada") -> Json:
    return {"by": {"who": who}}


def _invite_and_accept(whom: str, role: str) -> list[tuple[str, Json]]:
    return [
        ("invite_to_organization", {**_sender(), "place": 0, "whom": whom, "role": role, "days": 7}),
        ("respond_as_invitee", {**_sender(), "invitation": 0, "decision": "accept", "link_choice": 1}),
    ]


INITIAL_STEPS: Final[list[tuple[str, Json]]] = [
    ("create_organization", {**_sender("stranger"), "fields": {"name": "Rivals", "slug": "rivals"}}),
    ("create_webhook", {**_sender("stranger"), "place": 0, "fields": {}}),
    ("create_platform", {**_sender("stranger"), "place": 0, "fields": {"name": "Rivals' own"}}),
    ("create_organization", {**_sender(), "fields": {"name": "Bletchley", "slug": "bletchley"}}),
    ("create_webhook", {**_sender(), "place": 0, "fields": {}}),
    ("create_integration_channel", {**_sender(), "place": 0, "fields": {}}),
    *_invite_and_accept("grace", "admin"),
    *_invite_and_accept("edith", "editor"),
    *_invite_and_accept("mary", "member"),
    *(
        ("create_api_key", {**_sender(), "place": 0, "name": "Key", "scopes": scopes, "days": None})
        for scopes in (["read"], ["write"], ["admin"], ["members:write"])
    ),
    ("create_platform", {**_sender(), "place": 0, "fields": {"name": "Engines", "joinPolicy": "open"}}),
    ("create_space", {**_sender("grace"), "platform": 0, "fields": {"name": "Looms"}}),
    ("create_space", {**_sender(), "platform": 0, "fields": {"name": "Mills", "visibility": "private"}}),
    ("update_platform_member", {**_sender(), "platform": 0, "whom": "edith", "role": "editor"}),
    ("create_taxonomy_node", {**_sender(), "platform": 0, "letter": "a", "parent": None}),
    ("create_taxonomy_node", {**_sender(), "platform": 0, "letter": "b", "parent": 0}),
    ("create_site", {**_sender(), "place": 0, "fields": {"name": "The mill"}}),
    ("publish_site", {**_sender(), "site": 0, "status": "published"}),
    ("create_page", {**_sender(), "site": 0, "slug": "a", "parent": None, "home": False}),
    ("create_page", {**_sender(), "site": 0, "slug": "b", "parent": None, "home": False}),
    ("publish_page", {**_sender(), "page": 0, "earlier": 3}),
    ("create_public_lead", {**_sender("nobody"), "name": "Charles", "message": None}),
    ("settle", {}),
]


def run_initial_steps(run: ModelRun) -> ModelRun:
    """Execute the initial steps and return the run."""
    for name, arguments in INITIAL_STEPS:
        run.execute_step(name, arguments)
    return run
