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
    """Return the model of a site's pages."""
    publication = site.internal.setdefault("pages", SiteModel())
    assert isinstance(publication, SiteModel)
    return publication


def _slug_refusal(run: ModelRun, slug: str | None, site: ModelRecord | None = None) -> str | None:
    holder_ids = {t.fields["slug"]: t.id for t in run.model.records if t.kind == "site" and not t.is_deleted}
    former_id = run.model.former_slugs.get(f"site/{slug}")
    holder_id = holder_ids.get(slug or "") or former_id
    return "409 slug_taken" if holder_id and holder_id != (site and site.id) else None


@action(
    place=record_index,
    fields=st.fixed_dictionaries({"name": names}, optional={"slug": slugs, "description": optional_texts}),
)
def create_site(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    refusal = _slug_refusal(run, fields.get("slug"))
    if response := run.request(by, "create_site", organization, body=fields, refusal=refusal):
        expected = {"description": None, "status": "draft", "platformId": None, "homePageId": None, **fields}
        created = run.add_created_record("site", response, organization, expected)
        assert _slug_refusal(run, created.fields["slug"], created) is None
        run.expect_entry(by, "create_site", created)


@action(site=record_index, fields=_fields)
def update_site(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    refusal = _slug_refusal(run, fields["slug"], record) if "slug" in fields else None
    if response := run.request(by, "update_site", record, body=fields, refusal=refusal):
        former_slug = record.fields["slug"]
        record.fields |= {name: response.json[name] for name in ("host", "homePageId")}
        if run.apply_change(record, response, fields):
            run.model.former_slugs[f"site/{former_slug}"] = record.id
            run.model.former_slugs.pop(f"site/{record.fields['slug']}", None)
            run.expect_entry(by, "update_site", record)


@action(site=record_index, status=_statuses)
def publish_site(run: ModelRun, by: Sender, record: ModelRecord, status: str) -> None:
    if response := run.request(by, "update_site", record, body={"status": status}):
        record.fields |= {name: response.json[name] for name in ("homePageId", "publishedAt")}
        assert (record.fields["publishedAt"] is None) == (status == "draft")
        if run.apply_change(record, response, {"status": status}):
            run.expect_entry(
                by, "update_site", record, "site.published" if status == "published" else "site.unpublished"
            )


@action(weight=1, site=record_index)
def delete_site(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(by, "delete_site", record):
        run.expect_entry(by, "delete_site", record)
        record.is_deleted = True


@action(site=record_index)
def get_site(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "get_site", record):
        assert {n: v for n, v in record.fields.items() if n != "homePageId"}.items() <= response.json.items()


@action(place=record_index)
def list_sites(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if response := run.request(by, "list_sites", organization, query={"limit": 100}):
        assert [item["id"] for item in response.json["items"]] == [
            s.id for s in run.model.list_existing("site", organization)
        ]


@action(site=record_index, source=_source_paths, target=_targets)
def create_redirect(run: ModelRun, by: Sender, record: ModelRecord, source: str, target: str) -> None:
    redirects_from_source = [r for r in run.model.list_existing("redirect", record) if r.fields["fromPath"] == source]
    refusal = "409 already_exists" if redirects_from_source else None
    body = {"fromPath": source, "toPath": target, "statusCode": 302}
    possible_refusals = (
        () if redirects_from_source else ("409 redirect_loop", "409 already_exists")
    )  # Moved pages leave redirects that the model does not know.
    if response := run.request(
        by, "create_redirect", record, body=body, refusal=refusal, possible_refusals=possible_refusals
    ):
        created = run.add_created_record("redirect", response, record, {**body, "enabled": True, "origin": "manual"})
        run.expect_entry(by, "create_redirect", created)


@action(redirect=record_index, fields=optional_fields(enabled=st.booleans(), statusCode=st.sampled_from([301, 308])))
def update_redirect(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    possible_refusals = ("409 redirect_loop",) if fields.get("enabled") else ()
    response = run.request(by, "update_redirect", record.container, record, fields, possible_refusals=possible_refusals)
    if response and run.apply_change(record, response, fields):
        run.expect_entry(by, "update_redirect", record)


@action(weight=2, redirect=record_index)
def delete_redirect(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(by, "delete_redirect", record.container, record):
        run.expect_entry(by, "delete_redirect", record)
        record.is_deleted = True


@action(site=record_index, menu=st.sampled_from(["main", "foot"]), name=names, page=st.none() | record_index)
def put_navigation_menu(run: ModelRun, by: Sender, record: ModelRecord, menu: str, name: str, page: int | None) -> None:
    site_pages = run.model.list_existing("page", record)
    linked_page = site_pages[-1 - page % len(site_pages)] if page is not None and site_pages else None
    items = [{"id": "first", "label": "First", "type": "group"}]
    items += [{"id": "second", "label": "Second", "type": "page", "pageId": linked_page.id}] if linked_page else []
    menu_record = next((m for m in run.model.list_existing("menu", record) if m.id == menu), None)
    sender = Sender(by.caller_name) if menu_record is None else by
    body = {"name": name, "items": items}
    response = run.request(sender, "put_navigation_menu", record, menu_record, body, navigation_id=menu)
    if response is None:
        return
    actual_items = [(item["id"], item["type"], item["pageId"]) for item in response.json["items"]]
    assert actual_items == [(item["id"], item["type"], item.get("pageId")) for item in items]
    if menu_record is None:
        created = run.add_created_record("menu", response, record, {"id": menu, "name": name})
        run.expect_entry(by, "put_navigation_menu", created)
    elif response.json["version"] > menu_record.fields["version"]:
        assert response.json["version"] == menu_record.fields["version"] + 1
        menu_record.fields = response.json
        run.expect_entry(by, "put_navigation_menu", menu_record)
    else:
        assert (menu_record.fields["name"], _item_summaries(menu_record.fields)) == (
            name,
            _item_summaries({"items": response.json["items"]}),
        )


def _item_summaries(menu: Json) -> list[tuple[str, str, str | None]]:
    return [(item["id"], item["type"], item["pageId"]) for item in menu["items"]]


@action(site=record_index)
def list_navigation_menus(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "list_navigation_menus", record, query={"limit": 100}):
        assert [item["id"] for item in response.json["items"]] == [
            m.id for m in run.model.list_existing("menu", record)
        ]
