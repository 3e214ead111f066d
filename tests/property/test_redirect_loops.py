"""Redirects match a model: those without loops and with at most five hops are accepted, and only those.

Not all chains of redirects with `*` can be known, but every visitor reaches an end.
"""

from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.harness import snapshots
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.organizations import create_organization
from tests.harness.redirects import (
    CreatedRedirect,
    delete_redirect,
    list_redirects,
    patch_redirect,
    post_redirect,
    resolve_visit,
)
from tests.harness.sites import CreatedSite, create_site

MAX_HOPS: Final = 5
EXTERNAL_URL: Final = "https://example.com/"

paths = st.sampled_from([f"/{name}" for name in "abcdefg"])
targets = paths | st.just(EXTERNAL_URL)
wildcard_paths = st.sampled_from(["/a/*", "/b/*", "/*", "/a/b/*", "/a/b", "/b/a", "/a", "/b"])
wildcard_targets = st.sampled_from(["/a/:splat", "/b/:splat", "/:splat", "/a", "/b", "/a/b", "/b/a/:splat", "/c"])


def create_empty_site(api: ApiClient, owner: Person) -> CreatedSite:
    return snapshots.create_or_restore(("an empty site",), lambda: create_site(api, create_organization(api, owner)))


def count_hops(redirects: dict[str, str], path: str) -> int:
    """Return the number of hops of a visitor from a path. For a loop, it exceeds the number of redirects."""
    hop_count = 0
    while path in redirects and hop_count <= len(redirects):
        path, hop_count = redirects[path], hop_count + 1
    return hop_count


class RedirectsMachine(RuleBasedStateMachine):
    """Compares the service with the model. `expected`: target and state of the redirect of each path."""

    def __init__(self, api: ApiClient, owner: Person) -> None:
        """Start with an empty site."""
        super().__init__()
        self.api, self.site = api, create_empty_site(api, owner)
        self.expected: dict[str, tuple[str, bool]] = {}
        self.created: dict[str, CreatedRedirect] = {}

    @rule(path=paths, target_path=targets, enabled=st.sampled_from([True, True, False]))
    def create_redirect(self, path: str, target_path: str, enabled: bool) -> None:  # noqa: FBT001 - Hypothesis passes it by name
        response = post_redirect(self.api, self.site, path, target_path, enabled=enabled)
        if path in self.expected:
            assert response.status == 409
        elif self._is_accepted(response, {**self.expected, path: (target_path, enabled)}):
            self.created[path] = CreatedRedirect(response.json, self.site)

    @rule(path=paths, target_path=paths, field_name=st.sampled_from(["fromPath", "toPath", "enabled"]))
    def update_redirect(self, path: str, target_path: str, field_name: str) -> None:
        if path not in self.expected or (field_name == "fromPath" and target_path in self.expected):
            return
        target, enabled = self.expected[path]
        other_redirects = {name: expected for name, expected in self.expected.items() if name != path}
        changes_by_field: dict[str, tuple[Any, dict[str, tuple[str, bool]]]] = {
            "fromPath": (target_path, {**other_redirects, target_path: (target, enabled)}),
            "toPath": (target_path, {**other_redirects, path: (target_path, enabled)}),
            "enabled": (not enabled, {**other_redirects, path: (target, not enabled)}),
        }
        value, redirects_after = changes_by_field[field_name]
        if (
            self._is_accepted(patch_redirect(self.api, self.created[path], **{field_name: value}), redirects_after)
            and field_name == "fromPath"
        ):
            self.created[target_path] = self.created.pop(path)

    @rule(path=paths)
    def delete_redirect(self, path: str) -> None:
        if path in self.expected:
            assert delete_redirect(self.api, self.created.pop(path)).status == 204
            del self.expected[path]

    def _is_accepted(self, response: ApiResponse, redirects_after: dict[str, tuple[str, bool]]) -> bool:
        """Assert that a change was accepted exactly if all chains end, and return whether it was."""
        redirects = {path: target_path for path, (target_path, enabled) in redirects_after.items() if enabled}
        all_end = all(count_hops(redirects, path) <= min(len(redirects), MAX_HOPS) for path in redirects)
        assert response.status in (200, 201) if all_end else response.status_and_code == "409 redirect_loop"
        self.expected = redirects_after if all_end else self.expected
        return all_end

    def teardown(self) -> None:
        """Compare the final state with the model, and visit each path."""
        listed = list_redirects(self.api, self.site)
        assert {
            listed_redirect["fromPath"]: (listed_redirect["toPath"], listed_redirect["enabled"])
            for listed_redirect in listed
        } == self.expected
        for path, (target_path, enabled) in self.expected.items():
            assert resolve_visit(self.api, self.site, path) == ((301, target_path) if enabled else None)


class WildcardRedirectsMachine(RuleBasedStateMachine):
    """A site with wildcard redirects, and a visitor."""

    def __init__(self, api: ApiClient, owner: Person) -> None:
        """Start with an empty site."""
        super().__init__()
        self.api, self.site = api, create_empty_site(api, owner)

    @rule(path=wildcard_paths, target_path=wildcard_targets)
    def create_redirect(self, path: str, target_path: str) -> None:
        assert post_redirect(self.api, self.site, path, target_path).status in (201, 409)

    @rule(path=st.sampled_from(["/a", "/b", "/a/b", "/b/a", "/a/x", "/b/x", "/a/b/x", "/x"]))
    def visit(self, path: str) -> None:
        visited_paths: list[str] = []
        while isinstance(result := resolve_visit(self.api, self.site, path), tuple):
            assert path not in visited_paths, "the redirects form a loop"
            visited_paths.append(path)
            path = result[1]


def test_each_chain_ends_after_at_most_five_hops(api, ada):
    class Machine(RedirectsMachine):
        def __init__(self) -> None:
            super().__init__(api, ada)

    run_state_machine_as_test(Machine, settings=settings(deadline=None, max_examples=30, stateful_step_count=25))


def test_no_visitor_is_redirected_in_a_loop(api, ada):
    class Machine(WildcardRedirectsMachine):
        def __init__(self) -> None:
            super().__init__(api, ada)

    run_state_machine_as_test(Machine, settings=settings(deadline=None, max_examples=30, stateful_step_count=15))
