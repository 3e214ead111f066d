"""A site matches its model after any changes of two editors: former links lead to their pages, and drafts stay hidden.

Revisions and schedules are tested by `tests/model` and `tests/http/sites/test_page_publishing.py`.
"""

from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.harness import snapshots
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.faults import run_before_call
from tests.harness.organizations import create_organization
from tests.harness.sites import CreatedSite, create_site
from tests.harness.workers import Workers
from tests.property.site_model import SiteModel

SLUGS: Final = ("a", "b", "c")
FORMER_PATHS: Final = ("/x", "/y", "/z")
"""Paths of a former site."""
PAST: Final = "2020-01-01T00:00:00.000Z"
MAX_HOPS: Final = 5

slugs = st.sampled_from(SLUGS)
recent_index = st.integers(0, 5)
"""An index of the pages that were ever created, newest first."""
position_changes = st.fixed_dictionaries({}, optional={"slug": slugs, "parent": st.none() | recent_index})


class SiteMachine(RuleBasedStateMachine):
    def __init__(self, api: ApiClient, workers: Workers, clock: Clock, owner: Person) -> None:
        """Start with an empty site."""
        super().__init__()
        self.api, self.workers, self.clock = api, workers, clock
        self.model, self.ids, self.titles = SiteModel(), list[str](), 0
        self.redirects: dict[str, str] = {}
        self.site: CreatedSite = snapshots.create_or_restore(
            ("an empty site",), lambda: create_site(api, create_organization(api, owner))
        )
        self.owner = self.site.owner

    @rule(slug=slugs, parent=st.none() | recent_index, home=st.sampled_from([False, False, False, True]))
    def create(self, slug: str, parent: int | None, *, home: bool) -> None:
        parent_id = self._page_at(parent)
        body = {"title": self._next_title(), "slug": slug, "parentId": parent_id, "isHome": home}
        response = self.api.post(f"{self.site.path}/pages", caller=self.owner, json=body)
        if self._succeeded(response, 201, 409):
            self.ids.append(response.json["id"])
            page = response.json
            self.model.create(page["id"], page["draftRevisionId"], page["title"], (parent_id, slug))
            if home:
                self.model.make_home(page["id"])

    @rule(page=recent_index, fields=position_changes)
    def update_page(self, page: int, fields: dict[str, Any]) -> None:
        if page_id := self._page_at(page):
            before = self._public_responses()
            self._record_update(page_id, self._send_patch(page_id, fields))
            assert self._public_responses() == before, "a changed draft is public"

    @rule(page=recent_index, revision=st.none() | st.integers(0, 3))
    def publish(self, page: int, revision: int | None) -> None:
        if page_id := self._page_at(page):
            body = {} if revision is None else {"revisionId": self._revision_at(page_id, revision)}
            self._record_publication(page_id, self._send_publish(page_id, **body))

    @rule(page=recent_index)
    def unpublish(self, page: int) -> None:
        if page_id := self._page_at(page):
            self.api.patch(self._page_path(page_id), caller=self.owner, json={"unpublishAt": PAST}).expect(200)
            self.model.unpublish(page_id)

    @rule(page=recent_index)
    def make_home(self, page: int) -> None:
        if page_id := self._page_at(page):
            response = self.api.patch(self._page_path(page_id), caller=self.owner, json={"isHome": True})
            if self._succeeded(response, 200, 409):
                self.model.make_home(page_id)

    @rule(page=recent_index, cascade=st.booleans())
    def delete(self, page: int, *, cascade: bool) -> None:
        if page_id := self._page_at(page):
            query = {"strategy": "cascade"} if cascade else None
            response = self.api.delete(self._page_path(page_id), caller=self.owner, query=query)
            if self._succeeded(response, 204, 204 if cascade else 409):
                self.model.delete(page_id)
                self.workers.run_until_idle()
                self.clock.shift(minutes=2)
                self.workers.run_until_idle()

    @rule(source=st.sampled_from(FORMER_PATHS), destination=st.sampled_from(FORMER_PATHS) | recent_index)
    def create_redirect(self, source: str, destination: str | int) -> None:
        page = self._page_at(destination) if isinstance(destination, int) else None
        to_path = destination if isinstance(destination, str) else self.model.public_paths.get(page or "", "/nowhere")
        body = {"fromPath": source, "toPath": to_path}
        response = self.api.post(f"{self.site.path}/redirects", caller=self.owner, json=body)
        assert response.status == 201 or response.status_and_code in ("409 already_exists", "409 redirect_loop")
        if response.status == 201:
            self.redirects[source] = response.json["id"]

    @rule(source=st.sampled_from(FORMER_PATHS))
    def delete_redirect(self, source: str) -> None:
        if source in self.redirects:
            path = f"{self.site.path}/redirects/{self.redirects.pop(source)}"
            assert self.api.delete(path, caller=self.owner).status == 204
            assert self._visit(source).status == 404

    @rule(updated=recent_index, published=recent_index, fields=position_changes, at=st.integers(1, 6))
    def update_and_publish_concurrently(self, updated: int, published: int, fields: dict[str, Any], at: int) -> None:
        first, second = self._page_at(updated), self._page_at(published)
        if first is None or second is None:
            return
        second_responses: list[ApiResponse] = []
        with run_before_call(lambda: second_responses.append(self._send_publish(second)), call_number=at) as overtaking:
            first_response = self._send_patch(first, fields)
        if overtaking.interrupted_call is None:
            second_responses.append(self._send_publish(second))
        self._record_update(first, first_response)
        self._record_publication(second, second_responses[0])

    @invariant()
    def drafts_have_their_paths(self) -> None:
        listed = self.api.get_items(f"{self.site.path}/pages", caller=self.owner, query={"limit": 100})
        assert {page["id"]: page["path"] for page in listed} == self.model.draft_paths

    @invariant()
    def exactly_the_published_pages_are_public(self) -> None:
        for page, path in self.model.public_paths.items():
            response = self._visit(path)
            assert (response.status, response.json.get("id")) == (200, page), (path, response.text)
            assert (response.json["title"], response.json["path"]) == (self.model.pages[page].public_title, path)
        for path in {*self.model.draft_paths.values()} - {*self.model.public_paths.values()}:
            assert self._visit(path).status in (301, 404), f"{path} shows a draft"

    @invariant()
    def former_links_lead_to_their_pages(self) -> None:
        public = self.model.public_paths
        for path, pages in [*self.model.pages_by_public_path.items()][-12:]:
            existing_pages = {page for page in pages if page in public}
            end = self._follow_redirects(path)
            if path in public.values():
                assert end is not None
                assert public[end] == path
            elif existing_pages:
                assert end in existing_pages, f"{path} was the path of {pages}, but leads to {end}"
            else:
                assert end is None or end in public

    @invariant()
    def redirects_end(self) -> None:
        listed = self.api.get_items(f"{self.site.path}/redirects", caller=self.owner, query={"limit": 100})
        assert {each["fromPath"]: each["id"] for each in listed if each["origin"] == "manual"} == self.redirects
        for source in self.redirects:
            self._follow_redirects(source)

    def _follow_redirects(self, path: str) -> str | None:
        for _ in range(MAX_HOPS + 1):
            response = self._visit(path)
            if response.status == 200:
                return str(response.json["id"])
            if response.status == 404:
                return None
            path = parse_qs(urlsplit(response.headers["Location"]).query)["path"][0]
        raise AssertionError(f"{path} has too many redirects")

    def _visit(self, path: str) -> ApiResponse:
        return self.api.get(f"{self.site.path}/pages/by-path", query={"path": path})

    def _public_responses(self) -> dict[str, tuple[int, Json]]:
        visits = {path: self._visit(path) for path in {*self.model.public_paths.values(), "/"}}
        return {path: (visit.status, visit.json if visit.status == 200 else {}) for path, visit in visits.items()}

    def _page_at(self, number: int | None) -> str | None:
        page_ids = [page for page in self.ids[::-1] if page in self.model.pages]
        return page_ids[number % len(page_ids)] if number is not None and page_ids else None

    def _revision_at(self, page: str, number: int) -> str:
        revisions = [*self.model.pages[page].revisions]
        return revisions[number % len(revisions)]

    def _page_path(self, page: str) -> str:
        return f"{self.site.path}/pages/{page}"

    def _next_title(self) -> str:
        self.titles += 1
        return f"Title {self.titles}"

    def _send_patch(self, page: str, fields: dict[str, Any]) -> ApiResponse:
        body = {"title": self._next_title(), **{name: value for name, value in fields.items() if name != "parent"}}
        if "parent" in fields:
            body["parentId"] = self._page_at(fields["parent"])
        return self.api.patch(self._page_path(page), caller=self.owner, json=body)

    @staticmethod
    def _succeeded(response: ApiResponse, status: int, *refusals: int) -> bool:
        """Assert that a response has one of these status codes, and return whether it has the first."""
        assert response.status in (status, *refusals), response.text
        return response.status == status

    def _record_update(self, page: str, response: ApiResponse) -> None:
        if self._succeeded(response, 200, 409):
            draft = response.json
            position = (draft["parentId"], draft["slug"])
            self.model.add_revision(page, draft["draftRevisionId"], draft["title"], position)

    def _send_publish(self, page: str, **body: Any) -> ApiResponse:
        return self.api.post(f"{self._page_path(page)}/publish", caller=self.owner, json=body)

    def _record_publication(self, page: str, response: ApiResponse) -> None:
        if self._succeeded(response, 200, 409, 422):
            self.model.publish(page, response.json["publishedRevisionId"])


def test_a_site_matches_its_model_after_any_changes(api, workers, clock, ada):
    effort = settings(max_examples=6, stateful_step_count=25)
    run_state_machine_as_test(lambda: SiteMachine(api, workers, clock, ada), settings=effort)  # type: ignore[arg-type]
