"""Settings can contain anything, including personal data, which can be redacted."""

from typing import Any

import pytest

from chalicelib.features.platforms.capabilities.entities import Capability
from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.pii import PersonIdentifiers
from tests.harness.stored_records import new_id_and_time_fields

SOPHIE = PersonIdentifiers(frozenset(), frozenset({"sophie@example.org"}))
SETTINGS: dict[str, Any] = {"contact": ["Ask sophie@example.org.", {"sophie@example.org": True}], "most": 3}
REDACTED_SETTINGS = {"contact": ["Ask ….", {"…": True}], "most": 3}
IN_PLATFORM: dict[str, Any] = {"organization_id": "o", "platform_id": "p"}


def build_records(settings: dict[str, Any]) -> list[Entity]:
    new_fields, space_fields = new_id_and_time_fields(now()), {**IN_PLATFORM, "space_id": "s"}
    return [
        PlatformModule(**new_fields, **IN_PLATFORM, module_id="m", settings=settings),
        ModuleOverride(**new_fields, **space_fields, module_id="m", settings=settings),
        Capability(**new_fields, **space_fields, capability_key="c", settings=settings),
        ProjectBlock(**new_fields, **IN_PLATFORM, project_block_id="b", position=0, title="Hers", settings=settings),
    ]


@pytest.mark.parametrize("record", build_records(SETTINGS), ids=lambda record: record.kind)
def test_personal_data_in_settings_is_redacted(record):
    assert record.redaction_changes_or_none_to_delete(SOPHIE) == {"settings": REDACTED_SETTINGS}


@pytest.mark.parametrize("record", build_records({"most": 3}), ids=lambda record: record.kind)
def test_settings_without_personal_data_stay(record):
    assert record.redaction_changes_or_none_to_delete(SOPHIE) == {}


def test_personal_data_in_a_title_is_redacted():
    block = ProjectBlock(
        **new_id_and_time_fields(now()), **IN_PLATFORM, project_block_id="b", position=0, title="By sophie@example.org"
    )
    assert block.redaction_changes_or_none_to_delete(SOPHIE) == {"title": "By …"}
