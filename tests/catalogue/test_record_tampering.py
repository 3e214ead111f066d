"""Records that somebody with access to the table changes, adds or removes: a reconciliation finds exactly these."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import pytest
from pydantic.alias_generators import to_camel

from chalicelib.entrypoints import catalogue
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.features.tenancy.api_keys.entities import ApiKey
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import record_types
from chalicelib.kernel.storage.entity import RECORD_FIELDS, Container, Entity
from chalicelib.kernel.storage.record_sets import RecordSet
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import memory_aws, snapshots
from tests.harness.api import Json
from tests.harness.parametrize_operations import parametrize_operations
from tests.harness.platforms import set_member_role
from tests.harness.reconciliations import accept_findings, find_disagreements

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

_REMOVED_TOGETHER: Final = ("page", "taxonomy.node")
"""Types without whose records others are removed."""

DELETION_GROUPS: Final = [
    [
        each.kind
        for each in COMPARED_TYPES
        if not issubclass(each, Container) and each.kind not in _REMOVED_TOGETHER and "ttl" not in each.stored_fields
    ],
    *([each.kind] for each in COMPARED_TYPES if issubclass(each, Container)),
    *([kind] for kind in _REMOVED_TOGETHER),
]
"""Kinds whose records can be deleted together, so that each is found."""


@pytest.fixture
def populated(tenant: TenantFixture) -> TenantFixture:
    """The tenant, with a record of each compared type. All of them have entries, and no messages wait."""
    api, owner = tenant.api, tenant.people.owner
    api.post(f"{tenant.platform.path}/invite", caller=owner, json={"email": "iris@example.org"}).expect(201)
    modules = {"modules": [{"moduleId": "events", "settings": {"weeks": 2}}]}
    api.patch(f"{tenant.platform.path}/modules", caller=owner, json=modules).expect(200)
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
        dict: lambda: {**value, **{name: alter(value.get(name)) for name in [*value, "forged"][:1]}},
        list: lambda: [*value, {"forged": True}],
    }
    return forged_by_type.get(type(value), lambda: "forged")()


def iter_alterations(record_type: type[Entity], item: Item) -> Iterator[tuple[str, Item]]:
    """Yield each field that the MAC covers or that entries contain, with the item in which only it is altered."""
    unchecked = {*record_type.unauthenticated_fields, "record_mac"}
    if record_type.log_rules.unlogged_changes or not record_type.log_rules.has_entries:
        unchecked |= {"updated_at", "version"}  # They can change without an entry and without the key.
    for name in sorted({*record_type.stored_fields} - unchecked):
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
        assert findings.keys() == expected.keys(), {k: expected.get(k) for k in set(expected) ^ set(findings)}
        assert {kind: field for kind, field in expected.items() if not is_named(findings[kind], field)} == {}
    assert find_disagreements(populated.id) == []


def test_attributes_of_a_wrong_type_are_found_and_stop_nothing(populated):
    """Somebody who alters one record must not be able to stop the checks of all others."""
    originals = {each.kind: get_record(each, populated) for each in COMPARED_TYPES if not each.mac_exemption}
    for name, wrong in product((*RECORD_FIELDS, "record_mac"), (5.5, "1", "x" * 3_000, b"x" * 26, [{"a": 1}])):
        for item in originals.values():
            memory_aws.put_item({**item, name: wrong})
        found = {each["type"] for each in find_disagreements(populated.id)}
        assert originals.keys() - found == set(), (name, wrong)
    # No later time exists, DynamoDB accepts no such key, and a list cannot be hashed.
    for forged in ({"updated_at": "9999-12-31T23:59:59.999Z"}, {"email": "x" * 3_000}, {"kind": [1]}):
        for item in originals.values():
            memory_aws.put_item({**item, **forged})
        assert find_disagreements(populated.id)
    for item in originals.values():
        memory_aws.put_item({name: value for name, value in item.items() if name != "id"})
    assert len(find_disagreements(populated.id)) >= len(originals)


@pytest.mark.parametrize("is_upgrade", [False, True])
def test_inserted_records_are_found(populated, configure, is_upgrade):
    """During an upgrade, records without entries of their own type are accepted without MACs."""
    inserted: dict[str, str] = {}
    for record_type in INSERTABLE_TYPES:
        record = record_type.from_item(get_record(record_type, populated))
        new_id = f"{record.id[:-4]}beef"
        forged = record.replace(**dict.fromkeys(("id", record_type.id_field), new_id))
        if is_upgrade or not record_type.log_rules.has_entries:  # With a copied MAC it looks like an altered record.
            forged = forged.replace(record_mac=None)
        if is_upgrade:  # A later version may have changed with an entry about another record.
            forged = forged.replace(version=2)
        if record_type.log_rules.has_entries or not is_upgrade:
            memory_aws.put_item(forged.item())
            inserted[record_type.kind] = new_id
    configure(unauthenticated_records_until=after(now(), hours=1) if is_upgrade else "")
    findings = find_disagreements(populated.id)
    assert {each["type"]: each["id"] for each in findings if each["kind"] == "unlogged"} == inserted


@pytest.mark.parametrize("kinds", DELETION_GROUPS, ids=lambda kinds: kinds[0])
def test_deleted_records_are_found(populated, kinds):
    for kind in kinds:
        memory_aws.delete_item(get_record(record_types.get_record_type(kind), populated))
    missing = sorted(each["type"] for each in find_disagreements(populated.id) if each["kind"] == "missing")
    assert missing == [kind for kind in kinds if kind not in DELETION_LEAVES_NO_TRACE]


def test_records_of_each_type_can_be_accepted_until_they_are_altered_again(populated):
    altered = {each.kind: get_record(each, populated) for each in COMPARED_TYPES if not each.mac_exemption}
    for _ in range(2):
        for record_type in map(record_types.get_record_type, altered):
            memory_aws.put_item({**get_record(record_type, populated), "record_mac": bytes(26)})
        assert {each["type"] for each in find_disagreements(populated.id)} == {*altered}
        accept_findings(populated.id)
        assert find_disagreements(populated.id) == []
    populated.workers.run_until_idle()
    assert find_disagreements(populated.id) == []


@pytest.mark.parametrize("kinds", DELETION_GROUPS, ids=lambda kinds: kinds[0])
def test_the_absence_of_records_of_each_type_can_be_accepted_until_they_are_back(populated, clock, kinds):
    clock.shift(minutes=2)
    types = map(record_types.get_record_type, kinds)
    deleted = {each: get_record(each, populated) for each in types}
    for record_type, item in deleted.items():
        # A derived item without its record cannot be accepted.
        for each in (item, *record_type.from_item(item).derived_items):
            memory_aws.delete_item(each)
    missing = {each["type"] for each in find_disagreements(populated.id) if each["kind"] == "missing"}
    accept_findings(populated.id)
    assert find_disagreements(populated.id) == []
    for item in deleted.values():
        memory_aws.put_item(item)
    assert missing <= {each["type"] for each in find_disagreements(populated.id)}


def test_an_older_copy_of_a_record_is_found(populated):
    api_key = get_record(ApiKey, populated)
    path = f"{populated.organization.path}/api-keys/{api_key['id']}"
    populated.api.delete(path, caller=populated.people.owner).expect(204)
    memory_aws.put_item(api_key)
    (finding,) = find_disagreements(populated.id)
    assert (finding["kind"], finding["id"]) == ("differing", api_key["id"])
    assert "revokedBecause" not in finding["fields"]


def test_an_older_copy_is_found_if_the_newest_entry_is_about_a_record_that_it_did_not_change(populated):
    webhook = get_record(Webhook, populated)
    path = f"{populated.organization.path}/webhooks/{webhook['id']}"
    version = (
        populated.api.patch(path, caller=populated.people.owner, json={"events": ["lead.*"]})
        .expect(200)
        .json["version"]
    )
    populated.api.post(f"{path}/test", caller=populated.people.owner).expect(200)
    assert find_disagreements(populated.id) == []
    memory_aws.put_item({**webhook, "version": version})
    (finding,) = find_disagreements(populated.id)
    assert (finding["kind"], finding["id"]) == ("differing", webhook["id"])


ENDED_BY: Final = {event: each for each in COMPARED_TYPES for event in each.log_rules.ended_by}


@parametrize_operations(lambda operation: not {*operation.emits}.isdisjoint(ENDED_BY))
def test_records_that_somebody_puts_back_after_their_removal_are_found(operation, tenant, clock):
    """Their MACs and entries match, and an access check would accept them."""
    (record_type,) = {ENDED_BY[event] for event in operation.emits if event in ENDED_BY}
    tenant.workers.run_until_idle()
    before = snapshots.items_by_key()
    clock.shift(minutes=2)
    call_operation(operation, tenant).expect(operation.success)
    tenant.workers.run_until_idle()
    remaining, known = snapshots.items_by_key(), find_disagreements(tenant.id)
    for key in before.keys() - remaining.keys():
        memory_aws.put_item(before[key])
    found = [(each["kind"], each["type"]) for each in find_disagreements(tenant.id) if each not in known]
    assert ("unlogged", record_type.kind) in found


def test_a_pointer_of_an_api_key_to_another_record_is_found(populated):
    api_key = ApiKey.from_item(get_record(ApiKey, populated))
    memory_aws.put_item({**api_key.derived_items[0], "record_sk": "K#another"})
    (finding,) = find_disagreements(populated.id)
    assert (finding["id"], finding["fields"]) == (api_key.id, ["derivedItems"])


@pytest.mark.parametrize(
    "forged", [{"sk": "E#/login"}, {"id": "another"}, {"to_path": "https://evil.example/"}], ids=str
)
def test_a_copy_of_a_redirect_by_which_visits_find_it_is_found(populated, forged):
    redirect = Redirect.from_item(get_record(Redirect, populated))
    memory_aws.put_item({**redirect.derived_items[0], **forged})
    assert {each["type"] for each in find_disagreements(populated.id)} == {"site.redirect"}


def test_a_record_disguised_as_another_type_is_found(populated):
    member = get_record(Member, populated)
    memory_aws.put_item({**member, "role": "owner", "kind": "organization.departure"})
    assert [each["type"] for each in find_disagreements(populated.id)] == ["organization.member"]
