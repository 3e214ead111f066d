"""Sites: creation, changes, publication and deletion; their redirects and navigation menus."""

from hypothesis import strategies as st

from tests.model.actions import action, names, optional_fields, optional_texts, record_index, slugs
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Json, ModelRecord
from tests.property.site_model import SiteModel

_fields = optional_fields(name=names, slug=slugs, description=optional_texts)
_statuses = st.sampled_from(["published", "published", "draft"])
_source_paths = st.sampled_from(["/x", "/y", "/z/*", "/a"])
_targets = st.sampled_from(["/a", "/b/c", "https://example.com/", "/"])


def publication_of(site: ModelRecord) -> SiteModel:
    publication = site.internal.setdefault("pages", SiteModel())
    assert isinstance(publication, SiteModel)
    return publication


@action(
    place=record_index,
    fields=st.fixed_dictionaries({"name": names}, optional={"slug": slugs, "description": optional_texts}),
)
def create_site(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    refusal = run.model.slug_refusal("site", fields.get("slug"))
    expected = {"description": None, "status": "draft", "platformId": None, "homePageId": None, **fields}
    if created := run.create(by, "create_site", "site", organization, fields, expected, refusal=refusal):
        assert run.model.slug_refusal("site", created.fields["slug"], created) is None


@action(site=record_index, fields=_fields)
def update_site(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    former_slug, derived_fields = record.fields["slug"], ("host", "homePageId")
    refusal = run.model.slug_refusal("site", fields.get("slug"), record)
    if run.update(by, "update_site", record, fields, fields, derived_fields=derived_fields, refusal=refusal):
        run.model.keep_former_slug(record, former_slug)


@action(site=record_index, status=_statuses)
def publish_site(run: ModelRun, by: Sender, record: ModelRecord, status: str) -> None:
    body, event = {"status": status}, "site.published" if status == "published" else "site.unpublished"
    derived_fields = ("homePageId", "publishedAt")
    if run.update(by, "update_site", record, body, body, event=event, derived_fields=derived_fields):
        assert (record.fields["publishedAt"] is None) == (status == "draft")


@action(weight=1, site=record_index)
def delete_site(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    run.delete(by, "delete_site", record)


@action(site=record_index)
def get_site(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "get_site", record):
        assert {n: v for n, v in record.fields.items() if n != "homePageId"}.items() <= response.json.items()


@action(place=record_index)
def list_sites(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    run.check_list(by, "list_sites", organization, run.model.list_existing("site", organization))


@action(site=record_index, source=_source_paths, target=_targets)
def create_redirect(run: ModelRun, by: Sender, record: ModelRecord, source: str, target: str) -> None:
    is_taken = any(r.fields["fromPath"] == source for r in run.model.list_existing("redirect", record))
    body = {"fromPath": source, "toPath": target, "statusCode": 302}
    # Moved pages leave redirects that the model does not know.
    options: Json = {"possible_refusals": ("409 redirect_loop", "409 already_exists")}
    options = {"refusal": "409 already_exists"} if is_taken else options
    expected = {**body, "enabled": True, "origin": "manual"}
    run.create(by, "create_redirect", "redirect", record, body, expected, **options)


@action(redirect=record_index, fields=optional_fields(enabled=st.booleans(), statusCode=st.sampled_from([301, 308])))
def update_redirect(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    possible_refusals = ("409 redirect_loop",) if fields.get("enabled") else ()
    run.update(by, "update_redirect", record, fields, fields, possible_refusals=possible_refusals)


@action(weight=2, redirect=record_index)
def delete_redirect(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    run.delete(by, "delete_redirect", record)


@action(site=record_index, menu=st.sampled_from(["main", "foot"]), name=names, page=st.none() | record_index)
def put_navigation_menu(run: ModelRun, by: Sender, record: ModelRecord, menu: str, name: str, page: int | None) -> None:
    site_pages = run.model.list_existing("page", record)
    linked_page = site_pages[-1 - page % len(site_pages)] if page is not None and site_pages else None
    items = [{"id": "first", "label": "First", "type": "group"}]
    items += [{"id": "second", "label": "Second", "type": "page", "pageId": linked_page.id}] if linked_page else []
    menu_record = next((m for m in run.model.list_existing("menu", record) if m.id == menu), None)
    sender = Sender(by.caller_name) if menu_record is None else by
    body = {"name": name, "items": items}
    response = run.request(sender, "put_navigation_menu", menu_record or record, body, navigation_id=menu)
    if response is None:
        return
    actual_items = _item_summaries(response.json["items"])
    assert actual_items == [(item["id"], item["type"], item.get("pageId")) for item in items]
    if menu_record is None:
        run.add_created_record(by, "put_navigation_menu", "menu", response, record, {"id": menu, "name": name})
    elif response.json["version"] > menu_record.fields["version"]:
        assert response.json["version"] == menu_record.fields["version"] + 1
        menu_record.fields = response.json
        run.expect_entry(by, "put_navigation_menu", menu_record)
    else:
        assert (menu_record.fields["name"], _item_summaries(menu_record.fields["items"])) == (name, actual_items)


def _item_summaries(items: list[Json]) -> list[tuple[str, str, str | None]]:
    return [(item["id"], item["type"], item["pageId"]) for item in items]


@action(site=record_index)
def list_navigation_menus(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    run.check_list(by, "list_navigation_menus", record, run.model.list_existing("menu", record))
