"""The stored redirects of a site, and the keys of the items that find them."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, Literal

from chalicelib.features.sites.models.redirect_targets import MAX_WILDCARD_SEGMENTS, SPLAT, is_site_path
from chalicelib.features.sites.models.redirects import RedirectOut
from chalicelib.features.sites.models.url_paths import ancestor_paths, to_comparable_path
from chalicelib.kernel.storage.entity import Collection, Entity, Facet, Item, ItemKey
from chalicelib.kernel.storage.log_rules import LogRules, Removal, unknown_keys
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.unique_values import Unique

BY_PATH_PREFIX: Final = "E#"


class Redirect(Entity):
    """A redirect of a site.

    A redirect with the origin `page` was created when a page moved. It lists a former position of the page, which the
    slug index resolves: the page `page_id` was at `former_slug` below `former_parent_id`. Its destination is the
    current path of the page, so it has no `to_path`.
    """

    kind, parameter = "site.redirect", "redirect_id"
    log_rules = LogRules(
        ended_by=("site.redirect.deleted",),
        copy_sk_prefix=BY_PATH_PREFIX,
        changed_by={"page.published": unknown_keys},
        removed_by=dict.fromkeys(
            ("page.published", "page.unpublished", "page.updated", "page.deleted"),
            lambda entry: Removal(fields={"site_id": entry["data"]["siteId"]}),
        ),
    )
    pk, sk = "W#{site_id}#F", "D#{id}"
    in_site = Collection("W#{site_id}#F", "D#{id}")
    of_page = Facet("W#{site_id}#F#P#{page_id}", "facet1")
    by_path = Unique(
        "redirect#{site_id}",
        "{from_path}",
        error_code="already_exists",
        field="fromPath",
        advice="Change the existing redirect, or delete it first. A redirect of a moved page can be changed, too.",
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
    def audit_log_label(self) -> str:
        """The path that is redirected."""
        return self.from_path

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """A copy with a key made of the path and, for a target on the site, an item with a key made of the target."""
        values = {name: getattr(self, name) for name in self.stored_fields if name != "record_mac"}
        copy = {name: value for name, value in values.items() if value is not None}
        pk, sk = redirect_by_path_key(self.site_id, self.from_path)
        by_path = {**copy, "pk": pk, "sk": sk}
        if self.origin == "page" or not self.enabled or not self.to_path or not is_site_path(self.to_path):
            return (by_path,)
        return by_path, {"pk": pk, "sk": target_sort_key_prefix(self.to_path) + self.id, "from_path": self.from_path}

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return None if a path names the person, because a path without the name would be another path."""
        return None if person.appears_in_value([self.from_path, self.to_path or ""]) else {}


def redirect_by_path_key(site_id: str, from_path: str) -> ItemKey:
    """Return the key of the item that finds a redirect by its path."""
    return f"W#{site_id}#F", f"{BY_PATH_PREFIX}{from_path}"


def possible_redirect_keys(site_id: str, path: str) -> list[ItemKey]:
    """Return the keys of the redirects that a path can match: its own, then wildcards, the longest first."""
    sources = [path, *(f"{prefix.rstrip('/')}/*" for prefix in ancestor_paths(path, MAX_WILDCARD_SEGMENTS))]
    return [redirect_by_path_key(site_id, source) for source in dict.fromkeys(sources)]


def target_sort_key_prefix(to_path: str) -> str:
    """Return the sort key prefix of the items that find redirects by a target."""
    return f"T#{sha256((to_comparable_path(to_path) or to_path).encode()).hexdigest()}#"


def wildcard_to_splat(from_path: str) -> str:
    """Return the target of redirects that lead to another redirect's path, with `:splat` in place of its wildcard."""
    return from_path.replace("*", SPLAT)
