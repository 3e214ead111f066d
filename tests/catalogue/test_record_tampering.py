"""Records that somebody with access to the table changes, adds or removes: a reconciliation finds exactly these."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from pydantic.alias_generators import to_camel

from chalicelib.entrypoints import catalogue
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import RECORD_FIELDS, Entity
from chalicelib.kernel.storage.record_sets import RecordSet
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import memory_aws, snapshots
from tests.harness.api import Json
from tests.harness.platforms import set_member_role
from tests.harness.reconciliations import find_disagreements

Item = dict[str, Any]

COMPARED_TYPES: Final = [
    each for each in catalogue.list_record_types() if not (each.log_rules.exemption or issubclass(each, RecordSet))
]
SINGLETONS: Final = ("organization", "platform.custom_domain", "site.tree", "taxonomy")
"""Types of which a container, or the log, has exactly one record."""

INSERTABLE_TYPES: Final = [each for each in COMPARED_TYPES if each.kind not in SINGLETONS]
DELETION_LEAVES_NO_TRACE: Final = {
    "page.content": "Only its page refers to it.",
    "page.revision": "Only its page refers to it.",
    "platform.module": "A setting that equals the default is not stored.",
    "site.tree": "No entry is about it. Without it, nothing of the site can be read.",
    "taxonomy": "No entry is about it. Without it, no node can be read.",
}


@pytest.fixture
def populated(tenant: TenantFixture) -> TenantFixture:
    """The tenant, with a record of each compared type. All of them have entries, and no messages wait."""
    api, owner = tenant.api, tenant.people.owner
    api.post(f"{tenant.platform.path}/invite", caller=owner, json={"email": "iris@example.org"}).expect(201)
    modules = {"modules": [{"moduleId": "events", "settings": {"weeks": 2}}]}
    api.patch(f"{tenant.platform.path}/modules", caller=owner, json=modules).expect(200)
    api.post(f"{tenant.organization.path}/audit-log/reconciliations", caller=owner).expect(202)
    for container in (tenant.platform, tenant.space):
        set_member_role(api, container, tenant.people.editor, Role.ADMIN)
    tenant.workers.run_until_idle()
    return tenant


def get_record(record_type: type[Entity], tenant: TenantFixture) -> Item:
    return next(
        item
        for item in snapshots.items_by_key().values()
        if item.get("kind") == record_type.kind and tenant.id in (item.get("organization_id"), item["id"])
    )


def alter(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    forged_by_type = {
        int: lambda: value + 1,
        bytes: lambda: value + b"!",
        str: lambda: f"{value[:-1]}{'0' if value[-1:] != '0' else '1'}",
        dict: lambda: {**value, "forged": True},
        list: lambda: [*value, {"forged": True}],
    }
    return forged_by_type.get(type(value), lambda: "forged")()


def iter_alterations(record_type: type[Entity], item: Item) -> Iterator[tuple[str, Item]]:
    """Yield each field that the MAC covers or that entries contain, with the item in which only it is altered."""
    for name in sorted({*record_type.stored_fields} - {*record_type.unauthenticated_fields, "record_mac"}):
        attribute = record_type.stored_name(name)
        yield name, {**item, attribute: alter(item.get(attribute))}


def is_named(finding: Json, field: str) -> bool:
    """Return whether a finding names a field. Without the true time or id of a record, no entry is about it."""
    return field in RECORD_FIELDS or to_camel(field) in finding["fields"] or finding["kind"] == "unlogged"


def test_each_altered_field_is_found(populated):
    originals = {each: get_record(each, populated) for each in COMPARED_TYPES if not each.mac_exemption}
    alterations = {each: [*iter_alterations(each, item)] for each, item in originals.items()}
    for number in range(max(map(len, alterations.values()))):
        current = {each: found[number] for each, found in alterations.items() if number < len(found)}
        for _, item in current.values():
            memory_aws.put_item(item)
        findings = {each["type"]: each for each in find_disagreements(populated.id)}
        for each in current:
            memory_aws.put_item(originals[each])
        expected = {each.kind: field for each, (field, _) in current.items()}
        assert findings.keys() == expected.keys(), expected
        assert {kind: field for kind, field in expected.items() if not is_named(findings[kind], field)} == {}
    assert find_disagreements(populated.id) == []


@pytest.mark.parametrize("record_type", INSERTABLE_TYPES, ids=lambda each: each.kind)
def test_an_inserted_record_is_found(populated, record_type):
    record = record_type.from_item(get_record(record_type, populated))
    new_id = f"{record.id[:-4]}beef"
    forged = record.replace(**dict.fromkeys(("id", record_type.id_field), new_id))
    if not record_type.log_rules.has_entries:  # With a copied MAC it looks like an altered record.
        forged = forged.replace(record_mac=None)
    memory_aws.put_item(forged.item())
    inserted = [each for each in find_disagreements(populated.id) if each["id"] == new_id]
    assert [(each["type"], each["kind"]) for each in inserted] == [(record.kind, "unlogged")]


@pytest.mark.parametrize("record_type", COMPARED_TYPES, ids=lambda each: each.kind)
def test_a_deleted_record_is_found(populated, record_type):
    original = get_record(record_type, populated)
    memory_aws.delete_item(original)
    expected = [] if record_type.kind in DELETION_LEAVES_NO_TRACE or "ttl" in original else [record_type.kind]
    findings = find_disagreements(populated.id)
    assert [each["type"] for each in findings if each["kind"] == "missing"] == expected


def test_an_older_copy_of_a_record_is_found(populated):
    key = get_record(next(each for each in COMPARED_TYPES if each.kind == "organization.api_key"), populated)
    path = f"{populated.organization.path}/api-keys/{key['id']}"
    populated.api.delete(path, caller=populated.people.owner).expect(200)
    memory_aws.put_item(key)
    (finding,) = find_disagreements(populated.id)
    assert (finding["kind"], finding["id"]) == ("differing", key["id"])


def test_a_record_disguised_as_another_type_is_found(populated):
    member = get_record(next(each for each in COMPARED_TYPES if each.kind == "organization.member"), populated)
    memory_aws.put_item({**member, "role": "owner", "kind": "organization.departure"})
    assert [each["type"] for each in find_disagreements(populated.id)] == ["organization.member"]
