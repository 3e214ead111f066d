"""Pages: editing, moving, publication, schedules, restoration and deletion; and the published site."""

from hypothesis import strategies as st

from chalicelib.kernel.core.clock import after, now
from tests.harness.api import ApiResponse
from tests.model.action_groups.sites import publication_of
from tests.model.actions import action, record_index
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Json, ModelRecord

PAST = "2020-01-01T00:00:00.000Z"
slugs = st.sampled_from(["a", "b", "c"])
parents = st.none() | record_index
_SLUG_REFUSALS = ("409 slug_taken",)
_POSITION_REFUSALS = (*_SLUG_REFUSALS, "409 cycle", "409 limit_exceeded")


@action(weight=8, site=record_index, slug=slugs, parent=parents, home=st.sampled_from([False, False, False, True]))
def create_page(run: ModelRun, by: Sender, record: ModelRecord, slug: str, parent: int | None, home: bool) -> None:  # noqa: FBT001
    parent_page = run.model.pick("page", parent, record) if parent is not None else None
    body = {"title": _title(run), "slug": slug, "parentId": parent_page.id if parent_page else None, "isHome": home}
    refusal = "422 validation_failed" if parent_page and not parent_page.exists else None
    options: Json = {"refusal": refusal, "possible_refusals": _POSITION_REFUSALS}
    if response := run.request(by, "create_page", record, body, **options):
        publication, page = publication_of(record), response.json
        publication.create(page["id"], page["draftRevisionId"], page["title"], (page["parentId"], slug))
        if home:
            publication.make_home(page["id"])
        expected = {**body, "isHome": publication.home_page == page["id"], "status": "draft"}
        expected["path"] = publication.draft_paths[page["id"]]
        run.add_created_record(by, "create_page", "page", response, record, expected)


def _title(run: ModelRun) -> str:
    return f"Title {len(run.steps)} of {len(run.model.records)}"


@action(weight=6, page=record_index, slug=st.none() | slugs, moves=st.booleans(), parent=parents)
def edit_page(
    run: ModelRun, by: Sender, record: ModelRecord, slug: str | None, parent: int | None, *, moves: bool
) -> None:
    parent_page = run.model.pick("page", parent, record.parent) if parent is not None else None
    body: Json = {"title": _title(run)} | ({"slug": slug} if slug else {})
    body |= {"parentId": parent_page.id if parent_page else None} if moves else {}
    is_unknown = moves and parent_page and not parent_page.exists
    options: Json = {"refusal": "422 validation_failed" if is_unknown else None}
    before = _public(run, record.parent)
    if response := run.request(by, "update_page", record, body, possible_refusals=_POSITION_REFUSALS, **options):
        _apply_revision(run, by, "update_page", record, response, body["title"])
        assert _public(run, record.parent) == before, "an edit of a draft changed the published page"


def _apply_revision(
    run: ModelRun, by: Sender, operation: str, page: ModelRecord, response: ApiResponse, title: str
) -> None:
    fields = response.json
    assert fields["title"] == title
    revision, position = fields["draftRevisionId"], (fields["parentId"], fields["slug"])
    publication_of(page.parent).add_revision(page.id, revision, title, position)
    _replace_fields(run, by, operation, page, fields)


def _replace_fields(run: ModelRun, by: Sender, operation: str, page: ModelRecord, fields: Json) -> None:
    """Replace the fields of a page, whose version must have increased."""
    assert fields["version"] > page.fields["version"]
    page.fields = fields
    run.expect_entry(by, operation, page)


def _public(run: ModelRun, site: ModelRecord) -> dict[str, tuple[int, object]]:
    paths = [*{*publication_of(site).public_paths.values(), "/"}][:4]
    visits = {path: visit(run, site, path) for path in paths}
    return {path: (each.status, each.json if each.status == 200 else None) for path, each in visits.items()}


def visit(run: ModelRun, site: ModelRecord, path: str) -> ApiResponse:
    return run.api.get(f"{site.path}/pages/by-path", query={"path": path})


@action(weight=6, page=record_index, earlier=st.integers(0, 3))
def publish_page(run: ModelRun, by: Sender, record: ModelRecord, earlier: int) -> None:
    """Publish the draft, or an earlier revision."""
    body, page_state = {}, publication_of(record.parent).pages.get(record.id)
    if page_state and earlier < len(page_state.revisions) - 1:
        body = {"revisionId": [*page_state.revisions][earlier]}
    possible_refusals = (*_POSITION_REFUSALS, "422 validation_failed", "409 invalid_transition")
    if response := run.request(by, "publish_page", record, body, possible_refusals=possible_refusals):
        publication_of(record.parent).publish(record.id, response.json["publishedRevisionId"])
        assert response.json["status"] == "published"
        if response.json["version"] > record.fields["version"]:
            run.expect_entry(by, "publish_page", record)
        record.fields = response.json


@action(weight=2, page=record_index)
def unpublish_page(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    was_published = record.exists and publication_of(record.parent).pages[record.id].public_title is not None
    response = run.request(by, "update_page", record, {"unpublishAt": PAST})
    if response and response.json["version"] > record.fields["version"]:
        if was_published:
            publication_of(record.parent).unpublish(record.id)
        record.fields = response.json
        run.expect_entry(by, "update_page", record, "page.unpublished" if was_published else None)


@action(page=record_index)
def make_page_home(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    response = run.request(by, "update_page", record, {"isHome": True}, possible_refusals=_POSITION_REFUSALS)
    if response and response.json["version"] > record.fields["version"]:
        publication_of(record.parent).make_home(record.id)
        _replace_fields(run, by, "update_page", record, response.json)
        for other in run.model.list_existing("page", record.parent):
            other.has_unseen_version = True


@action(page=record_index, hours=st.sampled_from([3, 30]))
def schedule_page(run: ModelRun, by: Sender, record: ModelRecord, hours: int) -> None:
    """Schedule the publication of a page. The schedule may fail when it runs."""
    if response := run.request(by, "update_page", record, {"publishAt": after(now(), hours=hours)}):
        _replace_fields(run, by, "update_page", record, response.json)
        record.internal["publish_at_seconds"] = run.elapsed_seconds + hours * 3600


def apply_schedule(run: ModelRun, page: ModelRecord) -> None:
    """Apply a due schedule to the model: the page was published, or its position was taken."""
    publish_at_seconds = page.internal.get("publish_at_seconds")
    if publish_at_seconds is None or publish_at_seconds > run.elapsed_seconds:
        return
    page.internal["publish_at_seconds"], current_fields = None, run.read_as_owner(page).json
    if current_fields["publishAt"] is None:
        assert current_fields["publishedRevisionId"] == current_fields["draftRevisionId"]
        publication, page.fields = publication_of(page.parent), current_fields
        if publication.pages[page.id].published_revision != current_fields["publishedRevisionId"]:
            run.expect_system_entry(page, "page.published")
        publication.publish(page.id, current_fields["publishedRevisionId"])
    else:
        owner = run.sender_for_owner(page)
        response = run.request(owner, "update_page", page, {"publishAt": None})
        assert response
        _replace_fields(run, owner, "update_page", page, response.json)


@action(page=record_index, earlier=st.integers(0, 3))
def restore_page_revision(run: ModelRun, by: Sender, record: ModelRecord, earlier: int) -> None:
    page_state = publication_of(record.parent).pages.get(record.id)
    if page_state is None:
        return
    before, revisions = _public(run, record.parent), [*page_state.revisions]
    revision_id = revisions[earlier % len(revisions)]
    options: Json = {"possible_refusals": _POSITION_REFUSALS, "revision_id": revision_id}
    if response := run.request(by, "restore_page_revision", record, **options):
        title = page_state.revisions[revision_id][0]
        _apply_revision(run, by, "restore_page_revision", record, response, title)
        assert _public(run, record.parent) == before, "a restored draft changed the published page"


@action(weight=2, page=record_index, cascade=st.booleans())
def delete_page(run: ModelRun, by: Sender, record: ModelRecord, cascade: bool) -> None:  # noqa: FBT001 - passed by name
    query = {"strategy": "cascade"} if cascade else None
    possible_refusals = ("409 limit_exceeded",) if cascade else ("409 not_empty",)
    if run.delete(by, "delete_page", record, possible_refusals=possible_refusals, query=query):
        publication = publication_of(record.parent)
        publication.delete(record.id)
        for page_record in run.model.list_existing("page", record.parent):
            page_record.is_deleted = page_record.id not in publication.pages
            page_record.has_unseen_version = True


@action(weight=6, site=record_index, path=st.lists(slugs, max_size=2).map(lambda slugs: "/" + "/".join(slugs)))
def get_page_by_path(run: ModelRun, by: Sender, record: ModelRecord, path: str) -> None:
    """Visit a path. Every caller gets the published page, a redirect or *not found*, never a draft."""
    public = {page_path: page for page, page_path in publication_of(record).public_paths.items()}
    options: Json = {"possible_refusals": () if path in public else ("301", "302", "307", "308", "404 not_found")}
    if response := run.request(by, "get_page_by_path", record, query={"path": path}, **options):
        is_redirect_source = any(path == r.fields["fromPath"] for r in run.model.list_existing("redirect", record))
        if response.status == 200 and not is_redirect_source:
            assert public[path] == response.json["id"]
            assert response.json["title"] == publication_of(record).pages[response.json["id"]].public_title


@action(site=record_index)
def list_pages(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "list_pages", record, query={"limit": 100}):
        assert {item["id"]: item["path"] for item in response.json["items"]} == publication_of(record).draft_paths


@action(page=record_index)
def list_page_revisions(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "list_page_revisions", record, query={"limit": 100}):
        drafts = publication_of(record.parent).pages[record.id].revisions
        expected = [(revision, title) for revision, (title, _) in drafts.items()][::-1]
        assert [(item["id"], item["title"]) for item in response.json["items"]] == expected


@action(page=record_index)
def preview_page(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    """Create a preview link, which shows the draft to everyone who has it."""
    if response := run.request(by, "preview_page", record):
        page_state = publication_of(record.parent).pages[record.id]
        title = page_state.revisions[page_state.draft_revision][0]
        path, token = f"{record.path}/preview-public", response.json["token"]
        preview = run.api.get(path, query={"token": token})
        assert (preview.status, preview.json["page"]["title"]) == (200, title)
        assert run.api.get(path, query={"token": token[:-2]}).status_and_code == "404 not_found"
