"""Clients can build a tree of groups and methods from the names in `openapi.json`."""

import re
from collections import Counter
from typing import Any

import pytest

from chalicelib.entrypoints import catalogue
from chalicelib.entrypoints.openapi import build_document_for, client_names
from tests.harness.conformance import openapi_document

NAME = re.compile(r"[a-z][A-Za-z]*")


def names_by_operation_id() -> dict[str, dict[str, str]]:
    items = openapi_document()["paths"].values()
    operations: list[dict[str, Any]] = [operation for item in items for operation in item.values()]
    return {operation["operationId"]: operation[client_names.EXTENSION] for operation in operations}


def test_every_operation_has_names_of_its_own():
    names = names_by_operation_id()
    assert set(names) == {operation.id for operation in catalogue.all_operations()}
    counts = Counter((each["group"], each["method"]) for each in names.values())
    assert [name for name, count in counts.items() if count > 1] == []


def test_names_are_in_camel_case():
    for each in names_by_operation_id().values():
        assert all(NAME.fullmatch(part) for part in (*each["group"].split("."), each["method"])), each


def test_no_group_has_a_method_with_the_name_of_a_group():
    names = names_by_operation_id().values()
    groups = {
        ".".join(parts[: index + 1])
        for each in names
        for parts in [each["group"].split(".")]
        for index, _ in enumerate(parts)
    }
    assert [each for each in names if f"{each['group']}.{each['method']}" in groups] == []


def test_a_list_is_called_list():
    names = names_by_operation_id()
    lists = {
        operation.id for operation in catalogue.all_operations() if operation.is_list and operation.method == "GET"
    }
    assert {id_ for id_, each in names.items() if each["method"] == "list"} == lists


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("list_organization_members", "organizations.members.list"),
        ("update_organization_member", "organizations.members.update"),
        ("get_organization_by_slug", "organizations.getBySlug"),
        ("leave_organization", "organizations.leave"),
        ("invite_to_organization", "organizations.invitations.create"),
        ("revoke_invitation", "organizations.invitations.revoke"),
        ("rotate_webhook_secret", "organizations.webhooks.rotateSecret"),
        ("get_audit_export", "organizations.auditLog.exports.get"),
        ("verify_custom_domain", "platforms.customDomain.verify"),
        ("update_platform_theme", "platforms.updateTheme"),
        ("publish_page", "sites.pages.publish"),
        ("attach_taxonomy_node", "taxonomyNodes.attachments.create"),
        ("put_navigation_menu", "sites.navigation.put"),
        ("get_me", "me.get"),
    ],
)
def test_names_follow_from_the_path_and_the_verb(operation_id, name):
    assert ".".join(names_by_operation_id()[operation_id].values()) == name


def test_the_name_of_an_operation_does_not_depend_on_others():
    for operation in catalogue.all_operations():
        (item,) = build_document_for([operation])["paths"].values()
        (alone,) = item.values()
        assert alone[client_names.EXTENSION] == names_by_operation_id()[operation.id]


def test_every_exception_is_an_operation():
    assert client_names.EXCEPTIONS.keys() <= {operation.id for operation in catalogue.all_operations()}
