"""Records that were stored with an older schema version, as callers see them."""

import pytest

from chalicelib.features.platforms.spaces.entities import Space
from tests.harness import memory_aws
from tests.harness.platforms import create_space


@pytest.fixture
def older_space(api, platform, monkeypatch):
    """The path of a space that was stored when spaces had a summary and a rest instead of a description."""
    space = create_space(api, platform, name="Looms")
    memory_aws.put_item({**get_stored_space(), "summary": "Warp", "rest": "weft"})
    monkeypatch.setattr(Space, "schema_version", 2)
    upcasters = {1: lambda item: {"description": f"{item.pop('summary')} and {item.pop('rest')}", **item}}
    monkeypatch.setattr(Space, "upcasters", upcasters)
    return space.path


def get_stored_space():
    (item,) = [item for item in memory_aws.all_items() if item.get("kind") == "space"]
    return item


def test_an_older_record_is_read_in_the_current_schema_and_only_a_change_stores_and_logs_it(api, platform, older_space):
    (listed,) = api.get_items(f"{platform.path}/spaces", caller=platform.owner)
    descriptions = (listed["description"], api.get(older_space, caller=platform.owner).json["description"])
    assert descriptions == ("Warp and weft", "Warp and weft")
    response = api.patch(older_space, caller=platform.owner, json={"description": "Warp and weft"})
    assert (response.json["version"], "shape" in get_stored_space()) == (1, False)
    response = api.patch(older_space, caller=platform.owner, json={"position": 7})
    assert (response.json["version"], response.json["description"]) == (2, "Warp and weft")
    assert get_stored_space()["shape"] == 2
    assert not {"summary", "rest"} & set(get_stored_space())
    entry = api.get_items(f"/organizations/{platform.record['organizationId']}/audit-log", caller=platform.owner)[0]
    assert [change["field"] for change in entry["changes"]] == ["position"]
    assert api.delete(older_space, caller=platform.owner).status == 204


def test_a_record_of_a_newer_schema_is_rejected(api, platform, older_space):
    memory_aws.put_item({**get_stored_space(), "shape": 3})
    for method, body in (("GET", None), ("PATCH", {"position": 7})):
        answer = api.request(method, older_space, caller=platform.owner, json=body)
        answer.expect_problem("503 unavailable", "newer release")
