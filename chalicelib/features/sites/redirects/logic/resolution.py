"""Where a path of a site leads: to a page, or by a redirect elsewhere; and whether redirects come to an end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from chalicelib.features.sites.entities.redirects import Redirect, keys_from, path_key
from chalicelib.features.sites.models.redirect_targets import is_of_the_site, with_splat
from chalicelib.features.sites.models.url_paths import normalized
from chalicelib.features.sites.pages.logic import page_queries
from chalicelib.features.sites.pages.logic.page_queries import Located
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey

MOST_HOPS: Final = 5
_MOVED: Final = 301
_ANY: Final = "*"


@dataclass(frozen=True)
class Target:
    """Where a redirect leads: a path of the site, or a web address. `redirect`: which; None of a page that moved."""

    to_path: str
    status_code: int
    redirect: Redirect | None = None

    @property
    def path(self) -> str | None:
        """The path of the site that it is, if it is one."""
        return normalized(self.to_path) if is_of_the_site(self.to_path) else None


Found = Located | Target | None


def signposts(site_id: str, path: str) -> list[ItemKey]:
    """Return where it stands what a path leads to; `look_up` is done with what is read there."""
    return [*page_queries.leading_to(site_id, path), *keys_from(site_id, path)]


def look_up(site_id: str, path: str, read: dict[ItemKey, Item], written: str | None = None) -> Found:
    """Return what is at a path: a page, where a redirect leads, or nothing.

    A redirect of the path itself goes before the page there, unless that came there later; this before who was there
    once; and redirects of all that is below a path come last, the longest first. One that would lead back here is none.
    `written`: the path in its own letters, for what a `*` stands for.
    """
    candidates = _candidates(site_id, path, read, written)
    return next((each for each in candidates if not _leads_back(site_id, path, each)), None)


def _candidates(
    site_id: str, path: str, read: dict[ItemKey, Item], written: str | None = None
) -> Iterator[Located | Target]:
    """Yield all that a path may lead to, what goes before the rest first."""
    own = path_key(site_id, path)
    exact, page = _leading(read.get(own), written or path), page_queries.at(site_id, path, read)
    if exact and not _is_older(exact, page):
        yield exact
    if page:
        yield page
    if moved := page_queries.moved_from(site_id, path, read):
        yield Target(moved.path, _MOVED)
    below = (read.get(key) for key in keys_from(site_id, path) if key != own)
    yield from filter(None, (_leading(item, written or path) for item in below))


def _leading(item: Item | None, path: str) -> Target | None:
    """Return where what is stored of a redirect leads from a path, if there is one and it is to lead somewhere."""
    redirect = Redirect.from_item(item) if item else None
    leads = redirect and redirect.enabled and redirect.origin == "manual"
    return target_of(redirect, path) if redirect and leads else None


def target_of(redirect: Redirect, path: str) -> Target:
    """Return where a manual redirect leads from a path that it matches, be that in other letters."""
    before = redirect.from_path.count("/")
    splat = "/".join(path.split("/")[before:]) if redirect.from_path.endswith(_ANY) else ""
    return Target(with_splat(redirect.to_path or "/", splat), redirect.status_code, redirect)


def _is_older(exact: Target, page: Located | None) -> bool:
    """Return whether a page came to a path after what is said of a redirect of that: it came there with those above."""
    return bool(page and exact.redirect and exact.redirect.updated_at <= page.since)


def steps(site_id: str, target: Target) -> Iterator[Target]:
    """Yield where a target leads on to, redirect by redirect: a read for each, and as many as there may be at most."""
    following: Target | None = target
    for _ in range(MOST_HOPS):
        path = following.path if following else None
        following = onward(site_id, path, table.get_all(signposts(site_id, path))) if path else None
        if following is None:
            return
        yield following


def onward(site_id: str, path: str, read: dict[ItemKey, Item]) -> Target | None:
    """Return where a path leads on to, and None where the way ends: at a page, or at nothing."""
    first = next(_candidates(site_id, path, read), None)
    return first if isinstance(first, Target) else None


def _leads_back(site_id: str, path: str, found: Located | Target) -> bool:
    """Return whether it is a redirect that leads, at once or by others, to the path that it leads from."""
    if isinstance(found, Located) or found.redirect is None:
        return False
    return found.path == path or any(each.path == path for each in steps(site_id, found))
