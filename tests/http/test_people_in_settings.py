"""Settings are whatever callers sent: what they say of a person can be taken out of them."""

from typing import Any

import pytest

from chalicelib.features.platforms.capabilities.entities import Capability
from chalicelib.features.platforms.modules.entities import ModuleOverride, PlatformModule
from chalicelib.features.platforms.project_blocks.entities import ProjectBlock
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.entity import Entity
from chalicelib.kernel.storage.pii import PersonalData
from tests.harness.stored_records import beginning

SOPHIE = PersonalData(frozenset(), frozenset({"sophie@example.org"}))
SETTINGS: dict[str, Any] = {"contact": ["Ask sophie@example.org.", {"sophie@example.org": True}], "most": 3}
WITHOUT = {"contact": ["Ask ….", {"…": True}], "most": 3}
IN_PLATFORM: dict[str, Any] = {"organization_id": "o", "platform_id": "p"}


def records(settings: dict[str, Any]) -> list[Entity]:
    begun, in_space = beginning(now()), {**IN_PLATFORM, "space_id": "s"}
    return [
        PlatformModule(**begun, **IN_PLATFORM, module_id="m", settings=settings),
        ModuleOverride(**begun, **in_space, module_id="m", settings=settings),
        Capability(**begun, **in_space, capability_key="c", settings=settings),
        ProjectBlock(**begun, **IN_PLATFORM, project_block_id="b", position=0, title="Hers", settings=settings),
    ]


@pytest.mark.parametrize("record", records(SETTINGS), ids=lambda record: record.kind)
def test_who_is_named_is_named_no_more(record: Entity) -> None:
    assert record.redact(SOPHIE) == {"settings": WITHOUT}


@pytest.mark.parametrize("record", records({"most": 3}), ids=lambda record: record.kind)
def test_what_names_nobody_stays(record: Entity) -> None:
    assert record.redact(SOPHIE) == {}


def test_a_title_names_nobody_either() -> None:
    block = ProjectBlock(
        **beginning(now()), **IN_PLATFORM, project_block_id="b", position=0, title="By sophie@example.org"
    )
    assert block.redact(SOPHIE) == {"title": "By …"}
