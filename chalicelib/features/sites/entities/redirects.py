"""What is stored of a redirect."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

from chalicelib.features.sites.models.redirect_targets import MOST_LEVELS, SPLAT, is_of_the_site
from chalicelib.features.sites.models.redirects import RedirectOut
from chalicelib.features.sites.models.url_paths import normalized, prefixes
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item, ItemKey
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.unique_values import Unique


class Redirect(Entity):
    """A redirect of a site. One of the origin `page` only tells what the former trails of the site's pages do.

    `page_id`, `former_parent_id` and `former_slug` say which: the page that was there, below which one, by which slug.
    Where that is now follows from the page; it has no `to_path` stored.
    """

    kind, parameter = "site.redirect", "redirect_id"
    pk, sk = "W#{site_id}#F", "D#{id}"
    in_site = Collection("W#{site_id}#F", "D#{id}")
    of_page = Facet("W#{site_id}#F#P#{page_id}", "facet1")
    by_path = Unique(
        "redirect#{site_id}",
        "{from_path}",
        error_code="already_exists",
        field="fromPath",
        advice="Change that one, or delete it first; one that was made for a page that moved can be changed too.",
    )
    output_model = RedirectOut

    organization_id: str
    site_id: str
    from_path: str
    to_path: str | None = None
    status_code: int = 301
    enabled: bool = True
    origin: Literal["manual", "page"] = "manual"
    page_id: str | None = None
    former_parent_id: str | None = None
    former_slug: str | None = None

    @property
    def log_label(self) -> str:
        """The path that it leads from."""
        return self.from_path

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Itself, found by its path; and, while it leads to another, that it does, found by that."""
        copy = {name: value for name in self._stored_fields if (value := getattr(self, name)) is not None}
        pk, sk = path_key(self.site_id, self.from_path)
        by_path = {**copy, "pk": pk, "sk": sk}
        if self.origin == "page" or not self.enabled or not self.to_path or not is_of_the_site(self.to_path):
            return (by_path,)
        return by_path, {"pk": pk, "sk": leading_to(self.to_path) + self.id, "from_path": self.from_path}

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return None if it names the person: an address without that is another."""
        return None if person.appears_in_value([self.from_path, self.to_path or ""]) else {}


def path_key(site_id: str, from_path: str) -> ItemKey:
    """Return where a redirect stands by the path that it leads from."""
    return f"W#{site_id}#F", f"E#{from_path}"


def keys_from(site_id: str, path: str) -> list[ItemKey]:
    """Return where the redirects stand that a path may match: its own, then those of all below, the nearest first."""
    sources = [path, *(f"{prefix.rstrip('/')}/*" for prefix in prefixes(path, MOST_LEVELS))]
    return [path_key(site_id, source) for source in dict.fromkeys(sources)]


def leading_to(to_path: str) -> str:
    """Return how the keys of the rows begin of all redirects with a target, in the partition of redirects."""
    return f"T#{sha256((normalized(to_path) or to_path).encode()).hexdigest()}#"


def onto(from_path: str) -> str:
    """Return the target of redirects that lead to what another redirect leads on, whatever its `*` stands for."""
    return from_path.replace("*", SPLAT)
