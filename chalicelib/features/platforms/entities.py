"""What is stored of a platform."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal

from chalicelib.features.domains.entities import CustomDomain
from chalicelib.features.organizations.entities import Organization
from chalicelib.features.platforms.contrast import contrast_warnings
from chalicelib.features.platforms.models import HomePatch, NavigationPatch, PlatformOut, ThemePatch
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.operation import RequireRole
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Collection, Container, Entity, ItemKey
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.schema_versions import Upcasts
from chalicelib.kernel.storage.unique_values import FormerName, Unique


class Platform(Container):
    """What an organization runs for its people. `theme`, `navigation` and `home` are as they were sent."""

    kind, parameter, parent_type, scope_area = "platform", "platform_id", Organization, "platforms"
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
    extra_partitions = ("P#{id}#T",)
    output_model = PlatformOut
    json_fields = fields_omitted_from_lists = frozenset({"theme", "navigation", "home"})
    schema_version = 2
    upcasters: ClassVar[Upcasts] = {
        1: lambda item: item
    }  # Its documents were no documents; they are read all the same.

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
    theme: dict[str, Any] = field(default_factory=lambda: ThemePatch().fields())
    navigation: dict[str, Any] = field(default_factory=lambda: NavigationPatch().fields())
    home: dict[str, Any] = field(default_factory=lambda: HomePatch().fields())

    @property
    def is_published(self) -> bool:
        """Whether everybody may see what is public of it."""
        return self.status == "published"

    @property
    def visibility_state(self) -> tuple[object, ...]:
        """Whatever of it decides who may come in: whether everybody may join, too."""
        return *super().visibility_state, self.join_policy

    @property
    def subdomain(self) -> str:
        """By which it is reached at any time."""
        return self.slug

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """What people with weak eyes could not read in its theme's colours."""
        return contrast_warnings(self.theme.get("colors", {}))

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets none of its texts name the person, whatever it is to show."""
        said = ("name", "description", "theme", "navigation", "home")
        return person.redact_all({name: getattr(self, name) for name in said})


def custom_domain_key(request: Request) -> list[ItemKey]:
    """Return where the custom domain of the platform that the path names is stored."""
    return [CustomDomain.make_item_key(platform_id=request.parameters[Platform.parameter])]


def at_platform(
    role: Role | None, *, in_body: bool = False, via_record: type[Entity] | None = None, if_published: bool = False
) -> RequireRole:
    """Return the need for a role at the platform that the request names."""
    return RequireRole(Platform, role, in_body=in_body, via_record=via_record, if_published=if_published)
