"""Redirects match a model: those without loops and with at most five hops are accepted, and only those.

Not all chains of redirects with `*` can be known, but every visitor reaches an end.
"""

from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.harness import snapshots
from tests.harness.organizations import create_organization
from tests.harness.redirects import (
    CreatedRedirect,
    delete_redirect,
    list_redirects,
    patch_redirect,
    post_redirect,
    resolve_visit,
)
from tests.harness.sites import create_site

MAX_HOPS: Final = 5
few_examples = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=10
)

paths = st.sampled_from([f"/{name}" for name in "abcdefg"])
targets = paths | st.just("https://example.com/")
creations = st.tuples(st.just("create"), paths, targets, st.sampled_from([True, True, False]))
updates = st.tuples(st.just("update"), paths, paths, st.sampled_from(["fromPath", "toPath", "enabled"]))
deletions = st.tuples(st.just("delete"), paths, st.none(), st.none())
wildcard_paths = st.sampled_from(["/a/*", "/b/*", "/*", "/a/b/*", "/a/b", "/b/a", "/a", "/b"])
wildcard_targets = st.sampled_from(["/a/:splat", "/b/:splat", "/:splat", "/a", "/b", "/a/b", "/b/a/:splat", "/c"])


def create_empty_site(api, owner):
    return snapshots.create_or_restore(("an empty site",), lambda: create_site(api, create_organization(api, owner)))


def all_chains_end(redirects: dict[str, tuple[str, bool]]) -> bool:
    """Return whether a visitor of any path reaches an end after at most five hops."""
    target_paths = {path: target for path, (target, enabled) in redirects.items() if enabled}
    for start in target_paths:
        path, hops = start, 0
        while path in target_paths:
            path, hops = target_paths[path], hops + 1
            if hops > MAX_HOPS:
                return False
    return True


class RedirectsModel:
    """Target and state of the redirect of each path, beside the redirects of a site."""

    def __init__(self, api: Any, site: Any) -> None:
        self.api, self.site = api, site
        self.expected: dict[str, tuple[str, bool]] = {}
        self.created: dict[str, CreatedRedirect] = {}

    def create(self, path: str, target: str, enabled: bool) -> None:  # noqa: FBT001 - drawn with the other arguments
        response = post_redirect(self.api, self.site, path, target, enabled=enabled)
        if path in self.expected:
            assert response.status == 409
        elif self.is_accepted(response, {**self.expected, path: (target, enabled)}):
            self.created[path] = CreatedRedirect(response.json, self.site)

    def update(self, path: str, new_path: str, field: str) -> None:
        if path not in self.expected or (field == "fromPath" and new_path in self.expected):
            return
        target, enabled = self.expected[path]
        others = {other: redirect for other, redirect in self.expected.items() if other != path}
        value, redirects_after = {
            "fromPath": (new_path, {**others, new_path: (target, enabled)}),
            "toPath": (new_path, {**others, path: (new_path, enabled)}),
            "enabled": (not enabled, {**others, path: (target, not enabled)}),
        }[field]
        response = patch_redirect(self.api, self.created[path], **{field: value})
        if self.is_accepted(response, redirects_after) and field == "fromPath":
            self.created[new_path] = self.created.pop(path)

    def delete(self, path: str, _target: None, _enabled: None) -> None:
        if path in self.expected:
            assert delete_redirect(self.api, self.created.pop(path)).status == 204
            del self.expected[path]

    def is_accepted(self, response: Any, redirects_after: dict[str, tuple[str, bool]]) -> bool:
        """Assert that a change was accepted exactly if all chains end, and return whether it was."""
        all_end = all_chains_end(redirects_after)
        assert response.status in (200, 201) if all_end else response.status_and_code == "409 redirect_loop"
        self.expected = redirects_after if all_end else self.expected
        return all_end


@few_examples
@given(st.lists(creations | creations | updates | deletions, min_size=8, max_size=25))
def test_each_chain_ends_after_at_most_five_hops(api, ada, changes):
    model = RedirectsModel(api, create_empty_site(api, ada))
    for action, *arguments in changes:
        getattr(model, action)(*arguments)
    listed = {each["fromPath"]: (each["toPath"], each["enabled"]) for each in list_redirects(api, model.site)}
    assert listed == model.expected
    for path, (target, enabled) in model.expected.items():
        assert resolve_visit(api, model.site, path) == ((301, target) if enabled else None)


@few_examples
@given(st.lists(st.tuples(wildcard_paths, wildcard_targets), min_size=2, max_size=12))
def test_no_visitor_is_redirected_in_a_loop(api, ada, redirects):
    site = create_empty_site(api, ada)
    for path, target in redirects:
        assert post_redirect(api, site, path, target).status in (201, 409)
    for start in ("/a", "/b", "/a/b", "/b/a", "/a/x", "/b/x", "/a/b/x", "/x"):
        visited_paths = [start]
        while isinstance(result := resolve_visit(api, site, visited_paths[-1]), tuple):
            assert result[1] not in visited_paths, "the redirects form a loop"
            visited_paths.append(result[1])
