"""The stored project blocks of a platform."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from chalicelib.features.platforms.project_blocks.models import ProjectBlockSetOut
from chalicelib.kernel.http.fields import IDENTIFIER_PATTERN
from chalicelib.kernel.storage.entity import Collection, Entity
from chalicelib.kernel.storage.log_rules import rules_of_set_items
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.record_sets import RecordSet


class ProjectBlock(Entity):
    """A project block of a platform. Positions start at 0."""

    kind, parameter, id_field = "platform.project_block", "project_block_id", "project_block_id"
    log_rules = rules_of_set_items(
        "platform.project_blocks.updated",
        "projectBlockId",
        lambda platform_id, key: ProjectBlock.make_item_key(platform_id=platform_id, project_block_id=key),
        has_entries=False,
    )
    parameter_pattern = IDENTIFIER_PATTERN
    pk, sk = "P#{platform_id}", "C#B#{project_block_id}"
    in_platform = Collection("P#{platform_id}", "C#B#{project_block_id}")
    in_organization = Collection("O#{organization_id}#B#{project_block_id}", "{platform_id}", index="index1")

    organization_id: str
    platform_id: str
    project_block_id: str
    position: int
    title: str | None = None
    enabled: bool = True
    settings: dict[str, Any] = field(default_factory=dict)

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the title and settings with the person's data redacted."""
        return person.redacted_field_changes({"title": self.title, "settings": self.settings})


class ProjectBlockSet(RecordSet):
    """All project blocks of a platform, by position."""

    kind = "platform.project_blocks"
    item_key_field = "projectBlockId"
    output_model = ProjectBlockSetOut


def sort_by_position(blocks: Iterable[ProjectBlock]) -> list[ProjectBlock]:
    """Return project blocks in the order of their positions."""
    return sorted(blocks, key=lambda block: block.position)
