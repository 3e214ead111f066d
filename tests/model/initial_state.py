"""What every story begins with: two organizations, their people, one of each thing; made by steps like any other."""

from typing import Final

from tests.model.entities import Json
from tests.model.story import Story


def _by(who: str | int = "ada") -> Json:
    return {"by": {"who": who}}


def _joins(whom: str, role: str) -> list[tuple[str, Json]]:
    return [
        ("invite_to_organization", {**_by(), "place": 0, "whom": whom, "role": role, "days": 7}),
        ("answer_as_invited", {**_by(), "invitation": 0, "decision": "accept", "old": 1}),
    ]


BEGINNING: Final[list[tuple[str, Json]]] = [
    ("create_organization", {**_by("stranger"), "fields": {"name": "Rivals", "slug": "rivals"}}),
    ("create_webhook", {**_by("stranger"), "place": 0, "fields": {}}),
    ("create_platform", {**_by("stranger"), "place": 0, "fields": {"name": "Rivals' own"}}),
    ("create_organization", {**_by(), "fields": {"name": "Bletchley", "slug": "bletchley"}}),
    ("create_webhook", {**_by(), "place": 0, "fields": {}}),
    ("create_integration_channel", {**_by(), "place": 0, "fields": {}}),
    *_joins("grace", "admin"),
    *_joins("edith", "editor"),
    *_joins("mary", "member"),
    *(
        ("create_api_key", {**_by(), "place": 0, "name": "Key", "scopes": scopes, "days": None})
        for scopes in (["read"], ["write"], ["admin"], ["members:write"])
    ),
    ("create_platform", {**_by(), "place": 0, "fields": {"name": "Engines", "joinPolicy": "open"}}),
    ("create_space", {**_by("grace"), "platform": 0, "fields": {"name": "Looms"}}),
    ("create_space", {**_by(), "platform": 0, "fields": {"name": "Mills", "visibility": "private"}}),
    ("update_platform_member", {**_by(), "platform": 0, "whom": "edith", "role": "editor"}),
    ("create_taxonomy_node", {**_by(), "platform": 0, "letter": "a", "parent": None}),
    ("create_taxonomy_node", {**_by(), "platform": 0, "letter": "b", "parent": 0}),
    ("create_site", {**_by(), "place": 0, "fields": {"name": "The mill"}}),
    ("publish_site", {**_by(), "site": 0, "status": "published"}),
    ("create_page", {**_by(), "site": 0, "slug": "a", "parent": None, "home": False}),
    ("create_page", {**_by(), "site": 0, "slug": "b", "parent": None, "home": False}),
    ("publish_page", {**_by(), "page": 0, "earlier": 3}),
    ("create_public_lead", {**_by("nobody"), "name": "Charles", "message": None}),
    ("settle", {}),
]


def begun(story: Story) -> Story:
    """Return a story that has come so far."""
    for name, said in BEGINNING:
        story.do(name, said)
    return story
