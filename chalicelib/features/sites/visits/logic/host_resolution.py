"""Resolve hosts to sites. A process caches the results, and each request verifies them with the items that it reads."""

from dataclasses import dataclass

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.sites.entities.sites import Site, sites_domain
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.outbound.domain_names import host_name_from_header
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key


@dataclass(frozen=True)
class SiteHost:
    """A host name of a site. `slug` is the slug of the site if the host belongs to the service, else None."""

    name: str
    slug: str | None

    @classmethod
    def parse(cls, host: str) -> "SiteHost | None":
        """Return the host in the value of a `Host` header, with or without a port; None if no site can have it."""
        name = host_name_from_header(host)
        if not name:
            return None
        suffix = f".{sites_domain()}"
        return cls(name, name.removesuffix(suffix) if name.endswith(suffix) else None)

    @property
    def slug_or_domain_guard_key(self) -> ItemKey:
        """The key of the item that reserves the slug of the site or the domain of the platform."""
        if self.slug is not None:
            return guard_key(Site.by_slug, {"slug": self.slug})
        return guard_key(CustomDomain.by_domain, {"domain": self.name})

    def load_site_id_or_none(self) -> str | None:
        """Return the id of the site with this host, or None. Takes one or two reads if it is not cached."""
        ids = ancestor_cache.cached_ancestor_ids_or_empty(self._cache_key)
        if not ids:
            host_guard = table.get(self.slug_or_domain_guard_key)
            guard = host_guard and (
                host_guard if self.slug is not None else table.get(_platform_guard_key(host_guard["ref"]))
            )
            if not guard or table.is_expired(guard):
                return None
            ids = {Site.parameter: guard["ref"]}
            ancestor_cache.store(self._cache_key, ids)
        return ids[Site.parameter]

    def is_host_of_else_evict(self, site: Site, prefetched: dict[ItemKey, Item]) -> bool:
        """Return whether the host still belongs to the site. `prefetched` contains the item at `guard_key`."""
        owner_id = site.id if self.slug is not None else site.platform_id
        guard = prefetched.get(self.slug_or_domain_guard_key, {})
        is_owner = owner_id is not None and guard.get("ref") == owner_id and not table.is_expired(guard)
        if not is_owner:
            ancestor_cache.evict(self._cache_key)
        return is_owner

    @property
    def _cache_key(self) -> ItemKey:
        return f"HOST#{self.name}", "#"


def _platform_guard_key(platform_id: str) -> ItemKey:
    return guard_key(Site.by_platform, {"platform_id": platform_id})


def site_and_cached_organization_keys(site_id: str) -> list[ItemKey]:
    """Return the item keys of a site and, if the id is cached, of its organization."""
    site = Site.make_item_key(id=site_id)
    organization_id = ancestor_cache.cached_ancestor_ids_or_empty(site).get(Organization.parameter)
    return [site, *([Organization.make_item_key(id=organization_id)] if organization_id else [])]


def load_public_site_or_none(site_id: str, prefetched: dict[ItemKey, Item]) -> Site | None:
    """Return a site that everybody can see, or None.

    `prefetched`: the items at `site_and_cached_organization_keys`, to which a further read adds items.
    """
    item = prefetched.get(Site.make_item_key(id=site_id))
    site = Site.from_item(item) if item else None
    if site is None or not site.is_published:
        return None
    key = Organization.make_item_key(id=site.organization_id)
    ancestor_cache.store(site.item_key, site.ids_by_parameter)
    if key not in prefetched:
        prefetched |= table.get_all([key])
    return site if key in prefetched and not Organization.from_item(prefetched[key]).is_deleted else None
