"""The command that compares the records of all organizations with their logs."""

from typing import Any

import pytest

from chalicelib.features.audit.reconciliations.logic import walk
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.organizations import Organization
from local.tools import table_scans
from local.tools.audit_records import AuditFailed, audit_records
from tests.harness import memory_aws
from tests.harness.organizations import create_api_key
from tests.harness.stored_records import load_item

pytestmark = pytest.mark.usefixtures("scans_allowed", "without_delay")


def test_it_prints_also_containers_that_nothing_lists(organization, forged_member, capsys):
    other_id = f"{organization.id[:-4]}beef"
    item = load_item(Organization.make_item_key(id=organization.id))
    memory_aws.put_item({**item, "pk": f"O#{other_id}", "id": other_id})
    with pytest.raises(AuditFailed, match="Find out who wrote these records"):
        audit_records(renews_macs=False)
    lines = capsys.readouterr().out
    assert f"{organization.id}: unlogged organization.member {forged_member['id']}\n" in lines
    assert f"{other_id}: unlogged organization {other_id}\n" in lines


def test_it_tells_that_there_are_more_findings_than_it_lists(api, organization, capsys, monkeypatch):
    monkeypatch.setattr(walk, "MAX_FINDINGS", 1)
    for name in ("a", "b"):
        key = create_api_key(api, organization, "read", name=name)
        memory_aws.delete_item(load_item(ApiKey.make_item_key(organization_id=organization.id, id=key.id)))
    with pytest.raises(AuditFailed):
        audit_records(renews_macs=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{organization.id}: there are more findings than those listed"
    assert lines[-1].endswith("with the log: 1 finding.")


def test_it_confirms_containers_after_one_delay(organization, capsys, monkeypatch):
    """A request in flight may be about to commit, or to remove, what the scan has read."""
    item = load_item(Organization.make_item_key(id=organization.id))
    copies = [
        {**item, "pk": f"O#{other_id}", "id": other_id}
        for other_id in (f"{organization.id[:-4]}{end}" for end in ("bee1", "bee2", "bee3"))
    ]
    for each in copies:
        memory_aws.put_item(each)
    delays: list[float] = []

    def sleep(seconds: float) -> None:
        if seconds == 60:
            delays.append(seconds)
            memory_aws.delete_item(copies[0])

    monkeypatch.setattr("local.tools.audit_records.CONFIRMATION_DELAY_SECONDS", 60)
    monkeypatch.setattr("time.sleep", sleep)
    with pytest.raises(AuditFailed):
        audit_records(renews_macs=False)
    lines = capsys.readouterr().out
    assert delays == [60]
    assert [f"{each['id']}: unlogged" in lines for each in copies] == [False, True, True]
    assert lines.endswith("Compared 1 organization with the log: 2 findings.\n")


def test_scans_pause_so_that_they_use_a_limited_number_of_read_units(organization, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    monkeypatch.setattr("time.sleep", pauses.append)
    assert [*table_scans.iter_scanned_items({"Limit": 2}, max_units_per_second=10)]
    item_count = len(memory_aws.all_items())
    assert len(pauses) >= item_count // 2
    assert all(pause >= 0.05 for pause in pauses)


def test_an_organization_that_cannot_be_compared_does_not_end_it(api, organization, capsys, monkeypatch):
    answer = api.post("/organizations", caller=organization.owner, json={"name": "Second Engines"}).expect(201)
    other_id = answer.json["id"]
    advance = walk.Walk.advance

    def advance_or_fail(self: walk.Walk) -> dict[str, Any]:
        if self.reconciliation.organization_id == organization.id:
            raise TypeError("unexpected")
        return advance(self)

    monkeypatch.setattr(walk.Walk, "advance", advance_or_fail)
    memory_aws.delete_item(load_item(Organization.make_item_key(id=other_id)))
    with pytest.raises(AuditFailed):
        audit_records(renews_macs=False)
    lines = capsys.readouterr().out
    assert f"{organization.id}: not compared: TypeError('unexpected')\n" in lines
    assert f"{other_id}: missing organization {other_id}\n" in lines
