"""Records that were stored before their fields were what they are now, as callers meet them."""

import pytest

from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.kernel.storage.entity import Item
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.platforms import Running, make_space


def _upcast(item: Item) -> Item:
    return {"description": f"{item.pop('summary')} and {item.pop('rest')}", **item}


@pytest.fixture
def older(api: Api, platform: Running, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a space that was stored when a space had a summary and a rest instead of a description."""
    space = make_space(api, platform, name="Looms")
    (item,) = [item for item in cloud.stored() if item.get("id") == space.id and item["kind"] == "space"]
    cloud.put({**item, "summary": "Warp", "rest": "weft"})
    monkeypatch.setattr(Space, "schema_version", 2)
    monkeypatch.setattr(Space, "upcasters", {1: _upcast})
    return space.path


def stored() -> Item:
    (item,) = [item for item in cloud.stored() if item.get("kind") == "space"]
    return item


def test_it_is_read_and_listed_as_it_would_be_today(api: Api, platform: Running, older: str) -> None:
    assert api.get(older, as_=platform.owner).json["description"] == "Warp and weft"
    (listed,) = api.items(f"{platform.path}/spaces", as_=platform.owner)
    assert listed["description"] == "Warp and weft"
    assert "shape" not in stored()


def test_the_first_change_stores_it_in_todays_shape_and_says_only_what_was_changed(
    api: Api, platform: Running, older: str
) -> None:
    unchanged = api.patch(older, as_=platform.owner, json={"description": "Warp and weft"})
    assert (unchanged.json["version"], "shape" in stored()) == (1, False)
    changed = api.patch(older, as_=platform.owner, json={"position": 7})
    assert (changed.json["version"], changed.json["description"]) == (2, "Warp and weft")
    assert stored()["shape"] == 2
    assert not {"summary", "rest"} & set(stored())
    entry = api.items(f"/organizations/{platform.record['organizationId']}/audit-log", as_=platform.owner)[0]
    assert [change["field"] for change in entry["changes"]] == ["position"]
    assert api.delete(older, as_=platform.owner).status == 204


def test_a_newer_one_is_not_misread(api: Api, platform: Running, older: str) -> None:
    cloud.put({**stored(), "shape": 3})
    for answer in (api.get(older, as_=platform.owner), api.patch(older, as_=platform.owner, json={"position": 7})):
        assert answer.code == "503 unavailable"
        assert "newer release" in answer.json["detail"]
