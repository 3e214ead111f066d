"""User input is only a value in keys and expressions of the table, and never changes their structure."""

import json
import re
from itertools import chain
from typing import Any, Final

from chalicelib.entrypoints.catalogue import list_record_types
from chalicelib.kernel.storage.entity import Collection, Entity, Facet
from tests.catalogue.examples.registry import call_operation, field_names, get_example
from tests.harness.aws_calls import Call
from tests.harness.parametrize_operations import parametrize_operations
from tests.security.hostile_values import send_in_query

USER_CONTROLLED: Final = {
    *("actor", "target", "type", "event_type", "email", "contact_email", "doi", "domain", "folded_username"),
    *("from_path", "source_id", "venue_id", "entity_type", "capability_key", "module_id", "project_block_id"),
    *("slug", "published_slug"),
}
"""Fields whose values users choose, or callers can send as any text."""
SERVICE_CONTROLLED: Final = {
    *("address_hash", "channel_id", "created_at", "entity_id", "id", "library_id", "list_name", "listed"),
    *(
        "published_parent_id",
        "log_id",
        "node_id",
        "next_attempt_at",
        "number",
        "organization_id",
        "origin",
        "page_id",
        "parent_id",
    ),
    *("pending_inviter_id", "platform_id", "position", "shard", "sibling_list", "site_id", "source", "space_id"),
    *("started_by", "status", "tree", "user_id", "verification_status", "visibility", "webhook_id", "year"),
}
"""Fields whose values the service generates or restricts to an enumeration. They contain no `#`."""
SAFE_TEMPLATES: Final = {"L#E#{contact_email}#{status}": "an email address ends with a domain, which contains no #"}

HOSTILE_TEXTS: Final = ("a#b#evil", ":evil OR #pk = :pk", 'attribute_exists(evil)\x00"}')


def key_templates(kind: type[Entity]) -> set[str]:
    """Return the key templates of a record type: its own, and those of its collections, facets and unique values."""
    own_expressions = [text for name in ("pk", "sk") if isinstance(text := getattr(kind, name, None), str)]
    class_attributes = [value for cls in kind.__mro__ for value in vars(cls).values()]
    indexes = [each for each in class_attributes if isinstance(each, Collection | Facet)]
    keys = [key for each in indexes for key in (each.pk, getattr(each, "sk", "")) if key]
    return {*own_expressions, *keys, *(f"U#{each.namespace}#{each.key}" for each in kind.uniques.values())}


ALL_TEMPLATES: Final = sorted({template for kind in list_record_types() for template in key_templates(kind)})


def test_user_input_is_only_at_the_end_of_a_key():
    names_by_template = {template: re.findall(r"{(\w+)", template) for template in ALL_TEMPLATES}
    unknown = {*chain(*names_by_template.values())} - USER_CONTROLLED - SERVICE_CONTROLLED
    assert not unknown, "add it to USER_CONTROLLED or SERVICE_CONTROLLED in tests/security/test_table_keys.py"
    unsafe = {template for template, names in names_by_template.items() if USER_CONTROLLED & {*names[:-1]}}
    assert unsafe == {*SAFE_TEMPLATES}


def test_namespaces_of_unique_values_are_disjoint():
    namespaces = {each.namespace.partition("#")[0] for kind in list_record_types() for each in kind.uniques.values()}
    assert not [space for space in namespaces if "{" in space]
    assert len(namespaces) > 5


def expressions(call: Call) -> str:
    """Return the expressions, attribute names and index names of a call to DynamoDB."""

    def collect(value: Any) -> list[Any]:
        if isinstance(value, list):
            return [each for item in value for each in collect(item)]
        if not isinstance(value, dict):
            return []
        own_expressions = [
            v
            for name, v in value.items()
            if name.endswith("Expression") or name in ("ExpressionAttributeNames", "IndexName")
        ]
        values = ("ExpressionAttributeValues", "Item", "Key", "Keys")
        return [*own_expressions, *(each for name, v in value.items() if name not in values for each in collect(v))]

    return json.dumps(collect(dict(call.parameters)))


@parametrize_operations(lambda o: o.query_model or o.path_parameter_names)
def test_expressions_contain_no_user_input(operation, tenant):
    example = get_example(operation, tenant)
    query_names = [name for name in field_names(operation.query_model) if name != "limit"]
    for text in HOSTILE_TEXTS:
        responses = [*send_in_query(operation, tenant, query_names, text)]
        for name in example.parameters:
            hostile = example.with_parameters(**{name: text})
            if operation.has_valid_path_parameters(hostile.parameters):  # Others are not found without any call.
                responses.append(call_operation(operation, tenant, hostile))
        for response in responses:
            assert response.status < 500
            assert "evil" not in " ".join(expressions(call) for call in response.calls.call_list)
