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
    if response := run.request(
        by, "create_page", record, body=body, refusal=refusal, possible_refusals=_POSITION_REFUSALS
    ):
        publication = publication_of(record)
        page, position = response.json["id"], (response.json["parentId"], slug)
        publication.create(page, response.json["draftRevisionId"], response.json["title"], position)
        if home:
            publication.make_home(response.json["id"])
        expected = {**body, "isHome": publication.home_page == response.json["id"], "status": "draft"}
        created = run.add_created_record(
            "page", response, record, {**expected, "path": publication.draft_paths[response.json["id"]]}
        )
        run.expect_entry(by, "create_page", created)


def _title(run: ModelRun) -> str:
    return f"Title {len(run.steps)} of {len(run.model.records)}"


@action(weight=6, page=record_index, slug=st.none() | slugs, moves=st.booleans(), parent=parents)
def edit_page(
    run: ModelRun, by: Sender, record: ModelRecord, slug: str | None, parent: int | None, *, moves: bool
) -> None:
    parent_page = run.model.pick("page", parent, record.parent) if parent is not None else None
    body: Json = {"title": _title(run)} | ({"slug": slug} if slug else {})
    body |= {"parentId": parent_page.id if parent_page else None} if moves else {}
    refusal = "422 validation_failed" if moves and parent_page and not parent_page.exists else None
    before = _public(run, record.parent)
    response = run.request(
        by, "update_page", record.parent, record, body, refusal=refusal, possible_refusals=_POSITION_REFUSALS
    )
    if response:
        _apply_revision(record, response)
        assert response.json["title"] == body["title"]
        assert _public(run, record.parent) == before, "an edit of a draft changed the published page"
        run.expect_entry(by, "update_page", record)


def _apply_revision(page: ModelRecord, response: ApiResponse) -> None:
    fields = response.json
    assert page.container
    revision, position = fields["draftRevisionId"], (fields["parentId"], fields["slug"])
    publication_of(page.container).add_revision(page.id, revision, fields["title"], position)
    replace_fields(page, fields)


def replace_fields(page: ModelRecord, fields: Json) -> None:
    """Replace the fields of a page, whose version must have increased."""
    assert fields["version"] > page.fields["version"]
    page.fields = fields


def _public(run: ModelRun, site: ModelRecord) -> dict[str, tuple[int, object]]:
    paths = [*{*publication_of(site).public_paths.values(), "/"}][:4]
    visits = {path: visit(run, site, path) for path in paths}
    return {
        path: (response.status, response.json if response.status == 200 else None) for path, response in visits.items()
    }


def visit(run: ModelRun, site: ModelRecord, path: str) -> ApiResponse:
    """Return the response to an anonymous visitor."""
    return run.api.get(f"{site.path}/pages/by-path", query={"path": path})


@action(weight=6, page=record_index, earlier=st.integers(0, 3))
def publish_page(run: ModelRun, by: Sender, record: ModelRecord, earlier: int) -> None:
    """Publish the draft, or an earlier revision."""
    body, page_state = {}, publication_of(record.parent).pages.get(record.id)
    if page_state and earlier < len(page_state.revisions) - 1:
        body = {"revisionId": [*page_state.revisions][earlier]}
    possible_refusals = (*_POSITION_REFUSALS, "422 validation_failed", "409 invalid_transition")
    if response := run.request(by, "publish_page", record.parent, record, body, possible_refusals=possible_refusals):
        before = record.fields
        publication_of(record.parent).publish(record.id, response.json["publishedRevisionId"])
        assert response.json["status"] == "published"
        record.fields = response.json
        if response.json["version"] > before["version"]:
            run.expect_entry(by, "publish_page", record)


@action(weight=2, page=record_index)
def unpublish_page(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    was_published = record.exists and publication_of(record.parent).pages[record.id].public_title is not None
    response = run.request(by, "update_page", record.parent, record, {"unpublishAt": PAST})
    if response and response.json["version"] > record.fields["version"]:
        if was_published:
            publication_of(record.parent).unpublish(record.id)
        record.fields = response.json
        run.expect_entry(by, "update_page", record, "page.unpublished" if was_published else None)


@action(page=record_index)
def make_page_home(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    response = run.request(
        by, "update_page", record.parent, record, {"isHome": True}, possible_refusals=_POSITION_REFUSALS
    )
    if response and response.json["version"] > record.fields["version"]:
        publication_of(record.parent).make_home(record.id)
        record.fields = response.json
        run.expect_entry(by, "update_page", record)
        for other in run.model.list_existing("page", record.parent):
            other.has_unseen_version = True


@action(page=record_index, hours=st.sampled_from([3, 30]))
def schedule_page(run: ModelRun, by: Sender, record: ModelRecord, hours: int) -> None:
    """Schedule the publication of a page. The schedule may fail when it runs."""
    body = {"publishAt": after(now(), hours=hours)}
    if response := run.request(by, "update_page", record.parent, record, body):
        replace_fields(record, response.json)
        record.internal["publish_at_seconds"] = run.elapsed_seconds + hours * 3600
        run.expect_entry(by, "update_page", record)


def apply_schedule(run: ModelRun, page: ModelRecord) -> None:
    """Apply a due schedule to the model: the page was published, or its position was taken."""
    if (
        page.internal.get("publish_at_seconds") is None
        or page.internal["publish_at_seconds"] > run.elapsed_seconds
        or page.container is None
    ):
        return
    page.internal["publish_at_seconds"], current_fields = None, run.read_as_owner(page).json
    if current_fields["publishAt"] is None:
        assert current_fields["publishedRevisionId"] == current_fields["draftRevisionId"]
        publication, page.fields = publication_of(page.container), current_fields
        if publication.pages[page.id].published_revision != current_fields["publishedRevisionId"]:
            run.model.expected_system_entries.setdefault(page.log_id, []).append(("page.published", page.id))
        publication.publish(page.id, current_fields["publishedRevisionId"])
    else:
        owner = next(name for name, person in run.people.items() if person is run.owner_of(page))
        response = run.request(Sender(owner), "update_page", page.container, page, {"publishAt": None})
        assert response
        replace_fields(page, response.json)
        run.expect_entry(Sender(owner), "update_page", page)


@action(page=record_index, earlier=st.integers(0, 3))
def restore_page_revision(run: ModelRun, by: Sender, record: ModelRecord, earlier: int) -> None:
    page_state = publication_of(record.parent).pages.get(record.id)
    if page_state is None:
        return
    before, revisions = _public(run, record.parent), [*page_state.revisions]
    revision_id = revisions[earlier % len(revisions)]
    if response := run.request(
        by,
        "restore_page_revision",
        record.parent,
        record,
        possible_refusals=_POSITION_REFUSALS,
        revision_id=revision_id,
    ):
        assert response.json["title"] == page_state.revisions[revision_id][0]
        _apply_revision(record, response)
        assert _public(run, record.parent) == before, "a restored draft changed the published page"
        run.expect_entry(by, "restore_page_revision", record)


@action(weight=2, page=record_index, cascade=st.booleans())
def delete_page(run: ModelRun, by: Sender, record: ModelRecord, cascade: bool) -> None:  # noqa: FBT001 - passed by name
    query = {"strategy": "cascade"} if cascade else None
    possible_refusals = ("409 limit_exceeded",) if cascade else ("409 not_empty",)
    if run.request(by, "delete_page", record.parent, record, possible_refusals=possible_refusals, query=query):
        publication = publication_of(record.parent)
        publication.delete(record.id)
        run.expect_entry(by, "delete_page", record)
        for page_record in run.model.list_existing("page", record.parent):
            page_record.is_deleted = page_record.id not in publication.pages
            page_record.has_unseen_version = True


@action(weight=6, site=record_index, path=st.lists(slugs, max_size=2).map(lambda slugs: "/" + "/".join(slugs)))
def get_page_by_path(run: ModelRun, by: Sender, record: ModelRecord, path: str) -> None:
    """Visit a path. Every caller gets the published page, a redirect or *not found*, never a draft."""
    public = {page_path: page for page, page_path in publication_of(record).public_paths.items()}
    possible_refusals = () if path in public else ("301", "302", "307", "308", "404 not_found")
    if response := run.request(
        by, "get_page_by_path", record, query={"path": path}, possible_refusals=possible_refusals
    ):
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
    response = run.request(by, "list_page_revisions", record.parent, record, query={"limit": 100})
    if response:
        drafts = publication_of(record.parent).pages[record.id].revisions
        assert [(item["id"], item["title"]) for item in response.json["items"]] == [
            (revision, title) for revision, (title, _) in [*drafts.items()][::-1]
        ]


@action(page=record_index)
def preview_page(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    """Create a preview link, which shows the draft to everyone who has it."""
    if response := run.request(by, "preview_page", record.parent, record):
        page_state = publication_of(record.parent).pages[record.id]
        path = f"{record.path}/preview-public"
        preview = run.api.get(path, query={"token": response.json["token"]})
        assert (preview.status, preview.json["page"]["title"]) == (
            200,
            page_state.revisions[page_state.draft_revision][0],
        )
        assert run.api.get(path, query={"token": response.json["token"][:-2]}).status_and_code == "404 not_found"
