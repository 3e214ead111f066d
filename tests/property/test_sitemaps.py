"""A sitemap lists exactly the published pages that visitors see at their paths, whatever redirects there are."""

from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.harness import snapshots
from tests.harness.api import ApiClient
from tests.harness.callers import Person
from tests.harness.organizations import create_organization
from tests.harness.redirects import post_redirect
from tests.harness.sitemaps import get_sitemap, sitemap_urls
from tests.harness.sites import SitePages, create_site

TITLES: Final = ("A", "B", "C")
PATHS: Final = ("/a", "/b", "/c", "/d")

titles, paths, indexes = st.sampled_from(TITLES), st.sampled_from(PATHS), st.integers(0, 9)
sources = paths | st.sampled_from(("/a/*", "/*", "/"))


class RedirectMachine(RuleBasedStateMachine):
    def __init__(self, api: ApiClient, owner: Person) -> None:
        """Start with three published pages."""
        super().__init__()
        self.api, self.owner = api, owner
        self.pages: SitePages = snapshots.create_or_restore(("a site of three pages",), self._create_pages)

    def _create_pages(self) -> SitePages:
        pages = SitePages(self.api, create_site(self.api, create_organization(self.api, self.owner)))
        pages.publish("Welcome", *TITLES)
        return pages

    @rule(source=sources, to_path=paths | st.sampled_from(("/a/:splat", "/", "https://away.example.com/")))
    def create_redirect(self, source: str, to_path: str) -> None:
        answer = post_redirect(self.api, self.pages.site, source, to_path)
        assert answer.status == 201 or answer.status_and_code in ("409 already_exists", "409 redirect_loop")

    @rule(index=indexes, fields=st.fixed_dictionaries({}, optional={"enabled": st.booleans(), "toPath": paths}))
    def update_redirect(self, index: int, fields: dict[str, Any]) -> None:
        if path := self._redirect_path_or_none(index):
            answer = self.api.patch(path, caller=self.pages.site.owner, json=fields)
            assert answer.status == 200 or answer.status_and_code == "409 redirect_loop"

    @rule(index=indexes)
    def delete_redirect(self, index: int) -> None:
        if path := self._redirect_path_or_none(index):
            assert self.api.delete(path, caller=self.pages.site.owner).status == 204

    @rule(title=titles, path=paths)
    def move_page(self, title: str, path: str) -> None:
        if self.pages.patch(title, slug=path.removeprefix("/")).status == 200:
            assert self.pages.patch(title, unpublishAt=None).status == 200
            self.api.post(f"{self.pages[title].path}/publish", caller=self.pages.site.owner)

    @rule(title=titles)
    def unpublish(self, title: str) -> None:
        assert self.pages.patch(title, unpublishAt="2020-01-01T00:00:00Z").status == 200

    @invariant()
    def sitemap_lists_what_visitors_see(self) -> None:
        host = self.pages.site.record["host"]
        visits = {
            path: self.api.get("/sites/resolve", query={"host": host, "path": path}).json["match"]
            for path in ("/", *PATHS)
        }
        listed = {url.removeprefix(self.pages.site.url) for url in sitemap_urls(get_sitemap(self.api, self.pages.site))}
        assert listed == {path for path, match in visits.items() if match == "page"}

    def _redirect_path_or_none(self, index: int) -> str | None:
        redirects = self.api.get_items(f"{self.pages.site.path}/redirects", caller=self.pages.site.owner)
        return f"{self.pages.site.path}/redirects/{redirects[index % len(redirects)]['id']}" if redirects else None


def test_a_sitemap_lists_what_visitors_see_after_any_changes(api, ada):
    effort = settings(max_examples=6, stateful_step_count=15, deadline=None)
    run_state_machine_as_test(lambda: RedirectMachine(api, ada), settings=effort)  # type: ignore[arg-type]
