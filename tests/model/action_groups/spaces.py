"""Spaces: creation, changes, deletion, members, capabilities and module overrides."""

from hypothesis import strategies as st

from tests.model.action_groups.members import TOO_LOW, apply_role_change, max_grantable_role, people, redact_for
from tests.model.action_groups.organizations import add_membership
from tests.model.action_groups.platforms import apply_set_change
from tests.model.actions import action, names, optional_fields, optional_texts, record_index, roles, settings, slugs
from tests.model.interface_operations import role_suffices
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import MEMBERS, NOT_FOUND, Caller, Json, Model, ModelRecord

visibilities = st.sampled_from(["open", "open", "private"])
_new = st.fixed_dictionaries(
    {"name": names}, optional={"slug": slugs, "visibility": visibilities, "position": st.integers(0, 3)}
)
_fields = optional_fields(
    name=names, slug=slugs, description=optional_texts, visibility=visibilities, position=st.integers(0, 3)
)
_key_lists = st.lists(st.sampled_from(["chat", "video-calls", "events", "wiki"]), unique=True, max_size=3)
module_keys = st.sampled_from(["chat", "video-calls", "events", "wiki"])


def _slug_refusal(
    model: Model, platform: ModelRecord, slug: str | None, owner: ModelRecord | None = None
) -> str | None:
    is_taken = any(t.fields["slug"] == slug and t is not owner for t in model.list_existing("space", platform))
    return "409 slug_taken" if is_taken else None


@action(platform=record_index, fields=_new)
def create_space(run: ModelRun, by: Sender, container: ModelRecord, fields: Json) -> None:
    caller = run.resolve_caller(by.caller_name)[0]
    cannot_see_private = caller.key and not {"admin", "spaces:read", "spaces:write"} & {*caller.key.fields["scopes"]}
    refusal = _slug_refusal(run.model, container, fields.get("slug"))
    if cannot_see_private and fields.get("visibility") == "private":
        refusal = "403 insufficient_scope"
    if response := run.request(
        by, "create_space", container, body={"platformId": container.id, **fields}, refusal=refusal
    ):
        last_position = max((s.fields["position"] for s in run.model.list_existing("space", container)), default=-1)
        expected = {"description": None, "visibility": "open", "position": last_position + 1, **fields}
        created = run.add_created_record("space", response, container, expected)
        assert _slug_refusal(run.model, container, created.fields["slug"], created) is None
        created.internal |= {"capabilities": {}, "overrides": {}}
        if not caller.key:
            add_membership(run, created, caller.id, "admin")
        run.expect_entry(by, "create_space", created)


@action(space=record_index, fields=_fields)
def update_space(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    refusal = _slug_refusal(run.model, record.parent, fields.get("slug"), record) if "slug" in fields else None
    response = run.request(by, "update_space", record, body=fields, refusal=refusal)
    if response and run.apply_change(record, response, fields):
        run.expect_entry(by, "update_space", record)


@action(weight=1, space=record_index)
def delete_space(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(by, "delete_space", record):
        run.expect_entry(by, "delete_space", record)
        record.is_deleted = True


@action(space=record_index)
def get_space(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "get_space", record):
        assert response.json == record.fields or record.has_unseen_version


@action(platform=record_index)
def list_platform_spaces(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    if response := run.request(by, "list_platform_spaces", container, query={"limit": 100}):
        caller = run.resolve_caller(by.caller_name)[0]
        visible_spaces = [s for s in run.model.list_existing("space", container) if run.model.effective_role(caller, s)]
        expected = [s.id for s in sorted(visible_spaces, key=lambda s: (s.fields["position"], s.id))]
        assert [item["id"] for item in response.json["items"]] == expected


@action(space=record_index)
def join_space(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    caller = run.resolve_caller(by.caller_name)[0]
    if run.request(by, "join_space", record) and not run.model.membership(record, caller.id):
        member = add_membership(run, record, caller.id, "member")
        run.expect_entry(by, "join_space", member)


@action(space=record_index)
def leave_space(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    member = run.model.membership(record, run.resolve_caller(by.caller_name)[0].id)
    if run.request(by, "leave_space", record, refusal=None if member else NOT_FOUND) and member:
        run.expect_entry(by, "leave_space", member)
        member.is_deleted = True


@action(space=record_index, whom=people, role=roles)
def update_space_member(run: ModelRun, by: Sender, record: ModelRecord, whom: str, role: str) -> None:
    set_role(run, by, "update_space_member", record, whom, role)


def set_role(run: ModelRun, by: Sender, operation: str, container: ModelRecord, whom: str, role: str) -> None:
    """Set the role of a person in a container. Members of its parent thereby become members of it."""
    caller, user_id = run.resolve_caller(by.caller_name)[0], run.people[whom].id
    member = run.model.membership(container, user_id)
    record = member or ModelRecord(MEMBERS[container.kind], {"id": "", "userId": user_id}, container)
    record.is_deleted = not member and not (
        container.container and run.model.effective_role(Caller("user", user_id), container.container)
    )
    by = by if member else Sender(by.caller_name)
    is_grantable = role_suffices(max_grantable_role(run.model, caller, container), role)
    refusal = None if is_grantable or record.fields.get("role") == role else TOO_LOW
    response = run.request(by, operation, container, record, {"role": role}, refusal=refusal)
    if response and member is None:
        created = add_membership(run, container, user_id, role)
        run.expect_entry(by, operation, created, f"{container.kind}.member.added")
    elif response and member:
        apply_role_change(
            run,
            by,
            operation,
            member,
            response.json,
            {**redact_for(run, caller, container, member.fields), "role": role},
        )


@action(weight=1, space=record_index, whom=people)
def remove_space_member(run: ModelRun, by: Sender, record: ModelRecord, whom: str) -> None:
    member = run.model.membership(record, run.people[whom].id)
    if member and run.request(by, "remove_space_member", record, member):
        run.expect_entry(by, "remove_space_member", member)
        member.is_deleted = True


@action(space=record_index)
def list_space_members(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "list_space_members", record, query={"limit": 100}):
        caller = run.resolve_caller(by.caller_name)[0]
        members = run.model.list_existing("space_member", record)
        assert response.json["items"] == [redact_for(run, caller, record, member.fields) for member in members]


@action(space=record_index, key=module_keys, settings=settings)
def add_space_capability(run: ModelRun, by: Sender, record: ModelRecord, key: str, settings: Json) -> None:
    refusal = "409 already_exists" if key in record.internal["capabilities"] else None
    body = {"capabilityKey": key, "settings": settings}
    if response := run.request(by, "add_space_capability", record, body=body, refusal=refusal):
        assert body.items() <= response.json.items()
        record.internal["capabilities"][key] = settings
        _apply_added_item(run, by, "add_space_capability", record, response.json["id"])


@action(space=record_index, keys=_key_lists)
def replace_space_capabilities(run: ModelRun, by: Sender, record: ModelRecord, keys: list[str]) -> None:
    body = {"capabilities": [{"capabilityKey": key} for key in keys]}
    if response := run.request(by, "replace_space_capabilities", record, body=body):
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
    if response := run.request(by, "set_module_override", record, body=body):
        assert body.items() <= response.json.items()
        record.internal["overrides"][key] = enabled
        _apply_added_item(run, by, "set_module_override", record, response.json["id"])


@action(space=record_index, keys=_key_lists, enabled=st.booleans())
def replace_module_overrides(run: ModelRun, by: Sender, record: ModelRecord, keys: list[str], enabled: bool) -> None:  # noqa: FBT001
    body = {"overrides": [{"moduleId": key, "enabled": enabled} for key in keys]}
    if run.request(by, "replace_module_overrides", record, body=body):
        record.internal["overrides"] = dict.fromkeys(keys, enabled)
        apply_set_change(run, by, "replace_module_overrides", record)


@action(space=record_index)
def list_effective_modules(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    """Check the modules of a space: overrides replace the platform's setting unless that is locked or missing."""
    if response := run.request(by, "list_effective_modules", record, query={"limit": 100}):
        platform_modules, overrides = record.parent.internal["modules"], record.internal["overrides"]
        for item in response.json["items"]:
            module = item["moduleId"]
            state = platform_modules.get(module, {"enabled": module != "chat", "locked": False})
            is_unavailable = item["moduleId"] not in platform_modules and module in ("chat", "video-calls", "wiki")
            is_overridden = module in overrides and not state["locked"] and not is_unavailable
            assert item["enabled"] == (
                False if is_unavailable else overrides[module] if is_overridden else state["enabled"]
            ), item


def _apply_added_item(run: ModelRun, by: Sender, operation: str, space: ModelRecord, target: str) -> None:
    """Record an item that was added to a record set of a space, which increases the space's version."""
    version = space.fields["version"]
    fields = run.read_as_owner(space).json
    assert fields["version"] == version + 1 or space.has_unseen_version
    space.fields |= {"version": fields["version"], "updatedAt": fields["updatedAt"]}
    run.expect_entry(by, operation, ModelRecord("space", {**space.fields, "id": target}, space.container))
