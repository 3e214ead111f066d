"""The tenant in which the examples of all operations are called: an organization, and a rivals' organization."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey
from chalicelib.kernel.storage.writes import Write
from tests.harness import callers, research_records
from tests.harness.api import ApiClient
from tests.harness.callers import Issuer, Person
from tests.harness.channels import create_channel
from tests.harness.clock import backdate
from tests.harness.dead_letters import start_redrive
from tests.harness.domains import set_domain_state
from tests.harness.event_types import declare_event_type
from tests.harness.exports import create_export
from tests.harness.invitations import CreatedInvitation, accept_invitation, create_invitation
from tests.harness.leads import CreatedLead, create_lead
from tests.harness.log_streams import create_log_stream
from tests.harness.log_verifications import find_or_start_log_verification
from tests.harness.menus import page_item, put_menu
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.platforms import (
    CreatedPlatform,
    CreatedSpace,
    add_block_capability_and_module,
    add_platform_member,
    add_space_member,
    create_platform,
    create_space,
)
from tests.harness.redirects import CreatedRedirect, create_redirect
from tests.harness.reference_data import load_small_dataset
from tests.harness.service_keys import create_service_key
from tests.harness.signed_links import sign_webhook_link
from tests.harness.sites import CreatedPage, CreatedSite, create_published_page, create_site, update_page
from tests.harness.taxonomy import CreatedAttachment, CreatedNode, create_attachment, create_node_chain
from tests.harness.webhooks import create_webhook, list_deliveries
from tests.harness.workers import Workers


@dataclass(frozen=True)
class People:
    """The people of the tenant.

    `invited` has a pending invitation. `outsider` owns the rivals' organization and is a member of no other.
    """

    owner: Person
    admin: Person
    editor: Person
    member: Person
    invited: Person
    outsider: Person
    operator: Person
    issuer: Issuer

    def get_by_role(self, role: Role) -> Person:
        person: Person = getattr(self, role.value)
        return person


@dataclass(frozen=True)
class PopulatedOrganization(CreatedOrganization):
    """An organization with one record for each path parameter."""

    api_key: callers.Caller
    invitation: CreatedInvitation
    erasure_id: str
    export_id: str
    reconciliation_id: str
    webhook_id: str
    delivery_id: str
    replay_id: str
    channel_id: str
    log_stream_id: str
    platform: CreatedPlatform
    space: CreatedSpace
    open_platform: CreatedPlatform
    node: CreatedNode
    attachment: CreatedAttachment
    site: CreatedSite
    page: CreatedPage
    preview_token: str
    redirect: CreatedRedirect
    lead: CreatedLead
    service_key: callers.Caller
    redrive_id: str
    log_verification_id: str

    @classmethod
    def create(
        cls, api: ApiClient, workers: Workers, owner: Person, name: str, people: People
    ) -> "PopulatedOrganization":
        """Create an organization and its records over HTTP."""
        created = create_organization(api, owner, name=name)
        webhook = create_webhook(api, created, "https://hooks.example.com/atrium", events=["organization.webhook.*"])
        channel = create_channel(
            api, created, "https://hooks.slack.com/services/T0/B0/world", events=["organization.webhook.*"]
        )
        # It is paused, because a worker would be due after each entry. Examples of tasks create others.
        stream = create_log_stream(
            api, created, {"type": "https", "url": "https://logs.example.com/entries"}, enabled=False
        )
        workers.deliver()
        key = create_api_key(api, created, "api-keys:read", name="Inventory")
        invitation = create_invitation(api, created, people.invited)
        erasure = api.post(f"{created.path}/erasures", caller=owner, json={"email": "long.gone@example.org"})
        (delivery,) = list_deliveries(api, webhook)
        replay = api.post(f"{webhook.path}/replay", caller=owner, json={"from": delivery["createdAt"]})
        platform = create_platform(api, created)
        set_domain_state(platform, "failed", f"{name.lower()}.example.com")
        machines, looms = create_node_chain(api, platform, "Machines", "Looms")
        site = create_site(api, created, slug=f"{created.record['slug']}-site")
        page = create_published_page(api, site, "Looms", parent=create_published_page(api, site, "Welcome"))
        preview = api.get(f"{page.path}/preview", caller=owner)
        update_page(api, page, title="All looms")
        organization = cls(
            created.record,
            owner,
            key,
            invitation,
            erasure.json["id"],
            create_export(api, created).id,
            api.post(f"{created.path}/audit-log/reconciliations", caller=owner).expect(202).json["id"],
            webhook.id,
            delivery["id"],
            replay.json["id"],
            channel.id,
            stream.id,
            platform,
            create_space(api, platform),
            create_platform(api, created, publish=True, name="Club", joinPolicy="open"),
            looms,
            create_attachment(api, machines),
            site,
            page,
            preview.json["token"],
            create_redirect(api, site, "/old-looms/*", "/looms"),
            create_lead(api, f"desk@{name.lower()}.example", message="Can it count to ten?"),
            create_service_key(api, people.operator, name=name),
            start_redrive(api, people.operator, "events").json["id"],
            find_or_start_log_verification(api, people.operator),
        )
        event = {"type": "invoice.approved", "data": {"amount": 120}}
        api.post(f"{created.path}/events", caller=owner, json=event).expect(201)
        put_menu(api, site, page_item(page), navigation_id=organization.navigation_id)
        add_block_capability_and_module(
            api,
            organization.space,
            project_block_id=organization.project_block_id,
            capability_key=organization.capability_key,
            module_id=organization.module_id,
        )
        return organization

    @property
    def project_block_id(self) -> str:
        return f"{self.record['slug']}-showcase"

    @property
    def capability_key(self) -> str:
        return f"{self.record['slug']}-chat"

    @property
    def module_id(self) -> str:
        return f"{self.record['slug']}-wiki"

    @property
    def navigation_id(self) -> str:
        return f"{self.record['slug']}-menu"

    @property
    def revision_id(self) -> str:
        """The id of the first revision of its page, which is published."""
        return self.page.draft_revision_id

    @property
    def entry_id(self) -> str:
        """The id of the entry about its webhook. The delivery of the entry has the same id."""
        return self.delivery_id

    @property
    def webhook_path(self) -> str:
        return f"{self.path}/webhooks/{self.webhook_id}"

    @property
    def path_parameters(self) -> Mapping[str, str]:
        """The values of path parameters that name the organization and its records."""
        return {
            "organization_id": self.id,
            "slug": str(self.record["slug"]),
            "user_id": self.owner.id,
            "api_key_id": self.api_key.id,
            "invitation_id": self.invitation.id,
            "erasure_id": self.erasure_id,
            "entry_id": self.entry_id,
            "export_id": self.export_id,
            "reconciliation_id": self.reconciliation_id,
            "webhook_id": self.webhook_id,
            "delivery_id": self.delivery_id,
            "replay_id": self.replay_id,
            "channel_id": self.channel_id,
            "log_stream_id": self.log_stream_id,
            "platform_id": self.platform.id,
            "space_id": self.space.id,
            "project_block_id": self.project_block_id,
            "capability_key": self.capability_key,
            "module_id": self.module_id,
            "taxonomy_node_id": self.node.id,
            "attachment_id": self.attachment.id,
            "site_id": self.site.id,
            "page_id": self.page.id,
            "revision_id": self.revision_id,
            "redirect_id": self.redirect.id,
            "navigation_id": self.navigation_id,
            "lead_id": self.lead.id,
            "service_key_id": self.service_key.id,
            "redrive_id": self.redrive_id,
            "log_verification_id": self.log_verification_id,
            "event_type": "invoice.approved",
        }


_cached_ancestors: Final[dict[str, Mapping[ItemKey, Mapping[str, str]]]] = {}
"""The cached ancestors by tenant. Later tests take them from here instead of sending the requests again."""


@dataclass
class TenantFixture:
    """An organization with a member of each role, and a rivals' organization. Both were created some minutes ago."""

    api: ApiClient
    workers: Workers
    people: People
    organization: PopulatedOrganization
    rivals: PopulatedOrganization

    @classmethod
    def create(cls, api: ApiClient, workers: Workers, people: People) -> "TenantFixture":
        """Create the organizations over HTTP, and process all their tasks."""
        with backdate(minutes=3):
            declare_event_type(api, people.operator)
            organization = PopulatedOrganization.create(api, workers, people.owner, "Bletchley", people)
            rivals = PopulatedOrganization.create(api, workers, people.outsider, "Rivals", people)
            for role in (Role.ADMIN, Role.EDITOR, Role.MEMBER):
                person = people.get_by_role(role)
                accept_invitation(api, create_invitation(api, organization, person, role=role), person)
            add_platform_member(organization.platform, people.editor, Role.EDITOR)
            add_space_member(organization.space, people.editor, Role.EDITOR)
            put_records(research_records.build_research_records(people.owner.id))
            workers.run_until_idle()
        load_small_dataset()
        with backdate(minutes=1):
            workers.run_until_idle()  # An erasure continues after a minute.
        return cls(api, workers, people, organization, rivals)

    @property
    def id(self) -> str:
        return self.organization.id

    @property
    def api_key(self) -> callers.Caller:
        return self.organization.api_key

    @property
    def invitation(self) -> CreatedInvitation:
        return self.organization.invitation

    @property
    def platform(self) -> CreatedPlatform:
        return self.organization.platform

    @property
    def open_platform(self) -> CreatedPlatform:
        """Another platform of the organization, which all users can join."""
        return self.organization.open_platform

    @property
    def space(self) -> CreatedSpace:
        return self.organization.space

    @property
    def site(self) -> CreatedSite:
        return self.organization.site

    @property
    def page(self) -> CreatedPage:
        """A published page of the site, whose draft has changed since."""
        return self.organization.page

    @property
    def lead(self) -> CreatedLead:
        return self.organization.lead

    def warm_caches(self) -> None:
        """Fill the caches of the process with the ancestors of all containers and of records with global ids."""
        if self.id not in _cached_ancestors:
            nodes = (self.organization.node, self.organization.attachment.node)
            container_paths = (self.platform.path, self.space.path, self.open_platform.path, self.site.path)
            for path in (*container_paths, *(node.path for node in nodes)):
                assert self.api.get(path, caller=self.people.owner).status == 200
            assert self.api.get("/sites/resolve", query={"host": self.site.record["host"]}).status == 200
            _cached_ancestors[self.id] = dict(ancestor_cache._cached_ids)  # noqa: SLF001
        for key, ancestor_ids in _cached_ancestors[self.id].items():
            ancestor_cache.store(key, ancestor_ids)

    def get_rivals_parameter(self, parameter: str) -> str:
        assert parameter in self.rivals.path_parameters, (
            f"add a record for {parameter} to tests/catalogue/tenant_fixture.py"
        )
        return self.rivals.path_parameters[parameter]

    @property
    def webhook_link_holder(self) -> callers.Caller:
        """The holder of a signed link to the webhook, which the admin created."""
        return sign_webhook_link(self.id, self.organization.webhook_id, self.people.admin)

    def get_least_privileged_caller(self, operation: Operation) -> callers.Caller | None:
        """Return the least privileged caller of an operation, or None if it is anonymous."""
        if operation.allows_anonymous:
            return None
        if isinstance(operation.access, RequireRole):
            return self.people.get_by_role(operation.access.role or Role.MEMBER)
        if operation.access is Caller.LINK:
            return self.webhook_link_holder
        return self.people.operator if operation.access is Caller.OPERATOR else self.people.owner

    def create_service_key(self, *scopes: str, **fields: Any) -> callers.Caller:
        return create_service_key(self.api, self.people.operator, *scopes, **fields)

    def create_api_key(self, *scopes: str, **fields: Any) -> callers.Caller:
        return create_api_key(self.api, self.organization, *scopes, **fields)


def put_records(records: Iterable[Entity]) -> None:
    """Write records into the table without operations, as neighbours of the records that tests use."""
    put_items(record.item() for record in records)


def put_items(items: Iterable[Item]) -> None:
    writes = [Write("Put", (item["pk"], item["sk"]), item=item) for item in items]
    for start in range(0, len(writes), _BATCH_SIZE):
        table.write_transaction(writes[start : start + _BATCH_SIZE])


_BATCH_SIZE: Final = table.MAX_TRANSACT_ITEMS
