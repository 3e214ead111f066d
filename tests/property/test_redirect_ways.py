"""Redirects against a model: let in are those by which each way ends, after five hops at most, and all of those.

Where a `*` stands for what visitors ask for, nobody knows all ways; there every visitor comes to an end.
"""

from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.harness import snapshots
from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.organizations import found
from tests.harness.redirects import Signpost, altered, asked_to_redirect, comes_to, redirects_of, removed
from tests.harness.sites import Published, make_site

MOST_HOPS: Final = 5
ELSEWHERE: Final = "https://example.com/"

paths = st.sampled_from([f"/{name}" for name in "abcdefg"])
targets = paths | st.just(ELSEWHERE)
wide = st.sampled_from(["/a/*", "/b/*", "/*", "/a/b/*", "/a/b", "/b/a", "/a", "/b"])
wide_targets = st.sampled_from(["/a/:splat", "/b/:splat", "/:splat", "/a", "/b", "/a/b", "/b/a/:splat", "/c"])


def an_empty_site(api: Api, owner: Person) -> Published:
    return snapshots.once(("an empty site",), lambda: make_site(api, found(api, owner)))


def hops(ways: dict[str, str], path: str) -> int:
    """How many hops a visitor makes who comes to a path; where that has no end, more than there are ways."""
    made = 0
    while path in ways and made <= len(ways):
        path, made = ways[path], made + 1
    return made


class Ways(RuleBasedStateMachine):
    """The service and the model, side by side. `said`: of each path that is led elsewhere, where to, and whether."""

    def __init__(self, api: Api, owner: Person) -> None:
        """Begin with a site that has nothing in it."""
        super().__init__()
        self.api, self.site = api, an_empty_site(api, owner)
        self.said: dict[str, tuple[str, bool]] = {}
        self.made: dict[str, Signpost] = {}

    @rule(path=paths, to=targets, enabled=st.sampled_from([True, True, False]))
    def lead(self, path: str, to: str, enabled: bool) -> None:  # noqa: FBT001 - Hypothesis calls it by names
        answer = asked_to_redirect(self.api, self.site, path, to, enabled=enabled)
        if path in self.said:
            assert answer.status == 409
        elif self._is_let_in(answer, {**self.said, path: (to, enabled)}):
            self.made[path] = Signpost(answer.json, self.site)

    @rule(path=paths, to=paths, changed=st.sampled_from(["fromPath", "toPath", "enabled"]))
    def change(self, path: str, to: str, changed: str) -> None:
        if path not in self.said or (changed == "fromPath" and to in self.said):
            return
        led, enabled = self.said[path]
        others = {name: said for name, said in self.said.items() if name != path}
        by: dict[str, tuple[Any, dict[str, tuple[str, bool]]]] = {
            "fromPath": (to, {**others, to: (led, enabled)}),
            "toPath": (to, {**others, path: (to, enabled)}),
            "enabled": (not enabled, {**others, path: (led, not enabled)}),
        }
        value, wanted = by[changed]
        if self._is_let_in(altered(self.api, self.made[path], **{changed: value}), wanted) and changed == "fromPath":
            self.made[to] = self.made.pop(path)

    @rule(path=paths)
    def remove(self, path: str) -> None:
        if path in self.said:
            assert removed(self.api, self.made.pop(path)).status == 204
            del self.said[path]

    def _is_let_in(self, answer: Answer, wanted: dict[str, tuple[str, bool]]) -> bool:
        """Whether what was asked for is so now, which it has to be if each way ends soon enough by it."""
        ways = {path: to for path, (to, enabled) in wanted.items() if enabled}
        ends = all(hops(ways, path) <= min(len(ways), MOST_HOPS) for path in ways)
        assert answer.status in (200, 201) if ends else answer.code == "409 redirect_loop"
        self.said = wanted if ends else self.said
        return ends

    def teardown(self) -> None:
        """See that all of it is as it was said, and that visitors are led so."""
        listed = redirects_of(self.api, self.site)
        assert {each["fromPath"]: (each["toPath"], each["enabled"]) for each in listed} == self.said
        for path, (to, enabled) in self.said.items():
            assert comes_to(self.api, self.site, path) == ((301, to) if enabled else None)


class Wide(RuleBasedStateMachine):
    """A site with redirects that lead on from all below a path, and a visitor."""

    def __init__(self, api: Api, owner: Person) -> None:
        """Begin with a site that has nothing in it."""
        super().__init__()
        self.api, self.site = api, an_empty_site(api, owner)

    @rule(path=wide, to=wide_targets)
    def lead(self, path: str, to: str) -> None:
        assert asked_to_redirect(self.api, self.site, path, to).status in (201, 409)

    @rule(path=st.sampled_from(["/a", "/b", "/a/b", "/b/a", "/a/x", "/b/x", "/a/b/x", "/x"]))
    def visit(self, path: str) -> None:
        been: list[str] = []
        while isinstance(sent := comes_to(self.api, self.site, path), tuple):
            assert path not in been, "a visitor is led round"
            been.append(path)
            path = sent[1]


def test_each_way_ends_after_five_hops_at_most(api: Api, ada: Person) -> None:
    class Here(Ways):
        def __init__(self) -> None:
            super().__init__(api, ada)

    run_state_machine_as_test(Here, settings=settings(deadline=None, max_examples=30, stateful_step_count=25))


def test_no_visitor_is_led_round(api: Api, ada: Person) -> None:
    class Here(Wide):
        def __init__(self) -> None:
            super().__init__(api, ada)

    run_state_machine_as_test(Here, settings=settings(deadline=None, max_examples=30, stateful_step_count=15))
