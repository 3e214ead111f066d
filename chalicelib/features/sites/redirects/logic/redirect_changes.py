"""Create and change redirects, which must not form loops or long chains."""

from collections.abc import Iterable
from typing import Any, Final

from chalicelib.features.sites.entities.redirects import (
    Redirect,
    possible_redirect_keys,
    redirect_by_path_key,
    target_sort_key_prefix,
    wildcard_to_splat,
)
from chalicelib.features.sites.entities.sites import PUBLISHED_TREE, Site, content_change_write, page_tree
from chalicelib.features.sites.logic import load_sites_with_domains
from chalicelib.features.sites.models.redirect_targets import expand_splat, is_site_path, without_own_host
from chalicelib.features.sites.models.redirects import RedirectPatch
from chalicelib.features.sites.models.url_paths import to_comparable_path
from chalicelib.features.sites.pages.entities.slug_index import SlugIndexWriter
from chalicelib.features.sites.redirects.logic.redirect_queries import ResolvedRedirect
from chalicelib.features.sites.redirects.logic.resolution import (
    MAX_HOPS,
    RedirectTarget,
    build_redirect_target_for_path,
    next_hop,
    resolution_keys,
)
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.writes import Write

MAX_CHECKED_REDIRECTS: Final = 25
"""Maximum number of redirects that are checked in each step back along the chains that lead to a redirect."""

_WILDCARD: Final = "*"
_MANUAL_FIELDS: Final = {"origin": "manual", "page_id": None, "former_parent_id": None, "former_slug": None}


class RedirectTargetItems(Prefetched):
    """What resolves the target in the body, if that is a path of the site."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys that resolve the target."""
        to_path = values.body_field_or_none("to_path")
        path = to_comparable_path(expand_splat(to_path, _WILDCARD)) if to_path and is_site_path(to_path) else None
        return resolution_keys(values.parameters["site_id"], path) if path else []


def add_redirect(ctx: Context, site: Site, fields: dict[str, Any], target_items: RedirectTargetItems) -> Redirect:
    """Create a redirect. Raises Problem `redirect_loop`."""
    redirect = Redirect(
        **ctx.new_id_and_time_fields(),
        **site.ids_by_parameter,
        **{**fields, "to_path": target_without_own_host(ctx, site, fields["to_path"])},
    )
    RedirectChainCheck(ctx, target_items, redirect).reject_loop_now_and_at_commit()
    _outdate_sitemap_if_affected(ctx, redirect)
    return ctx.changes.event(ctx.changes.create(redirect))


def change_redirect(
    ctx: Context, site: Site, redirect: ResolvedRedirect, body: RedirectPatch, target_items: RedirectTargetItems
) -> Redirect:
    """Apply a patch to a redirect. A redirect of a moved page becomes a manual one.

    Raises Problem `redirect_loop`.
    """
    fields = body.to_stored_fields_with_defaults()
    if redirect.to_path is None and not ctx.request.unvalidated_json_object_or_empty.get("toPath"):
        fields["to_path"] = None
    if all(json_equal(getattr(redirect, name), value) for name, value in fields.items()):
        return redirect
    fields["to_path"] = target_without_own_host(ctx, site, body.to_path)
    stored = redirect if redirect.origin == "manual" else remove_former_page_position(ctx, redirect)
    updated = ctx.changes.update(stored, **{**fields, **_MANUAL_FIELDS})
    if updated is stored:
        return redirect  # The target is the stored one, written with the site's own host.
    ctx.changes.event(updated, before=redirect)
    if _routing_values(updated) != _routing_values(stored):
        RedirectChainCheck(ctx, target_items, updated, redirect).reject_loop_now_and_at_commit()
    _outdate_sitemap_if_affected(ctx, stored, updated)
    return updated


def remove_redirect(ctx: Context, redirect: ResolvedRedirect) -> None:
    """Delete a redirect. One of a moved page is deleted with the former position of the page."""
    if redirect.origin == "page":
        remove_former_page_position(ctx, redirect)
    _outdate_sitemap_if_affected(ctx, redirect)
    ctx.changes.delete(redirect)
    ctx.changes.event(redirect)


def _outdate_sitemap_if_affected(ctx: Context, *versions: Redirect) -> None:
    """Outdate the sitemap if one of the versions of a changed redirect can take precedence over a page.

    Of such a redirect every change counts: a later `updated_at` can give it precedence over the page at its path.
    """
    if any(each.enabled and each.origin == "manual" and not each.from_path.endswith(_WILDCARD) for each in versions):
        ctx.changes.add_write(content_change_write(versions[0].site_id, ctx.now))


def _routing_values(redirect: Redirect) -> tuple[object, ...]:
    return redirect.from_path, redirect.to_path, redirect.enabled, redirect.origin


def remove_former_page_position(ctx: Context, redirect: ResolvedRedirect) -> ResolvedRedirect:
    """Remove the former position of a page that a redirect lists. Return the redirect without its destination."""
    slug_index = SlugIndexWriter(page_tree(redirect.site_id, PUBLISHED_TREE), {})
    slug_index.remove_former_position(str(redirect.page_id), redirect.former_parent_id, str(redirect.former_slug))
    for write in slug_index.build_writes():
        ctx.changes.add_write(write)
    return redirect.replace(to_path=None)


def target_without_own_host(ctx: Context, site: Site, to_path: str) -> str:
    """Return a target in its stored form: only the path if it is a URL of the site itself, whose host can change."""
    if is_site_path(to_path):
        return to_path
    (site_with_domain,) = load_sites_with_domains(ctx, [site])
    try:
        return without_own_host(to_path, site_with_domain.all_hosts(ctx.now))
    except ValueError as error:
        raise ValidationProblem([FieldError("/toPath", "malformed", str(error))]) from None


class RedirectChainCheck:
    """Checks the chain of redirects through a new or changed redirect. `previous` is its stored version.

    Everything that the check relies on must be unchanged at the commit, so two concurrent requests cannot form a loop
    together.
    """

    def __init__(
        self, ctx: Context, target_items: RedirectTargetItems, redirect: Redirect, previous: Redirect | None = None
    ) -> None:
        self._changes, self._redirect, self._target_items = ctx.changes, redirect, target_items
        self._own_keys = {redirect_by_path_key(each.site_id, each.from_path) for each in (redirect, previous) if each}
        self._absent_keys: set[ItemKey] = set()

    def reject_loop_now_and_at_commit(self) -> None:
        """Raise Problem `redirect_loop` if the chain returns to a path, or has too many redirects.

        It takes one read per redirect. A disabled redirect is not checked.
        """
        if not self._redirect.enabled:
            return
        hop_count = self._count_hops_and_require_unchanged()
        for key in sorted(self._absent_keys):
            self._changes.add_write(Write("ConditionCheck", key, condition="attribute_not_exists(#pk)", names=["pk"]))
        self._reject_long_chain(hop_count)

    def _count_hops_and_require_unchanged(self) -> int:
        """Return the number of redirects in the chain from this one on, including it."""
        visited = [self._redirect.from_path]
        hop: RedirectTarget | None = build_redirect_target_for_path(self._redirect, self._redirect.from_path)
        while hop and (path := hop.site_path):
            if path in visited:
                raise _loop_problem(f"It returns to {path!r} after {describe_count(len(visited), 'redirect')}.")
            visited.append(path)
            items = self._load_resolution_items_with_own_change(path)
            hop = next_hop(self._redirect.site_id, path, items)
            self._require_unchanged(path, items, hop)
            if hop and len(visited) > MAX_HOPS:
                raise _loop_problem(f"Its target continues with more than {MAX_HOPS} redirects.")
        return len(visited) - 1 or 1

    def _load_resolution_items_with_own_change(self, path: str) -> dict[ItemKey, Item]:
        """Return the items that resolve a path, including the new version of the redirect."""
        keys = resolution_keys(self._redirect.site_id, path)
        is_target = {*self._target_items.keys}.issuperset(keys)
        items = self._target_items.items if is_target else table.get_all(keys)
        other_items = {key: item for key, item in items.items() if key not in self._own_keys}
        own_item = self._redirect.item()
        return {**other_items, redirect_by_path_key(self._redirect.site_id, self._redirect.from_path): own_item}

    def _require_unchanged(self, path: str, items: dict[ItemKey, Item], hop: RedirectTarget | None) -> None:
        """Make the transaction fail if the redirects that match a path have changed by then."""
        for key in possible_redirect_keys(self._redirect.site_id, path):
            if key in self._own_keys:
                continue
            if key in items:
                self._changes.require_unchanged(Redirect.from_item(items[key]))
            else:
                self._absent_keys.add(key)
            if hop and hop.redirect and key == redirect_by_path_key(hop.redirect.site_id, hop.redirect.from_path):
                return

    def _reject_long_chain(self, following_hop_count: int) -> None:
        """Raise Problem if the redirects up to this one, and the `following_hop_count` from it on, exceed the limit."""
        targets, visited = {wildcard_to_splat(self._redirect.from_path)}, set[str]()
        for _ in range(MAX_HOPS - following_hop_count + 1):
            visited |= targets
            targets = {wildcard_to_splat(path) for path in self._paths_leading_to(targets)} - visited
            if not targets:
                return
        raise _loop_problem(f"With the redirects that lead to it, the chain would have more than {MAX_HOPS} redirects.")

    def _paths_leading_to(self, targets: Iterable[str]) -> list[str]:
        """Return the paths of the redirects to some targets. Takes one Query for each target, in parallel."""
        pk, own_sk = self._redirect.item_key
        prefixes = [target_sort_key_prefix(target) for target in sorted(targets)][:MAX_CHECKED_REDIRECTS]
        results = table.gather(lambda prefix: table.query(pk, prefix=prefix, limit=MAX_CHECKED_REDIRECTS), prefixes)
        own_id = own_sk.removeprefix(Redirect.sk.partition("{")[0])
        return [row["from_path"] for each in results for row in each.items if not row["sk"].endswith(own_id)]


def _loop_problem(reason: str) -> Problem:
    return Problem.create_with_field_error(
        "/toPath", "redirect_loop", f"{reason} Use the final destination as its target."
    )
