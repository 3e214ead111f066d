"""What is stored of a site, and of the two trees that its pages make: of their drafts, and of what is published."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal

from chalicelib.features.platforms.entities import SITE_KIND, LinkTarget
from chalicelib.features.sites.models.intervals import kept, last
from chalicelib.features.sites.models.schemas import RobotsIn, SiteOut
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import trees
from chalicelib.kernel.storage.entity import Collection, Container, Entity, ItemKey
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.trees import Tree
from chalicelib.kernel.storage.unique_values import FormerName, Unique

DRAFT: Final = "D"
LIVE: Final = "L"
TREES: Final = "W#{site_id}#{tree}"
MOST_FORMER_HOMES: Final = 50

TreeName = Literal["D", "L"]


class Site(Container, LinkTarget):
    """What an organization publishes: pages below one host. `domain`: the verified one of its platform, once known."""

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
        advice="A platform has one site at most: choose another.",
    )
    extra_partitions = ("W#{id}#D", "W#{id}#L", "W#{id}#F", "W#{id}#Q", "W#{id}#S")
    output_model = SiteOut
    computed_fields = frozenset({"domain"})

    name: str
    slug: str
    description: str | None = None
    default_locale: str = "en"
    platform_id: str | None = None
    robots: dict[str, Any] = field(default_factory=lambda: RobotsIn(disallow=[], extra=None).fields())
    status: Literal["draft", "published"] = "draft"
    published_at: str | None = None
    first_published_at: str | None = None
    former_slugs: list[FormerName] = field(default_factory=list)
    home_page_id: str | None = None
    domain: str | None = None

    @property
    def is_published(self) -> bool:
        """Whether everybody may see what is published of it."""
        return self.status == "published"

    def is_public_at(self, timestamp: str) -> bool:  # noqa: ARG002 - a site is published until somebody changes that
        """Return whether everybody can see the site."""
        return self.is_published

    @property
    def host(self) -> str:
        """Where it is."""
        return self.domain or f"{self.slug}.{sites_domain()}"

    @property
    def url(self) -> str:
        """What the addresses of its pages begin with."""
        return f"https://{self.host}"

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets none of its texts name the person."""
        return person.redact_all({name: getattr(self, name) for name in ("name", "description", "robots")})


class SiteTree(Entity):
    """One of the two trees of a site: of its drafts, or of what is published, as a whole.

    `moved`: see `kernel/storage/trees.py`. `home`: the page at `/`, whose children are right below that; of what is
    published
    also the revision that is shown there. `mark`: another one with each change of what the tree shows, if it is that of
    what is published. `home_since`: since when; `former_homes`: when other pages were, or it was
    before.
    """

    kind = "site.tree"
    pk, sk = TREES, trees.STATE

    organization_id: str
    site_id: str
    tree: TreeName
    moved: dict[str, int] = field(default_factory=dict)
    home: str | None = None
    home_revision_id: str | None = None
    mark: str | None = None
    home_since: str | None = None
    former_homes: dict[str, list[list[str]]] = field(default_factory=dict)

    def with_home(self, page_id: str | None, moment: str) -> dict[str, Any]:
        """Return the fields of the tree with another page as its home, or none, from a moment on."""
        former = {**self.former_homes}
        if self.home:
            former[self.home] = kept([*former.get(self.home, []), [str(self.home_since), moment]])
        latest = sorted(former, key=lambda page: last(former[page]), reverse=True)[:MOST_FORMER_HOMES]
        return {
            "home": page_id,
            "home_since": page_id and moment,
            "former_homes": {page: former[page] for page in latest},
        }


def tree_of(site_id: str, tree: TreeName) -> Tree:
    """Return one of the two trees of a site."""
    return Tree(TREES.format(site_id=site_id, tree=tree))


def trees_of(site_id: str) -> list[ItemKey]:
    """Return where it stands of both trees of a site what is known of them as a whole."""
    return [tree_of(site_id, DRAFT).state_key, tree_of(site_id, LIVE).state_key]


def sites_domain() -> str:
    """Return the domain below which every site has a name."""
    return f"sites.{settings().platforms_domain}"


def at_site(role: Role | None, *, if_published: bool = False, public_label: str = "") -> RequireRole:
    """Return the need for a role at the organization of the site that the path names."""
    return RequireRole(Site, role, role_at=Organization, if_published=if_published, public_label=public_label)
