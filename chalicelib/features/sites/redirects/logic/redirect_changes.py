"""Where redirects come to be, change and go: none is let in by which visitors would go in a circle, or too far."""

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from chalicelib.features.sites.entities.redirects import Redirect, keys_from, leading_to, onto, path_key
from chalicelib.features.sites.entities.sites import LIVE, Site, tree_of
from chalicelib.features.sites.logic import with_domains
from chalicelib.features.sites.models.redirect_targets import is_of_the_site, target, with_splat
from chalicelib.features.sites.models.redirects import RedirectPatch
from chalicelib.features.sites.models.url_paths import normalized
from chalicelib.features.sites.pages.entities.slug_index import Steps
from chalicelib.features.sites.redirects.logic.redirect_queries import RedirectToShow
from chalicelib.features.sites.redirects.logic.resolution import MOST_HOPS, Target, onward, signposts, target_of
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.outbound.domain_names import host_name
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.writes import Write

MOST_LOOKED_AT: Final = 25
"""Of the redirects that lead to where a new one begins, and of those that lead to where these do: how many of each."""

_ANY: Final = "*"
_MANUAL: Final = {"origin": "manual", "page_id": None, "former_parent_id": None, "former_slug": None}


def surroundings(request: Request) -> list[ItemKey]:
    """Return where it stands what the target that the body names leads on to."""
    said = request.unvalidated_body.get("toPath", "/" if request.method == "POST" else None)
    path = normalized(with_splat(said, _ANY)) if isinstance(said, str) and is_of_the_site(said) else None
    return signposts(request.parameters["site_id"], path) if path else []


def create(ctx: Context, site: Site, fields: dict[str, Any]) -> Redirect:
    """Create a redirect. Raises Problem `redirect_loop`."""
    redirect = Redirect(
        **ctx.new_record_fields(), **site.ancestor_ids, **{**fields, "to_path": kept(ctx, site, fields["to_path"])}
    )
    Way(ctx, redirect).refuse_endless()
    return ctx.changes.create(redirect)


def change(ctx: Context, site: Site, redirect: RedirectToShow, body: RedirectPatch) -> Redirect:
    """Let a redirect be as a patch says; one that was made for a page that moved is a manual one by that.

    Raises Problem `redirect_loop`.
    """
    fields = body.fields()
    if redirect.to_path is None and not ctx.request.unvalidated_body.get("toPath"):
        fields["to_path"] = None
    if all(json_equal(getattr(redirect, name), value) for name, value in fields.items()):
        return redirect
    fields["to_path"] = kept(ctx, site, body.to_path)
    stored = redirect if redirect.origin == "manual" else let_go(ctx, redirect)
    changed = ctx.changes.update(stored, **{**fields, **_MANUAL})
    if _leads(changed) != _leads(stored):
        Way(ctx, changed, redirect).refuse_endless()
    return changed


def _leads(redirect: Redirect) -> tuple[object, ...]:
    return redirect.from_path, redirect.to_path, redirect.enabled, redirect.origin


def let_go(ctx: Context, redirect: RedirectToShow) -> RedirectToShow:
    """Let where a page was lead to it no more, nor what is below that; return the redirect as it is stored."""
    steps = Steps(tree_of(redirect.site_id, LIVE), {})
    steps.forget(str(redirect.page_id), redirect.former_parent_id, str(redirect.former_slug))
    for write in steps.writes():
        ctx.changes.add_write(write)
    ctx.changes.set_diff_base(redirect)
    return redirect.replace(to_path=None)


def kept(ctx: Context, site: Site, to_path: str) -> str:
    """Return a target as it is kept: of an address at a host of the site's own, which may change, the path alone."""
    parts = urlsplit(to_path)
    if is_of_the_site(to_path) or host_name(parts.netloc) not in {site.host, with_domains(ctx, [site])[0].host}:
        return to_path
    try:
        return target(urlunsplit(("", "", f"/{parts.path.lstrip('/')}", parts.query, parts.fragment)))
    except ValueError as error:
        raise ValidationProblem([FieldError("/toPath", "malformed", str(error))]) from None


class Way:
    """The way of a visitor by a redirect that is to be; `was`: how that is until now.

    What was relied on has to be so at the commit still. So of two that come at once, and would make a circle, one
    is decided again.
    """

    def __init__(self, ctx: Context, redirect: Redirect, was: Redirect | None = None) -> None:
        self._changes, self._redirect = ctx.changes, redirect
        self._read, self._asked = ctx.access.prefetched, {*surroundings(ctx.request)}
        self._own = {path_key(each.site_id, each.from_path) for each in (redirect, was) if each}
        self._absent: set[ItemKey] = set()

    def refuse_endless(self) -> None:
        """Raise Problem `redirect_loop` if it leads back, or if the way there and on has more hops than there may be.

        It takes a read for each hop. A disabled one leads nowhere.
        """
        if not self._redirect.enabled:
            return
        behind = self._hops_from_here()
        for key in sorted(self._absent):
            self._changes.add_write(Write("ConditionCheck", key, condition="attribute_not_exists(#pk)", names=["pk"]))
        self._refuse_long_ways_here(behind)

    def _hops_from_here(self) -> int:
        """Return how many redirects a visitor follows who comes to it, itself included."""
        been = [self._redirect.from_path]
        hop: Target | None = target_of(self._redirect, self._redirect.from_path)
        while hop and (path := hop.path):
            if path in been:
                raise _endless(f"It leads back to {path!r}, by {len(been)} redirects.")
            been.append(path)
            read = self._signposts_at(path)
            hop = onward(self._redirect.site_id, path, read)
            self._rely_on(path, read, hop)
            if hop and len(been) > MOST_HOPS:
                raise _endless(f"From there on it takes more than {MOST_HOPS} redirects.")
        return len(been) - 1 or 1

    def _signposts_at(self, path: str) -> dict[ItemKey, Item]:
        """Return what is read at a path, as it would be with the redirect as it is to be."""
        keys = signposts(self._redirect.site_id, path)
        read = {**self._read} if self._asked.issuperset(keys) else table.get_all(keys)
        others = {key: item for key, item in read.items() if key not in self._own}
        mine = self._redirect.item()
        return {**others, path_key(self._redirect.site_id, self._redirect.from_path): mine}

    def _rely_on(self, path: str, read: dict[ItemKey, Item], hop: Target | None) -> None:
        """Let the change fail if by then a path matches another redirect than the one that was followed, or none."""
        for key in keys_from(self._redirect.site_id, path):
            if key in self._own:
                continue
            if key in read:
                self._changes.require_unchanged(Redirect.from_item(read[key]))
            else:
                self._absent.add(key)
            if hop and hop.redirect and key == path_key(hop.redirect.site_id, hop.redirect.from_path):
                return

    def _refuse_long_ways_here(self, behind: int) -> None:
        """Raise Problem if some that lead to it, one after the other, and those `behind` are more than there may be."""
        ends, been = {onto(self._redirect.from_path)}, set[str]()
        for _ in range(MOST_HOPS - behind + 1):
            been |= ends
            ends = {onto(path) for path in self._leading_to(ends)} - been
            if not ends:
                return
        raise _endless(f"With those that lead to it, it would take more than {MOST_HOPS} redirects.")

    def _leading_to(self, ends: Iterable[str]) -> list[str]:
        """Return the paths of the redirects that lead to some: a Query for each, side by side."""
        pk, own = self._redirect.item_key
        wanted = [leading_to(end) for end in sorted(ends)][:MOST_LOOKED_AT]
        found = table.gather(lambda begins: table.query(pk, prefix=begins, limit=MOST_LOOKED_AT), wanted)
        ids = own.removeprefix(Redirect.sk.partition("{")[0])
        return [row["from_path"] for each in found for row in each.items if not row["sk"].endswith(ids)]


def _endless(why: str) -> Problem:
    return Problem.for_field("/toPath", "redirect_loop", f"{why} Lead it to where visitors end up.")
