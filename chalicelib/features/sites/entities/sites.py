"""The stored sites, and the states of the two trees of their pages: the drafts, and the published pages."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Literal
from urllib.parse import urlsplit

from chalicelib.features.platforms.entities import SITE_KIND, LinkTarget
from chalicelib.features.platforms.models.settings import PlatformSettings
from chalicelib.features.sites.models.intervals import last_end_or_open_end, limit_count_by_merging_oldest
from chalicelib.features.sites.models.schemas import RobotsIn, SiteOut
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.settings import section, settings
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Collection, Container, ItemKey
from chalicelib.kernel.storage.log_rules import LogRules
from chalicelib.kernel.storage.name_index import FoundByName, NameIndex
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.unique_values import FormerName, Unique
from chalicelib.kernel.storage.writes import ItemUpdate, Write
from chalicelib.kernel.trees.tree import Tree, TreeState

DRAFT_TREE: Final = "D"
PUBLISHED_TREE: Final = "L"
TREE_PARTITION: Final = "W#{site_id}#{tree}"
SLUG_NAMESPACES: Final = {DRAFT_TREE: "page-slug#{site_id}", PUBLISHED_TREE: "live-slug#{site_id}"}
MAX_FORMER_HOMES: Final = 50
"""Former home pages that a site remembers. The oldest are dropped."""

TreeName = Literal["D", "L"]


class Site(FoundByName, Container, LinkTarget):
    """A site of an organization: pages below one host.

    `domain` is the verified domain of the site's platform, and `platform_slug` the slug of the platform, once they are
    loaded.
    """

    kind, parameter, parent_type, scope_area = SITE_KIND, "site_id", Organization, "sites"
    has_members = False
    pk, sk = "W#{id}", "#"
    sibling_index = Collection("O#{organization_id}#W", "{id}", index="index1")
    by_slug = Unique(
        "site-slug",
        "{slug}",
        error_code="slug_taken",
        field="slug",
        former_values_field="former_slugs",
        keeps_value_on_delete=lambda site: site.is_published or site.first_published_at is not None,
    )
    by_platform = Unique(
        "site-platform",
        "{platform_id}",
        error_code="already_exists",
        field="platformId",
        applies_to=lambda site: site.platform_id is not None,
        advice="A platform has at most one site. Choose another platform.",
    )
    names_in_organization = NameIndex("O#{organization_id}#NAMES#W", names=("name", "slug"), ordered_by=("name",))
    name_indexes = (names_in_organization,)
    extra_partitions = ("W#{id}#D", "W#{id}#L", "W#{id}#F", "W#{id}#Q", "W#{id}#S")
    output_model = SiteOut
    log_rules = LogRules(ended_by=("site.deleted",))
    unauthenticated_fields: ClassVar = {"home_page_id": "It follows from the tree of drafts."}
    computed_fields = frozenset({"domain", "platform_slug"})

    name: str
    slug: str
    description: str | None = None
    default_locale: str = "en"
    platform_id: str | None = None
    robots: dict[str, Any] = field(
        default_factory=lambda: RobotsIn(disallow=[], extra=None).to_stored_fields_with_defaults()
    )
    status: Literal["draft", "published"] = "draft"
    published_at: str | None = None
    first_published_at: str | None = None
    former_slugs: list[FormerName] = field(default_factory=list)
    home_page_id: str | None = None
    domain: str | None = None
    platform_slug: str | None = None

    @property
    def is_published(self) -> bool:
        """Whether everybody can see the published pages of the site."""
        return self.status == "published"

    def is_currently_public(self, now: str) -> bool:  # noqa: ARG002 - sites have no schedule
        """Return whether everybody can see the site."""
        return self.is_published

    @property
    def host(self) -> str:
        """The host name: the verified domain of the platform or, without one, a host of the service."""
        return self.domain or f"{self.slug}.{sites_domain()}"

    def all_hosts(self, now: str) -> frozenset[str]:
        """Return all host names that lead to the site: those of its current and former slugs and of its platform."""
        slugs = [self.slug, *(former["name"] for former in self.former_slugs if former["until"] > now)]
        subdomain = f"{self.platform_slug}.{section(PlatformSettings).platforms_domain}" if self.platform_slug else None
        return frozenset(filter(None, (*(f"{slug}.{sites_domain()}" for slug in slugs), subdomain, self.domain)))

    @property
    def url(self) -> str:
        """The URL of the site without a path."""
        return host_url(self.host)

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the text fields with the person's data redacted."""
        return person.redacted_field_changes({name: getattr(self, name) for name in ("name", "description", "robots")})


class SiteTree(TreeState):
    """The state of one of the two trees of a site.

    `home_page_id` is the page at `/`, and its children have paths of one segment. In the tree of published pages
    `home_revision_id` is the published revision of that page, and `content_id` changes with every publication, and with
    every change of a redirect that can take precedence over a page. `home_since` is the time since when the page has
    been the home page. `former_homes` maps page ids to the intervals in which they were the home page.
    """

    kind, log_rules = "site.tree", LogRules(has_entries=False)
    unauthenticated_fields: ClassVar = {"content_id": "Concurrent publications set it without a new version."}
    pk = TREE_PARTITION

    attribute_names: ClassVar = {"home_page_id": "home", "content_id": "mark"}

    organization_id: str
    site_id: str
    tree: TreeName
    home_page_id: str | None = None
    home_revision_id: str | None = None
    content_id: str | None = None
    home_since: str | None = None
    former_homes: dict[str, list[list[str]]] = field(default_factory=dict)

    def home_change_fields(self, page_id: str | None, timestamp: str) -> dict[str, Any]:
        """Return the changed fields if another page, or none, becomes the home page at `timestamp`."""
        former = {**self.former_homes}
        if self.home_page_id:
            former[self.home_page_id] = limit_count_by_merging_oldest(
                [*former.get(self.home_page_id, []), [str(self.home_since), timestamp]]
            )
        latest = sorted(former, key=lambda page: last_end_or_open_end(former[page]), reverse=True)[:MAX_FORMER_HOMES]
        return {
            "home_page_id": page_id,
            "home_since": page_id and timestamp,
            "former_homes": {page: former[page] for page in latest},
        }


def page_tree(site_id: str, tree_name: TreeName) -> Tree:
    """Return one of the two trees of a site."""
    templates = TREE_PARTITION, SLUG_NAMESPACES[tree_name]
    return Tree(*(template.format(site_id=site_id, tree=tree_name) for template in templates))


def content_change_write(site_id: str, timestamp: str) -> Write:
    """Return the write that gives the tree of published pages another `content_id`, which outdates the sitemap."""
    key, attribute = page_tree(site_id, PUBLISHED_TREE).state_key, SiteTree.stored_name("content_id")
    return ItemUpdate(key, set={attribute: new_id(timestamp)}).to_write("attribute_exists(#pk)")


def tree_state_keys(site_id: str) -> list[ItemKey]:
    """Return the item keys of the states of both trees of a site."""
    return [page_tree(site_id, DRAFT_TREE).state_key, page_tree(site_id, PUBLISHED_TREE).state_key]


def sites_domain() -> str:
    """Return the domain below which every site has a host name."""
    return f"sites.{section(PlatformSettings).platforms_domain}"


def host_url(host: str) -> str:
    """Return the URL of a site's host without a path.

    It is an https URL, except on a service without TLS, which serves sites on its own port (`make run`).
    """
    service = urlsplit(settings().public_url)
    if service.scheme == "https":
        return f"https://{host}"
    return f"{service.scheme}://{host}" + (f":{service.port}" if service.port else "")


def require_site_organization_role(
    role: Role | None, *, if_published: bool = False, public_label: str = ""
) -> RequireRole:
    """Return the access rule that requires a role at the organization of the site in the path."""
    return RequireRole(Site, role, role_at=Organization, if_published=if_published, public_label=public_label)
