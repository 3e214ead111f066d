"""What people choose gets into keys and expressions of the table as a value, and never as a part of what they say."""

import json
import re
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import record_kinds
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.entity import Collection, Entity, Facet
from tests.catalogue.examples.registry import caller_of, example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness.by_operation import by_operation
from tests.harness.calls import Call

CHOSEN: Final = {
    "actor",
    "target",
    "type",
    "event_type",
    "email",
    "contact_email",
    "doi",
    "domain",
    "folded_username",
    "from_path",
    "source_id",
    "venue_id",
    "entity_type",
    "capability_key",
    "module_id",
    "project_block_id",
    "slug",
    "published_slug",
}
"""Names of what people choose, or a caller may ask for by any word."""
OURS: Final = {
    "address_hash",
    "channel_id",
    "created_at",
    "entity_id",
    "id",
    "library_id",
    "list_name",
    "listed",
    "published_parent_id",
    "log_id",
    "node_id",
    "next_attempt_at",
    "organization_id",
    "page_id",
    "parent_id",
    "pending_inviter_id",
    "platform_id",
    "position",
    "shard",
    "sibling_list",
    "site_id",
    "source",
    "space_id",
    "status",
    "tree",
    "user_id",
    "verification_status",
    "visibility",
    "webhook_id",
    "year",
}
"""Names of what the service makes, or takes one of a few words for: no `#` is in it."""
ENDS_WELL: Final = {"L#E#{contact_email}#{status}": "an address ends with a domain, in which there is no #"}

HOSTILE: Final = ("a#b#evil", ":evil OR #pk = :pk", 'attribute_exists(evil)\x00"}')


def templates(kind: type[Entity]) -> set[str]:
    """Return the templates of the keys of a kind: its own, of its lists and filters, of what is unique about it."""
    own = [text for name in ("pk", "sk") if isinstance(text := getattr(kind, name, None), str)]
    said = [value for of in kind.__mro__ for value in vars(of).values()]
    lists = [each for each in said if isinstance(each, Collection | Facet)]
    keys = [key for each in lists for key in (each.pk, getattr(each, "sk", "")) if key]
    return {*own, *keys, *(f"U#{each.namespace}#{each.key}" for each in kind.uniques.values())}


ALL: Final = sorted({template for kind in record_kinds() for template in templates(kind)})


@pytest.mark.parametrize("template", ALL)
def test_user_input_is_only_at_the_end_of_a_key(template: str) -> None:
    names = re.findall(r"{(\w+)", template)
    assert set(names) <= CHOSEN | OURS, "say in tests/security/test_table_keys.py whose choice that is"
    assert not CHOSEN & set(names[:-1]) or template in ENDS_WELL


def test_namespaces_of_unique_values_are_disjoint() -> None:
    spaces = {each.namespace.partition("#")[0] for kind in record_kinds() for each in kind.uniques.values()}
    assert not [space for space in spaces if "{" in space]
    assert len(spaces) > 5


def expressions(call: Call) -> str:
    """What a call says to DynamoDB in its language, and by which names."""

    def said(value: Any) -> list[Any]:
        if isinstance(value, list):
            return [each for one in value for each in said(one)]
        if not isinstance(value, dict):
            return []
        own = [
            v
            for name, v in value.items()
            if name.endswith("Expression") or name in ("ExpressionAttributeNames", "IndexName")
        ]
        values = ("ExpressionAttributeValues", "Item", "Key", "Keys")
        return [*own, *(each for name, v in value.items() if name not in values for each in said(v))]

    return json.dumps(said(dict(call.parameters)))


def texts_of(operation: Operation) -> list[str]:
    fields = operation.query.model_fields if operation.query else {}
    return [field.alias or name for name, field in fields.items() if name != "limit"]


@by_operation(lambda o: o.query or o.path_parameters)
def test_expressions_contain_no_user_input(operation: Operation, world: World) -> None:
    example, caller = example_of(operation, world), caller_of(operation, world)
    for word in HOSTILE:
        others = [example.but(**{name: word}) for name in example.parameters]
        answers = [perform(operation, world, other, as_=caller) for other in others]
        if operation.query:
            answers.append(perform(operation, world, as_=caller, query=dict.fromkeys(texts_of(operation), word)))
        for answer in answers:
            assert answer.status < 500
            assert "evil" not in " ".join(expressions(call) for call in answer.calls.made)
