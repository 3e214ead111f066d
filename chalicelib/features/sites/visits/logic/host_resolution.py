"""Resolve hosts to sites. A process caches the results, and each request verifies them with the items that it reads."""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.models.settings import PlatformSettings
from chalicelib.features.sites.entities.sites import Site, sites_domain
from chalicelib.features.sites.logic import with_domain
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.settings import section
from chalicelib.kernel.outbound.domain_names import host_name_from_header
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key, unexpired_reservation_record_id


@dataclass(frozen=True)
class SiteHost:
    """A host name of a site, and the key of the item that reserves it for the site or for the site's platform."""

    name: str
    reservation_key: ItemKey
    is_of_platform: bool

    @classmethod
    def parse(cls, host: str) -> "SiteHost | None":
        """Return the host in the value of a `Host` header, with or without a port; None if no site can have it.

        It is made of the slug of a site, or is the subdomain of a platform, or else a custom domain.
        """
        name = host_name_from_header(host)
        if not name:
            return None
        label, _, parent = name.partition(".")
        if parent == sites_domain():
            return cls(name, guard_key(Site.by_slug, {"slug": label}), is_of_platform=False)
        if parent == section(PlatformSettings).platforms_domain:
            return cls(name, guard_key(Platform.by_slug, {"slug": label}), is_of_platform=True)
        return cls(name, guard_key(CustomDomain.by_domain, {"domain": name}), is_of_platform=True)

    def load_site_id_or_none(self) -> str | None:
        """Return the id of the site with this host, or None. Takes one or two reads if it is not cached."""
        ids = ancestor_cache.cached_ancestor_ids_or_empty(self._cache_key)
        if not ids:
            guard = table.get(self.reservation_key)
            if guard and self.is_of_platform:
                guard = table.get(guard_key(Site.by_platform, {"platform_id": guard["ref"]}))
            if not guard or table.is_expired(guard):
                return None
            ids = {Site.parameter: guard["ref"]}
            ancestor_cache.store(self._cache_key, ids)
        return ids[Site.parameter]

    def verified_site_id_or_evict(self, prefetched: Mapping[ItemKey, Item]) -> str | None:
        """Return the cached id of the site with this host; None if the host does not belong to that site any more.

        `prefetched` contains the items of the site and at `reservation_key`. An outdated id is evicted from the cache.
        """
        site_id = ancestor_cache.cached_ancestor_ids_or_empty(self._cache_key).get(Site.parameter)
        site_item = prefetched.get(Site.make_item_key(id=site_id), {}) if site_id else {}
        owner_id = site_item.get("platform_id") if self.is_of_platform else site_id
        guard = prefetched.get(self.reservation_key, {})
        if owner_id is not None and guard.get("ref") == owner_id and not table.is_expired(guard):
            return site_id
        ancestor_cache.evict(self._cache_key)
        return None

    @property
    def is_platform_subdomain(self) -> bool:
        """Return whether the host is the current or a former subdomain of a platform, and not a custom domain."""
        return self.name.partition(".")[2] == section(PlatformSettings).platforms_domain

    @property
    def _cache_key(self) -> ItemKey:
        return f"HOST#{self.name}", "#"


class HostsOfSite(Container[str]):
    """All host names that lead to a site: those of `Site.all_hosts`, and those of the former slugs of its platform.

    The site does not contain the latter. Only the test for a subdomain of platforms reads the item that reserves it,
    once.
    """

    def __init__(self, site: Site, *names: str) -> None:
        """Initialize the hosts of a site. `names`: further names that are known to lead to it."""
        self._platform_id = site.platform_id
        self._is_own_by_name = dict.fromkeys((*names, *site.all_hosts(now())), True)

    def __contains__(self, name: object) -> bool:
        """Return whether a host name leads to the site."""
        if name not in self._is_own_by_name:
            host = SiteHost.parse(name) if isinstance(name, str) and self._platform_id else None
            if host is None or not host.is_platform_subdomain:
                return False
            guard = table.get(host.reservation_key)
            self._is_own_by_name[host.name] = unexpired_reservation_record_id(guard) == self._platform_id
        return self._is_own_by_name[str(name)]


def site_and_cached_owner_keys(site_id: str) -> list[ItemKey]:
    """Return the item keys of a site and, if their ids are cached, of its organization and its custom domain."""
    site = Site.make_item_key(id=site_id)
    organization_id = ancestor_cache.cached_ancestor_ids_or_empty(site).get(Organization.parameter)
    platform_id = ancestor_cache.cached_ancestor_ids_or_empty(_platform_cache_key(site_id)).get(Platform.parameter)
    return [
        site,
        *([Organization.make_item_key(id=organization_id)] if organization_id else []),
        *([CustomDomain.make_item_key(platform_id=platform_id)] if platform_id else []),
    ]


def load_public_site_or_none(site_id: str, prefetched: dict[ItemKey, Item]) -> Site | None:
    """Return a site that everybody can see, with the verified domain of its platform, or None.

    `prefetched`: the items at `site_and_cached_owner_keys`, to which a further read adds items.
    """
    item = prefetched.get(Site.make_item_key(id=site_id))
    site = Site.from_item(item) if item else None
    if site is None or not site.is_published:
        return None
    organization_key = Organization.make_item_key(id=site.organization_id)
    ancestor_cache.store(site.item_key, site.ids_by_parameter)
    keys = [organization_key]
    if site.platform_id:
        ancestor_cache.store(_platform_cache_key(site_id), {Platform.parameter: site.platform_id})
        keys.append(CustomDomain.make_item_key(platform_id=site.platform_id))
    if missing := [key for key in keys if key not in prefetched]:
        prefetched |= table.get_all(missing)
    if organization_key not in prefetched or Organization.from_item(prefetched[organization_key]).is_deleted:
        return None
    domain_item = prefetched.get(keys[-1]) if site.platform_id else None
    return with_domain(site, CustomDomain.from_item(domain_item) if domain_item else None)


def _platform_cache_key(site_id: str) -> ItemKey:
    return Site.make_item_key(id=site_id)[0], "platform"
