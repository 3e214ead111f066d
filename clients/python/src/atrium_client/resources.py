"""The resources of the API. `make clients` writes this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from atrium_client._base import Resource
from atrium_client._omitted import OMITTED, Omitted
from atrium_client._pages import PageIterator
from atrium_client._requests import Call
from atrium_client.models import (
    Acceptance,
    ActorIn,
    Anchor,
    AnchorList,
    ApiKey,
    ApiKeyList,
    Artefact,
    ArtefactList,
    Attachment,
    AttachmentList,
    AuditEntry,
    AuditEntryList,
    AuditExport,
    AuditExportList,
    Block,
    CallerRole,
    Capability,
    CapabilityCreate,
    CapabilityList,
    Channel,
    ChannelList,
    ChannelTarget,
    City,
    CityList,
    Config,
    ConsentGiven,
    ConsistencyProof,
    ContextIn,
    Country,
    CountryList,
    CreatedEvents,
    Currency,
    CurrencyList,
    CustomDomain,
    DatadogDestination,
    DatadogDestinationPatch,
    DeadLetters,
    Delivery,
    DeliveryDetail,
    DeliveryList,
    EffectiveModule,
    EffectiveModuleList,
    EntryProof,
    EntrySelection,
    ErasedActor,
    Erasure,
    ErasureList,
    EventIn,
    EventType,
    EventTypeList,
    FoundOrganization,
    FoundOrganizationList,
    HomeBlockIn,
    HttpsDestination,
    IntegrityReport,
    Invitation,
    InvitationList,
    InvitationOfCaller,
    InvitationOfCallerList,
    Language,
    LanguageList,
    Lead,
    LeadList,
    LeadStatusOption,
    LeadStatusOptionList,
    LogStreamDetail,
    LogStreamDetailList,
    LogVerification,
    LogVerificationList,
    Me,
    Member,
    MemberList,
    Menu,
    MenuItemIn,
    MenuSummary,
    MenuSummaryList,
    Migration,
    MigrationList,
    MigrationsHealth,
    Module,
    ModuleChange,
    ModuleList,
    NavigationItemIn,
    NewSignedLink,
    Node,
    NodeList,
    Organization,
    OrganizationList,
    OrganizationListItem,
    OrganizationSummary,
    OverrideWithEffect,
    OverrideWithEffectList,
    OverrideWrite,
    Page,
    PageSummary,
    PageSummaryList,
    Platform,
    PlatformDomain,
    PlatformDomainList,
    PlatformSummaryList,
    PlatformSummaryListItem,
    Preview,
    ProjectBlock,
    ProjectBlockList,
    ProjectBlockWrite,
    PublicLead,
    PublicLeadList,
    Reconciliation,
    ReconciliationList,
    Redirect,
    RedirectList,
    Redrive,
    RedriveList,
    Replay,
    ReplayList,
    ResearchJob,
    ResearchJobList,
    Resolved,
    ResolvedConfig,
    Revision,
    RevisionSummary,
    RevisionSummaryList,
    RobotsIn,
    Role,
    S3Destination,
    SeoIn,
    ServiceKey,
    ServiceKeyList,
    ServiceLinks,
    ServiceStatus,
    SignedLink,
    Site,
    SiteList,
    Space,
    SpaceList,
    SplunkDestination,
    SplunkDestinationPatch,
    Subscription,
    SystemTags,
    TargetIn,
    Timezone,
    TimezoneList,
    Tree,
    Trial,
    UpdatedModuleList,
    Venue,
    VenueList,
    Visit,
    Webhook,
    WebhookList,
    WebhookStatistics,
    Work,
    WorkList,
)


class OrganizationsMembersResource(Resource):
    """The operations of `client.organizations.members`."""

    def list(
        self,
        organization_id: str,
        *,
        include: Literal["names"] | Omitted = OMITTED,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        sort: Literal["createdAt", "-createdAt", "name", "-name"] | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[MemberList, Member]:
        """List the members of an organization, in the order in which they joined.

        `GET /organizations/{organization_id}/members`

        Args:
            include: `names` adds the names of the organization's members and API keys whose ids are in the items,
                by id. Ids of others are omitted, such as those of former members.
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            sort: `createdAt` for the oldest first, `-createdAt` for the newest first, `name` for alphabetical
                order, `-name` for the reverse. If omitted, the usual order or, with `q`, alphabetical order.
            q: Only records with a name, or a word of one, that begins with this text. Words are separated by
                spaces and hyphens. A long name is found by its first words only. Case, accents and repeated
                spaces do not matter. The result is in alphabetical order, so `sort` can only be `name` or
                `-name`.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/members",
            {
                "organization_id": organization_id,
            },
            query={
                "include": include,
                "cursor": cursor,
                "limit": limit,
                "sort": sort,
                "q": q,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, MemberList)

    def get(
        self,
        organization_id: str,
        user_id: str,
        *,
        timeout: float | None = None,
    ) -> Member:
        """Get a member of an organization.

        `GET /organizations/{organization_id}/members/{user_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/members/{user_id}",
            {
                "organization_id": organization_id,
                "user_id": user_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)

    def update(
        self,
        organization_id: str,
        user_id: str,
        *,
        role: Role | Omitted = OMITTED,
        keys: Literal["revoke", "keep"] | Omitted = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Member:
        """Change a member's role, and tell them by mail unless the organization's notifications is false.

        `PATCH /organizations/{organization_id}/members/{user_id}`

        Args:
            role: At most the caller's own role. Use transfer-ownership to change the owner.
            keys: `revoke` them, or `keep` them: the caller, another admin, takes responsibility for them.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/organizations/{organization_id}/members/{user_id}",
            {
                "organization_id": organization_id,
                "user_id": user_id,
            },
            query={
                "keys": keys,
            },
            body={
                "role": role,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)

    def remove(
        self,
        organization_id: str,
        user_id: str,
        *,
        keys: Literal["revoke", "keep"] | Omitted = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Remove a member from an organization and from all its platforms and spaces.

        `DELETE /organizations/{organization_id}/members/{user_id}`

        Args:
            keys: `revoke` them, or `keep` them: the caller, another admin, takes responsibility for them.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/organizations/{organization_id}/members/{user_id}",
            {
                "organization_id": organization_id,
                "user_id": user_id,
            },
            query={
                "keys": keys,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)


class OrganizationsInvitationsResource(Resource):
    """The operations of `client.organizations.invitations`."""

    def describe(
        self,
        *,
        token: str,
        decision: Literal["accept", "decline"] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Acceptance:
        """Describe an invitation. With decision and the invited user's credential, accept or decline it.

        `GET /organizations/invitations/acceptance`

        Args:
            token: Token from the link in the invitation.
            decision: Accept or decline the invitation, with a user's credential. If omitted, nothing changes.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/invitations/acceptance",
            query={
                "token": token,
                "decision": decision,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Acceptance)

    def respond(
        self,
        *,
        token: str,
        decision: Literal["accept", "decline"] | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Acceptance:
        """Accept or decline an invitation.

        `POST /organizations/invitations/acceptance`

        Args:
            token: Token from the link in the invitation.
            decision: The default is `"accept"`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/invitations/acceptance",
            body={
                "token": token,
                "decision": decision,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Acceptance)

    def list(
        self,
        organization_id: str,
        *,
        include: Literal["names"] | Omitted = OMITTED,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        platform_id: str | Omitted = OMITTED,
        email: str | Omitted = OMITTED,
        status: Literal["pending", "accepted", "declined", "revoked", "expired"] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[InvitationList, Invitation]:
        """List the invitations to an organization and to its platforms, in the order in which they were created.

        `GET /organizations/{organization_id}/invitations`

        Args:
            include: `names` adds the names of the organization's members and API keys whose ids are in the items,
                by id. Ids of others are omitted, such as those of former members.
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            platform_id: Only invitations to this platform.
            email: Only invitations to this address.
            status: Only invitations with this status. A page may be short or empty.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/invitations",
            {
                "organization_id": organization_id,
            },
            query={
                "include": include,
                "cursor": cursor,
                "limit": limit,
                "platformId": platform_id,
                "email": email,
                "status": status,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, InvitationList)

    def get(
        self,
        organization_id: str,
        invitation_id: str,
        *,
        timeout: float | None = None,
    ) -> Invitation:
        """Get an invitation, without its link. Admins of a platform can get the invitations to it.

        `GET /organizations/{organization_id}/invitations/{invitation_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/invitations/{invitation_id}",
            {
                "organization_id": organization_id,
                "invitation_id": invitation_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Invitation)

    def revoke(
        self,
        organization_id: str,
        invitation_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Revoke a pending invitation. It stays listed. Admins of a platform can revoke the invitations to it.

        `DELETE /organizations/{organization_id}/invitations/{invitation_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/organizations/{organization_id}/invitations/{invitation_id}",
            {
                "organization_id": organization_id,
                "invitation_id": invitation_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def resend(
        self,
        organization_id: str,
        invitation_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Invitation:
        """Send a pending invitation again, with a new link and its full validity. The former link stops working.

        `POST /organizations/{organization_id}/invitations/{invitation_id}/resend`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/invitations/{invitation_id}/resend",
            {
                "organization_id": organization_id,
                "invitation_id": invitation_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Invitation)

    def create(
        self,
        organization_id: str,
        *,
        email: str,
        role: Literal["member", "editor", "admin"] | Omitted | None = OMITTED,
        message: str | Omitted | None = OMITTED,
        expires_in_days: int | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Invitation:
        """Invite somebody to an organization. Only this response contains the link to accept.

        `POST /organizations/{organization_id}/invite`

        Args:
            role: At most the caller's own. The default is `"member"`.
            message: A message to the invited person. The mail omits it during the first day of the organization,
                unless somebody has already accepted an invitation to it.
            expires_in_days: Counted from the time it is sent, also when it is sent again. The default is `7`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/invite",
            {
                "organization_id": organization_id,
            },
            body={
                "email": email,
                "role": role,
                "message": message,
                "expiresInDays": expires_in_days,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Invitation)

    def get_subscription(
        self,
        *,
        token: str,
        timeout: float | None = None,
    ) -> Subscription:
        """Show whether the recipient of a mail is unsubscribed, as a page with a button or as JSON.

        `GET /organizations/invitations/unsubscribe`

        Args:
            token: From the link in the mail.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/invitations/unsubscribe",
            query={
                "token": token,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Subscription)

    def unsubscribe(
        self,
        *,
        token: str,
        list_unsubscribe: Literal["One-Click"] | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Subscription:
        """Stop sending mails about invitations and memberships to the recipient of a mail, from any organization.

        `POST /organizations/invitations/unsubscribe`

        Args:
            token: From the link in the mail.
            list_unsubscribe: The default is `"One-Click"`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/invitations/unsubscribe",
            query={
                "token": token,
            },
            body={
                "List-Unsubscribe": list_unsubscribe,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Subscription)


class OrganizationsApiKeysResource(Resource):
    """The operations of `client.organizations.api_keys`."""

    def list(
        self,
        organization_id: str,
        *,
        include: Literal["names"] | Omitted = OMITTED,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ApiKeyList, ApiKey]:
        """List an organization's API keys, in the order in which they were created.

        `GET /organizations/{organization_id}/api-keys`

        Args:
            include: `names` adds the names of the organization's members and API keys whose ids are in the items,
                by id. Ids of others are omitted, such as those of former members.
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/api-keys",
            {
                "organization_id": organization_id,
            },
            query={
                "include": include,
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ApiKeyList)

    def create(
        self,
        organization_id: str,
        *,
        name: str,
        scopes: Sequence[
            Literal[
                "read",
                "write",
                "admin",
                "organizations:read",
                "organizations:write",
                "members:read",
                "members:write",
                "api-keys:read",
                "api-keys:write",
                "audit-log:read",
                "domains:read",
                "domains:write",
                "channels:read",
                "channels:write",
                "webhooks:read",
                "webhooks:write",
                "platforms:read",
                "platforms:write",
                "spaces:read",
                "spaces:write",
                "taxonomy:read",
                "taxonomy:write",
                "research:read",
                "research:write",
                "sites:read",
                "sites:write",
                "events:read",
                "events:write",
                "log-streams:read",
                "log-streams:write",
            ]
        ]
        | Omitted
        | None = OMITTED,
        expires_at: str | Omitted | None = OMITTED,
        allowed_ips: Sequence[str] | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ApiKey:
        """Create an API key. Only this response contains the secret.

        `POST /organizations/{organization_id}/api-keys`

        Args:
            scopes: At most the scopes of the creator. The default is `["read"]`.
            expires_at: RFC 3339 with an offset. At most, and by default, the expiry of the API key that creates
                it.
            allowed_ips: Networks (CIDR) from which it works. Default: any, or those of the API key that creates
                it.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/api-keys",
            {
                "organization_id": organization_id,
            },
            body={
                "name": name,
                "scopes": scopes,
                "expiresAt": expires_at,
                "allowedIps": allowed_ips,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ApiKey)

    def get(
        self,
        organization_id: str,
        api_key_id: str,
        *,
        timeout: float | None = None,
    ) -> ApiKey:
        """Get an API key, without its secret.

        `GET /organizations/{organization_id}/api-keys/{api_key_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/api-keys/{api_key_id}",
            {
                "organization_id": organization_id,
                "api_key_id": api_key_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ApiKey)

    def revoke(
        self,
        organization_id: str,
        api_key_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Revoke an API key permanently, with all keys that it created or rotated. Revoked keys stay listed.

        `DELETE /organizations/{organization_id}/api-keys/{api_key_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/organizations/{organization_id}/api-keys/{api_key_id}",
            {
                "organization_id": organization_id,
                "api_key_id": api_key_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def rotate(
        self,
        organization_id: str,
        api_key_id: str,
        *,
        grace_hours: int | Omitted | None = OMITTED,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ApiKey:
        """Give an API key a new secret. The former secret works for some hours more, until formerSecretsUntil.

        `POST /organizations/{organization_id}/api-keys/{api_key_id}/rotate`

        Args:
            grace_hours: The default is `24`.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/api-keys/{api_key_id}/rotate",
            {
                "organization_id": organization_id,
                "api_key_id": api_key_id,
            },
            body={
                "graceHours": grace_hours,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ApiKey)


class OrganizationsAuditLogExportsResource(Resource):
    """The operations of `client.organizations.audit_log.exports`."""

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[AuditExportList, AuditExport]:
        """List the background exports of the log, newest first, also those whose file has expired.

        `GET /organizations/{organization_id}/audit-log/export-async`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log/export-async",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, AuditExportList)

    def create(
        self,
        organization_id: str,
        *,
        format: Literal["ndjson", "csv"] | Omitted | None = OMITTED,
        filters: EntrySelection | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> AuditExport:
        """Start a background export, which makes a gzip file of all matching entries that have a sequence at its
        start.

        `POST /organizations/{organization_id}/audit-log/export-async`

        Args:
            format: NDJSON can be verified offline; CSV is for spreadsheets. The default is `"ndjson"`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/audit-log/export-async",
            {
                "organization_id": organization_id,
            },
            body={
                "format": format,
                "filters": filters,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, AuditExport)

    def get(
        self,
        organization_id: str,
        export_id: str,
        *,
        timeout: float | None = None,
    ) -> AuditExport:
        """Get an export and, once it is completed, a URL to download its file.

        `GET /organizations/{organization_id}/audit-log/export-async/{export_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log/export-async/{export_id}",
            {
                "organization_id": organization_id,
                "export_id": export_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, AuditExport)


class OrganizationsAuditLogReconciliationsResource(Resource):
    """The operations of `client.organizations.audit_log.reconciliations`."""

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ReconciliationList, Reconciliation]:
        """List the reconciliations of an organization, newest first, with their findings.

        `GET /organizations/{organization_id}/audit-log/reconciliations`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log/reconciliations",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ReconciliationList)

    def create(
        self,
        organization_id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Reconciliation:
        """Compare all records of the organization with its log, in the background.

        `POST /organizations/{organization_id}/audit-log/reconciliations`

        Args:
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/audit-log/reconciliations",
            {
                "organization_id": organization_id,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Reconciliation)

    def get(
        self,
        organization_id: str,
        reconciliation_id: str,
        *,
        timeout: float | None = None,
    ) -> Reconciliation:
        """Get the progress of a reconciliation and, once it is completed, its findings.

        `GET /organizations/{organization_id}/audit-log/reconciliations/{reconciliation_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log/reconciliations/{reconciliation_id}",
            {
                "organization_id": organization_id,
                "reconciliation_id": reconciliation_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Reconciliation)


class OrganizationsAuditLogResource(Resource):
    """The operations of `client.organizations.audit_log`."""

    @cached_property
    def exports(self) -> OrganizationsAuditLogExportsResource:
        """The operations of `client.organizations.audit_log.exports`."""
        return OrganizationsAuditLogExportsResource(self._requests)

    @cached_property
    def reconciliations(self) -> OrganizationsAuditLogReconciliationsResource:
        """The operations of `client.organizations.audit_log.reconciliations`."""
        return OrganizationsAuditLogReconciliationsResource(self._requests)

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        to: str | Omitted = OMITTED,
        from_: str | Omitted = OMITTED,
        type: str | Omitted = OMITTED,
        actor_id: str | Omitted = OMITTED,
        target_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[AuditEntryList, AuditEntry]:
        """List the audit log of an organization, newest entry first.

        `GET /organizations/{organization_id}/audit-log`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            to: Latest time, RFC 3339 with an offset.
            from_: Earliest time, RFC 3339 with an offset. Not after `to`.
            type: One event type, or a prefix with `.*` for all types below it.
            actor_id: Only entries by this actor, as in `actor.id`: the id of a user or an API key, or of an actor
                that an application named.
            target_id: Only entries about this record, as in `target.id`. The target of a change of a member is
                the membership: `id` in the list of members, not `user_id`. A transfer of the ownership is about
                the organization. An application event is found by its first target.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
                "to": to,
                "from": from_,
                "type": type,
                "actorId": actor_id,
                "targetId": target_id,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, AuditEntryList)

    def verify_integrity(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        checkpoint: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> IntegrityReport:
        """Recompute the Merkle tree of the log from its entries, and compare it with the signed head.

        `GET /organizations/{organization_id}/audit-log/verify-integrity`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            checkpoint: A checkpoint that you stored earlier, as text (URL-encoded) or in base64url. The log must
                still begin with it. If no key of this service signed it, the report has the failure
                `bad_signature`. That is not a problem (4xx).
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log/verify-integrity",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "checkpoint": checkpoint,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, IntegrityReport)

    def export(
        self,
        organization_id: str,
        *,
        to: str | Omitted = OMITTED,
        from_: str | Omitted = OMITTED,
        type: str | Omitted = OMITTED,
        actor_id: str | Omitted = OMITTED,
        target_id: str | Omitted = OMITTED,
        format: Literal["ndjson", "csv"] | Omitted = OMITTED,
        evidence: bool | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> str:
        """Export the log, or the entries that match the filters, in one response, oldest entry first.

        `GET /organizations/{organization_id}/audit-log/export`

        Args:
            to: Latest time, RFC 3339 with an offset.
            from_: Earliest time, RFC 3339 with an offset. Not after `to`.
            type: One event type, or a prefix with `.*` for all types below it.
            actor_id: Only entries by this actor, as in `actor.id`: the id of a user or an API key, or of an actor
                that an application named.
            target_id: Only entries about this record, as in `target.id`. The target of a change of a member is
                the membership: `id` in the list of members, not `user_id`. A transfer of the ownership is about
                the organization. An application event is found by its first target.
            format: NDJSON can be verified offline; CSV is for spreadsheets.
            evidence: Begin with a line that holds the checkpoint of the log and the hashes of the entries that
                the filters omit. `verify.py` then needs nothing else but the public key. Only for NDJSON.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log/export",
            {
                "organization_id": organization_id,
            },
            query={
                "to": to,
                "from": from_,
                "type": type,
                "actorId": actor_id,
                "targetId": target_id,
                "format": format,
                "evidence": evidence,
            },
            timeout=timeout,
        )
        return self._requests.send_for_text(call)

    def get(
        self,
        organization_id: str,
        entry_id: str,
        *,
        timeout: float | None = None,
    ) -> AuditEntry:
        """Get an entry of the audit log, as the list shows it. An erased entry is returned as erased.

        `GET /organizations/{organization_id}/audit-log/{entry_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log/{entry_id}",
            {
                "organization_id": organization_id,
                "entry_id": entry_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, AuditEntry)

    def get_proof(
        self,
        organization_id: str,
        entry_id: str,
        *,
        tree_size: int | Omitted = OMITTED,
        witnessed_size: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> EntryProof:
        """Prove that an entry is in the log. Save the response: it is a receipt, which verify.py checks offline.

        `GET /organizations/{organization_id}/audit-log/{entry_id}/proof`

        Args:
            tree_size: The number of entries of the tree, such as the size in a checkpoint that you stored
                earlier. It has to contain the entry. If omitted, the size of the newest checkpoint.
            witnessed_size: The number of cosigned anchors (`witness.treeSize`) in an earlier receipt. `witness`
                then also proves that the log of anchors has only grown since.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log/{entry_id}/proof",
            {
                "organization_id": organization_id,
                "entry_id": entry_id,
            },
            query={
                "treeSize": tree_size,
                "witnessedSize": witnessed_size,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, EntryProof)

    def get_consistency_proof(
        self,
        organization_id: str,
        *,
        from_: int,
        to: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> ConsistencyProof:
        """Prove that the log at one size is the beginning of the log at another, so that no entry was changed or
        removed.

        `GET /organizations/{organization_id}/audit-log/consistency`

        Args:
            from_: The size of the earlier tree, such as the size in a checkpoint that you stored earlier.
            to: The size of the later tree. If omitted, the size of the newest checkpoint.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/audit-log/consistency",
            {
                "organization_id": organization_id,
            },
            query={
                "to": to,
                "from": from_,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ConsistencyProof)


class OrganizationsEventsResource(Resource):
    """The operations of `client.organizations.events`."""

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        to: str | Omitted = OMITTED,
        from_: str | Omitted = OMITTED,
        type: str | Omitted = OMITTED,
        actor_id: str | Omitted = OMITTED,
        target_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[AuditEntryList, AuditEntry]:
        """List the events that your own application wrote to the organization's log, newest first.

        `GET /organizations/{organization_id}/events`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            to: Latest time, RFC 3339 with an offset.
            from_: Earliest time, RFC 3339 with an offset. Not after `to`.
            type: One event type, or a prefix with `.*` for all types below it.
            actor_id: Only entries by this actor, as in `actor.id`: the id of a user or an API key, or of an actor
                that an application named.
            target_id: Only entries about this record, as in `target.id`. The target of a change of a member is
                the membership: `id` in the list of members, not `user_id`. A transfer of the ownership is about
                the organization. An application event is found by its first target.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/events",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
                "to": to,
                "from": from_,
                "type": type,
                "actorId": actor_id,
                "targetId": target_id,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, AuditEntryList)

    def create(
        self,
        organization_id: str,
        *,
        type: str,
        version: int | Omitted | None = OMITTED,
        occurred_at: str | Omitted | None = OMITTED,
        actor: ActorIn | Omitted | None = OMITTED,
        targets: Sequence[TargetIn] | Omitted | None = OMITTED,
        context: ContextIn | Omitted | None = OMITTED,
        data: Mapping[str, Any] | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> AuditEntry:
        """Write an event of your own application to the organization's log.

        `POST /organizations/{organization_id}/events`

        Args:
            type: A type that operators have declared.
            version: The version of the type's schema. If omitted, the latest one.
            occurred_at: When the event occurred: at most 7 days ago and 5 minutes ahead. If omitted, now.
            actor: Who caused the event. If omitted, the caller.
            targets: What the event is about. The filter `target_id` of lists finds the first one.
            context: From where the actor caused the event.
            data: What the type's schema describes.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/events",
            {
                "organization_id": organization_id,
            },
            body={
                "type": type,
                "version": version,
                "occurredAt": occurred_at,
                "actor": actor,
                "targets": targets,
                "context": context,
                "data": data,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, AuditEntry)

    def create_batch(
        self,
        organization_id: str,
        *,
        events: Sequence[EventIn],
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CreatedEvents:
        """Write up to 25 events of your own application to the organization's log: all of them or none.

        `POST /organizations/{organization_id}/events/batch`

        Args:
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/events/batch",
            {
                "organization_id": organization_id,
            },
            body={
                "events": events,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, CreatedEvents)


class OrganizationsErasuresResource(Resource):
    """The operations of `client.organizations.erasures`."""

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ErasureList, Erasure]:
        """List the erasures of an organization, newest first.

        `GET /organizations/{organization_id}/erasures`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/erasures",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ErasureList)

    def create(
        self,
        organization_id: str,
        *,
        email: str | Omitted | None = OMITTED,
        user_id: str | Omitted | None = OMITTED,
        actor: ErasedActor | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Erasure:
        """Erase a person from members, invitations and the entries of the log, permanently.

        `POST /organizations/{organization_id}/erasures`

        Args:
            actor: Erases the application events of which the person is the actor or a target, or whose `data`
                contains the id in a field that is marked `x-personal-data` in the schema of the event's type.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/erasures",
            {
                "organization_id": organization_id,
            },
            body={
                "email": email,
                "userId": user_id,
                "actor": actor,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Erasure)

    def get(
        self,
        organization_id: str,
        erasure_id: str,
        *,
        timeout: float | None = None,
    ) -> Erasure:
        """Get the progress of an erasure and the number of erased records and entries.

        `GET /organizations/{organization_id}/erasures/{erasure_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/erasures/{erasure_id}",
            {
                "organization_id": organization_id,
                "erasure_id": erasure_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Erasure)


class OrganizationsWebhooksDeliveriesResource(Resource):
    """The operations of `client.organizations.webhooks.deliveries`."""

    def list(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        to: str | Omitted = OMITTED,
        from_: str | Omitted = OMITTED,
        status: Literal["pending", "succeeded", "failed", "skipped"] | Omitted = OMITTED,
        event_type: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[DeliveryList, Delivery]:
        """List the deliveries of a webhook, newest first. They are kept for 90 days.

        `GET /organizations/{organization_id}/webhooks/{webhook_id}/deliveries`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            to: Latest time, RFC 3339 with an offset.
            from_: Earliest time, RFC 3339 with an offset. Not after `to`.
            event_type: One event type.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/webhooks/{webhook_id}/deliveries",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
                "to": to,
                "from": from_,
                "status": status,
                "eventType": event_type,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, DeliveryList)

    def get(
        self,
        organization_id: str,
        webhook_id: str,
        delivery_id: str,
        *,
        timeout: float | None = None,
    ) -> DeliveryDetail:
        """Get a delivery with all its attempts, and with the request that was or will be sent.

        `GET /organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
                "delivery_id": delivery_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, DeliveryDetail)

    def retry(
        self,
        organization_id: str,
        webhook_id: str,
        delivery_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Delivery:
        """Send a delivery again, whatever its status. If that fails, it is retried like a new delivery.

        `POST /organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
                "delivery_id": delivery_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Delivery)


class OrganizationsWebhooksReplaysResource(Resource):
    """The operations of `client.organizations.webhooks.replays`."""

    def list(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ReplayList, Replay]:
        """List the replays of a webhook, newest first.

        `GET /organizations/{organization_id}/webhooks/{webhook_id}/replays`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/webhooks/{webhook_id}/replays",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ReplayList)

    def get(
        self,
        organization_id: str,
        webhook_id: str,
        replay_id: str,
        *,
        timeout: float | None = None,
    ) -> Replay:
        """Get a replay: its progress, and how many deliveries it queued.

        `GET /organizations/{organization_id}/webhooks/{webhook_id}/replays/{replay_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/webhooks/{webhook_id}/replays/{replay_id}",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
                "replay_id": replay_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Replay)


class OrganizationsWebhooksResource(Resource):
    """The operations of `client.organizations.webhooks`."""

    @cached_property
    def deliveries(self) -> OrganizationsWebhooksDeliveriesResource:
        """The operations of `client.organizations.webhooks.deliveries`."""
        return OrganizationsWebhooksDeliveriesResource(self._requests)

    @cached_property
    def replays(self) -> OrganizationsWebhooksReplaysResource:
        """The operations of `client.organizations.webhooks.replays`."""
        return OrganizationsWebhooksReplaysResource(self._requests)

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[WebhookList, Webhook]:
        """List an organization's webhooks, in the order of their creation.

        `GET /organizations/{organization_id}/webhooks`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/webhooks",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, WebhookList)

    def create(
        self,
        organization_id: str,
        *,
        url: str,
        events: Sequence[str] | Omitted | None = OMITTED,
        description: str | Omitted | None = OMITTED,
        secret: str | Omitted | None = OMITTED,
        enabled: bool | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Webhook:
        """Create a webhook, which receives events at its URL from now on, signed with a secret.

        `POST /organizations/{organization_id}/webhooks`

        Args:
            url: The https URL that receives the events.
            events: Exact types, prefixes such as `page.*`, or `*`. Also the types of application events that are
                declared, such as `invoice.approved`, and their prefixes. The default is `["*"]`.
            secret: `whsec_` and the base64 of 24 to 64 random bytes. If it is omitted, the service generates one.
            enabled: The default is `true`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/webhooks",
            {
                "organization_id": organization_id,
            },
            body={
                "url": url,
                "events": events,
                "description": description,
                "secret": secret,
                "enabled": enabled,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Webhook)

    def get(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        timeout: float | None = None,
    ) -> Webhook:
        """Get a webhook, without its secret.

        `GET /organizations/{organization_id}/webhooks/{webhook_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/webhooks/{webhook_id}",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Webhook)

    def update(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        url: str | Omitted = OMITTED,
        events: Sequence[str] | Omitted | None = OMITTED,
        description: str | Omitted | None = OMITTED,
        enabled: bool | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Webhook:
        """Change a webhook. The change takes effect with its own event.

        `PATCH /organizations/{organization_id}/webhooks/{webhook_id}`

        Args:
            events: Exact types, prefixes such as `page.*`, or `*`. Also the types of application events that are
                declared, such as `invoice.approved`, and their prefixes.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/organizations/{organization_id}/webhooks/{webhook_id}",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            body={
                "url": url,
                "events": events,
                "description": description,
                "enabled": enabled,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Webhook)

    def delete(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a webhook and all its deliveries. Pending events are not sent any more.

        `DELETE /organizations/{organization_id}/webhooks/{webhook_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/organizations/{organization_id}/webhooks/{webhook_id}",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def test(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Trial:
        """Send a test message to a webhook immediately, whatever its status, and return the result within 5 s.

        `POST /organizations/{organization_id}/webhooks/{webhook_id}/test`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/webhooks/{webhook_id}/test",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Trial)

    def rotate_secret(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        grace_hours: int | Omitted | None = OMITTED,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Webhook:
        """Replace the secret of a webhook. For some hours, the previous secret signs messages too.

        `POST /organizations/{organization_id}/webhooks/{webhook_id}/rotate-secret`

        Args:
            grace_hours: The default is `24`.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/webhooks/{webhook_id}/rotate-secret",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            body={
                "graceHours": grace_hours,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Webhook)

    def create_link(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> NewSignedLink:
        """Create a link by which somebody without an account manages one webhook for an hour.

        `POST /organizations/{organization_id}/webhooks/{webhook_id}/links`

        Args:
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/webhooks/{webhook_id}/links",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, NewSignedLink)

    def get_statistics(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        timeout: float | None = None,
    ) -> WebhookStatistics:
        """Get the numbers of delivered and failed attempts of a webhook, and their median duration.

        `GET /organizations/{organization_id}/webhooks/{webhook_id}/statistics`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/webhooks/{webhook_id}/statistics",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, WebhookStatistics)

    def replay(
        self,
        organization_id: str,
        webhook_id: str,
        *,
        from_: str,
        to: str | Omitted | None = OMITTED,
        status: Literal["pending", "succeeded", "failed", "skipped"] | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Replay:
        """Send the deliveries of a time range again, oldest first.

        `POST /organizations/{organization_id}/webhooks/{webhook_id}/replay`

        Args:
            from_: The earliest event time, RFC 3339 with an offset; not after `to`.
            to: Latest time, RFC 3339 with an offset.
            status: Only deliveries with this status. The default is failed and skipped deliveries. `pending`
                selects deliveries that wait for their next attempt, and sends them at once.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/webhooks/{webhook_id}/replay",
            {
                "organization_id": organization_id,
                "webhook_id": webhook_id,
            },
            body={
                "to": to,
                "from": from_,
                "status": status,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Replay)


class OrganizationsLogStreamsResource(Resource):
    """The operations of `client.organizations.log_streams`."""

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[LogStreamDetailList, LogStreamDetail]:
        """List an organization's log streams, in the order of their creation, with their lag.

        `GET /organizations/{organization_id}/log-streams`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/log-streams",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, LogStreamDetailList)

    def create(
        self,
        organization_id: str,
        *,
        destination: HttpsDestination | SplunkDestination | DatadogDestination | S3Destination,
        events: Sequence[str] | Omitted | None = OMITTED,
        description: str | Omitted | None = OMITTED,
        start_at: Literal["now"] | int | Omitted | None = OMITTED,
        enabled: bool | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> LogStreamDetail:
        """Create a log stream, which sends the entries of the organization's log to a system of yours, in batches.

        `POST /organizations/{organization_id}/log-streams`

        Args:
            events: Exact types, prefixes such as `page.*`, or `*`. Also the types of application events that are
                declared, such as `invoice.approved`, and their prefixes. The default is `["*"]`.
            start_at: `now`, or the sequence of the first entry to send. It is at most one above that of the log's
                last entry. The default is `"now"`.
            enabled: The default is `true`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/log-streams",
            {
                "organization_id": organization_id,
            },
            body={
                "destination": destination,
                "events": events,
                "description": description,
                "startAt": start_at,
                "enabled": enabled,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, LogStreamDetail)

    def get(
        self,
        organization_id: str,
        log_stream_id: str,
        *,
        timeout: float | None = None,
    ) -> LogStreamDetail:
        """Get a log stream, without its credentials.

        `GET /organizations/{organization_id}/log-streams/{log_stream_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/log-streams/{log_stream_id}",
            {
                "organization_id": organization_id,
                "log_stream_id": log_stream_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, LogStreamDetail)

    def update(
        self,
        organization_id: str,
        log_stream_id: str,
        *,
        destination: HttpsDestination
        | SplunkDestinationPatch
        | DatadogDestinationPatch
        | S3Destination
        | Omitted = OMITTED,
        events: Sequence[str] | Omitted | None = OMITTED,
        description: str | Omitted | None = OMITTED,
        start_at: Literal["now"] | int | Omitted | None = OMITTED,
        enabled: bool | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> LogStreamDetail:
        """Change, pause, continue or restart a log stream. The change takes effect with the next batch.

        `PATCH /organizations/{organization_id}/log-streams/{log_stream_id}`

        Args:
            events: Exact types, prefixes such as `page.*`, or `*`. Also the types of application events that are
                declared, such as `invoice.approved`, and their prefixes.
            start_at: Restart the stream. `now`, or the sequence of the first entry to send. It is at most one
                above that of the log's last entry. If omitted, it continues.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/organizations/{organization_id}/log-streams/{log_stream_id}",
            {
                "organization_id": organization_id,
                "log_stream_id": log_stream_id,
            },
            body={
                "destination": destination,
                "events": events,
                "description": description,
                "startAt": start_at,
                "enabled": enabled,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, LogStreamDetail)

    def delete(
        self,
        organization_id: str,
        log_stream_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a log stream. Entries that wait are not sent any more.

        `DELETE /organizations/{organization_id}/log-streams/{log_stream_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/organizations/{organization_id}/log-streams/{log_stream_id}",
            {
                "organization_id": organization_id,
                "log_stream_id": log_stream_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def rotate_secret(
        self,
        organization_id: str,
        log_stream_id: str,
        *,
        grace_hours: int | Omitted | None = OMITTED,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> LogStreamDetail:
        """Replace the secret of a log stream to an HTTPS endpoint. For some hours, the previous secret signs batches
        too.

        `POST /organizations/{organization_id}/log-streams/{log_stream_id}/rotate-secret`

        Args:
            grace_hours: The default is `24`.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/log-streams/{log_stream_id}/rotate-secret",
            {
                "organization_id": organization_id,
                "log_stream_id": log_stream_id,
            },
            body={
                "graceHours": grace_hours,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, LogStreamDetail)

    def test(
        self,
        organization_id: str,
        log_stream_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Trial:
        """Send a test entry to the destination of a log stream immediately, whatever its status, and return the
        result.

        `POST /organizations/{organization_id}/log-streams/{log_stream_id}/test`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/log-streams/{log_stream_id}/test",
            {
                "organization_id": organization_id,
                "log_stream_id": log_stream_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Trial)


class OrganizationsIntegrationChannelsResource(Resource):
    """The operations of `client.organizations.integration_channels`."""

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ChannelList, Channel]:
        """List an organization's integration channels, in the order of their creation.

        `GET /organizations/{organization_id}/integration-channels`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/integration-channels",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ChannelList)

    def create(
        self,
        organization_id: str,
        *,
        provider: Literal["slack", "discord", "teams", "webhook"],
        name: str,
        config: ChannelTarget,
        events: Sequence[str] | Omitted | None = OMITTED,
        enabled: bool | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Channel:
        """Create an integration channel: a chat room of Slack, Discord or Teams that receives events as sentences.

        `POST /organizations/{organization_id}/integration-channels`

        Args:
            events: Exact types, prefixes such as `page.*`, or `*`. Also the types of application events that are
                declared, such as `invoice.approved`, and their prefixes. The default is `["*"]`.
            enabled: The default is `true`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/integration-channels",
            {
                "organization_id": organization_id,
            },
            body={
                "provider": provider,
                "name": name,
                "events": events,
                "config": config,
                "enabled": enabled,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Channel)

    def get(
        self,
        organization_id: str,
        channel_id: str,
        *,
        timeout: float | None = None,
    ) -> Channel:
        """Get an integration channel.

        `GET /organizations/{organization_id}/integration-channels/{channel_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/integration-channels/{channel_id}",
            {
                "organization_id": organization_id,
                "channel_id": channel_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Channel)

    def update(
        self,
        organization_id: str,
        channel_id: str,
        *,
        provider: Literal["slack", "discord", "teams", "webhook"] | Omitted = OMITTED,
        name: str | Omitted = OMITTED,
        events: Sequence[str] | Omitted | None = OMITTED,
        config: ChannelTarget | Omitted = OMITTED,
        enabled: bool | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Channel:
        """Change an integration channel. A masked URL leaves the current URL unchanged.

        `PATCH /organizations/{organization_id}/integration-channels/{channel_id}`

        Args:
            events: Exact types, prefixes such as `page.*`, or `*`. Also the types of application events that are
                declared, such as `invoice.approved`, and their prefixes.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/organizations/{organization_id}/integration-channels/{channel_id}",
            {
                "organization_id": organization_id,
                "channel_id": channel_id,
            },
            body={
                "provider": provider,
                "name": name,
                "events": events,
                "config": config,
                "enabled": enabled,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Channel)

    def delete(
        self,
        organization_id: str,
        channel_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete an integration channel. Pending messages are dropped.

        `DELETE /organizations/{organization_id}/integration-channels/{channel_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/organizations/{organization_id}/integration-channels/{channel_id}",
            {
                "organization_id": organization_id,
                "channel_id": channel_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def test(
        self,
        organization_id: str,
        channel_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Trial:
        """Send a test message to an integration channel, whatever its status, and return the result within 5 s.

        `POST /organizations/{organization_id}/integration-channels/{channel_id}/test`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/integration-channels/{channel_id}/test",
            {
                "organization_id": organization_id,
                "channel_id": channel_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Trial)


class OrganizationsDomainsResource(Resource):
    """The operations of `client.organizations.domains`."""

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        verification_status: Literal["none", "pending", "verified", "failed", "lapsed"] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[PlatformDomainList, PlatformDomain]:
        """List the platforms of an organization with their domains, in the order the platforms were created.

        `GET /organizations/{organization_id}/domains/inventory`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            verification_status: Status of the custom domain; `none` selects platforms without one.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/domains/inventory",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
                "verificationStatus": verification_status,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, PlatformDomainList)


class OrganizationsSitesResource(Resource):
    """The operations of `client.organizations.sites`."""

    def list(
        self,
        organization_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        sort: Literal["createdAt", "-createdAt", "name", "-name"] | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[SiteList, Site]:
        """List the sites of an organization, the oldest first unless sort says otherwise.

        `GET /organizations/{organization_id}/sites`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            sort: `createdAt` for the oldest first, `-createdAt` for the newest first, `name` for alphabetical
                order, `-name` for the reverse. If omitted, the usual order or, with `q`, alphabetical order.
            q: Only records with a name, or a word of one, that begins with this text. Words are separated by
                spaces and hyphens. A long name is found by its first words only. Case, accents and repeated
                spaces do not matter. The result is in alphabetical order, so `sort` can only be `name` or
                `-name`.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/sites",
            {
                "organization_id": organization_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
                "sort": sort,
                "q": q,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, SiteList)

    def create(
        self,
        organization_id: str,
        *,
        name: str,
        slug: str | Omitted | None = OMITTED,
        description: str | Omitted | None = OMITTED,
        default_locale: str | Omitted | None = OMITTED,
        platform_id: str | Omitted | None = OMITTED,
        robots: RobotsIn | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Site:
        """Create a site. It is a draft until its status is set to published.

        `POST /organizations/{organization_id}/sites`

        Args:
            slug: Derived from the name if omitted.
            default_locale: Language of its pages (BCP 47). The default is `"en"`.
            platform_id: A platform of the organization, whose theme and verified custom domain the site uses.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/sites",
            {
                "organization_id": organization_id,
            },
            body={
                "name": name,
                "slug": slug,
                "description": description,
                "defaultLocale": default_locale,
                "platformId": platform_id,
                "robots": robots,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Site)


class OrganizationsResource(Resource):
    """The operations of `client.organizations`."""

    @cached_property
    def members(self) -> OrganizationsMembersResource:
        """The operations of `client.organizations.members`."""
        return OrganizationsMembersResource(self._requests)

    @cached_property
    def invitations(self) -> OrganizationsInvitationsResource:
        """The operations of `client.organizations.invitations`."""
        return OrganizationsInvitationsResource(self._requests)

    @cached_property
    def api_keys(self) -> OrganizationsApiKeysResource:
        """The operations of `client.organizations.api_keys`."""
        return OrganizationsApiKeysResource(self._requests)

    @cached_property
    def audit_log(self) -> OrganizationsAuditLogResource:
        """The operations of `client.organizations.audit_log`."""
        return OrganizationsAuditLogResource(self._requests)

    @cached_property
    def events(self) -> OrganizationsEventsResource:
        """The operations of `client.organizations.events`."""
        return OrganizationsEventsResource(self._requests)

    @cached_property
    def erasures(self) -> OrganizationsErasuresResource:
        """The operations of `client.organizations.erasures`."""
        return OrganizationsErasuresResource(self._requests)

    @cached_property
    def webhooks(self) -> OrganizationsWebhooksResource:
        """The operations of `client.organizations.webhooks`."""
        return OrganizationsWebhooksResource(self._requests)

    @cached_property
    def log_streams(self) -> OrganizationsLogStreamsResource:
        """The operations of `client.organizations.log_streams`."""
        return OrganizationsLogStreamsResource(self._requests)

    @cached_property
    def integration_channels(self) -> OrganizationsIntegrationChannelsResource:
        """The operations of `client.organizations.integration_channels`."""
        return OrganizationsIntegrationChannelsResource(self._requests)

    @cached_property
    def domains(self) -> OrganizationsDomainsResource:
        """The operations of `client.organizations.domains`."""
        return OrganizationsDomainsResource(self._requests)

    @cached_property
    def sites(self) -> OrganizationsSitesResource:
        """The operations of `client.organizations.sites`."""
        return OrganizationsSitesResource(self._requests)

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        status: Literal["active", "pending_deletion"] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[OrganizationList, OrganizationListItem]:
        """List the caller's organizations, with their role in each. An API key sees its own organization.

        `GET /organizations`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            status: `pending_deletion` lists deleted ones that the caller owns and can restore.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations",
            query={
                "cursor": cursor,
                "limit": limit,
                "status": status,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, OrganizationList)

    def create(
        self,
        *,
        name: str,
        slug: str | Omitted | None = OMITTED,
        company_name: str | Omitted | None = OMITTED,
        company_legal_name: str | Omitted | None = OMITTED,
        company_id: str | Omitted | None = OMITTED,
        company_country: str | Omitted | None = OMITTED,
        company_address: str | Omitted | None = OMITTED,
        legal_email: str | Omitted | None = OMITTED,
        support_email: str | Omitted | None = OMITTED,
        notifications: bool | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Organization:
        """Create an organization. The caller becomes its owner.

        `POST /organizations`

        Args:
            slug: If omitted, it is derived from the name.
            company_id: Number in the company register.
            company_country: ISO 3166-1 alpha-2.
            notifications: Whether people get a mail when somebody else changes their role, transfers the
                ownership to them, or removes them. The default is `true`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations",
            body={
                "name": name,
                "slug": slug,
                "companyName": company_name,
                "companyLegalName": company_legal_name,
                "companyId": company_id,
                "companyCountry": company_country,
                "companyAddress": company_address,
                "legalEmail": legal_email,
                "supportEmail": support_email,
                "notifications": notifications,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Organization)

    def get_by_slug(
        self,
        slug: str,
        *,
        timeout: float | None = None,
    ) -> Organization:
        """Get an organization by its slug. A former slug redirects to the current one for 90 days.

        `GET /organizations/by-slug/{slug}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/by-slug/{slug}",
            {
                "slug": slug,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Organization)

    def get(
        self,
        organization_id: str,
        *,
        timeout: float | None = None,
    ) -> Organization:
        """Get an organization.

        `GET /organizations/{organization_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}",
            {
                "organization_id": organization_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Organization)

    def update(
        self,
        organization_id: str,
        *,
        name: str | Omitted = OMITTED,
        slug: str | Omitted = OMITTED,
        company_name: str | Omitted | None = OMITTED,
        company_legal_name: str | Omitted | None = OMITTED,
        company_id: str | Omitted | None = OMITTED,
        company_country: str | Omitted | None = OMITTED,
        company_address: str | Omitted | None = OMITTED,
        legal_email: str | Omitted | None = OMITTED,
        support_email: str | Omitted | None = OMITTED,
        notifications: bool | Omitted | None = OMITTED,
        status: Literal["active", "pending_deletion"] | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Organization:
        """Update an organization. {"status": "active"} restores a deleted one until it is purged.

        `PATCH /organizations/{organization_id}`

        Args:
            slug: The former slug redirects for 90 days.
            notifications: Whether people get a mail when somebody else changes their role, transfers the
                ownership to them, or removes them.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/organizations/{organization_id}",
            {
                "organization_id": organization_id,
            },
            body={
                "name": name,
                "slug": slug,
                "companyName": company_name,
                "companyLegalName": company_legal_name,
                "companyId": company_id,
                "companyCountry": company_country,
                "companyAddress": company_address,
                "legalEmail": legal_email,
                "supportEmail": support_email,
                "notifications": notifications,
                "status": status,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Organization)

    def delete(
        self,
        organization_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete an organization. Its owner can restore it for 30 days; then it is purged.

        `DELETE /organizations/{organization_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/organizations/{organization_id}",
            {
                "organization_id": organization_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def leave(
        self,
        organization_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Leave an organization and all its platforms and spaces. The member's pending invitations are revoked.

        `POST /organizations/{organization_id}/leave`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/leave",
            {
                "organization_id": organization_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def transfer_ownership(
        self,
        organization_id: str,
        *,
        new_owner_id: str,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Organization:
        """Make another member the owner. The former owner becomes an admin.

        `POST /organizations/{organization_id}/transfer-ownership`

        Args:
            new_owner_id: User id of a member.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/organizations/{organization_id}/transfer-ownership",
            {
                "organization_id": organization_id,
            },
            body={
                "newOwnerId": new_owner_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Organization)

    def get_summary(
        self,
        organization_id: str,
        *,
        timeout: float | None = None,
    ) -> OrganizationSummary:
        """Get the numbers on the start page of an organization: members, invitations, webhooks, domains and the log.

        `GET /organizations/{organization_id}/summary`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/organizations/{organization_id}/summary",
            {
                "organization_id": organization_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, OrganizationSummary)


class MeInvitationsResource(Resource):
    """The operations of `client.me.invitations`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[InvitationOfCallerList, InvitationOfCaller]:
        """List the invitations to the caller's verified e-mail address that they can accept now, newest first.

        `GET /me/invitations`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/me/invitations",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, InvitationOfCallerList)

    def respond(
        self,
        invitation_id: str,
        *,
        decision: Literal["accept", "decline"],
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Acceptance:
        """Accept or decline an invitation to the caller's verified e-mail address, without the link in the mail.

        `POST /me/invitations/{invitation_id}`

        Args:
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/me/invitations/{invitation_id}",
            {
                "invitation_id": invitation_id,
            },
            body={
                "decision": decision,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Acceptance)


class MeResource(Resource):
    """The operations of `client.me`."""

    @cached_property
    def invitations(self) -> MeInvitationsResource:
        """The operations of `client.me.invitations`."""
        return MeInvitationsResource(self._requests)

    def get(
        self,
        *,
        timeout: float | None = None,
    ) -> Me:
        """Get the caller: their id, names and address, their credential, their organizations and pending
        invitations.

        `GET /me`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/me",
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Me)


class AnchorsResource(Resource):
    """The operations of `client.anchors`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[AnchorList, Anchor]:
        """List the anchors of all logs, the earliest first: the leaves of the log that witnesses cosign.

        `GET /anchors`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/anchors",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, AnchorList)


class SystemLogVerificationsResource(Resource):
    """The operations of `client.system.log_verifications`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[LogVerificationList, LogVerification]:
        """List the verifications of all logs, newest first.

        `GET /system/log-verifications`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/log-verifications",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, LogVerificationList)

    def create(
        self,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> LogVerification:
        """Verify the logs of all organizations and of the service itself, in the background.

        `POST /system/log-verifications`

        Args:
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/system/log-verifications",
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, LogVerification)

    def get(
        self,
        log_verification_id: str,
        *,
        timeout: float | None = None,
    ) -> LogVerification:
        """Get the progress of a verification of all logs, and what it has found so far.

        `GET /system/log-verifications/{log_verification_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/log-verifications/{log_verification_id}",
            {
                "log_verification_id": log_verification_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, LogVerification)


class SystemMigrationsResource(Resource):
    """The operations of `client.system.migrations`."""

    def get_health(
        self,
        *,
        timeout: float | None = None,
    ) -> MigrationsHealth:
        """Get whether all migrations are applied, and how many are not.

        `GET /system/migrations/health`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/migrations/health",
            timeout=timeout,
        )
        return self._requests.send_for_record(call, MigrationsHealth)

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[MigrationList, Migration]:
        """List all migrations in order, with their states.

        `GET /system/migrations/status`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/migrations/status",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, MigrationList)


class SystemAuditLogResource(Resource):
    """The operations of `client.system.audit_log`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        to: str | Omitted = OMITTED,
        from_: str | Omitted = OMITTED,
        type: str | Omitted = OMITTED,
        actor_id: str | Omitted = OMITTED,
        target_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[AuditEntryList, AuditEntry]:
        """List events outside of any organization, newest first.

        `GET /system/audit-log`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            to: Latest time, RFC 3339 with an offset.
            from_: Earliest time, RFC 3339 with an offset. Not after `to`.
            type: One event type, or a prefix with `.*` for all types below it.
            actor_id: Only entries by this actor, as in `actor.id`: the id of a user or an API key, or of an actor
                that an application named.
            target_id: Only entries about this record, as in `target.id`. The target of a change of a member is
                the membership: `id` in the list of members, not `user_id`. A transfer of the ownership is about
                the organization. An application event is found by its first target.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/audit-log",
            query={
                "cursor": cursor,
                "limit": limit,
                "to": to,
                "from": from_,
                "type": type,
                "actorId": actor_id,
                "targetId": target_id,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, AuditEntryList)

    def export(
        self,
        *,
        to: str | Omitted = OMITTED,
        from_: str | Omitted = OMITTED,
        type: str | Omitted = OMITTED,
        actor_id: str | Omitted = OMITTED,
        target_id: str | Omitted = OMITTED,
        format: Literal["ndjson", "csv"] | Omitted = OMITTED,
        evidence: bool | Omitted = OMITTED,
        log_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> str:
        """Export the events outside of any organization, or those that match the filters, oldest entry first.

        `GET /system/audit-log/export`

        Args:
            to: Latest time, RFC 3339 with an offset.
            from_: Earliest time, RFC 3339 with an offset. Not after `to`.
            type: One event type, or a prefix with `.*` for all types below it.
            actor_id: Only entries by this actor, as in `actor.id`: the id of a user or an API key, or of an actor
                that an application named.
            target_id: Only entries about this record, as in `target.id`. The target of a change of a member is
                the membership: `id` in the list of members, not `user_id`. A transfer of the ownership is about
                the organization. An application event is found by its first target.
            format: NDJSON can be verified offline; CSV is for spreadsheets.
            evidence: Begin with a line that holds the checkpoint of the log and the hashes of the entries that
                the filters omit. `verify.py` then needs nothing else but the public key. Only for NDJSON.
            log_id: Only entries of this one of the 16 logs, in the order of its tree. An export with `evidence`
                needs it, unless `target_id` determines the log.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/audit-log/export",
            query={
                "to": to,
                "from": from_,
                "type": type,
                "actorId": actor_id,
                "targetId": target_id,
                "format": format,
                "evidence": evidence,
                "logId": log_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_text(call)


class SystemDeadLettersRedrivesResource(Resource):
    """The operations of `client.system.dead_letters.redrives`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[RedriveList, Redrive]:
        """List the redrives that operators requested, newest first.

        `GET /system/dead-letters/redrive`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/dead-letters/redrive",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, RedriveList)

    def get(
        self,
        redrive_id: str,
        *,
        timeout: float | None = None,
    ) -> Redrive:
        """Get a redrive, with the number of messages that it has sent back so far.

        `GET /system/dead-letters/redrive/{redrive_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/dead-letters/redrive/{redrive_id}",
            {
                "redrive_id": redrive_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Redrive)


class SystemDeadLettersResource(Resource):
    """The operations of `client.system.dead_letters`."""

    @cached_property
    def redrives(self) -> SystemDeadLettersRedrivesResource:
        """The operations of `client.system.dead_letters.redrives`."""
        return SystemDeadLettersRedrivesResource(self._requests)

    def get(
        self,
        *,
        timeout: float | None = None,
    ) -> DeadLetters:
        """List the dead-letter queues, each with the number of its messages and the first ten of them.

        `GET /system/dead-letters`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/dead-letters",
            timeout=timeout,
        )
        return self._requests.send_for_record(call, DeadLetters)

    def redrive(
        self,
        *,
        queue: Literal["events", "jobs", "deliveries", "deliveries-slow"],
        max_messages: int | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Redrive:
        """Send the dead letters of a queue back to it in the background, so that their work is tried again.

        `POST /system/dead-letters/redrive`

        Args:
            queue: The queue whose messages failed.
            max_messages: The redrive ends after this number. The default is `1000`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/system/dead-letters/redrive",
            body={
                "queue": queue,
                "maxMessages": max_messages,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Redrive)


class SystemOrganizationsResource(Resource):
    """The operations of `client.system.organizations`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[FoundOrganizationList, FoundOrganization]:
        """Search all organizations by id, or by the beginning of the name or slug, whatever their status.

        `GET /system/organizations`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            q: An id, or the beginning of a name or slug. Case and accents do not matter.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/organizations",
            query={
                "cursor": cursor,
                "limit": limit,
                "q": q,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, FoundOrganizationList)


class SystemServiceKeysResource(Resource):
    """The operations of `client.system.service_keys`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ServiceKeyList, ServiceKey]:
        """List the service keys, in the order in which they were created.

        `GET /system/service-keys`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/service-keys",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ServiceKeyList)

    def create(
        self,
        *,
        name: str,
        scopes: Sequence[Literal["events:write", "events:read"]] | Omitted | None = OMITTED,
        types: Sequence[str] | Omitted | None = OMITTED,
        expires_at: str | Omitted | None = OMITTED,
        allowed_ips: Sequence[str] | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ServiceKey:
        """Create a service key. Only this response contains the secret.

        `POST /system/service-keys`

        Args:
            scopes: `events:write` includes `events:read`. The default is `["events:write"]`.
            types: The event types that it may write and read: exact types, and patterns such as `invoice.*`. They
                need not be declared yet. Default: all.
            expires_at: RFC 3339 with an offset. At most, and by default, 365 days ahead.
            allowed_ips: Networks (CIDR) from which it works. Default: any.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/system/service-keys",
            body={
                "name": name,
                "scopes": scopes,
                "types": types,
                "expiresAt": expires_at,
                "allowedIps": allowed_ips,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ServiceKey)

    def get(
        self,
        service_key_id: str,
        *,
        timeout: float | None = None,
    ) -> ServiceKey:
        """Get a service key, without its secret.

        `GET /system/service-keys/{service_key_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/system/service-keys/{service_key_id}",
            {
                "service_key_id": service_key_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ServiceKey)

    def revoke(
        self,
        service_key_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Revoke a service key permanently. The next request with it is rejected. Revoked keys stay listed.

        `DELETE /system/service-keys/{service_key_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/system/service-keys/{service_key_id}",
            {
                "service_key_id": service_key_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def rotate(
        self,
        service_key_id: str,
        *,
        grace_hours: int | Omitted | None = OMITTED,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ServiceKey:
        """Give a service key a new secret. The former secret works for some hours more, until formerSecretsUntil.

        `POST /system/service-keys/{service_key_id}/rotate`

        Args:
            grace_hours: The default is `24`.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/system/service-keys/{service_key_id}/rotate",
            {
                "service_key_id": service_key_id,
            },
            body={
                "graceHours": grace_hours,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ServiceKey)


class SystemResource(Resource):
    """The operations of `client.system`."""

    @cached_property
    def log_verifications(self) -> SystemLogVerificationsResource:
        """The operations of `client.system.log_verifications`."""
        return SystemLogVerificationsResource(self._requests)

    @cached_property
    def migrations(self) -> SystemMigrationsResource:
        """The operations of `client.system.migrations`."""
        return SystemMigrationsResource(self._requests)

    @cached_property
    def audit_log(self) -> SystemAuditLogResource:
        """The operations of `client.system.audit_log`."""
        return SystemAuditLogResource(self._requests)

    @cached_property
    def dead_letters(self) -> SystemDeadLettersResource:
        """The operations of `client.system.dead_letters`."""
        return SystemDeadLettersResource(self._requests)

    @cached_property
    def organizations(self) -> SystemOrganizationsResource:
        """The operations of `client.system.organizations`."""
        return SystemOrganizationsResource(self._requests)

    @cached_property
    def service_keys(self) -> SystemServiceKeysResource:
        """The operations of `client.system.service_keys`."""
        return SystemServiceKeysResource(self._requests)


class PlatformsMembersResource(Resource):
    """The operations of `client.platforms.members`."""

    def list(
        self,
        platform_id: str,
        *,
        include: Literal["names"] | Omitted = OMITTED,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        sort: Literal["createdAt", "-createdAt"] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[MemberList, Member]:
        """List the members of a platform who have a membership of their own, in the order in which they joined.

        `GET /platforms/{platform_id}/members`

        Args:
            include: `names` adds the names of the organization's members and API keys whose ids are in the items,
                by id. Ids of others are omitted, such as those of former members.
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            sort: `createdAt` for the oldest first, `-createdAt` for the newest first. If omitted, the usual
                order.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/members",
            {
                "platform_id": platform_id,
            },
            query={
                "include": include,
                "cursor": cursor,
                "limit": limit,
                "sort": sort,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, MemberList)

    def get(
        self,
        platform_id: str,
        user_id: str,
        *,
        timeout: float | None = None,
    ) -> Member:
        """Get a member of a platform.

        `GET /platforms/{platform_id}/members/{user_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/members/{user_id}",
            {
                "platform_id": platform_id,
                "user_id": user_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)

    def update(
        self,
        platform_id: str,
        user_id: str,
        *,
        role: Literal["member", "editor", "admin"] | Omitted = OMITTED,
        username: str | Omitted | None = OMITTED,
        if_match: str | None = None,
        if_none_match: str | None = None,
        timeout: float | None = None,
    ) -> Member:
        """Change the role or the username of a platform member. A member of the organization becomes a platform
        member.

        `PATCH /platforms/{platform_id}/members/{user_id}`

        Args:
            role: At most the caller's own role.
            username: Unique on this platform, whatever the case of its letters.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            if_none_match: With "*", the record is only created. If it exists already, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/platforms/{platform_id}/members/{user_id}",
            {
                "platform_id": platform_id,
                "user_id": user_id,
            },
            body={
                "role": role,
                "username": username,
            },
            headers={
                "If-Match": if_match,
                "If-None-Match": if_none_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)

    def remove(
        self,
        platform_id: str,
        user_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Remove a member from a platform and from its spaces, and revoke the invitations that they sent as a
        member.

        `DELETE /platforms/{platform_id}/members/{user_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/platforms/{platform_id}/members/{user_id}",
            {
                "platform_id": platform_id,
                "user_id": user_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def get_by_user(
        self,
        platform_id: str,
        user_id: str,
        *,
        timeout: float | None = None,
    ) -> Member:
        """Get a member of a platform by their user id.

        `GET /platforms/{platform_id}/members/by-user/{user_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/members/by-user/{user_id}",
            {
                "platform_id": platform_id,
                "user_id": user_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)

    def get_by_username(
        self,
        platform_id: str,
        username: str,
        *,
        timeout: float | None = None,
    ) -> Member:
        """Get a member of a platform by their username, ignoring case.

        `GET /platforms/{platform_id}/members/by-username/{username}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/members/by-username/{username}",
            {
                "platform_id": platform_id,
                "username": username,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)


class PlatformsCustomDomainResource(Resource):
    """The operations of `client.platforms.custom_domain`."""

    def get(
        self,
        platform_id: str,
        *,
        timeout: float | None = None,
    ) -> CustomDomain:
        """Get the custom domain of a platform and its required DNS records. Without a domain its status is none.

        `GET /platforms/{platform_id}/custom-domain`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/custom-domain",
            {
                "platform_id": platform_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, CustomDomain)

    def set(
        self,
        platform_id: str,
        *,
        domain: str,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CustomDomain:
        """Claim a domain for a platform, replacing one that is not verified. records lists the required DNS records.

        `POST /platforms/{platform_id}/custom-domain`

        Args:
            domain: A domain that you own, or a subdomain of it. Internationalized names may be sent in Unicode.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/platforms/{platform_id}/custom-domain",
            {
                "platform_id": platform_id,
            },
            body={
                "domain": domain,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, CustomDomain)

    def remove(
        self,
        platform_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Remove the custom domain of a platform, so that other platforms can verify it. Does nothing if there is
        none.

        `DELETE /platforms/{platform_id}/custom-domain`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/platforms/{platform_id}/custom-domain",
            {
                "platform_id": platform_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def verify(
        self,
        platform_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> CustomDomain:
        """Check the DNS of a domain immediately. If the required records exist, the domain is verified.

        `POST /platforms/{platform_id}/custom-domain/verify`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/platforms/{platform_id}/custom-domain/verify",
            {
                "platform_id": platform_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, CustomDomain)

    def create_link(
        self,
        platform_id: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> NewSignedLink:
        """Create a link by which somebody without an account sets up the DNS of a platform's domain for an hour.

        `POST /platforms/{platform_id}/custom-domain/links`

        Args:
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/platforms/{platform_id}/custom-domain/links",
            {
                "platform_id": platform_id,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, NewSignedLink)


class PlatformsModulesResource(Resource):
    """The operations of `client.platforms.modules`."""

    def list(
        self,
        platform_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ModuleList, Module]:
        """List the modules of a platform: those of the catalogue, then its own in the order of their creation.

        `GET /platforms/{platform_id}/modules`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/modules",
            {
                "platform_id": platform_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ModuleList)

    def update(
        self,
        platform_id: str,
        *,
        modules: Sequence[ModuleChange] | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> UpdatedModuleList:
        """Change up to 40 modules atomically. The response lists all modules of the platform.

        `PATCH /platforms/{platform_id}/modules`

        Args:
            modules: The default is `[]`.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/platforms/{platform_id}/modules",
            {
                "platform_id": platform_id,
            },
            body={
                "modules": modules,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, UpdatedModuleList)


class PlatformsProjectBlocksResource(Resource):
    """The operations of `client.platforms.project_blocks`."""

    def list(
        self,
        platform_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ProjectBlockList, ProjectBlock]:
        """List the project blocks of a platform, by position.

        `GET /platforms/{platform_id}/project-blocks`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/project-blocks",
            {
                "platform_id": platform_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ProjectBlockList)

    def update(
        self,
        platform_id: str,
        *,
        project_blocks: Sequence[ProjectBlockWrite] | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> ProjectBlockList:
        """Replace all project blocks of a platform, up to 40 in order. The response lists them.

        `PATCH /platforms/{platform_id}/project-blocks`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/platforms/{platform_id}/project-blocks",
            {
                "platform_id": platform_id,
            },
            body={
                "projectBlocks": project_blocks,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ProjectBlockList)


class PlatformsSpacesResource(Resource):
    """The operations of `client.platforms.spaces`."""

    def list(
        self,
        platform_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[SpaceList, Space]:
        """List the spaces of a platform by position. Only their members and admins see private spaces.

        `GET /platforms/{platform_id}/spaces`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/spaces",
            {
                "platform_id": platform_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, SpaceList)


class PlatformsTaxonomyNodesResource(Resource):
    """The operations of `client.platforms.taxonomy_nodes`."""

    def list(
        self,
        platform_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        parent_id: str | Omitted = OMITTED,
        kind: Literal["term", "system"] | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[NodeList, Node]:
        """List the nodes of a platform's taxonomy on all levels, by position, or by name if q is given.

        `GET /platforms/{platform_id}/taxonomy-nodes`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            parent_id: Only the children of this node.
            q: Prefix of the name, ignoring case and accents. The nodes are ordered by name then.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/taxonomy-nodes",
            {
                "platform_id": platform_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
                "parentId": parent_id,
                "kind": kind,
                "q": q,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, NodeList)

    def resolve(
        self,
        platform_id: str,
        *,
        path: str | Omitted = OMITTED,
        slug: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Resolved:
        """Resolve a path or, without a path, a slug or another label to a node.

        `GET /platforms/{platform_id}/taxonomy-resolve`

        Args:
            path: A path as in the `path` of a node.
            slug: A slug or, if no node has it, another label, ignoring case and accents.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/taxonomy-resolve",
            {
                "platform_id": platform_id,
            },
            query={
                "path": path,
                "slug": slug,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Resolved)

    def create_system_tags(
        self,
        platform_id: str,
        *,
        tags: Sequence[str] | Omitted | None = OMITTED,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> SystemTags:
        """Create the requested system tags that do not exist yet, as roots. Their slugs and parents can't be
        changed.

        `POST /platforms/{platform_id}/taxonomy-system-tags`

        Args:
            tags: The slugs of the tags. The default is `["featured", "pinned", "official", "archived"]`.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/platforms/{platform_id}/taxonomy-system-tags",
            {
                "platform_id": platform_id,
            },
            body={
                "tags": tags,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, SystemTags)

    def get_tree(
        self,
        platform_id: str,
        *,
        depth: int | Omitted = OMITTED,
        root_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Tree:
        """Get a consistent snapshot of a platform's taxonomy tree, optionally limited to some levels or one subtree.

        `GET /platforms/{platform_id}/taxonomy-tree`

        Args:
            depth: Number of levels to return.
            root_id: Return only the subtree of this node.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/taxonomy-tree",
            {
                "platform_id": platform_id,
            },
            query={
                "depth": depth,
                "rootId": root_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Tree)


class PlatformsTaxonomyAttachmentsResource(Resource):
    """The operations of `client.platforms.taxonomy_attachments`."""

    def list(
        self,
        platform_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        entity_type: str | Omitted = OMITTED,
        entity_id: str | Omitted = OMITTED,
        node_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[AttachmentList, Attachment]:
        """List the attachments of all nodes of a platform, in the order of their creation.

        `GET /platforms/{platform_id}/taxonomy-attachments`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/taxonomy-attachments",
            {
                "platform_id": platform_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
                "entityType": entity_type,
                "entityId": entity_id,
                "nodeId": node_id,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, AttachmentList)


class PlatformsResource(Resource):
    """The operations of `client.platforms`."""

    @cached_property
    def members(self) -> PlatformsMembersResource:
        """The operations of `client.platforms.members`."""
        return PlatformsMembersResource(self._requests)

    @cached_property
    def custom_domain(self) -> PlatformsCustomDomainResource:
        """The operations of `client.platforms.custom_domain`."""
        return PlatformsCustomDomainResource(self._requests)

    @cached_property
    def modules(self) -> PlatformsModulesResource:
        """The operations of `client.platforms.modules`."""
        return PlatformsModulesResource(self._requests)

    @cached_property
    def project_blocks(self) -> PlatformsProjectBlocksResource:
        """The operations of `client.platforms.project_blocks`."""
        return PlatformsProjectBlocksResource(self._requests)

    @cached_property
    def spaces(self) -> PlatformsSpacesResource:
        """The operations of `client.platforms.spaces`."""
        return PlatformsSpacesResource(self._requests)

    @cached_property
    def taxonomy_nodes(self) -> PlatformsTaxonomyNodesResource:
        """The operations of `client.platforms.taxonomy_nodes`."""
        return PlatformsTaxonomyNodesResource(self._requests)

    @cached_property
    def taxonomy_attachments(self) -> PlatformsTaxonomyAttachmentsResource:
        """The operations of `client.platforms.taxonomy_attachments`."""
        return PlatformsTaxonomyAttachmentsResource(self._requests)

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        sort: Literal["createdAt", "-createdAt", "name", "-name"] | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        organization_id: str | Omitted = OMITTED,
        status: Literal["draft", "published"] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[PlatformSummaryList, PlatformSummaryListItem]:
        """List the platforms of the caller's organizations, and those of which the caller is a member.

        `GET /platforms`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            sort: `createdAt` for the oldest first, `-createdAt` for the newest first, `name` for alphabetical
                order, `-name` for the reverse. If omitted, the usual order or, with `q`, alphabetical order.
            q: Only records with a name, or a word of one, that begins with this text. Words are separated by
                spaces and hyphens. A long name is found by its first words only. Case, accents and repeated
                spaces do not matter. The result is in alphabetical order, so `sort` can only be `name` or
                `-name`.
            organization_id: Only the platforms of this organization.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms",
            query={
                "cursor": cursor,
                "limit": limit,
                "sort": sort,
                "q": q,
                "organizationId": organization_id,
                "status": status,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, PlatformSummaryList)

    def create(
        self,
        *,
        organization_id: str,
        name: str,
        slug: str | Omitted | None = OMITTED,
        description: str | Omitted | None = OMITTED,
        join_policy: Literal["open", "invite"] | Omitted | None = OMITTED,
        default_locale: str | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Platform:
        """Create a platform in an organization. It is a draft until it is published.

        `POST /platforms`

        Args:
            organization_id: The owning organization. It cannot be changed later.
            slug: Derived from the name if omitted.
            join_policy: `open`: anyone may join the published platform. The default is `"invite"`.
            default_locale: BCP 47 language tag. The default is `"en"`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/platforms",
            body={
                "organizationId": organization_id,
                "name": name,
                "slug": slug,
                "description": description,
                "joinPolicy": join_policy,
                "defaultLocale": default_locale,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Platform)

    def get(
        self,
        platform_id: str,
        *,
        timeout: float | None = None,
    ) -> Platform:
        """Get a platform.

        `GET /platforms/{platform_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}",
            {
                "platform_id": platform_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Platform)

    def update(
        self,
        platform_id: str,
        *,
        name: str | Omitted = OMITTED,
        slug: str | Omitted = OMITTED,
        description: str | Omitted | None = OMITTED,
        join_policy: Literal["open", "invite"] | Omitted | None = OMITTED,
        default_locale: str | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Platform:
        """Change a platform.

        `PATCH /platforms/{platform_id}`

        Args:
            slug: The former slug becomes available at once.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/platforms/{platform_id}",
            {
                "platform_id": platform_id,
            },
            body={
                "name": name,
                "slug": slug,
                "description": description,
                "joinPolicy": join_policy,
                "defaultLocale": default_locale,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Platform)

    def delete(
        self,
        platform_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a platform and everything in it, effective immediately. Its custom domain becomes available again.

        `DELETE /platforms/{platform_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/platforms/{platform_id}",
            {
                "platform_id": platform_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def update_home(
        self,
        platform_id: str,
        *,
        layout: str | Omitted | None = OMITTED,
        blocks: Sequence[HomeBlockIn] | Omitted | None = OMITTED,
        space_id: str | Omitted | None = OMITTED,
        site_id: str | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Platform:
        """Change the home page of a platform. Omitted fields keep their values.

        `PATCH /platforms/{platform_id}/home`

        Args:
            space_id: The space that the home page opens.
            site_id: The site that the home page opens.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/platforms/{platform_id}/home",
            {
                "platform_id": platform_id,
            },
            body={
                "layout": layout,
                "blocks": blocks,
                "spaceId": space_id,
                "siteId": site_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Platform)

    def update_navigation(
        self,
        platform_id: str,
        *,
        items: Sequence[NavigationItemIn] | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Platform:
        """Change the navigation of a platform. All items are replaced together.

        `PATCH /platforms/{platform_id}/navigation`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/platforms/{platform_id}/navigation",
            {
                "platform_id": platform_id,
            },
            body={
                "items": items,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Platform)

    def publish(
        self,
        platform_id: str,
        *,
        published: bool | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Platform:
        """Publish a platform, or turn it into a draft again with published = false.

        `PATCH /platforms/{platform_id}/publish`

        Args:
            published: The default is `true`.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/platforms/{platform_id}/publish",
            {
                "platform_id": platform_id,
            },
            body={
                "published": published,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Platform)

    def update_theme(
        self,
        platform_id: str,
        *,
        mode: Literal["light", "dark", "auto"] | Omitted | None = OMITTED,
        colors: Mapping[str, Any] | Omitted | None = OMITTED,
        fonts: Mapping[str, Any] | Omitted | None = OMITTED,
        logo_url: str | Omitted | None = OMITTED,
        favicon_url: str | Omitted | None = OMITTED,
        tokens: Mapping[str, Any] | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Platform:
        """Change the theme of a platform. Omitted fields keep their values.

        `PATCH /platforms/{platform_id}/theme`

        Args:
            colors: Colours by name. `warnings` lists pairs such as `text` on `background` with too little
                contrast.
            fonts: Font families by usage.
            tokens: Design tokens: groups of text, numbers or booleans by name.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/platforms/{platform_id}/theme",
            {
                "platform_id": platform_id,
            },
            body={
                "mode": mode,
                "colors": colors,
                "fonts": fonts,
                "logoUrl": logo_url,
                "faviconUrl": favicon_url,
                "tokens": tokens,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Platform)

    def get_role(
        self,
        platform_id: str,
        *,
        timeout: float | None = None,
    ) -> CallerRole:
        """Get the caller's role on a platform.

        `GET /platforms/{platform_id}/role`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/role",
            {
                "platform_id": platform_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, CallerRole)

    def invite(
        self,
        platform_id: str,
        *,
        email: str,
        role: Literal["member", "editor", "admin"] | Omitted | None = OMITTED,
        message: str | Omitted | None = OMITTED,
        expires_in_days: int | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Invitation:
        """Invite somebody to a platform. Only this response contains the link to accept.

        `POST /platforms/{platform_id}/invite`

        Args:
            role: At most the caller's own. The default is `"member"`.
            message: A message to the invited person. The mail omits it during the first day of the organization,
                unless somebody has already accepted an invitation to it.
            expires_in_days: Counted from the time it is sent, also when it is sent again. The default is `7`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/platforms/{platform_id}/invite",
            {
                "platform_id": platform_id,
            },
            body={
                "email": email,
                "role": role,
                "message": message,
                "expiresInDays": expires_in_days,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Invitation)

    def join(
        self,
        platform_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Member:
        """Join a platform: a published one that is open to everybody, or one to which the caller's address is
        invited.

        `POST /platforms/{platform_id}/join`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/platforms/{platform_id}/join",
            {
                "platform_id": platform_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)

    def leave(
        self,
        platform_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Leave a platform and its spaces, and revoke the invitations that the caller sent as a member.

        `POST /platforms/{platform_id}/leave`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/platforms/{platform_id}/leave",
            {
                "platform_id": platform_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def get_config(
        self,
        platform_id: str,
        *,
        timeout: float | None = None,
    ) -> Config:
        """Get the configuration that a front end needs to start.

        `GET /platforms/{platform_id}/config`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/platforms/{platform_id}/config",
            {
                "platform_id": platform_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Config)

    def resolve_config(
        self,
        platform_id: str,
        *,
        host: str | Omitted | None = OMITTED,
        space_id: str | Omitted | None = OMITTED,
        path: str | Omitted | None = OMITTED,
        locale: str | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ResolvedConfig:
        """Get the configuration of a platform for a host, space and locale. matched tells how they were resolved.

        `POST /platforms/{platform_id}/resolve-config`

        Args:
            host: The host in the browser, with or without a port.
            path: `/<slug>/…` or `/spaces/<slug>/…` selects a space.
            locale: BCP 47 language tag.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/platforms/{platform_id}/resolve-config",
            {
                "platform_id": platform_id,
            },
            body={
                "host": host,
                "spaceId": space_id,
                "path": path,
                "locale": locale,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ResolvedConfig)


class SpacesEffectiveModulesResource(Resource):
    """The operations of `client.spaces.effective_modules`."""

    def list(
        self,
        space_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[EffectiveModuleList, EffectiveModule]:
        """List the effective state of all modules in a space, with the source of each state.

        `GET /spaces/{space_id}/effective-modules`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/spaces/{space_id}/effective-modules",
            {
                "space_id": space_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, EffectiveModuleList)


class SpacesModuleOverridesResource(Resource):
    """The operations of `client.spaces.module_overrides`."""

    def list(
        self,
        space_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[OverrideWithEffectList, OverrideWithEffect]:
        """List the module overrides of a space, in the order of their creation, with the effect of each.

        `GET /spaces/{space_id}/module-overrides`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/spaces/{space_id}/module-overrides",
            {
                "space_id": space_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, OverrideWithEffectList)

    def set(
        self,
        space_id: str,
        *,
        module_id: str,
        enabled: bool | Omitted | None = OMITTED,
        settings: Mapping[str, Any] | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> OverrideWithEffect:
        """Create (201) or replace (200) the override of a module by a space. Omitted fields get their defaults.

        `POST /spaces/{space_id}/module-overrides`

        Args:
            enabled: The default is `true`.
            settings: The default is `{}`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/spaces/{space_id}/module-overrides",
            {
                "space_id": space_id,
            },
            body={
                "moduleId": module_id,
                "enabled": enabled,
                "settings": settings,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, OverrideWithEffect)

    def replace(
        self,
        space_id: str,
        *,
        overrides: Sequence[OverrideWrite],
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> OverrideWithEffectList:
        """Replace all module overrides of a space, up to 40. The response lists them with the effect of each.

        `PUT /spaces/{space_id}/module-overrides`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PUT",
            "/spaces/{space_id}/module-overrides",
            {
                "space_id": space_id,
            },
            body={
                "overrides": overrides,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, OverrideWithEffectList)

    def get(
        self,
        space_id: str,
        module_id: str,
        *,
        timeout: float | None = None,
    ) -> OverrideWithEffect:
        """Get the override of a module by a space, with its effect.

        `GET /spaces/{space_id}/module-overrides/{module_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/spaces/{space_id}/module-overrides/{module_id}",
            {
                "space_id": space_id,
                "module_id": module_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, OverrideWithEffect)

    def remove(
        self,
        space_id: str,
        module_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Remove the override of a module, so that the space inherits the module from its platform.

        `DELETE /spaces/{space_id}/module-overrides/{module_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/spaces/{space_id}/module-overrides/{module_id}",
            {
                "space_id": space_id,
                "module_id": module_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)


class SpacesMembersResource(Resource):
    """The operations of `client.spaces.members`."""

    def list(
        self,
        space_id: str,
        *,
        include: Literal["names"] | Omitted = OMITTED,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        sort: Literal["createdAt", "-createdAt"] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[MemberList, Member]:
        """List the members of a space who have a membership of their own, in the order in which they joined.

        `GET /spaces/{space_id}/members`

        Args:
            include: `names` adds the names of the organization's members and API keys whose ids are in the items,
                by id. Ids of others are omitted, such as those of former members.
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            sort: `createdAt` for the oldest first, `-createdAt` for the newest first. If omitted, the usual
                order.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/spaces/{space_id}/members",
            {
                "space_id": space_id,
            },
            query={
                "include": include,
                "cursor": cursor,
                "limit": limit,
                "sort": sort,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, MemberList)

    def get(
        self,
        space_id: str,
        user_id: str,
        *,
        timeout: float | None = None,
    ) -> Member:
        """Get a member of a space.

        `GET /spaces/{space_id}/members/{user_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/spaces/{space_id}/members/{user_id}",
            {
                "space_id": space_id,
                "user_id": user_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)

    def update(
        self,
        space_id: str,
        user_id: str,
        *,
        role: Literal["member", "editor", "admin"] | Omitted = OMITTED,
        if_match: str | None = None,
        if_none_match: str | None = None,
        timeout: float | None = None,
    ) -> Member:
        """Change the role of a space member. A user who takes part in the platform becomes a member of the space.

        `PATCH /spaces/{space_id}/members/{user_id}`

        Args:
            role: At most the caller's own role.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            if_none_match: With "*", the record is only created. If it exists already, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/spaces/{space_id}/members/{user_id}",
            {
                "space_id": space_id,
                "user_id": user_id,
            },
            body={
                "role": role,
            },
            headers={
                "If-Match": if_match,
                "If-None-Match": if_none_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)

    def remove(
        self,
        space_id: str,
        user_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Remove a member from a space. A user who takes part in the platform can still take part in an open space.

        `DELETE /spaces/{space_id}/members/{user_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/spaces/{space_id}/members/{user_id}",
            {
                "space_id": space_id,
                "user_id": user_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)


class SpacesCapabilitiesResource(Resource):
    """The operations of `client.spaces.capabilities`."""

    def list(
        self,
        space_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[CapabilityList, Capability]:
        """List the capabilities of a space, in the order they were added.

        `GET /spaces/{space_id}/capabilities`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/spaces/{space_id}/capabilities",
            {
                "space_id": space_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, CapabilityList)

    def add(
        self,
        space_id: str,
        *,
        capability_key: str,
        settings: Mapping[str, Any] | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Capability:
        """Add a capability to a space. A space has at most 40.

        `POST /spaces/{space_id}/capabilities`

        Args:
            capability_key: A key that the caller chooses.
            settings: The default is `{}`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/spaces/{space_id}/capabilities",
            {
                "space_id": space_id,
            },
            body={
                "capabilityKey": capability_key,
                "settings": settings,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Capability)

    def replace(
        self,
        space_id: str,
        *,
        capabilities: Sequence[CapabilityCreate],
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> CapabilityList:
        """Replace all capabilities of a space, up to 40. The response lists them.

        `PUT /spaces/{space_id}/capabilities`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PUT",
            "/spaces/{space_id}/capabilities",
            {
                "space_id": space_id,
            },
            body={
                "capabilities": capabilities,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, CapabilityList)

    def get(
        self,
        space_id: str,
        capability_key: str,
        *,
        timeout: float | None = None,
    ) -> Capability:
        """Get a capability of a space.

        `GET /spaces/{space_id}/capabilities/{capability_key}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/spaces/{space_id}/capabilities/{capability_key}",
            {
                "space_id": space_id,
                "capability_key": capability_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Capability)

    def remove(
        self,
        space_id: str,
        capability_key: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Remove a capability from a space.

        `DELETE /spaces/{space_id}/capabilities/{capability_key}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/spaces/{space_id}/capabilities/{capability_key}",
            {
                "space_id": space_id,
                "capability_key": capability_key,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)


class SpacesResource(Resource):
    """The operations of `client.spaces`."""

    @cached_property
    def effective_modules(self) -> SpacesEffectiveModulesResource:
        """The operations of `client.spaces.effective_modules`."""
        return SpacesEffectiveModulesResource(self._requests)

    @cached_property
    def module_overrides(self) -> SpacesModuleOverridesResource:
        """The operations of `client.spaces.module_overrides`."""
        return SpacesModuleOverridesResource(self._requests)

    @cached_property
    def members(self) -> SpacesMembersResource:
        """The operations of `client.spaces.members`."""
        return SpacesMembersResource(self._requests)

    @cached_property
    def capabilities(self) -> SpacesCapabilitiesResource:
        """The operations of `client.spaces.capabilities`."""
        return SpacesCapabilitiesResource(self._requests)

    def create(
        self,
        *,
        platform_id: str,
        name: str,
        slug: str | Omitted | None = OMITTED,
        description: str | Omitted | None = OMITTED,
        visibility: Literal["open", "private"] | Omitted | None = OMITTED,
        position: int | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Space:
        """Create a space in a platform. A user who creates it becomes its admin.

        `POST /spaces`

        Args:
            platform_id: The platform that contains the space. It cannot be changed later.
            slug: Derived from the name if omitted.
            visibility: Only members and admins see a `private` space. The default is `"open"`.
            position: Position in lists; after all other spaces if omitted.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/spaces",
            body={
                "platformId": platform_id,
                "name": name,
                "slug": slug,
                "description": description,
                "visibility": visibility,
                "position": position,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Space)

    def get(
        self,
        space_id: str,
        *,
        timeout: float | None = None,
    ) -> Space:
        """Get a space.

        `GET /spaces/{space_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/spaces/{space_id}",
            {
                "space_id": space_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Space)

    def update(
        self,
        space_id: str,
        *,
        name: str | Omitted = OMITTED,
        slug: str | Omitted = OMITTED,
        description: str | Omitted | None = OMITTED,
        visibility: Literal["open", "private"] | Omitted | None = OMITTED,
        position: int | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Space:
        """Change a space. With position = null, it becomes the last one.

        `PATCH /spaces/{space_id}`

        Args:
            slug: The former slug becomes available at once.
            position: Null moves the space after all others.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/spaces/{space_id}",
            {
                "space_id": space_id,
            },
            body={
                "name": name,
                "slug": slug,
                "description": description,
                "visibility": visibility,
                "position": position,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Space)

    def delete(
        self,
        space_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a space with its contents, effective immediately. Its slug becomes available at once.

        `DELETE /spaces/{space_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/spaces/{space_id}",
            {
                "space_id": space_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def join(
        self,
        space_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Member:
        """Join an open space of a platform in which the caller takes part. A member keeps their role.

        `POST /spaces/{space_id}/join`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/spaces/{space_id}/join",
            {
                "space_id": space_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Member)

    def leave(
        self,
        space_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Leave a space. Without a membership of the space the problem is not_found.

        `POST /spaces/{space_id}/leave`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/spaces/{space_id}/leave",
            {
                "space_id": space_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def get_role(
        self,
        space_id: str,
        *,
        timeout: float | None = None,
    ) -> CallerRole:
        """Get the caller's role in a space.

        `GET /spaces/{space_id}/role`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/spaces/{space_id}/role",
            {
                "space_id": space_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, CallerRole)


class ProjectBlocksPlatformsResource(Resource):
    """The operations of `client.project_blocks.platforms`."""

    def list(
        self,
        project_block_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[PlatformSummaryList, PlatformSummaryListItem]:
        """List the caller's platforms that use a project block, in the order of the list of platforms.

        `GET /project-blocks/{project_block_id}/platforms`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/project-blocks/{project_block_id}/platforms",
            {
                "project_block_id": project_block_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, PlatformSummaryList)


class ProjectBlocksResource(Resource):
    """The operations of `client.project_blocks`."""

    @cached_property
    def platforms(self) -> ProjectBlocksPlatformsResource:
        """The operations of `client.project_blocks.platforms`."""
        return ProjectBlocksPlatformsResource(self._requests)


class TaxonomyNodesAttachmentsResource(Resource):
    """The operations of `client.taxonomy_nodes.attachments`."""

    def list(
        self,
        taxonomy_node_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[AttachmentList, Attachment]:
        """List the attachments of a node in the order of their creation, except those to spaces hidden from the
        caller.

        `GET /taxonomy-nodes/{taxonomy_node_id}/attachments`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/taxonomy-nodes/{taxonomy_node_id}/attachments",
            {
                "taxonomy_node_id": taxonomy_node_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, AttachmentList)

    def create(
        self,
        taxonomy_node_id: str,
        *,
        entity_type: str,
        entity_id: str,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Attachment:
        """Attach a node to an entity. Returns the existing attachment if there is one (200).

        `POST /taxonomy-nodes/{taxonomy_node_id}/attachments`

        Args:
            entity_type: Entities of the types `platform`, `space`, `site`, `page`, `research-output` and
                `research-artefact` must exist. Callers may use any other type for their own entities.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/taxonomy-nodes/{taxonomy_node_id}/attachments",
            {
                "taxonomy_node_id": taxonomy_node_id,
            },
            body={
                "entityType": entity_type,
                "entityId": entity_id,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Attachment)

    def get(
        self,
        taxonomy_node_id: str,
        attachment_id: str,
        *,
        timeout: float | None = None,
    ) -> Attachment:
        """Get an attachment of a node.

        `GET /taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}",
            {
                "taxonomy_node_id": taxonomy_node_id,
                "attachment_id": attachment_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Attachment)

    def delete(
        self,
        taxonomy_node_id: str,
        attachment_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Detach a node from an entity.

        `DELETE /taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}",
            {
                "taxonomy_node_id": taxonomy_node_id,
                "attachment_id": attachment_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)


class TaxonomyNodesResource(Resource):
    """The operations of `client.taxonomy_nodes`."""

    @cached_property
    def attachments(self) -> TaxonomyNodesAttachmentsResource:
        """The operations of `client.taxonomy_nodes.attachments`."""
        return TaxonomyNodesAttachmentsResource(self._requests)

    def create(
        self,
        *,
        platform_id: str,
        name: str,
        slug: str | Omitted | None = OMITTED,
        parent_id: str | Omitted | None = OMITTED,
        description: str | Omitted | None = OMITTED,
        alt_labels: Sequence[str] | Omitted | None = OMITTED,
        position: int | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Node:
        """Create a node as a root or below another node.

        `POST /taxonomy-nodes`

        Args:
            platform_id: The platform of the taxonomy. It cannot be changed later.
            slug: Derived from the name if omitted.
            parent_id: The parent node; a root if omitted.
            alt_labels: Other names under which the node is found. The default is `[]`.
            position: Position among the siblings; last if omitted.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/taxonomy-nodes",
            body={
                "platformId": platform_id,
                "name": name,
                "slug": slug,
                "parentId": parent_id,
                "description": description,
                "altLabels": alt_labels,
                "position": position,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Node)

    def get(
        self,
        taxonomy_node_id: str,
        *,
        timeout: float | None = None,
    ) -> Node:
        """Get a node.

        `GET /taxonomy-nodes/{taxonomy_node_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/taxonomy-nodes/{taxonomy_node_id}",
            {
                "taxonomy_node_id": taxonomy_node_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Node)

    def update(
        self,
        taxonomy_node_id: str,
        *,
        name: str | Omitted = OMITTED,
        slug: str | Omitted = OMITTED,
        parent_id: str | Omitted | None = OMITTED,
        description: str | Omitted | None = OMITTED,
        alt_labels: Sequence[str] | Omitted | None = OMITTED,
        position: int | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Node:
        """Change a node. Another parentId moves it with its subtree at once, and former paths continue to resolve.

        `PATCH /taxonomy-nodes/{taxonomy_node_id}`

        Args:
            slug: The former path continues to resolve to the node.
            position: Null moves the node after its siblings.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/taxonomy-nodes/{taxonomy_node_id}",
            {
                "taxonomy_node_id": taxonomy_node_id,
            },
            body={
                "name": name,
                "slug": slug,
                "parentId": parent_id,
                "description": description,
                "altLabels": alt_labels,
                "position": position,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Node)

    def delete(
        self,
        taxonomy_node_id: str,
        *,
        strategy: Literal["cascade", "reparent"] | Omitted = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a node without children and attachments, or with the given strategy for them.

        `DELETE /taxonomy-nodes/{taxonomy_node_id}`

        Args:
            strategy: `cascade` deletes the subtree. `reparent` moves the children, at most 25, to the parent.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/taxonomy-nodes/{taxonomy_node_id}",
            {
                "taxonomy_node_id": taxonomy_node_id,
            },
            query={
                "strategy": strategy,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)


class SitesPagesRevisionsResource(Resource):
    """The operations of `client.sites.pages.revisions`."""

    def list(
        self,
        site_id: str,
        page_id: str,
        *,
        include: Literal["names"] | Omitted = OMITTED,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[RevisionSummaryList, RevisionSummary]:
        """List the revisions of a page, newest first.

        `GET /sites/{site_id}/pages/{page_id}/revisions`

        Args:
            include: `names` adds the names of the organization's members and API keys whose ids are in the items,
                by id. Ids of others are omitted, such as those of former members.
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/pages/{page_id}/revisions",
            {
                "site_id": site_id,
                "page_id": page_id,
            },
            query={
                "include": include,
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, RevisionSummaryList)

    def get(
        self,
        site_id: str,
        page_id: str,
        revision_id: str,
        *,
        timeout: float | None = None,
    ) -> Revision:
        """Get a revision of a page.

        `GET /sites/{site_id}/pages/{page_id}/revisions/{revision_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/pages/{page_id}/revisions/{revision_id}",
            {
                "site_id": site_id,
                "page_id": page_id,
                "revision_id": revision_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Revision)

    def restore(
        self,
        site_id: str,
        page_id: str,
        revision_id: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Page:
        """Restore a revision of a page as its draft. The published revision does not change.

        `POST /sites/{site_id}/pages/{page_id}/revisions/{revision_id}/restore`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/sites/{site_id}/pages/{page_id}/revisions/{revision_id}/restore",
            {
                "site_id": site_id,
                "page_id": page_id,
                "revision_id": revision_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Page)


class SitesPagesResource(Resource):
    """The operations of `client.sites.pages`."""

    @cached_property
    def revisions(self) -> SitesPagesRevisionsResource:
        """The operations of `client.sites.pages.revisions`."""
        return SitesPagesRevisionsResource(self._requests)

    def list(
        self,
        site_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        status: Literal["draft", "scheduled", "published", "archived"] | Omitted = OMITTED,
        parent_id: str | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[PageSummaryList, PageSummary]:
        """List the pages of a site with their drafts, in order of creation or, with q, by title.

        `GET /sites/{site_id}/pages`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            parent_id: Only children of this page.
            q: Prefix of the title, ignoring case and accents. The pages are ordered by title then.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/pages",
            {
                "site_id": site_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
                "status": status,
                "parentId": parent_id,
                "q": q,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, PageSummaryList)

    def create(
        self,
        site_id: str,
        *,
        title: str,
        slug: str | Omitted | None = OMITTED,
        parent_id: str | Omitted | None = OMITTED,
        blocks: Sequence[Block] | Omitted | None = OMITTED,
        seo: SeoIn | Omitted | None = OMITTED,
        publish_at: str | Omitted | None = OMITTED,
        unpublish_at: str | Omitted | None = OMITTED,
        is_home: bool | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Page:
        """Create a page as a draft. Publish it, or set publishAt. The first page of a site is its home page.

        `POST /sites/{site_id}/pages`

        Args:
            slug: Derived from the title if omitted.
            parent_id: The parent page.
            blocks: Content. At most 256 KiB as JSON. The default is `[]`.
            publish_at: When the page is published automatically.
            unpublish_at: When the page is unpublished automatically.
            is_home: Whether the page is at `/`. The first page of a site always is. The default is `false`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/sites/{site_id}/pages",
            {
                "site_id": site_id,
            },
            body={
                "title": title,
                "slug": slug,
                "parentId": parent_id,
                "blocks": blocks,
                "seo": seo,
                "publishAt": publish_at,
                "unpublishAt": unpublish_at,
                "isHome": is_home,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Page)

    def get(
        self,
        site_id: str,
        page_id: str,
        *,
        timeout: float | None = None,
    ) -> Page:
        """Get a page with its draft.

        `GET /sites/{site_id}/pages/{page_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/pages/{page_id}",
            {
                "site_id": site_id,
                "page_id": page_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Page)

    def update(
        self,
        site_id: str,
        page_id: str,
        *,
        title: str | Omitted = OMITTED,
        slug: str | Omitted = OMITTED,
        parent_id: str | Omitted | None = OMITTED,
        blocks: Sequence[Block] | Omitted | None = OMITTED,
        seo: SeoIn | Omitted | None = OMITTED,
        publish_at: str | Omitted | None = OMITTED,
        unpublish_at: str | Omitted | None = OMITTED,
        is_home: bool | Omitted | None = OMITTED,
        revoke_previews: bool | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Page:
        """Change the draft of a page. The changes are not public until they are published.

        `PATCH /sites/{site_id}/pages/{page_id}`

        Args:
            slug: The published path does not change until the draft is published.
            unpublish_at: A time in the past unpublishes the page at once.
            revoke_previews: Whether to end all preview links of the page.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/sites/{site_id}/pages/{page_id}",
            {
                "site_id": site_id,
                "page_id": page_id,
            },
            body={
                "title": title,
                "slug": slug,
                "parentId": parent_id,
                "blocks": blocks,
                "seo": seo,
                "publishAt": publish_at,
                "unpublishAt": unpublish_at,
                "isHome": is_home,
                "revokePreviews": revoke_previews,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Page)

    def delete(
        self,
        site_id: str,
        page_id: str,
        *,
        strategy: Literal["cascade"] | Omitted = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a page with its revisions and, with cascade, its descendants. They disappear at once.

        `DELETE /sites/{site_id}/pages/{page_id}`

        Args:
            strategy: `cascade` deletes the descendants, too.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/sites/{site_id}/pages/{page_id}",
            {
                "site_id": site_id,
                "page_id": page_id,
            },
            query={
                "strategy": strategy,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def publish(
        self,
        site_id: str,
        page_id: str,
        *,
        revision_id: str | Omitted | None = OMITTED,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Page:
        """Publish the draft of a page, or another revision of it.

        `POST /sites/{site_id}/pages/{page_id}/publish`

        Args:
            revision_id: The revision; the draft if omitted.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/sites/{site_id}/pages/{page_id}/publish",
            {
                "site_id": site_id,
                "page_id": page_id,
            },
            body={
                "revisionId": revision_id,
            },
            headers={
                "If-Match": if_match,
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Page)

    def get_by_path(
        self,
        site_id: str,
        *,
        path: str | Omitted = OMITTED,
        draft: bool | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Page:
        """Get the published page at a path, as JSON or HTML.

        `GET /sites/{site_id}/pages/by-path`

        Args:
            path: Case and trailing slashes are ignored.
            draft: Whether the path is one of the drafts. Members only.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/pages/by-path",
            {
                "site_id": site_id,
            },
            query={
                "path": path,
                "draft": draft,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Page)

    def get_home(
        self,
        site_id: str,
        *,
        draft: bool | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Page:
        """Get the published page at /, as JSON or HTML. With draft, members get its draft.

        `GET /sites/{site_id}/pages/home`

        Args:
            draft: Whether to return the draft. Members only.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/pages/home",
            {
                "site_id": site_id,
            },
            query={
                "draft": draft,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Page)

    def preview(
        self,
        site_id: str,
        page_id: str,
        *,
        expires_in: int | Omitted = OMITTED,
        revision_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Preview:
        """Preview a page as JSON or HTML, and get a link that shows this preview to others.

        `GET /sites/{site_id}/pages/{page_id}/preview`

        Args:
            expires_in: Validity of the link in seconds. More than a day requires an editor.
            revision_id: The revision; the draft if omitted.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/pages/{page_id}/preview",
            {
                "site_id": site_id,
                "page_id": page_id,
            },
            query={
                "expiresIn": expires_in,
                "revisionId": revision_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Preview)

    def preview_public(
        self,
        site_id: str,
        page_id: str,
        *,
        token: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Preview:
        """Show a page by a preview link. Any invalid link is not_found.

        `GET /sites/{site_id}/pages/{page_id}/preview-public`

        Args:
            token: The token from `preview_url`.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/pages/{page_id}/preview-public",
            {
                "site_id": site_id,
                "page_id": page_id,
            },
            query={
                "token": token,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Preview)


class SitesNavigationResource(Resource):
    """The operations of `client.sites.navigation`."""

    def list(
        self,
        site_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[MenuSummaryList, MenuSummary]:
        """List the menus of a site without their items, in order of creation.

        `GET /sites/{site_id}/navigation`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/navigation",
            {
                "site_id": site_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, MenuSummaryList)

    def get(
        self,
        site_id: str,
        navigation_id: str,
        *,
        timeout: float | None = None,
    ) -> Menu:
        """Get a menu with the current paths of its pages.

        `GET /sites/{site_id}/navigation/{navigation_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/navigation/{navigation_id}",
            {
                "site_id": site_id,
                "navigation_id": navigation_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Menu)

    def put(
        self,
        site_id: str,
        navigation_id: str,
        *,
        name: str,
        items: Sequence[MenuItemIn] | Omitted | None = OMITTED,
        if_match: str | None = None,
        if_none_match: str | None = None,
        timeout: float | None = None,
    ) -> Menu:
        """Create or replace a menu. You choose its id. A site has at most 100 menus.

        `PUT /sites/{site_id}/navigation/{navigation_id}`

        Args:
            items: At most three levels deep, 200 in all, and 64 KiB as JSON. The default is `[]`.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            if_none_match: With "*", the record is only created. If it exists already, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PUT",
            "/sites/{site_id}/navigation/{navigation_id}",
            {
                "site_id": site_id,
                "navigation_id": navigation_id,
            },
            body={
                "name": name,
                "items": items,
            },
            headers={
                "If-Match": if_match,
                "If-None-Match": if_none_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Menu)


class SitesRedirectsResource(Resource):
    """The operations of `client.sites.redirects`."""

    def list(
        self,
        site_id: str,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[RedirectList, Redirect]:
        """List the redirects of a site in order of creation, including those of moved pages.

        `GET /sites/{site_id}/redirects`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/redirects",
            {
                "site_id": site_id,
            },
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, RedirectList)

    def create(
        self,
        site_id: str,
        *,
        from_path: str,
        to_path: str | Omitted | None = OMITTED,
        status_code: Literal[301, 302, 307, 308] | Omitted | None = OMITTED,
        enabled: bool | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Redirect:
        """Create a redirect of one path or, with /* at the end, of all paths below; the longest match wins.

        `POST /sites/{site_id}/redirects`

        Args:
            from_path: A path of the site. `/a/*` matches everything below `/a`. Case is ignored.
            to_path: A path of the site, or a web address. `:splat` stands for what the `*` matched. The default
                is `"/"`.
            status_code: 301 and 308 are permanent. The default is `301`.
            enabled: The default is `true`.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/sites/{site_id}/redirects",
            {
                "site_id": site_id,
            },
            body={
                "fromPath": from_path,
                "toPath": to_path,
                "statusCode": status_code,
                "enabled": enabled,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Redirect)

    def get(
        self,
        site_id: str,
        redirect_id: str,
        *,
        timeout: float | None = None,
    ) -> Redirect:
        """Get a redirect.

        `GET /sites/{site_id}/redirects/{redirect_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/redirects/{redirect_id}",
            {
                "site_id": site_id,
                "redirect_id": redirect_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Redirect)

    def update(
        self,
        site_id: str,
        redirect_id: str,
        *,
        from_path: str | Omitted = OMITTED,
        to_path: str | Omitted | None = OMITTED,
        status_code: Literal[301, 302, 307, 308] | Omitted | None = OMITTED,
        enabled: bool | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Redirect:
        """Change a redirect. A disabled redirect has no effect.

        `PATCH /sites/{site_id}/redirects/{redirect_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/sites/{site_id}/redirects/{redirect_id}",
            {
                "site_id": site_id,
                "redirect_id": redirect_id,
            },
            body={
                "fromPath": from_path,
                "toPath": to_path,
                "statusCode": status_code,
                "enabled": enabled,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Redirect)

    def delete(
        self,
        site_id: str,
        redirect_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a redirect. Deleting one of a moved page also removes the redirects of the former paths below it.

        `DELETE /sites/{site_id}/redirects/{redirect_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/sites/{site_id}/redirects/{redirect_id}",
            {
                "site_id": site_id,
                "redirect_id": redirect_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)


class SitesResource(Resource):
    """The operations of `client.sites`."""

    @cached_property
    def pages(self) -> SitesPagesResource:
        """The operations of `client.sites.pages`."""
        return SitesPagesResource(self._requests)

    @cached_property
    def navigation(self) -> SitesNavigationResource:
        """The operations of `client.sites.navigation`."""
        return SitesNavigationResource(self._requests)

    @cached_property
    def redirects(self) -> SitesRedirectsResource:
        """The operations of `client.sites.redirects`."""
        return SitesRedirectsResource(self._requests)

    def get(
        self,
        site_id: str,
        *,
        timeout: float | None = None,
    ) -> Site:
        """Get a site.

        `GET /sites/{site_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}",
            {
                "site_id": site_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Site)

    def update(
        self,
        site_id: str,
        *,
        name: str | Omitted = OMITTED,
        slug: str | Omitted = OMITTED,
        description: str | Omitted | None = OMITTED,
        default_locale: str | Omitted | None = OMITTED,
        platform_id: str | Omitted | None = OMITTED,
        robots: RobotsIn | Omitted | None = OMITTED,
        status: Literal["draft", "published"] | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Site:
        """Change a site. status = published publishes it, and draft unpublishes it.

        `PATCH /sites/{site_id}`

        Args:
            slug: The slug is part of the host. The former host redirects for 90 days.
            status: `published` shows the site to everybody.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/sites/{site_id}",
            {
                "site_id": site_id,
            },
            body={
                "name": name,
                "slug": slug,
                "description": description,
                "defaultLocale": default_locale,
                "platformId": platform_id,
                "robots": robots,
                "status": status,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Site)

    def delete(
        self,
        site_id: str,
        *,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a site with its contents, effective immediately. Another site can be assigned to its platform.

        `DELETE /sites/{site_id}`

        Args:
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "DELETE",
            "/sites/{site_id}",
            {
                "site_id": site_id,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        self._requests.send(call)

    def resolve(
        self,
        *,
        host: str,
        path: str | Omitted = OMITTED,
        page: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Visit:
        """Find the content at a host and path: a page of the site, a redirect, or nothing.

        `GET /sites/resolve`

        Args:
            host: The host of the visit, with or without a port.
            page: Number of a part if the path is `/sitemap.xml`. HTML only.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/resolve",
            query={
                "host": host,
                "path": path,
                "page": page,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Visit)

    def get_robots_txt(
        self,
        site_id: str,
        *,
        timeout: float | None = None,
    ) -> str:
        """Get the robots.txt of a site. It disallows everything until the site is published.

        `GET /sites/{site_id}/robots.txt`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/robots.txt",
            {
                "site_id": site_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_text(call)

    def get_sitemap(
        self,
        site_id: str,
        *,
        page: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> str:
        """Get the sitemap of a published site: its indexable pages and their last publication.

        `GET /sites/{site_id}/sitemap.xml`

        Args:
            page: Number of a part; the sitemap, or the index of its parts, if omitted.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/sites/{site_id}/sitemap.xml",
            {
                "site_id": site_id,
            },
            query={
                "page": page,
            },
            timeout=timeout,
        )
        return self._requests.send_for_text(call)


class MarketingLeadsStatusesResource(Resource):
    """The operations of `client.marketing_leads.statuses`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[LeadStatusOptionList, LeadStatusOption]:
        """List the statuses that a lead can have, and which can follow which.

        `GET /marketing-leads/statuses`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/marketing-leads/statuses",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, LeadStatusOptionList)


class MarketingLeadsResource(Resource):
    """The operations of `client.marketing_leads`."""

    @cached_property
    def statuses(self) -> MarketingLeadsStatusesResource:
        """The operations of `client.marketing_leads.statuses`."""
        return MarketingLeadsStatusesResource(self._requests)

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        sort: Literal["createdAt", "-createdAt", "name", "-name"] | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        status: Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]
        | Omitted = OMITTED,
        email: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[LeadList, Lead]:
        """List the leads, newest first, optionally with a status, an email address, or both.

        `GET /marketing-leads`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            sort: `createdAt` for the oldest first, `-createdAt` for the newest first, `name` for alphabetical
                order, `-name` for the reverse. If omitted, the usual order or, with `q`, alphabetical order.
            q: Only records with a name, or a word of one, that begins with this text. Words are separated by
                spaces and hyphens. A long name is found by its first words only. Case, accents and repeated
                spaces do not matter. The result is in alphabetical order, so `sort` can only be `name` or
                `-name`.
            status: Only leads with this status.
            email: Only leads with this email address, compared case-insensitively.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/marketing-leads",
            query={
                "cursor": cursor,
                "limit": limit,
                "sort": sort,
                "q": q,
                "status": status,
                "email": email,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, LeadList)

    def create(
        self,
        *,
        contact_name: str,
        contact_email: str,
        company_name: str | Omitted | None = OMITTED,
        message: str | Omitted | None = OMITTED,
        source: str | Omitted | None = OMITTED,
        consent: ConsentGiven | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Lead:
        """Create a lead. Submissions from the same email address within 24 hours are merged into it.

        `POST /marketing-leads`

        Args:
            contact_email: Compared case-insensitively.
            source: Where the lead came from.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/marketing-leads",
            body={
                "contactName": contact_name,
                "contactEmail": contact_email,
                "companyName": company_name,
                "message": message,
                "source": source,
                "consent": consent,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Lead)

    def get(
        self,
        lead_id: str,
        *,
        timeout: float | None = None,
    ) -> Lead:
        """Get a lead by its id, or by the id of a submission that was merged into it.

        `GET /marketing-leads/{lead_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/marketing-leads/{lead_id}",
            {
                "lead_id": lead_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Lead)

    def change_status(
        self,
        lead_id: str,
        *,
        status: Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]
        | Omitted = OMITTED,
        note: str | Omitted | None = OMITTED,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> Lead:
        """Change the status of a lead and add a note. A status that can't follow the current one is
        invalid_transition.

        `PATCH /marketing-leads/{lead_id}/status`

        Args:
            note: Added to the notes of the lead.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/marketing-leads/{lead_id}/status",
            {
                "lead_id": lead_id,
            },
            body={
                "status": status,
                "note": note,
            },
            headers={
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Lead)


class PublicLeadsStatusesResource(Resource):
    """The operations of `client.public.leads.statuses`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[LeadStatusOptionList, LeadStatusOption]:
        """List the statuses that a lead can have, and which can follow which.

        `GET /public/leads/statuses`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/public/leads/statuses",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, LeadStatusOptionList)


class PublicLeadsResource(Resource):
    """The operations of `client.public.leads`."""

    @cached_property
    def statuses(self) -> PublicLeadsStatusesResource:
        """The operations of `client.public.leads.statuses`."""
        return PublicLeadsStatusesResource(self._requests)

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        lead_token: str | None = None,
        timeout: float | None = None,
    ) -> PageIterator[PublicLeadList, PublicLead]:
        """List the submission to which the header Lead-Token gives access. Without the header the list is empty.

        `GET /public/leads`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            lead_token: The token from the response that created the lead.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/public/leads",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            headers={
                "Lead-Token": lead_token,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, PublicLeadList)

    def create(
        self,
        *,
        contact_name: str,
        contact_email: str,
        company_name: str | Omitted | None = OMITTED,
        message: str | Omitted | None = OMITTED,
        source: str | Omitted | None = OMITTED,
        consent: ConsentGiven | Omitted | None = OMITTED,
        website: str | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> PublicLead:
        """Submit a lead. The response contains the token that gives access to it later, only this once.

        `POST /public/leads`

        Args:
            contact_email: Compared case-insensitively.
            source: Where the lead came from.
            website: Honeypot field against bots: hide it from people and leave it empty.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/public/leads",
            body={
                "contactName": contact_name,
                "contactEmail": contact_email,
                "companyName": company_name,
                "message": message,
                "source": source,
                "consent": consent,
                "website": website,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, PublicLead)

    def get(
        self,
        lead_id: str,
        *,
        lead_token: str,
        timeout: float | None = None,
    ) -> PublicLead:
        """Get a submission and its status, with the header Lead-Token.

        `GET /public/leads/{lead_id}`

        Args:
            lead_token: The token from the response that created the lead.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/public/leads/{lead_id}",
            {
                "lead_id": lead_id,
            },
            headers={
                "Lead-Token": lead_token,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, PublicLead)

    def change_status(
        self,
        lead_id: str,
        *,
        status: Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]
        | Omitted = OMITTED,
        lead_token: str,
        if_match: str | None = None,
        timeout: float | None = None,
    ) -> PublicLead:
        """Withdraw a submission, or undo the withdrawal, which makes it new. Requires the header Lead-Token.

        `PATCH /public/leads/{lead_id}/status`

        Args:
            status: `withdrawn`, or `new` to undo a withdrawal.
            lead_token: The token from the response that created the lead.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PATCH",
            "/public/leads/{lead_id}/status",
            {
                "lead_id": lead_id,
            },
            body={
                "status": status,
            },
            headers={
                "Lead-Token": lead_token,
                "If-Match": if_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, PublicLead)


class PublicResource(Resource):
    """The operations of `client.public`."""

    @cached_property
    def leads(self) -> PublicLeadsResource:
        """The operations of `client.public.leads`."""
        return PublicLeadsResource(self._requests)


class ResearchArtefactsResource(Resource):
    """The operations of `client.research.artefacts`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        researcher_id: str | Omitted = OMITTED,
        source: Literal["orcid", "openalex", "dblp"] | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ArtefactList, Artefact]:
        """List the records of the sources, in the order in which they were first fetched.

        `GET /research/artefacts`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            researcher_id: Only of this researcher.
            source: Only from this source.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/research/artefacts",
            query={
                "cursor": cursor,
                "limit": limit,
                "researcherId": researcher_id,
                "source": source,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ArtefactList)

    def get(
        self,
        artefact_id: str,
        *,
        timeout: float | None = None,
    ) -> Artefact:
        """Get a source's record of a work.

        `GET /research/artefacts/{artefact_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/research/artefacts/{artefact_id}",
            {
                "artefact_id": artefact_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Artefact)


class ResearchJobsResource(Resource):
    """The operations of `client.research.jobs`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[ResearchJobList, ResearchJob]:
        """List the imports, reconciliations and backfills that the caller has started, newest first.

        `GET /research/jobs`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/research/jobs",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, ResearchJobList)

    def get(
        self,
        job_id: str,
        *,
        timeout: float | None = None,
    ) -> ResearchJob:
        """Get an import, a reconciliation or a backfill, and its progress. It is available to its caller for 30
        days.

        `GET /research/jobs/{job_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/research/jobs/{job_id}",
            {
                "job_id": job_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ResearchJob)


class ResearchOutputsResource(Resource):
    """The operations of `client.research.outputs`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        researcher_id: str | Omitted = OMITTED,
        venue_id: str | Omitted = OMITTED,
        year: int | Omitted = OMITTED,
        doi: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[WorkList, Work]:
        """List works, in the order in which they were first reconciled.

        `GET /research/outputs`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            researcher_id: Only of this researcher.
            venue_id: Only at this venue.
            year: Only of this year.
            doi: Only with this DOI, with or without its URL.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/research/outputs",
            query={
                "cursor": cursor,
                "limit": limit,
                "researcherId": researcher_id,
                "venueId": venue_id,
                "year": year,
                "doi": doi,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, WorkList)

    def get(
        self,
        output_id: str,
        *,
        timeout: float | None = None,
    ) -> Work:
        """Get a work. A work that was merged into another redirects to it.

        `GET /research/outputs/{output_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/research/outputs/{output_id}",
            {
                "output_id": output_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Work)


class ResearchVenuesResource(Resource):
    """The operations of `client.research.venues`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[VenueList, Venue]:
        """List the venues whose editions can be backfilled, with the number of outputs of each edition.

        `GET /research/venues`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page. If omitted, all.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/research/venues",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, VenueList)


class ResearchResource(Resource):
    """The operations of `client.research`."""

    @cached_property
    def artefacts(self) -> ResearchArtefactsResource:
        """The operations of `client.research.artefacts`."""
        return ResearchArtefactsResource(self._requests)

    @cached_property
    def jobs(self) -> ResearchJobsResource:
        """The operations of `client.research.jobs`."""
        return ResearchJobsResource(self._requests)

    @cached_property
    def outputs(self) -> ResearchOutputsResource:
        """The operations of `client.research.outputs`."""
        return ResearchOutputsResource(self._requests)

    @cached_property
    def venues(self) -> ResearchVenuesResource:
        """The operations of `client.research.venues`."""
        return ResearchVenuesResource(self._requests)

    def backfill(
        self,
        venue_edition: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ResearchJob:
        """Fetch all records of DBLP for an edition of a venue, such as neurips-2025, and reconcile them.

        `POST /research/backfill/{venue_edition}`

        Args:
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/research/backfill/{venue_edition}",
            {
                "venue_edition": venue_edition,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ResearchJob)

    def import_(
        self,
        *,
        researcher_id: str,
        organization_id: str | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ResearchJob:
        """Fetch the works of a researcher from ORCID and OpenAlex.

        `POST /research/import`

        Args:
            researcher_id: An ORCID iD, or an OpenAlex author id such as A5023888391, with or without its URL.
            organization_id: The organization of the library into which to import; the caller's own library if
                omitted.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/research/import",
            body={
                "researcherId": researcher_id,
                "organizationId": organization_id,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ResearchJob)

    def reconcile(
        self,
        *,
        organization_id: str | Omitted | None = OMITTED,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> ResearchJob:
        """Build works from artefacts that share a DOI or an id of arXiv, PubMed or OpenAlex.

        `POST /research/reconcile`

        Args:
            organization_id: The organization of the library; the caller's own library if omitted.
            idempotency_key: A key with which other processes can repeat the request. By default, each call has
                one of its own.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "POST",
            "/research/reconcile",
            body={
                "organizationId": organization_id,
            },
            headers={
                "Idempotency-Key": idempotency_key,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ResearchJob)


class ReferenceCountriesResource(Resource):
    """The operations of `client.reference.countries`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[CountryList, Country]:
        """List the countries of ISO 3166-1 by id. q matches their names in their own languages too.

        `GET /reference/countries`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            q: Prefix of a name or code, ignoring case and accents.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/countries",
            query={
                "cursor": cursor,
                "limit": limit,
                "q": q,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, CountryList)

    def get(
        self,
        country_id: str,
        *,
        timeout: float | None = None,
    ) -> Country:
        """Get a country.

        `GET /reference/countries/{country_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/countries/{country_id}",
            {
                "country_id": country_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Country)


class ReferenceCurrenciesResource(Resource):
    """The operations of `client.reference.currencies`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        country_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[CurrencyList, Currency]:
        """List the currencies of ISO 4217 by id. The currencies of a country are its legal tender.

        `GET /reference/currencies`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            q: Prefix of a name or code, ignoring case and accents.
            country_id: Only records of this country (ISO 3166-1 alpha-2).
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/currencies",
            query={
                "cursor": cursor,
                "limit": limit,
                "q": q,
                "countryId": country_id,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, CurrencyList)

    def get(
        self,
        currency_id: str,
        *,
        timeout: float | None = None,
    ) -> Currency:
        """Get a currency.

        `GET /reference/currencies/{currency_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/currencies/{currency_id}",
            {
                "currency_id": currency_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Currency)


class ReferenceLanguagesResource(Resource):
    """The operations of `client.reference.languages`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        country_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[LanguageList, Language]:
        """List the languages of ISO 639-3 by id. The languages of a country are those spoken there.

        `GET /reference/languages`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            q: Prefix of a name or code, ignoring case and accents.
            country_id: Only records of this country (ISO 3166-1 alpha-2).
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/languages",
            query={
                "cursor": cursor,
                "limit": limit,
                "q": q,
                "countryId": country_id,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, LanguageList)

    def get(
        self,
        language_id: str,
        *,
        timeout: float | None = None,
    ) -> Language:
        """Get a language.

        `GET /reference/languages/{language_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/languages/{language_id}",
            {
                "language_id": language_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Language)


class ReferenceTimezonesResource(Resource):
    """The operations of `client.reference.timezones`."""

    def list(
        self,
        *,
        at: str | Omitted = OMITTED,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        country_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[TimezoneList, Timezone]:
        """List the IANA time zones by id, including former names. at adds their offsets at a given time.

        `GET /reference/timezones`

        Args:
            at: Return the offsets at this time: RFC 3339 with an offset, in the years 2000 to 2037.
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            q: Prefix of a name or code, ignoring case and accents.
            country_id: Only records of this country (ISO 3166-1 alpha-2).
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/timezones",
            query={
                "at": at,
                "cursor": cursor,
                "limit": limit,
                "q": q,
                "countryId": country_id,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, TimezoneList)

    def get(
        self,
        timezone_id: str,
        *,
        at: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> Timezone:
        """Get a time zone by its id, or by its name with / as %2F. at adds its offset at a given time.

        `GET /reference/timezones/{timezone_id}`

        Args:
            at: Return the offsets at this time: RFC 3339 with an offset, in the years 2000 to 2037.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/timezones/{timezone_id}",
            {
                "timezone_id": timezone_id,
            },
            query={
                "at": at,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, Timezone)


class ReferenceCitiesResource(Resource):
    """The operations of `client.reference.cities`."""

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        q: str | Omitted = OMITTED,
        country_id: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[CityList, City]:
        """List the cities of the world, the largest first. q matches their names in other languages too.

        `GET /reference/cities`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            q: Prefix of a name or code, ignoring case and accents.
            country_id: Only records of this country (ISO 3166-1 alpha-2).
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/cities",
            query={
                "cursor": cursor,
                "limit": limit,
                "q": q,
                "countryId": country_id,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, CityList)

    def get(
        self,
        city_id: str,
        *,
        timeout: float | None = None,
    ) -> City:
        """Get a city by its GeoNames id.

        `GET /reference/cities/{city_id}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/reference/cities/{city_id}",
            {
                "city_id": city_id,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, City)


class ReferenceResource(Resource):
    """The operations of `client.reference`."""

    @cached_property
    def countries(self) -> ReferenceCountriesResource:
        """The operations of `client.reference.countries`."""
        return ReferenceCountriesResource(self._requests)

    @cached_property
    def currencies(self) -> ReferenceCurrenciesResource:
        """The operations of `client.reference.currencies`."""
        return ReferenceCurrenciesResource(self._requests)

    @cached_property
    def languages(self) -> ReferenceLanguagesResource:
        """The operations of `client.reference.languages`."""
        return ReferenceLanguagesResource(self._requests)

    @cached_property
    def timezones(self) -> ReferenceTimezonesResource:
        """The operations of `client.reference.timezones`."""
        return ReferenceTimezonesResource(self._requests)

    @cached_property
    def cities(self) -> ReferenceCitiesResource:
        """The operations of `client.reference.cities`."""
        return ReferenceCitiesResource(self._requests)


class StatusResource(Resource):
    """The operations of `client.status`."""

    def get(
        self,
        *,
        timeout: float | None = None,
    ) -> ServiceStatus:
        """Get the status of the service and the keys that sign its checkpoints.

        `GET /status`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/status",
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ServiceStatus)


class EventTypesResource(Resource):
    """The operations of `client.event_types`."""

    def get(
        self,
        event_type: str,
        *,
        version: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> EventType:
        """Get an event type with the schema of its data, an example, and the versions of the schema.

        `GET /event-types/{event_type}`

        Args:
            version: A version of the schema. If omitted, the latest one.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/event-types/{event_type}",
            {
                "event_type": event_type,
            },
            query={
                "version": version,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, EventType)

    def put(
        self,
        event_type: str,
        *,
        description: str,
        sentence: str,
        schema: Mapping[str, Any],
        deprecated: bool | Omitted | None = OMITTED,
        if_match: str | None = None,
        if_none_match: str | None = None,
        timeout: float | None = None,
    ) -> EventType:
        """Declare an event type of your own application (201), or replace its fields (200).

        `PUT /event-types/{event_type}`

        Args:
            description: When the event occurs.
            sentence: The text of chat messages, up to 200 characters. `{actor}` and `{target}` stand for names,
                and `{data.amount}` for the property `amount` of the data, which `properties` of the schema must
                contain.
            schema: JSON Schema (2020-12) of the event's `data`, up to 32 KiB.
            deprecated: Whether programs should stop writing such events. They are still accepted. The default is
                `false`.
            if_match: The ETag of the record as you read it. If it has changed since, PreconditionFailed is
                raised.
            if_none_match: With "*", the record is only created. If it exists already, PreconditionFailed is
                raised.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "PUT",
            "/event-types/{event_type}",
            {
                "event_type": event_type,
            },
            body={
                "description": description,
                "sentence": sentence,
                "schema": schema,
                "deprecated": deprecated,
            },
            headers={
                "If-Match": if_match,
                "If-None-Match": if_none_match,
            },
            timeout=timeout,
        )
        return self._requests.send_for_record(call, EventType)

    def list(
        self,
        *,
        cursor: str | Omitted = OMITTED,
        limit: int | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> PageIterator[EventTypeList, EventType]:
        """List all event types, in the order of their names.

        `GET /event-types`

        Args:
            cursor: Continue a list: `next_cursor` of the previous response.
            limit: Items per page.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/event-types",
            query={
                "cursor": cursor,
                "limit": limit,
            },
            timeout=timeout,
        )
        return PageIterator(self._requests, call, EventTypeList)


class SignedLinkResource(Resource):
    """The operations of `client.signed_link`."""

    def get(
        self,
        *,
        timeout: float | None = None,
    ) -> SignedLink:
        """Get what a signed link is about: the organization, the record, who created the link, and when it expires.

        `GET /signed-link`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/signed-link",
            timeout=timeout,
        )
        return self._requests.send_for_record(call, SignedLink)


class DocumentationResource(Resource):
    """The operations of `client.documentation`."""

    def get_links(
        self,
        *,
        timeout: float | None = None,
    ) -> ServiceLinks:
        """Get links to the documentation and to the first operations to call. Browsers are redirected to /docs.

        `GET /`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/",
            timeout=timeout,
        )
        return self._requests.send_for_record(call, ServiceLinks)

    def get_openapi_document(
        self,
        *,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """Get the OpenAPI 3.1 document of this API.

        `GET /openapi.json`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/openapi.json",
            timeout=timeout,
        )
        return self._requests.send_for_json(call)

    def get(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        """Get the first page of the documentation: the API reference, and the guides beside it.

        `GET /docs`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/docs",
            timeout=timeout,
        )
        return self._requests.send_for_text(call)

    def get_asset(
        self,
        asset: str,
        *,
        v: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> str:
        """Get a page of the documentation, such as tour, or a file: its Markdown, a script, a stylesheet or an
        image.

        `GET /docs/{asset}`

        Args:
            v: The file's fingerprint. With it, the response can be cached for a year.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/docs/{asset}",
            {
                "asset": asset,
            },
            query={
                "v": v,
            },
            timeout=timeout,
        )
        return self._requests.send_for_text(call)

    def get_llms_text(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        """Get a list of the pages of the documentation for language models (llmstxt.org).

        `GET /llms.txt`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/llms.txt",
            timeout=timeout,
        )
        return self._requests.send_for_text(call)


class ConsoleResource(Resource):
    """The operations of `client.console`."""

    def get(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        """Get the console, in which people use this API in a browser.

        `GET /console`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/console",
            timeout=timeout,
        )
        return self._requests.send_for_text(call)

    def get_asset(
        self,
        asset: str,
        *,
        timeout: float | None = None,
    ) -> str:
        """Get a file of the console: a script, a stylesheet or an image.

        `GET /console/{asset}`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/console/{asset}",
            {
                "asset": asset,
            },
            timeout=timeout,
        )
        return self._requests.send_for_text(call)

    def get_invitation_page(
        self,
        *,
        token: str | Omitted = OMITTED,
        timeout: float | None = None,
    ) -> str:
        """Get the page on which an invited person accepts or declines. Its address has the invitation's token.

        `GET /invitation`

        Args:
            token: The token of the invitation, as its `accept_url` contains it.
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/invitation",
            query={
                "token": token,
            },
            timeout=timeout,
        )
        return self._requests.send_for_text(call)

    def get_domain_setup_page(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        """Get the page of a signed link to a custom domain: the DNS records that it needs, and a check of them.

        `GET /domain-setup`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/domain-setup",
            timeout=timeout,
        )
        return self._requests.send_for_text(call)

    def get_webhook_portal_page(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        """Get the page of a signed link to a webhook: its deliveries, retries, tests and the rotation of its secret.

        `GET /webhook-portal`

        Args:
            timeout: The time for each attempt, in seconds, in place of that of the client.
        """
        call = Call(
            "GET",
            "/webhook-portal",
            timeout=timeout,
        )
        return self._requests.send_for_text(call)


class Resources(Resource):
    """All resources of the API."""

    @cached_property
    def organizations(self) -> OrganizationsResource:
        """The operations of `client.organizations`."""
        return OrganizationsResource(self._requests)

    @cached_property
    def me(self) -> MeResource:
        """The operations of `client.me`."""
        return MeResource(self._requests)

    @cached_property
    def anchors(self) -> AnchorsResource:
        """The operations of `client.anchors`."""
        return AnchorsResource(self._requests)

    @cached_property
    def system(self) -> SystemResource:
        """The operations of `client.system`."""
        return SystemResource(self._requests)

    @cached_property
    def platforms(self) -> PlatformsResource:
        """The operations of `client.platforms`."""
        return PlatformsResource(self._requests)

    @cached_property
    def spaces(self) -> SpacesResource:
        """The operations of `client.spaces`."""
        return SpacesResource(self._requests)

    @cached_property
    def project_blocks(self) -> ProjectBlocksResource:
        """The operations of `client.project_blocks`."""
        return ProjectBlocksResource(self._requests)

    @cached_property
    def taxonomy_nodes(self) -> TaxonomyNodesResource:
        """The operations of `client.taxonomy_nodes`."""
        return TaxonomyNodesResource(self._requests)

    @cached_property
    def sites(self) -> SitesResource:
        """The operations of `client.sites`."""
        return SitesResource(self._requests)

    @cached_property
    def marketing_leads(self) -> MarketingLeadsResource:
        """The operations of `client.marketing_leads`."""
        return MarketingLeadsResource(self._requests)

    @cached_property
    def public(self) -> PublicResource:
        """The operations of `client.public`."""
        return PublicResource(self._requests)

    @cached_property
    def research(self) -> ResearchResource:
        """The operations of `client.research`."""
        return ResearchResource(self._requests)

    @cached_property
    def reference(self) -> ReferenceResource:
        """The operations of `client.reference`."""
        return ReferenceResource(self._requests)

    @cached_property
    def status(self) -> StatusResource:
        """The operations of `client.status`."""
        return StatusResource(self._requests)

    @cached_property
    def event_types(self) -> EventTypesResource:
        """The operations of `client.event_types`."""
        return EventTypesResource(self._requests)

    @cached_property
    def signed_link(self) -> SignedLinkResource:
        """The operations of `client.signed_link`."""
        return SignedLinkResource(self._requests)

    @cached_property
    def documentation(self) -> DocumentationResource:
        """The operations of `client.documentation`."""
        return DocumentationResource(self._requests)

    @cached_property
    def console(self) -> ConsoleResource:
        """The operations of `client.console`."""
        return ConsoleResource(self._requests)
