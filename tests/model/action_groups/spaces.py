"""Spaces: creation, changes, deletion, members, capabilities and module overrides."""

from hypothesis import strategies as st

from tests.model.action_groups.members import (
    TOO_LOW,
    apply_role_change,
    check_members,
    max_grantable_role,
    people,
    redact_for,
)
from tests.model.action_groups.organizations import add_membership
from tests.model.action_groups.platforms import apply_set_change
from tests.model.actions import action, names, optional_fields, optional_texts, record_index, roles, settings, slugs
from tests.model.interface_operations import role_suffices
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import MEMBERS, NOT_FOUND, Caller, Json, ModelRecord

visibilities = st.sampled_from(["open", "open", "private"])
_new = st.fixed_dictionaries(
    {"name": names}, optional={"slug": slugs, "visibility": visibilities, "position": st.integers(0, 3)}
)
_fields = optional_fields(
    name=names, slug=slugs, description=optional_texts, visibility=visibilities, position=st.integers(0, 3)
)
_key_lists = st.lists(st.sampled_from(["chat", "video-calls", "events", "wiki"]), unique=True, max_size=3)
module_keys = st.sampled_from(["chat", "video-calls", "events", "wiki"])


@action(platform=record_index, fields=_new)
def create_space(run: ModelRun, by: Sender, container: ModelRecord, fields: Json) -> None:
    caller = run.caller_of(by)
    cannot_see_private = caller.key and not {"admin", "spaces:read", "spaces:write"} & {*caller.key.fields["scopes"]}
    refusal = run.model.slug_refusal("space", fields.get("slug"), container=container)
    if cannot_see_private and fields.get("visibility") == "private":
        refusal = "403 insufficient_scope"
    last_position = max((s.fields["position"] for s in run.model.list_existing("space", container)), default=-1)
    expected = {"description": None, "visibility": "open", "position": last_position + 1, **fields}
    body = {"platformId": container.id, **fields}
    if created := run.create(by, "create_space", "space", container, body, expected, refusal=refusal):
        assert run.model.slug_refusal("space", created.fields["slug"], created, container) is None
        created.internal |= {"capabilities": {}, "overrides": {}}
        if not caller.key:
            add_membership(run, created, caller.id, "admin")


@action(space=record_index, fields=_fields)
def update_space(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    refusal = run.model.slug_refusal("space", fields.get("slug"), record, record.parent)
    run.update(by, "update_space", record, fields, fields, refusal=refusal)


@action(weight=1, space=record_index)
def delete_space(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    run.delete(by, "delete_space", record)


@action(space=record_index)
def get_space(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "get_space", record):
        assert response.json == record.fields or record.has_unseen_version


@action(platform=record_index)
def list_platform_spaces(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    caller, spaces = run.caller_of(by), run.model.list_existing("space", container)
    visible_spaces = [space for space in spaces if run.model.effective_role(caller, space)]
    expected = sorted(visible_spaces, key=lambda space: (space.fields["position"], space.id))
    run.check_list(by, "list_platform_spaces", container, expected)


@action(space=record_index)
def join_space(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    caller = run.caller_of(by)
    if run.request(by, "join_space", record) and not run.model.membership(record, caller.id):
        member = add_membership(run, record, caller.id, "member")
        run.expect_entry(by, "join_space", member)


@action(space=record_index)
def leave_space(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    member = run.model.membership(record, run.caller_of(by).id)
    if run.request(by, "leave_space", record, refusal=None if member else NOT_FOUND) and member:
        run.expect_entry(by, "leave_space", member)
        member.is_deleted = True


@action(space=record_index, whom=people, role=roles)
def update_space_member(run: ModelRun, by: Sender, record: ModelRecord, whom: str, role: str) -> None:
    set_role(run, by, "update_space_member", record, whom, role)


def set_role(run: ModelRun, by: Sender, operation: str, container: ModelRecord, whom: str, role: str) -> None:
    """Set the role of a person in a container. Members of its parent thereby become members of it."""
    caller, user_id = run.caller_of(by), run.people[whom].id
    member = run.model.membership(container, user_id)
    record = member or ModelRecord(MEMBERS[container.kind], {"id": "", "userId": user_id}, container)
    parent_role = run.model.effective_role(Caller("user", user_id), container.parent)
    record.is_deleted = not member and not parent_role
    by = by if member else Sender(by.caller_name)
    is_grantable = role_suffices(max_grantable_role(run.model, caller, container), role)
    refusal = None if is_grantable or record.fields.get("role") == role else TOO_LOW
    response = run.request(by, operation, record, {"role": role}, refusal=refusal)
    if response and member is None:
        created = add_membership(run, container, user_id, role)
        run.expect_entry(by, operation, created, f"{container.kind}.member.added")
    elif response and member:
        expected = {**redact_for(run, caller, container, member.fields), "role": role}
        apply_role_change(run, by, operation, member, response.json, expected)


@action(weight=1, space=record_index, whom=people)
def remove_space_member(run: ModelRun, by: Sender, record: ModelRecord, whom: str) -> None:
    member = run.model.membership(record, run.people[whom].id)
    if member:
        run.delete(by, "remove_space_member", member)


@action(space=record_index)
def list_space_members(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    check_members(run, by, "list_space_members", record)


@action(space=record_index, key=module_keys, settings=settings)
def add_space_capability(run: ModelRun, by: Sender, record: ModelRecord, key: str, settings: Json) -> None:
    refusal = "409 already_exists" if key in record.internal["capabilities"] else None
    body = {"capabilityKey": key, "settings": settings}
    if response := run.request(by, "add_space_capability", record, body, refusal=refusal):
        assert body.items() <= response.json.items()
        record.internal["capabilities"][key] = settings
        _apply_added_item(run, by, "add_space_capability", record, response.json["id"])


@action(space=record_index, keys=_key_lists)
def replace_space_capabilities(run: ModelRun, by: Sender, record: ModelRecord, keys: list[str]) -> None:
    body = {"capabilities": [{"capabilityKey": key} for key in keys]}
    if response := run.request(by, "replace_space_capabilities", record, body):
        record.internal["capabilities"] = {key: {} for key in keys}
        assert sorted(item["capabilityKey"] for item in response.json["items"]) == sorted(keys)
        apply_set_change(run, by, "replace_space_capabilities", record)


@action(space=record_index)
def list_space_capabilities(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "list_space_capabilities", record):
        listed = {item["capabilityKey"]: item["settings"] for item in response.json["items"]}
        assert listed == record.internal["capabilities"]


@action(space=record_index, key=module_keys, enabled=st.booleans())
def set_module_override(run: ModelRun, by: Sender, record: ModelRecord, key: str, enabled: bool) -> None:  # noqa: FBT001 - passed by name
    if key in record.internal["overrides"]:
        return
    body = {"moduleId": key, "enabled": enabled}
    if response := run.request(by, "set_module_override", record, body):
        assert body.items() <= response.json.items()
        record.internal["overrides"][key] = enabled
        assert response.json["effective"] == _expected_effect(record, key)
        _apply_added_item(run, by, "set_module_override", record, response.json["id"])


@action(space=record_index, keys=_key_lists, enabled=st.booleans())
def replace_module_overrides(run: ModelRun, by: Sender, record: ModelRecord, keys: list[str], enabled: bool) -> None:  # noqa: FBT001
    body = {"overrides": [{"moduleId": key, "enabled": enabled} for key in keys]}
    if run.request(by, "replace_module_overrides", record, body):
        record.internal["overrides"] = dict.fromkeys(keys, enabled)
        apply_set_change(run, by, "replace_module_overrides", record)


@action(space=record_index)
def list_effective_modules(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "list_effective_modules", record, query={"limit": 100}):
        for item in response.json["items"]:
            assert _expected_effect(record, item["moduleId"]).items() <= item.items()


def _expected_effect(space: ModelRecord, module: str) -> Json:
    """Return the expected state of a module in a space.

    An override replaces the platform's setting unless that is locked or missing. A module needs its dependencies.
    """
    modules, overrides = space.parent.internal["modules"], space.internal["overrides"]
    if module not in modules and module in ("chat", "video-calls", "wiki"):
        return {"enabled": False, "locked": False, "blockedBy": ["unknown_module"]}
    state = modules.get(module, {"enabled": True, "locked": False})
    is_overridden = module in overrides and not state["locked"]
    enabled = overrides[module] if is_overridden else state["enabled"]
    reasons = ["locked"] if module in overrides and state["locked"] else []
    dependencies = state.get("dependsOn", ()) if enabled else ()
    disabled = [each for each in dependencies if not _expected_effect(space, each)["enabled"]]
    return {"enabled": enabled and not disabled, "locked": state["locked"], "blockedBy": reasons + disabled}


def _apply_added_item(run: ModelRun, by: Sender, operation: str, space: ModelRecord, target: str) -> None:
    """Record an item that was added to a record set of a space, which increases the space's version."""
    version = space.fields["version"]
    fields = run.read_as_owner(space).json
    assert fields["version"] == version + 1 or space.has_unseen_version
    space.fields |= {"version": fields["version"], "updatedAt": fields["updatedAt"]}
    run.expect_entry(by, operation, ModelRecord("space", {**space.fields, "id": target}, space.container))
