"""Platforms: creation, changes, publication, deletion, appearance and modules."""

from hypothesis import strategies as st

from tests.model.action_groups.organizations import check_visible
from tests.model.actions import action, names, optional_fields, optional_texts, record_index, slugs
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Json, ModelRecord

policies = st.sampled_from(["open", "invite"])
_fields = optional_fields(name=names, slug=slugs, description=optional_texts, joinPolicy=policies)
_theme = optional_fields(
    mode=st.sampled_from([None, "dark"]), logoUrl=st.sampled_from([None, "https://example.com/logo.svg"])
)
_items = st.lists(st.sampled_from(["start", "about", "more"]), unique=True, max_size=3)
_module_fields = optional_fields(enabled=st.booleans(), locked=st.booleans())


@action(
    place=record_index, fields=st.fixed_dictionaries({"name": names}, optional={"slug": slugs, "joinPolicy": policies})
)
def create_platform(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    refusal = run.model.slug_refusal("platform", fields.get("slug"))
    body = {"organizationId": organization.id, **fields}
    expected = {"description": None, "joinPolicy": "invite", "defaultLocale": "en", "status": "draft", **body}
    if created := run.create(by, "create_platform", "platform", organization, body, expected, refusal=refusal):
        assert run.model.slug_refusal("platform", created.fields["slug"], created) is None
        created.internal |= {"modules": {}, "blocks": []}


@action(platform=record_index, fields=_fields)
def update_platform(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    refusal = run.model.slug_refusal("platform", fields.get("slug"), record)
    derived_fields = ("subdomain",) if fields.get("slug", record.fields["slug"]) != record.fields["slug"] else ()
    run.update(by, "update_platform", record, fields, fields, derived_fields=derived_fields, refusal=refusal)


@action(weight=1, platform=record_index)
def delete_platform(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.delete(by, "delete_platform", record):
        for invitation in run.model.list_existing("invitation"):
            if invitation.internal["container"] is record:
                run.model.records.remove(invitation)  # A deleted platform's invitations are only visible in lists.


@action(platform=record_index, published=st.sampled_from([True, True, False]))
def publish_platform(run: ModelRun, by: Sender, record: ModelRecord, published: bool) -> None:  # noqa: FBT001 - passed by name
    if response := run.request(by, "publish_platform", record, {"published": published}):
        status = "published" if published else "draft"
        source = record.fields if status == record.fields["status"] else response.json
        changed_fields = {"status": status, "publishedAt": source["publishedAt"]}
        assert (changed_fields["publishedAt"] is None) == (status == "draft")
        event = "platform.published" if published else "platform.unpublished"
        run.apply_change(by, "publish_platform", record, response, changed_fields, event=event)


@action(platform=record_index, theme=_theme)
def update_platform_theme(run: ModelRun, by: Sender, record: ModelRecord, theme: Json) -> None:
    _update_appearance(run, by, "update_platform_theme", record, theme, "theme", {**record.fields["theme"], **theme})


@action(platform=record_index, items=_items)
def update_platform_navigation(run: ModelRun, by: Sender, record: ModelRecord, items: list[str]) -> None:
    body: Json = {"items": [{"id": item, "label": item.title(), "type": "group"} for item in items]}
    stored = {"items": [{**item, "target": None, "children": []} for item in body["items"]]}
    _update_appearance(run, by, "update_platform_navigation", record, body, "navigation", stored)


@action(platform=record_index, layout=st.none() | names, space=st.none() | record_index)
def update_platform_home(run: ModelRun, by: Sender, record: ModelRecord, layout: str | None, space: int | None) -> None:
    home_space = run.model.pick("space", space, record) if space is not None else None
    before = record.fields["home"]["spaceId"]
    is_visible = home_space is None or home_space.id == before
    if home_space and home_space.exists and run.model.effective_role(run.caller_of(by), home_space):
        is_visible = True
    body = {"layout": layout, "spaceId": home_space.id if home_space else None}
    refusal = None if is_visible else "422 validation_failed"
    if response := run.request(by, "update_platform_home", record, body, refusal=refusal):
        record.internal["home_space"], record.has_unseen_version = home_space, True
        assert response.json["home"]["layout"] == layout
        if before != body["spaceId"] or record.fields["home"]["layout"] != layout:
            record.fields = run.read_as_owner(record).json
            run.expect_entry(by, "update_platform_home", record)


def _update_appearance(
    run: ModelRun, by: Sender, operation: str, platform: ModelRecord, body: Json, name: str, expected: Json
) -> None:
    """Change a part of a platform's appearance. Not every caller sees all of its home."""
    if response := run.request(by, operation, platform, body):
        assert response.json[name] == expected, f"{response.json[name]} instead of {expected}"
        has_changed = expected != platform.fields[name]
        assert response.json["version"] - platform.fields["version"] == has_changed or platform.has_unseen_version
        platform.has_unseen_version = False
        shown_names = {name, "version", "updatedAt", "warnings"} & {*response.json}
        platform.fields |= {each: response.json[each] for each in shown_names}
        if has_changed:
            run.expect_entry(by, operation, platform)


@action(
    platform=record_index,
    module_changes=optional_fields(
        events=_module_fields,
        feed=_module_fields,
        wiki=optional_fields(
            enabled=st.booleans(), locked=st.booleans(), dependsOn=st.sampled_from([[], ["feed"], ["events", "feed"]])
        ),
    ),
)
def update_platform_modules(run: ModelRun, by: Sender, record: ModelRecord, module_changes: dict[str, Json]) -> None:
    body = {"modules": [{"moduleId": module, **fields} for module, fields in module_changes.items()]}
    if response := run.request(by, "update_platform_modules", record, body):
        modules, default = record.internal["modules"], {"enabled": True, "locked": False}
        for module, fields in module_changes.items():
            state = {**modules.get(module, default), **fields}
            if state != default or module in modules or module == "wiki":
                modules[module] = state
        items_by_module = {item["moduleId"]: item for item in response.json["items"]}
        for module, state in modules.items():
            assert {**state, "moduleId": module}.items() <= items_by_module[module].items()
        apply_set_change(run, by, "update_platform_modules", record)


def apply_set_change(run: ModelRun, by: Sender, operation: str, container: ModelRecord) -> None:
    """Record a possible change of a container's record set, which its version reveals."""
    version, current = container.fields["version"], run.read_as_owner(container).json
    container.fields = {**container.fields, "version": current["version"], "updatedAt": current["updatedAt"]}
    assert current["version"] - version in (0, 1) or container.has_unseen_version
    container.has_unseen_version = False
    if current["version"] > version:
        run.expect_entry(by, operation, container)


@action(platform=record_index)
def get_platform(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "get_platform", record):
        variable = ("home", "version", "updatedAt")
        stable_fields = {name: value for name, value in record.fields.items() if name not in variable}
        assert stable_fields.items() <= response.json.items(), f"{response.json} instead of {stable_fields}"


@action()
def list_platforms(run: ModelRun, by: Sender) -> None:
    if response := run.request(by, "list_platforms", query={"limit": 100}):
        check_visible(run, by, "platform", response.json["items"])
