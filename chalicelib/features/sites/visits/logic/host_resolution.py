"""Which site a host is of. A process remembers what it has met; what is read says whether that holds still."""

from dataclasses import dataclass

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.sites.entities.sites import Site, sites_domain
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.outbound.domain_names import host_name
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.transactions.unique_items import guard_key


@dataclass(frozen=True)
class Host:
    """A name that a site may be reached by. `slug`: of the site, if it is a name of the service."""

    name: str
    slug: str | None

    @classmethod
    def of(cls, host: str) -> "Host | None":
        """Return the name in a host, with a port or not; None if there is none that a site can have."""
        name = host_name(host)
        if not name:
            return None
        own = f".{sites_domain()}"
        return cls(name, name.removesuffix(own) if name.endswith(own) else None)

    @property
    def guard(self) -> ItemKey:
        """Where it stands whose name it is: the site's by its slug, or the platform's by its domain."""
        if self.slug is not None:
            return guard_key(Site.by_slug, {"slug": self.slug})
        return guard_key(CustomDomain.by_domain, {"domain": self.name})

    def site_id(self) -> str | None:
        """Return the id of the site that it was of when it was met; where it was not yet, by one read or two."""
        known = ancestor_cache.cached_ids(self._met)
        if not known:
            owner = table.get(self.guard)
            guard = owner and (owner if self.slug is not None else table.get(_of_platform(owner["ref"])))
            if not guard or table.is_expired(guard):
                return None
            known = {Site.parameter: guard["ref"]}
            ancestor_cache.store(self._met, known)
        return known[Site.parameter]

    def is_of(self, site: Site, read: dict[ItemKey, Item]) -> bool:
        """Return whether it is a site's name still; `read` holds what stands at its guard."""
        mine = site.id if self.slug is not None else site.platform_id
        guard = read.get(self.guard, {})
        holds = mine is not None and guard.get("ref") == mine and not table.is_expired(guard)
        if not holds:
            ancestor_cache.evict(self._met)
        return holds

    @property
    def _met(self) -> ItemKey:
        return f"HOST#{self.name}", "#"


def _of_platform(platform_id: str) -> ItemKey:
    return guard_key(Site.by_platform, {"platform_id": platform_id})


def keys_of(site_id: str) -> list[ItemKey]:
    """Return where a site is stored, and its organization if that is known."""
    site = Site.make_item_key(id=site_id)
    known = ancestor_cache.cached_ids(site).get(Organization.parameter)
    return [site, *([Organization.make_item_key(id=known)] if known else [])]


def open_site(site_id: str, read: dict[ItemKey, Item]) -> Site | None:
    """Return a site that everybody may see; None if there is none. `read`: what `keys_of` leads to, and is added to."""
    item = read.get(Site.make_item_key(id=site_id))
    site = Site.from_item(item) if item else None
    if site is None or not site.is_published:
        return None
    key = Organization.make_item_key(id=site.organization_id)
    ancestor_cache.store(site.item_key, site.ancestor_ids)
    if key not in read:
        read |= table.get_all([key])
    return site if key in read and not Organization.from_item(read[key]).is_deleted else None
