"""The stored platform, and the access rule of operations on a platform."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Literal

from chalicelib.features.platforms.models.color_contrast import contrast_warnings
from chalicelib.features.platforms.models.schemas import HomePatch, NavigationPatch, PlatformOut, ThemePatch
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.operations.access_rules import ContainerLocation, ContainerReference, RequireRole
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Collection, Container, Entity
from chalicelib.kernel.storage.log_rules import LogRules, entries_about_others
from chalicelib.kernel.storage.name_index import FoundByName, NameIndex
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.schema_versions import Upcasters
from chalicelib.kernel.storage.unique_values import FormerName, Unique

PAGE_KIND: Final = "page"
SITE_KIND: Final = "site"


class LinkTarget(Entity):
    """A record that the navigation or the home of a platform can link to: a page or a site.

    The context of sites depends on this one, so it defines the subclasses; `PAGE_KIND` and `SITE_KIND` name them.
    """

    organization_id: str

    def is_currently_public(self, now: str) -> bool:
        """Return whether everybody can see the record itself at a timestamp, regardless of its container."""
        raise NotImplementedError


class PageTarget(LinkTarget):
    """A page. The public sees it only if it also sees its site."""

    site_id: str


class Platform(FoundByName, Container):
    """A platform of an organization. `theme`, `navigation` and `home` are stored as the caller sent them."""

    kind, parameter, parent_type, scope_area = "platform", "platform_id", Organization, "platforms"
    log_rules = LogRules(
        ended_by=("platform.deleted",),
        changed_by=entries_about_others(
            "platform.modules.updated", "platform.project_blocks.updated", "taxonomy.system_tags.created"
        ),
    )
    pk, sk = "P#{id}", "#"
    sibling_index = Collection("O#{organization_id}#P", "{id}", index="index1")
    by_status = Collection("O#{organization_id}#P#{status}", "{id}", index="index2")
    by_slug = Unique(
        "platform-slug",
        "{slug}",
        error_code="slug_taken",
        field="slug",
        former_values_field="former_slugs",
        keeps_value_on_delete=lambda platform: platform.is_published or platform.first_published_at is not None,
    )
    names_in_organization = NameIndex("O#{organization_id}#NAMES#P", names=("name", "slug"), ordered_by=("name",))
    name_indexes = (names_in_organization,)
    extra_partitions = ("P#{id}#T",)
    output_model = PlatformOut
    json_fields = fields_omitted_from_lists = frozenset({"theme", "navigation", "home"})
    schema_version = 2
    upcasters: ClassVar[Upcasters] = {
        1: lambda item: item
    }  # Version 1 stored the JSON fields as maps, which can be read as they are.

    organization_id: str
    name: str
    slug: str
    description: str | None = None
    join_policy: Literal["open", "invite"] = "invite"
    default_locale: str = "en"
    status: Literal["draft", "published"] = "draft"
    published_at: str | None = None
    first_published_at: str | None = None
    former_slugs: list[FormerName] = field(default_factory=list)
    theme: dict[str, Any] = field(default_factory=lambda: ThemePatch().to_stored_fields_with_defaults())
    navigation: dict[str, Any] = field(default_factory=lambda: NavigationPatch().to_stored_fields_with_defaults())
    home: dict[str, Any] = field(default_factory=lambda: HomePatch().to_stored_fields_with_defaults())

    @property
    def is_published(self) -> bool:
        """Whether the public parts of the platform are visible to everybody."""
        return self.status == "published"

    @property
    def visibility_deciding_values(self) -> tuple[object, ...]:
        """The values that decide who has access, including the join policy."""
        return *super().visibility_deciding_values, self.join_policy

    @property
    def subdomain(self) -> str:
        """The permanent subdomain, which is the slug."""
        return self.slug

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """The colour pairs of the theme whose contrast is too low to read."""
        return contrast_warnings(self.theme.get("colors", {}))

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the text and JSON fields with the person's data redacted."""
        names = ("name", "description", "theme", "navigation", "home")
        return person.redacted_field_changes({name: getattr(self, name) for name in names})


def require_platform_role(
    role: Role | None, location: ContainerLocation = ContainerReference.PATH_ID, *, if_published: bool = False
) -> RequireRole:
    """Return the access rule that requires a role at the platform in the request."""
    return RequireRole(Platform, role, location, if_published=if_published)
