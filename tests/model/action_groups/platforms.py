"""Platforms: creation, changes, publication, deletion, appearance and modules."""

from hypothesis import strategies as st

from tests.model.actions import action, names, optional_fields, optional_texts, record_index, slugs
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Json, Model, ModelRecord

policies = st.sampled_from(["open", "invite"])
_fields = optional_fields(name=names, slug=slugs, description=optional_texts, joinPolicy=policies)
_theme = optional_fields(
    mode=st.sampled_from([None, "dark"]), logoUrl=st.sampled_from([None, "https://example.com/logo.svg"])
)
_items = st.lists(st.sampled_from(["start", "about", "more"]), unique=True, max_size=3)
_module_ids = ("events", "feed", "wiki")


def _slug_refusal(model: Model, kind: str, slug: str | None, owner: ModelRecord | None = None) -> str | None:
    is_taken = any(
        t.fields["slug"] == slug and not t.is_deleted and t is not owner for t in model.records if t.kind == kind
    )
    return "409 slug_taken" if is_taken else None


@action(
    place=record_index, fields=st.fixed_dictionaries({"name": names}, optional={"slug": slugs, "joinPolicy": policies})
)
def create_platform(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    refusal = _slug_refusal(run.model, "platform", fields.get("slug"))
    body = {"organizationId": organization.id, **fields}
    if response := run.request(by, "create_platform", organization, body=body, refusal=refusal):
        expected = {"description": None, "joinPolicy": "invite", "defaultLocale": "en", "status": "draft", **body}
        created = run.add_created_record("platform", response, organization, expected)
        assert _slug_refusal(run.model, "platform", created.fields["slug"], created) is None
        created.internal |= {"modules": {}, "blocks": []}
        run.expect_entry(by, "create_platform", created)


@action(platform=record_index, fields=_fields)
def update_platform(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    refusal = _slug_refusal(run.model, "platform", fields.get("slug"), record) if "slug" in fields else None
    if response := run.request(by, "update_platform", record, body=fields, refusal=refusal):
        derived = {"subdomain": response.json["subdomain"]} if "slug" in fields else {}
        if run.apply_change(record, response, {**fields, **derived}):
            run.expect_entry(by, "update_platform", record)


@action(weight=1, platform=record_index)
def delete_platform(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(by, "delete_platform", record):
        run.expect_entry(by, "delete_platform", record)
        record.is_deleted = True
        for invitation in run.model.list_existing("invitation"):
            if invitation.internal["container"] is record:
                run.model.records.remove(invitation)  # A deleted platform's invitations are only visible in lists.


@action(platform=record_index, published=st.sampled_from([True, True, False]))
def publish_platform(run: ModelRun, by: Sender, record: ModelRecord, published: bool) -> None:  # noqa: FBT001 - passed by name
    if response := run.request(by, "publish_platform", record, body={"published": published}):
        status = "published" if published else "draft"
        published_at = (
            response.json["publishedAt"] if status != record.fields["status"] else record.fields["publishedAt"]
        )
        assert (published_at is None) == (status == "draft")
        if run.apply_change(record, response, {"status": status, "publishedAt": published_at}):
            event = "platform.published" if published else "platform.unpublished"
            run.expect_entry(by, "publish_platform", record, event)


@action(platform=record_index, theme=_theme)
def update_platform_theme(run: ModelRun, by: Sender, record: ModelRecord, theme: Json) -> None:
    if response := run.request(by, "update_platform_theme", record, body=theme):
        _apply_appearance_change(
            run, by, "update_platform_theme", record, response.json, theme={**record.fields["theme"], **theme}
        )


@action(platform=record_index, items=_items)
def update_platform_navigation(run: ModelRun, by: Sender, record: ModelRecord, items: list[str]) -> None:
    items_sent = [{"id": item, "label": item.title(), "type": "group"} for item in items]
    if response := run.request(by, "update_platform_navigation", record, body={"items": items_sent}):
        stored_items: list[Json] = [{**item, "target": None, "children": []} for item in items_sent]
        _apply_appearance_change(
            run, by, "update_platform_navigation", record, response.json, navigation={"items": stored_items}
        )


@action(platform=record_index, layout=st.none() | names, space=st.none() | record_index)
def update_platform_home(run: ModelRun, by: Sender, record: ModelRecord, layout: str | None, space: int | None) -> None:
    home_space = run.model.pick("space", space, record) if space is not None else None
    before = record.fields["home"]["spaceId"]
    caller = run.resolve_caller(by.caller_name)[0]
    is_visible = (
        home_space is None
        or home_space.id == before
        or (home_space.exists and run.model.effective_role(caller, home_space) is not None)
    )
    body = {"layout": layout, "spaceId": home_space.id if home_space else None}
    refusal = None if is_visible else "422 validation_failed"
    if response := run.request(by, "update_platform_home", record, body=body, refusal=refusal):
        record.internal["home_space"] = home_space
        record.has_unseen_version = True
        assert response.json["home"]["layout"] == layout
        if before != body["spaceId"] or record.fields["home"]["layout"] != layout:
            record.fields = run.read_as_owner(record).json
            run.expect_entry(by, "update_platform_home", record)


def _apply_appearance_change(
    run: ModelRun, by: Sender, operation: str, platform: ModelRecord, response_fields: Json, **part: Json
) -> None:
    """Record a change of a platform's appearance. Not every caller sees all of its home."""
    ((name, expected),) = part.items()
    assert response_fields[name] == expected, f"{response_fields[name]} instead of {expected}"
    has_changed = expected != platform.fields[name]
    assert response_fields["version"] - platform.fields["version"] == has_changed or platform.has_unseen_version
    platform.has_unseen_version = False
    platform.fields |= {
        name: expected,
        "version": response_fields["version"],
        "updatedAt": response_fields["updatedAt"],
    }
    platform.fields["warnings"] = response_fields.get("warnings", platform.fields.get("warnings"))
    if has_changed:
        run.expect_entry(by, operation, platform)


@action(
    platform=record_index,
    module_changes=st.dictionaries(
        st.sampled_from(_module_ids), optional_fields(enabled=st.booleans(), locked=st.booleans()), max_size=2
    ),
)
def update_platform_modules(run: ModelRun, by: Sender, record: ModelRecord, module_changes: dict[str, Json]) -> None:
    body = {"modules": [{"moduleId": module, **fields} for module, fields in module_changes.items()]}
    if response := run.request(by, "update_platform_modules", record, body=body):
        before = dict(record.internal["modules"])
        for module, fields in module_changes.items():
            state = {**before.get(module, {"enabled": True, "locked": False}), **fields}
            is_default = (
                module in _module_ids[:2] and state == {"enabled": True, "locked": False} and module not in before
            )
            if not is_default:
                record.internal["modules"][module] = state
        items_by_module = {item["moduleId"]: item for item in response.json["items"]}
        for module, state in record.internal["modules"].items():
            assert {**state, "moduleId": module}.items() <= items_by_module[module].items()
        apply_set_change(run, by, "update_platform_modules", record)


def apply_set_change(run: ModelRun, by: Sender, operation: str, container: ModelRecord) -> None:
    """Record a possible change of a container's record set, which its version reveals."""
    version = container.fields["version"]
    container.fields = {
        **container.fields,
        **{n: v for n, v in run.read_as_owner(container).json.items() if n in ("version", "updatedAt")},
    }
    assert container.fields["version"] - version in (0, 1) or container.has_unseen_version
    container.has_unseen_version = False
    if container.fields["version"] > version:
        run.expect_entry(by, operation, container)


@action(platform=record_index)
def get_platform(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "get_platform", record):
        stable_fields = {
            name: value for name, value in record.fields.items() if name not in ("home", "version", "updatedAt")
        }
        assert stable_fields.items() <= response.json.items(), f"{response.json} instead of {stable_fields}"


@action()
def list_platforms(run: ModelRun, by: Sender) -> None:
    if response := run.request(by, "list_platforms", query={"limit": 100}):
        caller = run.resolve_caller(by.caller_name)[0]
        visible_ids = [p.id for p in run.model.list_existing("platform") if run.model.effective_role(caller, p)]
        assert sorted(item["id"] for item in response.json["items"]) == sorted(visible_ids)
