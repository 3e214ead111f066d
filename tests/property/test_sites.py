"""A site against its model: whatever two editors do to it, no link breaks, no draft shows, and no word is lost."""

from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from chalicelib.kernel.core.clock import after, now
from tests.harness import snapshots
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.faults import overtaken
from tests.harness.organizations import found
from tests.harness.sites import Published, make_site
from tests.harness.workers import Workers
from tests.property.site_model import Publication

SLUGS: Final = ("a", "b", "c")
FORMER: Final = ("/x", "/y", "/z")
"""Addresses of another site that was there before."""
PAST: Final = "2020-01-01T00:00:00.000Z"
MOST_HOPS: Final = 5

slugs = st.sampled_from(SLUGS)
which = st.integers(0, 5)
"""Of the pages that were ever made, counted from the last."""


class Editors(RuleBasedStateMachine):
    """The service and the model, side by side."""

    def __init__(self, api: Api, workers: Workers, clock: Clock, owner: Person) -> None:
        """Begin with an empty site."""
        super().__init__()
        self.api, self.workers, self.clock = api, workers, clock
        self.model, self.ids, self.titles = Publication(), list[str](), 0
        self.redirects: dict[str, str] = {}
        self.site: Published = snapshots.once(("an empty site",), lambda: make_site(api, found(api, owner)))
        self.owner = self.site.owner

    @rule(slug=slugs, parent=st.none() | which, home=st.sampled_from([False, False, False, True]))
    def create(self, slug: str, parent: int | None, *, home: bool) -> None:
        above = self._page(parent)
        body = {"title": self._title(), "slug": slug, "parentId": above, "isHome": home}
        answer = self.api.post(f"{self.site.path}/pages", as_=self.owner, json=body)
        assert answer.status in (201, 409), answer.text
        if answer.status == 201:
            self.ids.append(answer.json["id"])
            page = answer.json
            self.model.create(page["id"], page["draftRevisionId"], page["title"], (above, slug))
            if home:
                self.model.make_home(page["id"])

    @rule(page=which, fields=st.fixed_dictionaries({}, optional={"slug": slugs, "parent": st.none() | which}))
    def edit(self, page: int, fields: dict[str, Any]) -> None:
        if known := self._page(page):
            before = self._public()
            self._edited(known, self._patch(known, fields))
            assert self._public() == before, "an edit of a draft showed"

    @rule(page=which)
    def publish(self, page: int) -> None:
        if known := self._page(page):
            self._published(known, self._publish(known))

    @rule(page=which, revision=st.integers(0, 3))
    def publish_earlier(self, page: int, revision: int) -> None:
        if known := self._page(page):
            revisions = [*self.model.pages[known].drafts]
            wanted = revisions[revision % len(revisions)]
            self._published(known, self._publish(known, revisionId=wanted))

    @rule(page=which)
    def take_back(self, page: int) -> None:
        if known := self._page(page):
            answer = self.api.patch(self._at(known), as_=self.owner, json={"unpublishAt": PAST})
            assert answer.status == 200, answer.text
            self.model.take_back(known)

    @rule(page=which, publish=st.booleans())
    def schedule(self, page: int, *, publish: bool) -> None:
        known = self._page(page)
        if known is None or (not publish and self.model.pages[known].shown is None):
            return
        name = "publishAt" if publish else "unpublishAt"
        answer = self.api.patch(self._at(known), as_=self.owner, json={name: after(now(), seconds=300)})
        assert answer.status == 200, answer.text
        before = self._public()
        self.workers.settle()
        assert self._public() == before, "it came too early"
        self.clock.shift(minutes=6)
        self.workers.settle()
        there = self.api.get(self._at(known), as_=self.owner).json
        if publish and there["publishAt"] is None:
            self.model.publish(known, there["publishedRevisionId"])
            assert there["publishedRevisionId"] == there["draftRevisionId"]
        elif publish:
            assert self.api.patch(self._at(known), as_=self.owner, json={"publishAt": None}).status == 200
        else:
            assert there["publishedRevisionId"] is None
            self.model.take_back(known)

    @rule(page=which, revision=st.integers(0, 3))
    def restore(self, page: int, revision: int) -> None:
        known = self._page(page)
        if known is None:
            return
        before, revisions = self._public(), [*self.model.pages[known].drafts]
        wanted = revisions[revision % len(revisions)]
        answer = self.api.post(f"{self._at(known)}/revisions/{wanted}/restore", as_=self.owner)
        assert answer.status == 200, answer.text
        assert answer.json["title"] == self.model.pages[known].drafts[wanted][0]
        self._edited(known, answer)
        assert self._public() == before, "a restored draft showed"

    @rule(page=which)
    def make_home(self, page: int) -> None:
        if known := self._page(page):
            answer = self.api.patch(self._at(known), as_=self.owner, json={"isHome": True})
            assert answer.status in (200, 409), answer.text
            if answer.status == 200:
                self.model.make_home(known)

    @rule(page=which, cascade=st.booleans())
    def delete(self, page: int, *, cascade: bool) -> None:
        if known := self._page(page):
            query = {"strategy": "cascade"} if cascade else None
            answer = self.api.delete(self._at(known), as_=self.owner, query=query)
            assert answer.status in (204, 409), answer.text
            assert answer.status == 204 or not cascade
            if answer.status == 204:
                self.model.delete(known)
                self.workers.settle()
                self.clock.shift(minutes=2)
                self.workers.settle()

    @rule(source=st.sampled_from(FORMER), leads=st.sampled_from(FORMER) | which)
    def redirect(self, source: str, leads: str | int) -> None:
        page = self._page(leads) if isinstance(leads, int) else None
        to_path = leads if isinstance(leads, str) else self.model.public.get(page or "", "/nowhere")
        body = {"fromPath": source, "toPath": to_path}
        answer = self.api.post(f"{self.site.path}/redirects", as_=self.owner, json=body)
        assert answer.status == 201 or answer.code in ("409 already_exists", "409 redirect_loop")
        if answer.status == 201:
            self.redirects[source] = answer.json["id"]

    @rule(source=st.sampled_from(FORMER))
    def redirect_no_more(self, source: str) -> None:
        if source in self.redirects:
            path = f"{self.site.path}/redirects/{self.redirects.pop(source)}"
            assert self.api.delete(path, as_=self.owner).status == 204
            assert self._visit(source).status == 404

    @rule(
        one=which,
        other=which,
        fields=st.fixed_dictionaries({}, optional={"slug": slugs, "parent": which}),
        at=st.integers(1, 6),
    )
    def one_edits_and_another_publishes_meanwhile(self, one: int, other: int, fields: dict[str, Any], at: int) -> None:
        first, second = self._page(one), self._page(other)
        if first is None or second is None:
            return
        answered: list[Answer] = []
        with overtaken(lambda: answered.append(self._publish(second)), at=at) as overtaking:
            told = self._patch(first, fields)
        if overtaking.hit is None:
            answered.append(self._publish(second))
        self._edited(first, told)
        self._published(second, answered[0])

    @invariant()
    def every_word_is_kept(self) -> None:
        for page, sheet in [*self.model.pages.items()][-3:]:
            listed = self.api.items(f"{self._at(page)}/revisions", as_=self.owner)
            assert [(item["id"], item["title"]) for item in listed] == [
                (revision, title) for revision, (title, _) in [*sheet.drafts.items()][::-1]
            ]

    @invariant()
    def drafts_are_where_they_were_put(self) -> None:
        listed = self.api.items(f"{self.site.path}/pages", as_=self.owner, query={"limit": 100})
        assert {page["id"]: page["path"] for page in listed} == self.model.drafts

    @invariant()
    def what_is_public_is_there_and_nothing_else(self) -> None:
        for page, path in self.model.public.items():
            answer = self._visit(path)
            assert (answer.status, answer.json.get("id")) == (200, page), (path, answer.text)
            assert (answer.json["title"], answer.json["path"]) == (self.model.pages[page].shown, path)
        free = {*self.model.drafts.values()} - {*self.model.public.values()}
        for path in free:
            answer = self._visit(path)
            assert answer.status in (301, 404), f"{path} shows a draft"

    @invariant()
    def links_do_not_break(self) -> None:
        public = self.model.public
        for path, pages in [*self.model.ever.items()][-12:]:
            there = {page for page in pages if page in public}
            ends = self._followed(path)
            if path in public.values():
                assert ends is not None
                assert public[ends] == path
            elif there:
                assert ends in there, f"{path} was that of {pages}, and leads to {ends}"
            else:
                assert ends is None or ends in public

    @invariant()
    def redirects_come_to_an_end(self) -> None:
        listed = self.api.items(f"{self.site.path}/redirects", as_=self.owner, query={"limit": 100})
        assert {each["fromPath"]: each["id"] for each in listed if each["origin"] == "manual"} == self.redirects
        for source in self.redirects:
            self._followed(source)

    def _followed(self, path: str) -> str | None:
        for _ in range(MOST_HOPS + 1):
            answer = self._visit(path)
            if answer.status == 200:
                return str(answer.json["id"])
            if answer.status == 404:
                return None
            path = parse_qs(urlsplit(answer.headers["Location"]).query)["path"][0]
        raise AssertionError(f"{path} leads on and on")

    def _visit(self, path: str) -> Answer:
        return self.api.get(f"{self.site.path}/pages/by-path", query={"path": path})

    def _public(self) -> dict[str, tuple[int, Json]]:
        visits = {path: self._visit(path) for path in {*self.model.public.values(), "/"}}
        return {path: (answer.status, answer.json if answer.status == 200 else {}) for path, answer in visits.items()}

    def _page(self, number: int | None) -> str | None:
        known = [page for page in self.ids[::-1] if page in self.model.pages]
        return known[number % len(known)] if number is not None and known else None

    def _at(self, page: str) -> str:
        return f"{self.site.path}/pages/{page}"

    def _title(self) -> str:
        self.titles += 1
        return f"Title {self.titles}"

    def _patch(self, page: str, fields: dict[str, Any]) -> Answer:
        body = {"title": self._title(), **{name: value for name, value in fields.items() if name != "parent"}}
        if "parent" in fields:
            body["parentId"] = self._page(fields["parent"])
        return self.api.patch(self._at(page), as_=self.owner, json=body)

    def _edited(self, page: str, answer: Answer) -> None:
        assert answer.status in (200, 409), answer.text
        if answer.status == 200:
            said = answer.json
            self.model.revise(page, said["draftRevisionId"], said["title"], (said["parentId"], said["slug"]))

    def _publish(self, page: str, **body: Any) -> Answer:
        return self.api.post(f"{self._at(page)}/publish", as_=self.owner, json=body)

    def _published(self, page: str, answer: Answer) -> None:
        assert answer.status in (200, 409, 422), answer.text
        if answer.status == 200:
            self.model.publish(page, answer.json["publishedRevisionId"])


def test_a_site_is_what_its_editors_made_of_it(api: Api, workers: Workers, clock: Clock, ada: Person) -> None:
    class Here(Editors):
        def __init__(self) -> None:
            super().__init__(api, workers, clock, ada)

    run_state_machine_as_test(Here, settings=settings(deadline=None, max_examples=10, stateful_step_count=30))
