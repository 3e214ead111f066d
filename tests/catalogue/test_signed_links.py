"""The holder of a signed link does what the link allows, to its record, and nothing else, whatever the operation."""

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.notifications.webhooks.logic.links import WEBHOOK_LINK
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.kernel.identity.signed_links import LINK_SECONDS
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.log_proof import entry_of_request
from tests.catalogue.outcomes import outcome_of
from tests.catalogue.tenant_fixture import TenantFixture, put_records
from tests.harness import snapshots
from tests.harness.domains import custom_domain_path
from tests.harness.parametrize_operations import parametrize_operations
from tests.harness.signed_links import LinkHolder, create_link, sign_webhook_link

OPERATIONS_BY_LINK: Final = {
    "custom_domain": {"get_custom_domain", "verify_custom_domain", "get_signed_link"},
    "webhook": {
        *("get_webhook", "test_webhook", "rotate_webhook_secret", "list_webhook_deliveries", "get_webhook_delivery"),
        *("retry_webhook_delivery", "get_webhook_statistics", "get_signed_link"),
    },
}


def link_of(tenant: TenantFixture, link_type: str, *, rivals: bool = False) -> LinkHolder:
    """Create a link of a type as an admin of the tenant, or as the owner of the rivals' organization."""
    organization = tenant.rivals if rivals else tenant.organization
    creator = organization.owner if rivals else tenant.people.admin
    paths = {"custom_domain": custom_domain_path(organization.platform), "webhook": organization.webhook_path}
    return create_link(tenant.api, paths[link_type], creator)[0]


def accepts_links(operation: Operation) -> bool:
    return bool(operation.link_types)


def names_record(operation: Operation) -> bool:
    return bool(operation.link_types and operation.path_parameter_names)


def test_links_open_the_operations_of_their_pages():
    found: dict[str, set[str]] = {}
    for operation in all_operations():
        for link_type in operation.link_types:
            found.setdefault(link_type.name, set()).add(operation.id)
    assert found == OPERATIONS_BY_LINK


@parametrize_operations(names_record)
def test_a_link_requires_the_container_of_the_operation_and_no_lower_role(operation):
    for link_type in operation.link_types:
        assert isinstance(operation.access, RequireRole)
        assert operation.access.container_type is link_type.access.container_type
        assert operation.access.is_sufficient(link_type.access.role)


@parametrize_operations()
@pytest.mark.parametrize("link_type", OPERATIONS_BY_LINK)
def test_a_link_opens_the_operations_of_its_type_and_no_others(operation, link_type, tenant):
    holder = link_of(tenant, link_type)
    before = snapshots.items_by_key()
    answer = call_operation(operation, tenant, caller=holder)
    if operation.id in OPERATIONS_BY_LINK[link_type]:
        assert outcome_of(operation, answer) == "success"
        return
    assert answer.status_and_code == "403 forbidden"
    assert snapshots.items_by_key() == before
    assert tenant.organization.record["name"] not in answer.text


@parametrize_operations(names_record)
def test_a_link_to_a_record_of_others_is_refused(operation, tenant):
    (link_type,) = operation.link_types
    of_rivals, own = link_of(tenant, link_type.name, rivals=True), link_of(tenant, link_type.name)
    example = get_example(operation, tenant)
    foreign_parameters = {
        name: tenant.get_rivals_parameter(name) for name in ("organization_id", "webhook_id", "platform_id")
    }
    foreign = [
        example.with_parameters(**{name: value})
        for name, value in foreign_parameters.items()
        if name in operation.path_parameter_names
    ]
    before = snapshots.items_by_key()
    assert call_operation(operation, tenant, caller=of_rivals).status_and_code == "403 forbidden"
    answers = [call_operation(operation, tenant, each, caller=own) for each in foreign]
    assert {answer.status_and_code for answer in answers} == {"403 forbidden"}
    assert tenant.rivals.record["name"] not in "".join(answer.text for answer in answers)
    assert snapshots.items_by_key() == before


def remove_creator(tenant: TenantFixture) -> None:
    path = f"{tenant.organization.path}/members/{tenant.people.admin.id}"
    tenant.api.delete(path, caller=tenant.people.owner).expect(204)


def demote_creator(tenant: TenantFixture) -> None:
    path = f"{tenant.organization.path}/members/{tenant.people.admin.id}"
    tenant.api.patch(path, caller=tenant.people.owner, json={"role": "editor"}).expect(200)


def delete_organization(tenant: TenantFixture) -> None:
    tenant.api.delete(tenant.organization.path, caller=tenant.people.owner).expect(204)


def return_with_another_membership(tenant: TenantFixture) -> None:
    """Give the creator another membership with the same role, as after they left and were invited again."""
    key = Member.make_item_key(organization_id=tenant.id, user_id=tenant.people.admin.id)
    member = Member.from_item(table.get(key) or {})
    put_records([member.replace(id="01939d3c-0000-7000-8000-0000000000bb")])


ENDS: Final[Mapping[str, Callable[[TenantFixture], object]]] = {
    "left": remove_creator,
    "demoted": demote_creator,
    "deleted": delete_organization,
    "returned": return_with_another_membership,
}


@pytest.mark.parametrize("end", ENDS)
@parametrize_operations(accepts_links)
def test_a_link_ends_with_the_right_of_its_creator(operation, end, tenant):
    holders = [link_of(tenant, each.name) for each in operation.link_types]
    ENDS[end](tenant)
    before = snapshots.items_by_key()
    for holder in holders:
        answer = call_operation(operation, tenant, caller=holder)
        assert answer.status_and_code == "401 unauthenticated"
        assert tenant.people.admin.name not in answer.text
    assert snapshots.items_by_key() == before


@parametrize_operations(accepts_links)
def test_a_link_ends_after_an_hour_and_cannot_be_told_from_an_ended_one(operation, tenant, clock):
    holders = [link_of(tenant, each.name) for each in operation.link_types]
    clock.shift(seconds=LINK_SECONDS - 1)
    for holder in holders:
        assert outcome_of(operation, call_operation(operation, tenant, caller=holder)) == "success"
    clock.shift(seconds=2)
    expired = [call_operation(operation, tenant, caller=holder).comparable_problem for holder in holders]
    nobodys = sign_webhook_link(tenant.id, tenant.organization.webhook_id, tenant.people.outsider)
    forged = LinkHolder("", f"{nobodys.credential[:-1]}!")
    assert expired == [call_operation(operation, tenant, caller=forged).comparable_problem] * len(holders)
    if WEBHOOK_LINK in operation.link_types:
        assert call_operation(operation, tenant, caller=nobodys).comparable_problem == expired[0]


@parametrize_operations(lambda operation: WEBHOOK_LINK in operation.link_types)
def test_a_link_to_a_deleted_webhook_ends(operation, tenant):
    holder = link_of(tenant, WEBHOOK_LINK.name)
    tenant.api.delete(tenant.organization.webhook_path, caller=tenant.people.owner).expect(204)
    assert call_operation(operation, tenant, caller=holder).status_and_code == "401 unauthenticated"


@parametrize_operations(lambda operation: operation.link_types and operation.emits_events)
def test_the_log_names_the_link_and_its_creator(operation, tenant):
    (link_type,) = operation.link_types
    holder = link_of(tenant, link_type.name)
    answer = call_operation(operation, tenant, caller=holder).expect(operation.success)
    actor = entry_of_request(answer)["actor"]
    admin = tenant.people.admin
    creator = {"type": "user", "id": admin.id, "name": admin.name}
    assert actor == {"type": "link", "id": holder.id, "name": f"Link of {admin.name}", "createdBy": creator}


@parametrize_operations(lambda operation: operation.id.endswith("_link") and operation.emits_events)
def test_only_users_create_links(operation, tenant):
    for caller in (
        tenant.create_api_key("admin"),
        tenant.create_service_key("events:write"),
        link_of(tenant, "webhook"),
    ):
        answer = call_operation(operation, tenant, caller=caller)
        assert answer.status_and_code in ("403 forbidden", "403 insufficient_scope")
    assert operation.access is not Caller.USER
    assert operation.access.role is Role.ADMIN
