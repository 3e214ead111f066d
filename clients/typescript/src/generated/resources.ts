// The resources of the API. `make clients` writes this file.

import type { operations, Acceptance, AnchorList, ApiKey, ApiKeyCreate, ApiKeyList, ApiKeyRotation, Artefact, ArtefactList, Attachment, AttachmentCreate, AttachmentList, AuditEntry, AuditEntryList, AuditExport, AuditExportCreate, AuditExportList, CallerRole, CapabilitiesPut, Capability, CapabilityCreate, CapabilityList, Channel, ChannelCreate, ChannelList, ChannelPatch, City, CityList, Config, ConsistencyProof, Country, CountryList, CreatedEvents, Currency, CurrencyList, CustomDomain, CustomDomainIn, DeadLetters, Delivery, DeliveryDetail, DeliveryList, EffectiveModuleList, EntryProof, Erasure, ErasureCreate, ErasureList, EventBatch, EventIn, EventType, EventTypeList, EventTypePut, FoundOrganizationList, HomePatch, ImportCreate, IntegrityReport, Invitation, InvitationAnswer, InvitationCreate, InvitationDecision, InvitationList, InvitationOfCallerList, KeyRotation, Language, LanguageList, Lead, LeadCreate, LeadList, LeadStatusOptionList, LeadStatusPatch, LogStreamCreate, LogStreamDetail, LogStreamDetailList, LogStreamPatch, LogVerification, LogVerificationList, Me, Member, MemberList, MemberPatch, Menu, MenuPut, MenuSummaryList, MigrationList, MigrationsHealth, ModuleList, ModulesPatch, NavigationPatch, NewSignedLink, Node, NodeCreate, NodeList, NodePatch, OneClick, Organization, OrganizationCreate, OrganizationList, OrganizationPatch, OrganizationSummary, OverrideWithEffect, OverrideWithEffectList, OverrideWrite, OverridesPut, OwnershipTransfer, Page, PageCreate, PagePatch, PagePublication, PageSummaryList, Platform, PlatformCreate, PlatformDomainList, PlatformMemberPatch, PlatformPatch, PlatformSummaryList, Preview, ProjectBlockList, ProjectBlocksPatch, PublicLead, PublicLeadCreate, PublicLeadList, PublicLeadStatusPatch, Publication, ReconcileCreate, Reconciliation, ReconciliationList, Redirect, RedirectCreate, RedirectList, RedirectPatch, Redrive, RedriveCreate, RedriveList, Replay, ReplayCreate, ReplayList, ResearchJob, ResearchJobList, ResolveRequest, Resolved, ResolvedConfig, Revision, RevisionSummaryList, RolePatch, SecretRotation, ServiceKey, ServiceKeyCreate, ServiceKeyList, ServiceLinks, ServiceStatus, SignedLink, Site, SiteCreate, SiteList, SitePatch, Space, SpaceCreate, SpaceList, SpacePatch, Subscription, SystemTags, SystemTagsCreate, ThemePatch, Timezone, TimezoneList, Tree, Trial, UpdatedModuleList, VenueList, Visit, Webhook, WebhookCreate, WebhookList, WebhookPatch, WebhookStatistics, Work, WorkList } from './schema.ts';
import type { Call, ListCall } from '../pagination.ts';
import type { CallOptions, ChangeOptions, ConditionalOptions, CreateOnlyOptions, CreateOptions, LeadOptions, ReadOptions } from '../options.ts';

/** The version of the API for which this client is made. */
export const API_VERSION = '2026-11-20';

/** The parameters in the query of an operation. */
export type QueryOf<Id extends keyof operations> = AllowUndefined<NonNullable<operations[Id]['parameters']['query']>>;

/** Optional parameters can be undefined, and are then not sent. */
type AllowUndefined<Query> = {
  [Name in keyof Query]: object extends Pick<Query, Name> ? Query[Name] | undefined : Query[Name];
};

/** The operations of `organizations.members`. */
export interface OrganizationsMembersResource {
  /** List the members of an organization, in the order in which they joined. `GET /organizations/{organization_id}/members` */
  list(organizationId: string, query?: QueryOf<'list_organization_members'>, options?: ReadOptions): ListCall<MemberList>;
  list(organizationId: string, query: QueryOf<'list_organization_members'> | undefined, options: ConditionalOptions): Call<MemberList | undefined>;
  /** Get a member of an organization. `GET /organizations/{organization_id}/members/{user_id}` */
  get(organizationId: string, userId: string, options?: ReadOptions): Call<Member>;
  get(organizationId: string, userId: string, options: ConditionalOptions): Call<Member | undefined>;
  /** Change a member's role, and tell them by mail unless the organization's notifications is false. `PATCH /organizations/{organization_id}/members/{user_id}` */
  update(organizationId: string, userId: string, body?: MemberPatch, options?: ChangeOptions & { query?: QueryOf<'update_organization_member'> }): Call<Member>;
  /** Remove a member from an organization and from all its platforms and spaces. `DELETE /organizations/{organization_id}/members/{user_id}` */
  remove(organizationId: string, userId: string, query?: QueryOf<'remove_organization_member'>, options?: ChangeOptions): Call<void>;
}

/** The operations of `organizations.invitations`. */
export interface OrganizationsInvitationsResource {
  /** Describe an invitation. With decision and the invited user's credential, accept or decline it. `GET /organizations/invitations/acceptance` */
  describe(query: QueryOf<'accept_invitation'>, options?: CallOptions): Call<Acceptance>;
  /** Accept or decline an invitation. `POST /organizations/invitations/acceptance` */
  respond(body: InvitationAnswer, options?: CreateOptions): Call<Acceptance>;
  /** List the invitations to an organization and to its platforms, in the order in which they were created. `GET /organizations/{organization_id}/invitations` */
  list(organizationId: string, query?: QueryOf<'list_invitations'>, options?: ReadOptions): ListCall<InvitationList>;
  list(organizationId: string, query: QueryOf<'list_invitations'> | undefined, options: ConditionalOptions): Call<InvitationList | undefined>;
  /** Get an invitation, without its link. Admins of a platform can get the invitations to it. `GET /organizations/{organization_id}/invitations/{invitation_id}` */
  get(organizationId: string, invitationId: string, options?: ReadOptions): Call<Invitation>;
  get(organizationId: string, invitationId: string, options: ConditionalOptions): Call<Invitation | undefined>;
  /** Revoke a pending invitation. It stays listed. Admins of a platform can revoke the invitations to it. `DELETE /organizations/{organization_id}/invitations/{invitation_id}` */
  revoke(organizationId: string, invitationId: string, options?: ChangeOptions): Call<void>;
  /** Send a pending invitation again, with a new link and its full validity. The former link stops working. `POST /organizations/{organization_id}/invitations/{invitation_id}/resend` */
  resend(organizationId: string, invitationId: string, options?: ChangeOptions & CreateOptions): Call<Invitation>;
  /** Invite somebody to an organization. Only this response contains the link to accept. `POST /organizations/{organization_id}/invite` */
  create(organizationId: string, body: InvitationCreate, options?: CreateOptions): Call<Invitation>;
  /** Show whether the recipient of a mail is unsubscribed, as a page with a button or as JSON. `GET /organizations/invitations/unsubscribe` */
  getSubscription(query: QueryOf<'describe_subscription'>, options?: CallOptions): Call<Subscription>;
  /** Stop sending mails about invitations and memberships to the recipient of a mail, from any organization. `POST /organizations/invitations/unsubscribe` */
  unsubscribe(body?: OneClick, options?: CreateOptions & { query: QueryOf<'unsubscribe'> }): Call<Subscription>;
}

/** The operations of `organizations.apiKeys`. */
export interface OrganizationsApiKeysResource {
  /** List an organization's API keys, in the order in which they were created. `GET /organizations/{organization_id}/api-keys` */
  list(organizationId: string, query?: QueryOf<'list_api_keys'>, options?: ReadOptions): ListCall<ApiKeyList>;
  list(organizationId: string, query: QueryOf<'list_api_keys'> | undefined, options: ConditionalOptions): Call<ApiKeyList | undefined>;
  /** Create an API key. Only this response contains the secret. `POST /organizations/{organization_id}/api-keys` */
  create(organizationId: string, body: ApiKeyCreate, options?: CreateOptions): Call<ApiKey>;
  /** Get an API key, without its secret. `GET /organizations/{organization_id}/api-keys/{api_key_id}` */
  get(organizationId: string, apiKeyId: string, options?: ReadOptions): Call<ApiKey>;
  get(organizationId: string, apiKeyId: string, options: ConditionalOptions): Call<ApiKey | undefined>;
  /** Revoke an API key permanently, with all keys that it created or rotated. Revoked keys stay listed. `DELETE /organizations/{organization_id}/api-keys/{api_key_id}` */
  revoke(organizationId: string, apiKeyId: string, options?: ChangeOptions): Call<void>;
  /** Give an API key a new secret. The former secret works for some hours more, until formerSecretsUntil. `POST /organizations/{organization_id}/api-keys/{api_key_id}/rotate` */
  rotate(organizationId: string, apiKeyId: string, body?: ApiKeyRotation, options?: ChangeOptions & CreateOptions): Call<ApiKey>;
}

/** The operations of `organizations.auditLog.exports`. */
export interface OrganizationsAuditLogExportsResource {
  /** List the background exports of the log, newest first, also those whose file has expired. `GET /organizations/{organization_id}/audit-log/export-async` */
  list(organizationId: string, query?: QueryOf<'list_audit_exports'>, options?: ReadOptions): ListCall<AuditExportList>;
  list(organizationId: string, query: QueryOf<'list_audit_exports'> | undefined, options: ConditionalOptions): Call<AuditExportList | undefined>;
  /** Start a background export, which makes a gzip file of all matching entries that have a sequence at its start. `POST /organizations/{organization_id}/audit-log/export-async` */
  create(organizationId: string, body?: AuditExportCreate, options?: CreateOptions): Call<AuditExport>;
  /** Get an export and, once it is completed, a URL to download its file. `GET /organizations/{organization_id}/audit-log/export-async/{export_id}` */
  get(organizationId: string, exportId: string, options?: ReadOptions): Call<AuditExport>;
  get(organizationId: string, exportId: string, options: ConditionalOptions): Call<AuditExport | undefined>;
}

/** The operations of `organizations.auditLog.reconciliations`. */
export interface OrganizationsAuditLogReconciliationsResource {
  /** List the reconciliations of an organization, newest first, with their findings. `GET /organizations/{organization_id}/audit-log/reconciliations` */
  list(organizationId: string, query?: QueryOf<'list_reconciliations'>, options?: ReadOptions): ListCall<ReconciliationList>;
  list(organizationId: string, query: QueryOf<'list_reconciliations'> | undefined, options: ConditionalOptions): Call<ReconciliationList | undefined>;
  /** Compare all records of the organization with its log, in the background. `POST /organizations/{organization_id}/audit-log/reconciliations` */
  create(organizationId: string, options?: CreateOptions): Call<Reconciliation>;
  /** Get the progress of a reconciliation and, once it is completed, its findings. `GET /organizations/{organization_id}/audit-log/reconciliations/{reconciliation_id}` */
  get(organizationId: string, reconciliationId: string, options?: ReadOptions): Call<Reconciliation>;
  get(organizationId: string, reconciliationId: string, options: ConditionalOptions): Call<Reconciliation | undefined>;
}

/** The operations of `organizations.auditLog`. */
export interface OrganizationsAuditLogResource {
  /** List the audit log of an organization, newest entry first. `GET /organizations/{organization_id}/audit-log` */
  list(organizationId: string, query?: QueryOf<'list_audit_log'>, options?: ReadOptions): ListCall<AuditEntryList>;
  list(organizationId: string, query: QueryOf<'list_audit_log'> | undefined, options: ConditionalOptions): Call<AuditEntryList | undefined>;
  /** Recompute the Merkle tree of the log from its entries, and compare it with the signed head. `GET /organizations/{organization_id}/audit-log/verify-integrity` */
  verifyIntegrity(organizationId: string, query?: QueryOf<'verify_audit_integrity'>, options?: CallOptions): Call<IntegrityReport>;
  /** Export the log, or the entries that match the filters, in one response, oldest entry first. `GET /organizations/{organization_id}/audit-log/export` */
  export(organizationId: string, query?: QueryOf<'export_audit_log'>, options?: ReadOptions): Call<string>;
  export(organizationId: string, query: QueryOf<'export_audit_log'> | undefined, options: ConditionalOptions): Call<string | undefined>;
  /** Get an entry of the audit log, as the list shows it. An erased entry is returned as erased. `GET /organizations/{organization_id}/audit-log/{entry_id}` */
  get(organizationId: string, entryId: string, options?: CallOptions): Call<AuditEntry>;
  /** Prove that an entry is in the log. Save the response: it is a receipt, which verify.py checks offline. `GET /organizations/{organization_id}/audit-log/{entry_id}/proof` */
  getProof(organizationId: string, entryId: string, query?: QueryOf<'prove_audit_entry'>, options?: CallOptions): Call<EntryProof>;
  /** Prove that the log at one size is the beginning of the log at another, so that no entry was changed or removed. `GET /organizations/{organization_id}/audit-log/consistency` */
  getConsistencyProof(organizationId: string, query: QueryOf<'prove_audit_log_consistency'>, options?: CallOptions): Call<ConsistencyProof>;
  readonly exports: OrganizationsAuditLogExportsResource;
  readonly reconciliations: OrganizationsAuditLogReconciliationsResource;
}

/** The operations of `organizations.events`. */
export interface OrganizationsEventsResource {
  /** List the events that your own application wrote to the organization's log, newest first. `GET /organizations/{organization_id}/events` */
  list(organizationId: string, query?: QueryOf<'list_events'>, options?: ReadOptions): ListCall<AuditEntryList>;
  list(organizationId: string, query: QueryOf<'list_events'> | undefined, options: ConditionalOptions): Call<AuditEntryList | undefined>;
  /** Write an event of your own application to the organization's log. `POST /organizations/{organization_id}/events` */
  create(organizationId: string, body: EventIn, options?: CreateOptions): Call<AuditEntry>;
  /** Write up to 25 events of your own application to the organization's log: all of them or none. `POST /organizations/{organization_id}/events/batch` */
  createBatch(organizationId: string, body: EventBatch, options?: CreateOptions): Call<CreatedEvents>;
}

/** The operations of `organizations.erasures`. */
export interface OrganizationsErasuresResource {
  /** List the erasures of an organization, newest first. `GET /organizations/{organization_id}/erasures` */
  list(organizationId: string, query?: QueryOf<'list_erasures'>, options?: ReadOptions): ListCall<ErasureList>;
  list(organizationId: string, query: QueryOf<'list_erasures'> | undefined, options: ConditionalOptions): Call<ErasureList | undefined>;
  /** Erase a person from members, invitations and the entries of the log, permanently. `POST /organizations/{organization_id}/erasures` */
  create(organizationId: string, body?: ErasureCreate, options?: CreateOptions): Call<Erasure>;
  /** Get the progress of an erasure and the number of erased records and entries. `GET /organizations/{organization_id}/erasures/{erasure_id}` */
  get(organizationId: string, erasureId: string, options?: ReadOptions): Call<Erasure>;
  get(organizationId: string, erasureId: string, options: ConditionalOptions): Call<Erasure | undefined>;
}

/** The operations of `organizations.webhooks.deliveries`. */
export interface OrganizationsWebhooksDeliveriesResource {
  /** List the deliveries of a webhook, newest first. They are kept for 90 days. `GET /organizations/{organization_id}/webhooks/{webhook_id}/deliveries` */
  list(organizationId: string, webhookId: string, query?: QueryOf<'list_webhook_deliveries'>, options?: ReadOptions): ListCall<DeliveryList>;
  list(organizationId: string, webhookId: string, query: QueryOf<'list_webhook_deliveries'> | undefined, options: ConditionalOptions): Call<DeliveryList | undefined>;
  /** Get a delivery with all its attempts, and with the request that was or will be sent. `GET /organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}` */
  get(organizationId: string, webhookId: string, deliveryId: string, options?: ReadOptions): Call<DeliveryDetail>;
  get(organizationId: string, webhookId: string, deliveryId: string, options: ConditionalOptions): Call<DeliveryDetail | undefined>;
  /** Send a delivery again, whatever its status. If that fails, it is retried like a new delivery. `POST /organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry` */
  retry(organizationId: string, webhookId: string, deliveryId: string, options?: ChangeOptions & CreateOptions): Call<Delivery>;
}

/** The operations of `organizations.webhooks.replays`. */
export interface OrganizationsWebhooksReplaysResource {
  /** List the replays of a webhook, newest first. `GET /organizations/{organization_id}/webhooks/{webhook_id}/replays` */
  list(organizationId: string, webhookId: string, query?: QueryOf<'list_webhook_replays'>, options?: ReadOptions): ListCall<ReplayList>;
  list(organizationId: string, webhookId: string, query: QueryOf<'list_webhook_replays'> | undefined, options: ConditionalOptions): Call<ReplayList | undefined>;
  /** Get a replay: its progress, and how many deliveries it queued. `GET /organizations/{organization_id}/webhooks/{webhook_id}/replays/{replay_id}` */
  get(organizationId: string, webhookId: string, replayId: string, options?: ReadOptions): Call<Replay>;
  get(organizationId: string, webhookId: string, replayId: string, options: ConditionalOptions): Call<Replay | undefined>;
}

/** The operations of `organizations.webhooks`. */
export interface OrganizationsWebhooksResource {
  /** List an organization's webhooks, in the order of their creation. `GET /organizations/{organization_id}/webhooks` */
  list(organizationId: string, query?: QueryOf<'list_webhooks'>, options?: ReadOptions): ListCall<WebhookList>;
  list(organizationId: string, query: QueryOf<'list_webhooks'> | undefined, options: ConditionalOptions): Call<WebhookList | undefined>;
  /** Create a webhook, which receives events at its URL from now on, signed with a secret. `POST /organizations/{organization_id}/webhooks` */
  create(organizationId: string, body: WebhookCreate, options?: CreateOptions): Call<Webhook>;
  /** Get a webhook, without its secret. `GET /organizations/{organization_id}/webhooks/{webhook_id}` */
  get(organizationId: string, webhookId: string, options?: ReadOptions): Call<Webhook>;
  get(organizationId: string, webhookId: string, options: ConditionalOptions): Call<Webhook | undefined>;
  /** Change a webhook. The change takes effect with its own event. `PATCH /organizations/{organization_id}/webhooks/{webhook_id}` */
  update(organizationId: string, webhookId: string, body: WebhookPatch, options?: ChangeOptions): Call<Webhook>;
  /** Delete a webhook and all its deliveries. Pending events are not sent any more. `DELETE /organizations/{organization_id}/webhooks/{webhook_id}` */
  delete(organizationId: string, webhookId: string, options?: ChangeOptions): Call<void>;
  /** Send a test message to a webhook immediately, whatever its status, and return the result within 5 s. `POST /organizations/{organization_id}/webhooks/{webhook_id}/test` */
  test(organizationId: string, webhookId: string, options?: ChangeOptions & CreateOptions): Call<Trial>;
  /** Replace the secret of a webhook. For some hours, the previous secret signs messages too. `POST /organizations/{organization_id}/webhooks/{webhook_id}/rotate-secret` */
  rotateSecret(organizationId: string, webhookId: string, body?: SecretRotation, options?: ChangeOptions & CreateOptions): Call<Webhook>;
  /** Create a link by which somebody without an account manages one webhook for an hour. `POST /organizations/{organization_id}/webhooks/{webhook_id}/links` */
  createLink(organizationId: string, webhookId: string, options?: CreateOptions): Call<NewSignedLink>;
  /** Get the numbers of delivered and failed attempts of a webhook, and their median duration. `GET /organizations/{organization_id}/webhooks/{webhook_id}/statistics` */
  getStatistics(organizationId: string, webhookId: string, options?: ReadOptions): Call<WebhookStatistics>;
  getStatistics(organizationId: string, webhookId: string, options: ConditionalOptions): Call<WebhookStatistics | undefined>;
  /** Send the deliveries of a time range again, oldest first. `POST /organizations/{organization_id}/webhooks/{webhook_id}/replay` */
  replay(organizationId: string, webhookId: string, body: ReplayCreate, options?: CreateOptions): Call<Replay>;
  readonly deliveries: OrganizationsWebhooksDeliveriesResource;
  readonly replays: OrganizationsWebhooksReplaysResource;
}

/** The operations of `organizations.logStreams`. */
export interface OrganizationsLogStreamsResource {
  /** List an organization's log streams, in the order of their creation, with their lag. `GET /organizations/{organization_id}/log-streams` */
  list(organizationId: string, query?: QueryOf<'list_log_streams'>, options?: ReadOptions): ListCall<LogStreamDetailList>;
  list(organizationId: string, query: QueryOf<'list_log_streams'> | undefined, options: ConditionalOptions): Call<LogStreamDetailList | undefined>;
  /** Create a log stream, which sends the entries of the organization's log to a system of yours, in batches. `POST /organizations/{organization_id}/log-streams` */
  create(organizationId: string, body: LogStreamCreate, options?: CreateOptions): Call<LogStreamDetail>;
  /** Get a log stream, without its credentials. `GET /organizations/{organization_id}/log-streams/{log_stream_id}` */
  get(organizationId: string, logStreamId: string, options?: ReadOptions): Call<LogStreamDetail>;
  get(organizationId: string, logStreamId: string, options: ConditionalOptions): Call<LogStreamDetail | undefined>;
  /** Change, pause, continue or restart a log stream. The change takes effect with the next batch. `PATCH /organizations/{organization_id}/log-streams/{log_stream_id}` */
  update(organizationId: string, logStreamId: string, body: LogStreamPatch, options?: ChangeOptions): Call<LogStreamDetail>;
  /** Delete a log stream. Entries that wait are not sent any more. `DELETE /organizations/{organization_id}/log-streams/{log_stream_id}` */
  delete(organizationId: string, logStreamId: string, options?: ChangeOptions): Call<void>;
  /** Replace the secret of a log stream to an HTTPS endpoint. For some hours, the previous secret signs batches too. `POST /organizations/{organization_id}/log-streams/{log_stream_id}/rotate-secret` */
  rotateSecret(organizationId: string, logStreamId: string, body?: SecretRotation, options?: ChangeOptions & CreateOptions): Call<LogStreamDetail>;
  /** Send a test entry to the destination of a log stream immediately, whatever its status, and return the result. `POST /organizations/{organization_id}/log-streams/{log_stream_id}/test` */
  test(organizationId: string, logStreamId: string, options?: ChangeOptions & CreateOptions): Call<Trial>;
}

/** The operations of `organizations.integrationChannels`. */
export interface OrganizationsIntegrationChannelsResource {
  /** List an organization's integration channels, in the order of their creation. `GET /organizations/{organization_id}/integration-channels` */
  list(organizationId: string, query?: QueryOf<'list_integration_channels'>, options?: ReadOptions): ListCall<ChannelList>;
  list(organizationId: string, query: QueryOf<'list_integration_channels'> | undefined, options: ConditionalOptions): Call<ChannelList | undefined>;
  /** Create an integration channel: a chat room of Slack, Discord or Teams that receives events as sentences. `POST /organizations/{organization_id}/integration-channels` */
  create(organizationId: string, body: ChannelCreate, options?: CreateOptions): Call<Channel>;
  /** Get an integration channel. `GET /organizations/{organization_id}/integration-channels/{channel_id}` */
  get(organizationId: string, channelId: string, options?: ReadOptions): Call<Channel>;
  get(organizationId: string, channelId: string, options: ConditionalOptions): Call<Channel | undefined>;
  /** Change an integration channel. A masked URL leaves the current URL unchanged. `PATCH /organizations/{organization_id}/integration-channels/{channel_id}` */
  update(organizationId: string, channelId: string, body: ChannelPatch, options?: ChangeOptions): Call<Channel>;
  /** Delete an integration channel. Pending messages are dropped. `DELETE /organizations/{organization_id}/integration-channels/{channel_id}` */
  delete(organizationId: string, channelId: string, options?: ChangeOptions): Call<void>;
  /** Send a test message to an integration channel, whatever its status, and return the result within 5 s. `POST /organizations/{organization_id}/integration-channels/{channel_id}/test` */
  test(organizationId: string, channelId: string, options?: ChangeOptions & CreateOptions): Call<Trial>;
}

/** The operations of `organizations.domains`. */
export interface OrganizationsDomainsResource {
  /** List the platforms of an organization with their domains, in the order the platforms were created. `GET /organizations/{organization_id}/domains/inventory` */
  list(organizationId: string, query?: QueryOf<'list_domain_inventory'>, options?: ReadOptions): ListCall<PlatformDomainList>;
  list(organizationId: string, query: QueryOf<'list_domain_inventory'> | undefined, options: ConditionalOptions): Call<PlatformDomainList | undefined>;
}

/** The operations of `organizations.sites`. */
export interface OrganizationsSitesResource {
  /** List the sites of an organization, the oldest first unless sort says otherwise. `GET /organizations/{organization_id}/sites` */
  list(organizationId: string, query?: QueryOf<'list_sites'>, options?: ReadOptions): ListCall<SiteList>;
  list(organizationId: string, query: QueryOf<'list_sites'> | undefined, options: ConditionalOptions): Call<SiteList | undefined>;
  /** Create a site. It is a draft until its status is set to published. `POST /organizations/{organization_id}/sites` */
  create(organizationId: string, body: SiteCreate, options?: CreateOptions): Call<Site>;
}

/** The operations of `organizations`. */
export interface OrganizationsResource {
  /** List the caller's organizations, with their role in each. An API key sees its own organization. `GET /organizations` */
  list(query?: QueryOf<'list_organizations'>, options?: ReadOptions): ListCall<OrganizationList>;
  list(query: QueryOf<'list_organizations'> | undefined, options: ConditionalOptions): Call<OrganizationList | undefined>;
  /** Create an organization. The caller becomes its owner. `POST /organizations` */
  create(body: OrganizationCreate, options?: CreateOptions): Call<Organization>;
  /** Get an organization by its slug. A former slug redirects to the current one for 90 days. `GET /organizations/by-slug/{slug}` */
  getBySlug(slug: string, options?: ReadOptions): Call<Organization>;
  getBySlug(slug: string, options: ConditionalOptions): Call<Organization | undefined>;
  /** Get an organization. `GET /organizations/{organization_id}` */
  get(organizationId: string, options?: ReadOptions): Call<Organization>;
  get(organizationId: string, options: ConditionalOptions): Call<Organization | undefined>;
  /** Update an organization. {"status": "active"} restores a deleted one until it is purged. `PATCH /organizations/{organization_id}` */
  update(organizationId: string, body: OrganizationPatch, options?: ChangeOptions): Call<Organization>;
  /** Delete an organization. Its owner can restore it for 30 days; then it is purged. `DELETE /organizations/{organization_id}` */
  delete(organizationId: string, options?: ChangeOptions): Call<void>;
  /** Leave an organization and all its platforms and spaces. The member's pending invitations are revoked. `POST /organizations/{organization_id}/leave` */
  leave(organizationId: string, options?: ChangeOptions & CreateOptions): Call<void>;
  /** Make another member the owner. The former owner becomes an admin. `POST /organizations/{organization_id}/transfer-ownership` */
  transferOwnership(organizationId: string, body: OwnershipTransfer, options?: ChangeOptions & CreateOptions): Call<Organization>;
  /** Get the numbers on the start page of an organization: members, invitations, webhooks, domains and the log. `GET /organizations/{organization_id}/summary` */
  getSummary(organizationId: string, options?: CallOptions): Call<OrganizationSummary>;
  readonly members: OrganizationsMembersResource;
  readonly invitations: OrganizationsInvitationsResource;
  readonly apiKeys: OrganizationsApiKeysResource;
  readonly auditLog: OrganizationsAuditLogResource;
  readonly events: OrganizationsEventsResource;
  readonly erasures: OrganizationsErasuresResource;
  readonly webhooks: OrganizationsWebhooksResource;
  readonly logStreams: OrganizationsLogStreamsResource;
  readonly integrationChannels: OrganizationsIntegrationChannelsResource;
  readonly domains: OrganizationsDomainsResource;
  readonly sites: OrganizationsSitesResource;
}

/** The operations of `me.invitations`. */
export interface MeInvitationsResource {
  /** List the invitations to the caller's verified e-mail address that they can accept now, newest first. `GET /me/invitations` */
  list(query?: QueryOf<'list_my_invitations'>, options?: ReadOptions): ListCall<InvitationOfCallerList>;
  list(query: QueryOf<'list_my_invitations'> | undefined, options: ConditionalOptions): Call<InvitationOfCallerList | undefined>;
  /** Accept or decline an invitation to the caller's verified e-mail address, without the link in the mail. `POST /me/invitations/{invitation_id}` */
  respond(invitationId: string, body: InvitationDecision, options?: CreateOptions): Call<Acceptance>;
}

/** The operations of `me`. */
export interface MeResource {
  /** Get the caller: their id, names and address, their credential, their organizations and pending invitations. `GET /me` */
  get(options?: CallOptions): Call<Me>;
  readonly invitations: MeInvitationsResource;
}

/** The operations of `anchors`. */
export interface AnchorsResource {
  /** List the anchors of all logs, the earliest first: the leaves of the log that witnesses cosign. `GET /anchors` */
  list(query?: QueryOf<'list_anchors'>, options?: ReadOptions): ListCall<AnchorList>;
  list(query: QueryOf<'list_anchors'> | undefined, options: ConditionalOptions): Call<AnchorList | undefined>;
}

/** The operations of `system.logVerifications`. */
export interface SystemLogVerificationsResource {
  /** List the verifications of all logs, newest first. `GET /system/log-verifications` */
  list(query?: QueryOf<'list_log_verifications'>, options?: ReadOptions): ListCall<LogVerificationList>;
  list(query: QueryOf<'list_log_verifications'> | undefined, options: ConditionalOptions): Call<LogVerificationList | undefined>;
  /** Verify the logs of all organizations and of the service itself, in the background. `POST /system/log-verifications` */
  create(options?: CreateOptions): Call<LogVerification>;
  /** Get the progress of a verification of all logs, and what it has found so far. `GET /system/log-verifications/{log_verification_id}` */
  get(logVerificationId: string, options?: ReadOptions): Call<LogVerification>;
  get(logVerificationId: string, options: ConditionalOptions): Call<LogVerification | undefined>;
}

/** The operations of `system.migrations`. */
export interface SystemMigrationsResource {
  /** Get whether all migrations are applied, and how many are not. `GET /system/migrations/health` */
  getHealth(options?: ReadOptions): Call<MigrationsHealth>;
  getHealth(options: ConditionalOptions): Call<MigrationsHealth | undefined>;
  /** List all migrations in order, with their states. `GET /system/migrations/status` */
  list(query?: QueryOf<'get_migrations_status'>, options?: ReadOptions): ListCall<MigrationList>;
  list(query: QueryOf<'get_migrations_status'> | undefined, options: ConditionalOptions): Call<MigrationList | undefined>;
}

/** The operations of `system.auditLog`. */
export interface SystemAuditLogResource {
  /** List events outside of any organization, newest first. `GET /system/audit-log` */
  list(query?: QueryOf<'list_system_audit_log'>, options?: ReadOptions): ListCall<AuditEntryList>;
  list(query: QueryOf<'list_system_audit_log'> | undefined, options: ConditionalOptions): Call<AuditEntryList | undefined>;
  /** Export the events outside of any organization, or those that match the filters, oldest entry first. `GET /system/audit-log/export` */
  export(query?: QueryOf<'export_system_audit_log'>, options?: ReadOptions): Call<string>;
  export(query: QueryOf<'export_system_audit_log'> | undefined, options: ConditionalOptions): Call<string | undefined>;
}

/** The operations of `system.deadLetters.redrives`. */
export interface SystemDeadLettersRedrivesResource {
  /** List the redrives that operators requested, newest first. `GET /system/dead-letters/redrive` */
  list(query?: QueryOf<'list_dead_letter_redrives'>, options?: ReadOptions): ListCall<RedriveList>;
  list(query: QueryOf<'list_dead_letter_redrives'> | undefined, options: ConditionalOptions): Call<RedriveList | undefined>;
  /** Get a redrive, with the number of messages that it has sent back so far. `GET /system/dead-letters/redrive/{redrive_id}` */
  get(redriveId: string, options?: ReadOptions): Call<Redrive>;
  get(redriveId: string, options: ConditionalOptions): Call<Redrive | undefined>;
}

/** The operations of `system.deadLetters`. */
export interface SystemDeadLettersResource {
  /** List the dead-letter queues, each with the number of its messages and the first ten of them. `GET /system/dead-letters` */
  get(options?: CallOptions): Call<DeadLetters>;
  /** Send the dead letters of a queue back to it in the background, so that their work is tried again. `POST /system/dead-letters/redrive` */
  redrive(body: RedriveCreate, options?: CreateOptions): Call<Redrive>;
  readonly redrives: SystemDeadLettersRedrivesResource;
}

/** The operations of `system.organizations`. */
export interface SystemOrganizationsResource {
  /** Search all organizations by id, or by the beginning of the name or slug, whatever their status. `GET /system/organizations` */
  list(query?: QueryOf<'search_organizations'>, options?: ReadOptions): ListCall<FoundOrganizationList>;
  list(query: QueryOf<'search_organizations'> | undefined, options: ConditionalOptions): Call<FoundOrganizationList | undefined>;
}

/** The operations of `system.serviceKeys`. */
export interface SystemServiceKeysResource {
  /** List the service keys, in the order in which they were created. `GET /system/service-keys` */
  list(query?: QueryOf<'list_service_keys'>, options?: ReadOptions): ListCall<ServiceKeyList>;
  list(query: QueryOf<'list_service_keys'> | undefined, options: ConditionalOptions): Call<ServiceKeyList | undefined>;
  /** Create a service key. Only this response contains the secret. `POST /system/service-keys` */
  create(body: ServiceKeyCreate, options?: CreateOptions): Call<ServiceKey>;
  /** Get a service key, without its secret. `GET /system/service-keys/{service_key_id}` */
  get(serviceKeyId: string, options?: ReadOptions): Call<ServiceKey>;
  get(serviceKeyId: string, options: ConditionalOptions): Call<ServiceKey | undefined>;
  /** Revoke a service key permanently. The next request with it is rejected. Revoked keys stay listed. `DELETE /system/service-keys/{service_key_id}` */
  revoke(serviceKeyId: string, options?: ChangeOptions): Call<void>;
  /** Give a service key a new secret. The former secret works for some hours more, until formerSecretsUntil. `POST /system/service-keys/{service_key_id}/rotate` */
  rotate(serviceKeyId: string, body?: KeyRotation, options?: ChangeOptions & CreateOptions): Call<ServiceKey>;
}

/** The operations of `system`. */
export interface SystemResource {
  readonly logVerifications: SystemLogVerificationsResource;
  readonly migrations: SystemMigrationsResource;
  readonly auditLog: SystemAuditLogResource;
  readonly deadLetters: SystemDeadLettersResource;
  readonly organizations: SystemOrganizationsResource;
  readonly serviceKeys: SystemServiceKeysResource;
}

/** The operations of `platforms.members`. */
export interface PlatformsMembersResource {
  /** List the members of a platform who have a membership of their own, in the order in which they joined. `GET /platforms/{platform_id}/members` */
  list(platformId: string, query?: QueryOf<'list_platform_members'>, options?: ReadOptions): ListCall<MemberList>;
  list(platformId: string, query: QueryOf<'list_platform_members'> | undefined, options: ConditionalOptions): Call<MemberList | undefined>;
  /** Get a member of a platform. `GET /platforms/{platform_id}/members/{user_id}` */
  get(platformId: string, userId: string, options?: ReadOptions): Call<Member>;
  get(platformId: string, userId: string, options: ConditionalOptions): Call<Member | undefined>;
  /** Change the role or the username of a platform member. A member of the organization becomes a platform member. `PATCH /platforms/{platform_id}/members/{user_id}` */
  update(platformId: string, userId: string, body?: PlatformMemberPatch, options?: ChangeOptions & CreateOnlyOptions): Call<Member>;
  /** Remove a member from a platform and from its spaces, and revoke the invitations that they sent as a member. `DELETE /platforms/{platform_id}/members/{user_id}` */
  remove(platformId: string, userId: string, options?: ChangeOptions): Call<void>;
  /** Get a member of a platform by their user id. `GET /platforms/{platform_id}/members/by-user/{user_id}` */
  getByUser(platformId: string, userId: string, options?: ReadOptions): Call<Member>;
  getByUser(platformId: string, userId: string, options: ConditionalOptions): Call<Member | undefined>;
  /** Get a member of a platform by their username, ignoring case. `GET /platforms/{platform_id}/members/by-username/{username}` */
  getByUsername(platformId: string, username: string, options?: ReadOptions): Call<Member>;
  getByUsername(platformId: string, username: string, options: ConditionalOptions): Call<Member | undefined>;
}

/** The operations of `platforms.customDomain`. */
export interface PlatformsCustomDomainResource {
  /** Get the custom domain of a platform and its required DNS records. Without a domain its status is none. `GET /platforms/{platform_id}/custom-domain` */
  get(platformId: string, options?: ReadOptions): Call<CustomDomain>;
  get(platformId: string, options: ConditionalOptions): Call<CustomDomain | undefined>;
  /** Claim a domain for a platform, replacing one that is not verified. records lists the required DNS records. `POST /platforms/{platform_id}/custom-domain` */
  set(platformId: string, body: CustomDomainIn, options?: ChangeOptions & CreateOptions): Call<CustomDomain>;
  /** Remove the custom domain of a platform, so that other platforms can verify it. Does nothing if there is none. `DELETE /platforms/{platform_id}/custom-domain` */
  remove(platformId: string, options?: ChangeOptions): Call<void>;
  /** Check the DNS of a domain immediately. If the required records exist, the domain is verified. `POST /platforms/{platform_id}/custom-domain/verify` */
  verify(platformId: string, options?: ChangeOptions & CreateOptions): Call<CustomDomain>;
  /** Create a link by which somebody without an account sets up the DNS of a platform's domain for an hour. `POST /platforms/{platform_id}/custom-domain/links` */
  createLink(platformId: string, options?: CreateOptions): Call<NewSignedLink>;
}

/** The operations of `platforms.modules`. */
export interface PlatformsModulesResource {
  /** List the modules of a platform: those of the catalogue, then its own in the order of their creation. `GET /platforms/{platform_id}/modules` */
  list(platformId: string, query?: QueryOf<'list_platform_modules'>, options?: ReadOptions): ListCall<ModuleList>;
  list(platformId: string, query: QueryOf<'list_platform_modules'> | undefined, options: ConditionalOptions): Call<ModuleList | undefined>;
  /** Change up to 40 modules atomically. The response lists all modules of the platform. `PATCH /platforms/{platform_id}/modules` */
  update(platformId: string, body?: ModulesPatch, options?: ChangeOptions): Call<UpdatedModuleList>;
}

/** The operations of `platforms.projectBlocks`. */
export interface PlatformsProjectBlocksResource {
  /** List the project blocks of a platform, by position. `GET /platforms/{platform_id}/project-blocks` */
  list(platformId: string, query?: QueryOf<'list_project_blocks'>, options?: ReadOptions): ListCall<ProjectBlockList>;
  list(platformId: string, query: QueryOf<'list_project_blocks'> | undefined, options: ConditionalOptions): Call<ProjectBlockList | undefined>;
  /** Replace all project blocks of a platform, up to 40 in order. The response lists them. `PATCH /platforms/{platform_id}/project-blocks` */
  update(platformId: string, body?: ProjectBlocksPatch, options?: ChangeOptions): Call<ProjectBlockList>;
}

/** The operations of `platforms.spaces`. */
export interface PlatformsSpacesResource {
  /** List the spaces of a platform by position. Only their members and admins see private spaces. `GET /platforms/{platform_id}/spaces` */
  list(platformId: string, query?: QueryOf<'list_platform_spaces'>, options?: ReadOptions): ListCall<SpaceList>;
  list(platformId: string, query: QueryOf<'list_platform_spaces'> | undefined, options: ConditionalOptions): Call<SpaceList | undefined>;
}

/** The operations of `platforms.taxonomyNodes`. */
export interface PlatformsTaxonomyNodesResource {
  /** List the nodes of a platform's taxonomy on all levels, by position, or by name if q is given. `GET /platforms/{platform_id}/taxonomy-nodes` */
  list(platformId: string, query?: QueryOf<'list_platform_taxonomy_nodes'>, options?: ReadOptions): ListCall<NodeList>;
  list(platformId: string, query: QueryOf<'list_platform_taxonomy_nodes'> | undefined, options: ConditionalOptions): Call<NodeList | undefined>;
  /** Resolve a path or, without a path, a slug or another label to a node. `GET /platforms/{platform_id}/taxonomy-resolve` */
  resolve(platformId: string, query?: QueryOf<'resolve_taxonomy_path'>, options?: ReadOptions): Call<Resolved>;
  resolve(platformId: string, query: QueryOf<'resolve_taxonomy_path'> | undefined, options: ConditionalOptions): Call<Resolved | undefined>;
  /** Create the requested system tags that do not exist yet, as roots. Their slugs and parents can't be changed. `POST /platforms/{platform_id}/taxonomy-system-tags` */
  createSystemTags(platformId: string, body?: SystemTagsCreate, options?: ChangeOptions & CreateOptions): Call<SystemTags>;
  /** Get a consistent snapshot of a platform's taxonomy tree, optionally limited to some levels or one subtree. `GET /platforms/{platform_id}/taxonomy-tree` */
  getTree(platformId: string, query?: QueryOf<'get_taxonomy_tree'>, options?: ReadOptions): Call<Tree>;
  getTree(platformId: string, query: QueryOf<'get_taxonomy_tree'> | undefined, options: ConditionalOptions): Call<Tree | undefined>;
}

/** The operations of `platforms.taxonomyAttachments`. */
export interface PlatformsTaxonomyAttachmentsResource {
  /** List the attachments of all nodes of a platform, in the order of their creation. `GET /platforms/{platform_id}/taxonomy-attachments` */
  list(platformId: string, query?: QueryOf<'list_platform_taxonomy_attachments'>, options?: ReadOptions): ListCall<AttachmentList>;
  list(platformId: string, query: QueryOf<'list_platform_taxonomy_attachments'> | undefined, options: ConditionalOptions): Call<AttachmentList | undefined>;
}

/** The operations of `platforms`. */
export interface PlatformsResource {
  /** List the platforms of the caller's organizations, and those of which the caller is a member. `GET /platforms` */
  list(query?: QueryOf<'list_platforms'>, options?: ReadOptions): ListCall<PlatformSummaryList>;
  list(query: QueryOf<'list_platforms'> | undefined, options: ConditionalOptions): Call<PlatformSummaryList | undefined>;
  /** Create a platform in an organization. It is a draft until it is published. `POST /platforms` */
  create(body: PlatformCreate, options?: CreateOptions): Call<Platform>;
  /** Get a platform. `GET /platforms/{platform_id}` */
  get(platformId: string, options?: ReadOptions): Call<Platform>;
  get(platformId: string, options: ConditionalOptions): Call<Platform | undefined>;
  /** Change a platform. `PATCH /platforms/{platform_id}` */
  update(platformId: string, body: PlatformPatch, options?: ChangeOptions): Call<Platform>;
  /** Delete a platform and everything in it, effective immediately. Its custom domain becomes available again. `DELETE /platforms/{platform_id}` */
  delete(platformId: string, options?: ChangeOptions): Call<void>;
  /** Change the home page of a platform. Omitted fields keep their values. `PATCH /platforms/{platform_id}/home` */
  updateHome(platformId: string, body?: HomePatch, options?: ChangeOptions): Call<Platform>;
  /** Change the navigation of a platform. All items are replaced together. `PATCH /platforms/{platform_id}/navigation` */
  updateNavigation(platformId: string, body?: NavigationPatch, options?: ChangeOptions): Call<Platform>;
  /** Publish a platform, or turn it into a draft again with published = false. `PATCH /platforms/{platform_id}/publish` */
  publish(platformId: string, body?: Publication, options?: ChangeOptions): Call<Platform>;
  /** Change the theme of a platform. Omitted fields keep their values. `PATCH /platforms/{platform_id}/theme` */
  updateTheme(platformId: string, body?: ThemePatch, options?: ChangeOptions): Call<Platform>;
  /** Get the caller's role on a platform. `GET /platforms/{platform_id}/role` */
  getRole(platformId: string, options?: CallOptions): Call<CallerRole>;
  /** Invite somebody to a platform. Only this response contains the link to accept. `POST /platforms/{platform_id}/invite` */
  invite(platformId: string, body: InvitationCreate, options?: CreateOptions): Call<Invitation>;
  /** Join a platform: a published one that is open to everybody, or one to which the caller's address is invited. `POST /platforms/{platform_id}/join` */
  join(platformId: string, options?: ChangeOptions & CreateOptions): Call<Member>;
  /** Leave a platform and its spaces, and revoke the invitations that the caller sent as a member. `POST /platforms/{platform_id}/leave` */
  leave(platformId: string, options?: ChangeOptions & CreateOptions): Call<void>;
  /** Get the configuration that a front end needs to start. `GET /platforms/{platform_id}/config` */
  getConfig(platformId: string, options?: ReadOptions): Call<Config>;
  getConfig(platformId: string, options: ConditionalOptions): Call<Config | undefined>;
  /** Get the configuration of a platform for a host, space and locale. matched tells how they were resolved. `POST /platforms/{platform_id}/resolve-config` */
  resolveConfig(platformId: string, body?: ResolveRequest, options?: CreateOptions): Call<ResolvedConfig>;
  readonly members: PlatformsMembersResource;
  readonly customDomain: PlatformsCustomDomainResource;
  readonly modules: PlatformsModulesResource;
  readonly projectBlocks: PlatformsProjectBlocksResource;
  readonly spaces: PlatformsSpacesResource;
  readonly taxonomyNodes: PlatformsTaxonomyNodesResource;
  readonly taxonomyAttachments: PlatformsTaxonomyAttachmentsResource;
}

/** The operations of `spaces.effectiveModules`. */
export interface SpacesEffectiveModulesResource {
  /** List the effective state of all modules in a space, with the source of each state. `GET /spaces/{space_id}/effective-modules` */
  list(spaceId: string, query?: QueryOf<'list_effective_modules'>, options?: ReadOptions): ListCall<EffectiveModuleList>;
  list(spaceId: string, query: QueryOf<'list_effective_modules'> | undefined, options: ConditionalOptions): Call<EffectiveModuleList | undefined>;
}

/** The operations of `spaces.moduleOverrides`. */
export interface SpacesModuleOverridesResource {
  /** List the module overrides of a space, in the order of their creation, with the effect of each. `GET /spaces/{space_id}/module-overrides` */
  list(spaceId: string, query?: QueryOf<'list_module_overrides'>, options?: ReadOptions): ListCall<OverrideWithEffectList>;
  list(spaceId: string, query: QueryOf<'list_module_overrides'> | undefined, options: ConditionalOptions): Call<OverrideWithEffectList | undefined>;
  /** Create (201) or replace (200) the override of a module by a space. Omitted fields get their defaults. `POST /spaces/{space_id}/module-overrides` */
  set(spaceId: string, body: OverrideWrite, options?: CreateOptions): Call<OverrideWithEffect>;
  /** Replace all module overrides of a space, up to 40. The response lists them with the effect of each. `PUT /spaces/{space_id}/module-overrides` */
  replace(spaceId: string, body: OverridesPut, options?: ChangeOptions): Call<OverrideWithEffectList>;
  /** Get the override of a module by a space, with its effect. `GET /spaces/{space_id}/module-overrides/{module_id}` */
  get(spaceId: string, moduleId: string, options?: ReadOptions): Call<OverrideWithEffect>;
  get(spaceId: string, moduleId: string, options: ConditionalOptions): Call<OverrideWithEffect | undefined>;
  /** Remove the override of a module, so that the space inherits the module from its platform. `DELETE /spaces/{space_id}/module-overrides/{module_id}` */
  remove(spaceId: string, moduleId: string, options?: ChangeOptions): Call<void>;
}

/** The operations of `spaces.members`. */
export interface SpacesMembersResource {
  /** List the members of a space who have a membership of their own, in the order in which they joined. `GET /spaces/{space_id}/members` */
  list(spaceId: string, query?: QueryOf<'list_space_members'>, options?: ReadOptions): ListCall<MemberList>;
  list(spaceId: string, query: QueryOf<'list_space_members'> | undefined, options: ConditionalOptions): Call<MemberList | undefined>;
  /** Get a member of a space. `GET /spaces/{space_id}/members/{user_id}` */
  get(spaceId: string, userId: string, options?: ReadOptions): Call<Member>;
  get(spaceId: string, userId: string, options: ConditionalOptions): Call<Member | undefined>;
  /** Change the role of a space member. A user who takes part in the platform becomes a member of the space. `PATCH /spaces/{space_id}/members/{user_id}` */
  update(spaceId: string, userId: string, body?: RolePatch, options?: ChangeOptions & CreateOnlyOptions): Call<Member>;
  /** Remove a member from a space. A user who takes part in the platform can still take part in an open space. `DELETE /spaces/{space_id}/members/{user_id}` */
  remove(spaceId: string, userId: string, options?: ChangeOptions): Call<void>;
}

/** The operations of `spaces.capabilities`. */
export interface SpacesCapabilitiesResource {
  /** List the capabilities of a space, in the order they were added. `GET /spaces/{space_id}/capabilities` */
  list(spaceId: string, query?: QueryOf<'list_space_capabilities'>, options?: ReadOptions): ListCall<CapabilityList>;
  list(spaceId: string, query: QueryOf<'list_space_capabilities'> | undefined, options: ConditionalOptions): Call<CapabilityList | undefined>;
  /** Add a capability to a space. A space has at most 40. `POST /spaces/{space_id}/capabilities` */
  add(spaceId: string, body: CapabilityCreate, options?: CreateOptions): Call<Capability>;
  /** Replace all capabilities of a space, up to 40. The response lists them. `PUT /spaces/{space_id}/capabilities` */
  replace(spaceId: string, body: CapabilitiesPut, options?: ChangeOptions): Call<CapabilityList>;
  /** Get a capability of a space. `GET /spaces/{space_id}/capabilities/{capability_key}` */
  get(spaceId: string, capabilityKey: string, options?: ReadOptions): Call<Capability>;
  get(spaceId: string, capabilityKey: string, options: ConditionalOptions): Call<Capability | undefined>;
  /** Remove a capability from a space. `DELETE /spaces/{space_id}/capabilities/{capability_key}` */
  remove(spaceId: string, capabilityKey: string, options?: ChangeOptions): Call<void>;
}

/** The operations of `spaces`. */
export interface SpacesResource {
  /** Create a space in a platform. A user who creates it becomes its admin. `POST /spaces` */
  create(body: SpaceCreate, options?: CreateOptions): Call<Space>;
  /** Get a space. `GET /spaces/{space_id}` */
  get(spaceId: string, options?: ReadOptions): Call<Space>;
  get(spaceId: string, options: ConditionalOptions): Call<Space | undefined>;
  /** Change a space. With position = null, it becomes the last one. `PATCH /spaces/{space_id}` */
  update(spaceId: string, body: SpacePatch, options?: ChangeOptions): Call<Space>;
  /** Delete a space with its contents, effective immediately. Its slug becomes available at once. `DELETE /spaces/{space_id}` */
  delete(spaceId: string, options?: ChangeOptions): Call<void>;
  /** Join an open space of a platform in which the caller takes part. A member keeps their role. `POST /spaces/{space_id}/join` */
  join(spaceId: string, options?: ChangeOptions & CreateOptions): Call<Member>;
  /** Leave a space. Without a membership of the space the problem is not_found. `POST /spaces/{space_id}/leave` */
  leave(spaceId: string, options?: ChangeOptions & CreateOptions): Call<void>;
  /** Get the caller's role in a space. `GET /spaces/{space_id}/role` */
  getRole(spaceId: string, options?: CallOptions): Call<CallerRole>;
  readonly effectiveModules: SpacesEffectiveModulesResource;
  readonly moduleOverrides: SpacesModuleOverridesResource;
  readonly members: SpacesMembersResource;
  readonly capabilities: SpacesCapabilitiesResource;
}

/** The operations of `projectBlocks.platforms`. */
export interface ProjectBlocksPlatformsResource {
  /** List the caller's platforms that use a project block, in the order of the list of platforms. `GET /project-blocks/{project_block_id}/platforms` */
  list(projectBlockId: string, query?: QueryOf<'list_project_block_platforms'>, options?: ReadOptions): ListCall<PlatformSummaryList>;
  list(projectBlockId: string, query: QueryOf<'list_project_block_platforms'> | undefined, options: ConditionalOptions): Call<PlatformSummaryList | undefined>;
}

/** The operations of `projectBlocks`. */
export interface ProjectBlocksResource {
  readonly platforms: ProjectBlocksPlatformsResource;
}

/** The operations of `taxonomyNodes.attachments`. */
export interface TaxonomyNodesAttachmentsResource {
  /** List the attachments of a node in the order of their creation, except those to spaces hidden from the caller. `GET /taxonomy-nodes/{taxonomy_node_id}/attachments` */
  list(taxonomyNodeId: string, query?: QueryOf<'list_node_attachments'>, options?: ReadOptions): ListCall<AttachmentList>;
  list(taxonomyNodeId: string, query: QueryOf<'list_node_attachments'> | undefined, options: ConditionalOptions): Call<AttachmentList | undefined>;
  /** Attach a node to an entity. Returns the existing attachment if there is one (200). `POST /taxonomy-nodes/{taxonomy_node_id}/attachments` */
  create(taxonomyNodeId: string, body: AttachmentCreate, options?: CreateOptions): Call<Attachment>;
  /** Get an attachment of a node. `GET /taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}` */
  get(taxonomyNodeId: string, attachmentId: string, options?: ReadOptions): Call<Attachment>;
  get(taxonomyNodeId: string, attachmentId: string, options: ConditionalOptions): Call<Attachment | undefined>;
  /** Detach a node from an entity. `DELETE /taxonomy-nodes/{taxonomy_node_id}/attachments/{attachment_id}` */
  delete(taxonomyNodeId: string, attachmentId: string, options?: ChangeOptions): Call<void>;
}

/** The operations of `taxonomyNodes`. */
export interface TaxonomyNodesResource {
  /** Create a node as a root or below another node. `POST /taxonomy-nodes` */
  create(body: NodeCreate, options?: CreateOptions): Call<Node>;
  /** Get a node. `GET /taxonomy-nodes/{taxonomy_node_id}` */
  get(taxonomyNodeId: string, options?: ReadOptions): Call<Node>;
  get(taxonomyNodeId: string, options: ConditionalOptions): Call<Node | undefined>;
  /** Change a node. Another parentId moves it with its subtree at once, and former paths continue to resolve. `PATCH /taxonomy-nodes/{taxonomy_node_id}` */
  update(taxonomyNodeId: string, body: NodePatch, options?: ChangeOptions): Call<Node>;
  /** Delete a node without children and attachments, or with the given strategy for them. `DELETE /taxonomy-nodes/{taxonomy_node_id}` */
  delete(taxonomyNodeId: string, query?: QueryOf<'delete_taxonomy_node'>, options?: ChangeOptions): Call<void>;
  readonly attachments: TaxonomyNodesAttachmentsResource;
}

/** The operations of `sites.pages.revisions`. */
export interface SitesPagesRevisionsResource {
  /** List the revisions of a page, newest first. `GET /sites/{site_id}/pages/{page_id}/revisions` */
  list(siteId: string, pageId: string, query?: QueryOf<'list_page_revisions'>, options?: ReadOptions): ListCall<RevisionSummaryList>;
  list(siteId: string, pageId: string, query: QueryOf<'list_page_revisions'> | undefined, options: ConditionalOptions): Call<RevisionSummaryList | undefined>;
  /** Get a revision of a page. `GET /sites/{site_id}/pages/{page_id}/revisions/{revision_id}` */
  get(siteId: string, pageId: string, revisionId: string, options?: ReadOptions): Call<Revision>;
  get(siteId: string, pageId: string, revisionId: string, options: ConditionalOptions): Call<Revision | undefined>;
  /** Restore a revision of a page as its draft. The published revision does not change. `POST /sites/{site_id}/pages/{page_id}/revisions/{revision_id}/restore` */
  restore(siteId: string, pageId: string, revisionId: string, options?: ChangeOptions & CreateOptions): Call<Page>;
}

/** The operations of `sites.pages`. */
export interface SitesPagesResource {
  /** List the pages of a site with their drafts, in order of creation or, with q, by title. `GET /sites/{site_id}/pages` */
  list(siteId: string, query?: QueryOf<'list_pages'>, options?: ReadOptions): ListCall<PageSummaryList>;
  list(siteId: string, query: QueryOf<'list_pages'> | undefined, options: ConditionalOptions): Call<PageSummaryList | undefined>;
  /** Create a page as a draft. Publish it, or set publishAt. The first page of a site is its home page. `POST /sites/{site_id}/pages` */
  create(siteId: string, body: PageCreate, options?: CreateOptions): Call<Page>;
  /** Get a page with its draft. `GET /sites/{site_id}/pages/{page_id}` */
  get(siteId: string, pageId: string, options?: ReadOptions): Call<Page>;
  get(siteId: string, pageId: string, options: ConditionalOptions): Call<Page | undefined>;
  /** Change the draft of a page. The changes are not public until they are published. `PATCH /sites/{site_id}/pages/{page_id}` */
  update(siteId: string, pageId: string, body: PagePatch, options?: ChangeOptions): Call<Page>;
  /** Delete a page with its revisions and, with cascade, its descendants. They disappear at once. `DELETE /sites/{site_id}/pages/{page_id}` */
  delete(siteId: string, pageId: string, query?: QueryOf<'delete_page'>, options?: ChangeOptions): Call<void>;
  /** Publish the draft of a page, or another revision of it. `POST /sites/{site_id}/pages/{page_id}/publish` */
  publish(siteId: string, pageId: string, body?: PagePublication, options?: ChangeOptions & CreateOptions): Call<Page>;
  /** Get the published page at a path, as JSON or HTML. `GET /sites/{site_id}/pages/by-path` */
  getByPath(siteId: string, query?: QueryOf<'get_page_by_path'>, options?: ReadOptions): Call<Page>;
  getByPath(siteId: string, query: QueryOf<'get_page_by_path'> | undefined, options: ConditionalOptions): Call<Page | undefined>;
  /** Get the published page at /, as JSON or HTML. With draft, members get its draft. `GET /sites/{site_id}/pages/home` */
  getHome(siteId: string, query?: QueryOf<'get_home_page'>, options?: ReadOptions): Call<Page>;
  getHome(siteId: string, query: QueryOf<'get_home_page'> | undefined, options: ConditionalOptions): Call<Page | undefined>;
  /** Preview a page as JSON or HTML, and get a link that shows this preview to others. `GET /sites/{site_id}/pages/{page_id}/preview` */
  preview(siteId: string, pageId: string, query?: QueryOf<'preview_page'>, options?: CallOptions): Call<Preview>;
  /** Show a page by a preview link. Any invalid link is not_found. `GET /sites/{site_id}/pages/{page_id}/preview-public` */
  previewPublic(siteId: string, pageId: string, query?: QueryOf<'preview_page_publicly'>, options?: CallOptions): Call<Preview>;
  readonly revisions: SitesPagesRevisionsResource;
}

/** The operations of `sites.navigation`. */
export interface SitesNavigationResource {
  /** List the menus of a site without their items, in order of creation. `GET /sites/{site_id}/navigation` */
  list(siteId: string, query?: QueryOf<'list_navigation_menus'>, options?: ReadOptions): ListCall<MenuSummaryList>;
  list(siteId: string, query: QueryOf<'list_navigation_menus'> | undefined, options: ConditionalOptions): Call<MenuSummaryList | undefined>;
  /** Get a menu with the current paths of its pages. `GET /sites/{site_id}/navigation/{navigation_id}` */
  get(siteId: string, navigationId: string, options?: ReadOptions): Call<Menu>;
  get(siteId: string, navigationId: string, options: ConditionalOptions): Call<Menu | undefined>;
  /** Create or replace a menu. You choose its id. A site has at most 100 menus. `PUT /sites/{site_id}/navigation/{navigation_id}` */
  put(siteId: string, navigationId: string, body: MenuPut, options?: ChangeOptions & CreateOnlyOptions): Call<Menu>;
}

/** The operations of `sites.redirects`. */
export interface SitesRedirectsResource {
  /** List the redirects of a site in order of creation, including those of moved pages. `GET /sites/{site_id}/redirects` */
  list(siteId: string, query?: QueryOf<'list_redirects'>, options?: ReadOptions): ListCall<RedirectList>;
  list(siteId: string, query: QueryOf<'list_redirects'> | undefined, options: ConditionalOptions): Call<RedirectList | undefined>;
  /** Create a redirect of one path or, with /* at the end, of all paths below; the longest match wins. `POST /sites/{site_id}/redirects` */
  create(siteId: string, body: RedirectCreate, options?: CreateOptions): Call<Redirect>;
  /** Get a redirect. `GET /sites/{site_id}/redirects/{redirect_id}` */
  get(siteId: string, redirectId: string, options?: ReadOptions): Call<Redirect>;
  get(siteId: string, redirectId: string, options: ConditionalOptions): Call<Redirect | undefined>;
  /** Change a redirect. A disabled redirect has no effect. `PATCH /sites/{site_id}/redirects/{redirect_id}` */
  update(siteId: string, redirectId: string, body: RedirectPatch, options?: ChangeOptions): Call<Redirect>;
  /** Delete a redirect. Deleting one of a moved page also removes the redirects of the former paths below it. `DELETE /sites/{site_id}/redirects/{redirect_id}` */
  delete(siteId: string, redirectId: string, options?: ChangeOptions): Call<void>;
}

/** The operations of `sites`. */
export interface SitesResource {
  /** Get a site. `GET /sites/{site_id}` */
  get(siteId: string, options?: ReadOptions): Call<Site>;
  get(siteId: string, options: ConditionalOptions): Call<Site | undefined>;
  /** Change a site. status = published publishes it, and draft unpublishes it. `PATCH /sites/{site_id}` */
  update(siteId: string, body: SitePatch, options?: ChangeOptions): Call<Site>;
  /** Delete a site with its contents, effective immediately. Another site can be assigned to its platform. `DELETE /sites/{site_id}` */
  delete(siteId: string, options?: ChangeOptions): Call<void>;
  /** Find the content at a host and path: a page of the site, a redirect, or nothing. `GET /sites/resolve` */
  resolve(query: QueryOf<'resolve_site'>, options?: ReadOptions): Call<Visit>;
  resolve(query: QueryOf<'resolve_site'>, options: ConditionalOptions): Call<Visit | undefined>;
  /** Get the robots.txt of a site. It disallows everything until the site is published. `GET /sites/{site_id}/robots.txt` */
  getRobotsTxt(siteId: string, options?: ReadOptions): Call<string>;
  getRobotsTxt(siteId: string, options: ConditionalOptions): Call<string | undefined>;
  /** Get the sitemap of a published site: its indexable pages and their last publication. `GET /sites/{site_id}/sitemap.xml` */
  getSitemap(siteId: string, query?: QueryOf<'get_sitemap'>, options?: ReadOptions): Call<string>;
  getSitemap(siteId: string, query: QueryOf<'get_sitemap'> | undefined, options: ConditionalOptions): Call<string | undefined>;
  readonly pages: SitesPagesResource;
  readonly navigation: SitesNavigationResource;
  readonly redirects: SitesRedirectsResource;
}

/** The operations of `marketingLeads.statuses`. */
export interface MarketingLeadsStatusesResource {
  /** List the statuses that a lead can have, and which can follow which. `GET /marketing-leads/statuses` */
  list(query?: QueryOf<'list_marketing_lead_statuses'>, options?: ReadOptions): ListCall<LeadStatusOptionList>;
  list(query: QueryOf<'list_marketing_lead_statuses'> | undefined, options: ConditionalOptions): Call<LeadStatusOptionList | undefined>;
}

/** The operations of `marketingLeads`. */
export interface MarketingLeadsResource {
  /** List the leads, newest first, optionally with a status, an email address, or both. `GET /marketing-leads` */
  list(query?: QueryOf<'list_marketing_leads'>, options?: ReadOptions): ListCall<LeadList>;
  list(query: QueryOf<'list_marketing_leads'> | undefined, options: ConditionalOptions): Call<LeadList | undefined>;
  /** Create a lead. Submissions from the same email address within 24 hours are merged into it. `POST /marketing-leads` */
  create(body: LeadCreate, options?: CreateOptions): Call<Lead>;
  /** Get a lead by its id, or by the id of a submission that was merged into it. `GET /marketing-leads/{lead_id}` */
  get(leadId: string, options?: ReadOptions): Call<Lead>;
  get(leadId: string, options: ConditionalOptions): Call<Lead | undefined>;
  /** Change the status of a lead and add a note. A status that can't follow the current one is invalid_transition. `PATCH /marketing-leads/{lead_id}/status` */
  changeStatus(leadId: string, body?: LeadStatusPatch, options?: ChangeOptions): Call<Lead>;
  readonly statuses: MarketingLeadsStatusesResource;
}

/** The operations of `public.leads.statuses`. */
export interface PublicLeadsStatusesResource {
  /** List the statuses that a lead can have, and which can follow which. `GET /public/leads/statuses` */
  list(query?: QueryOf<'list_public_lead_statuses'>, options?: ReadOptions): ListCall<LeadStatusOptionList>;
  list(query: QueryOf<'list_public_lead_statuses'> | undefined, options: ConditionalOptions): Call<LeadStatusOptionList | undefined>;
}

/** The operations of `public.leads`. */
export interface PublicLeadsResource {
  /** List the submission to which the header Lead-Token gives access. Without the header the list is empty. `GET /public/leads` */
  list(query?: QueryOf<'list_public_leads'>, options?: ReadOptions & Partial<LeadOptions>): ListCall<PublicLeadList>;
  list(query: QueryOf<'list_public_leads'> | undefined, options: ConditionalOptions & Partial<LeadOptions>): Call<PublicLeadList | undefined>;
  /** Submit a lead. The response contains the token that gives access to it later, only this once. `POST /public/leads` */
  create(body: PublicLeadCreate, options?: CreateOptions): Call<PublicLead>;
  /** Get a submission and its status, with the header Lead-Token. `GET /public/leads/{lead_id}` */
  get(leadId: string, options: ReadOptions & LeadOptions): Call<PublicLead>;
  get(leadId: string, options: ConditionalOptions & LeadOptions): Call<PublicLead | undefined>;
  /** Withdraw a submission, or undo the withdrawal, which makes it new. Requires the header Lead-Token. `PATCH /public/leads/{lead_id}/status` */
  changeStatus(leadId: string, body: PublicLeadStatusPatch | undefined, options: LeadOptions & ChangeOptions): Call<PublicLead>;
  readonly statuses: PublicLeadsStatusesResource;
}

/** The operations of `public`. */
export interface PublicResource {
  readonly leads: PublicLeadsResource;
}

/** The operations of `research.artefacts`. */
export interface ResearchArtefactsResource {
  /** List the records of the sources, in the order in which they were first fetched. `GET /research/artefacts` */
  list(query?: QueryOf<'list_artefacts'>, options?: ReadOptions): ListCall<ArtefactList>;
  list(query: QueryOf<'list_artefacts'> | undefined, options: ConditionalOptions): Call<ArtefactList | undefined>;
  /** Get a source's record of a work. `GET /research/artefacts/{artefact_id}` */
  get(artefactId: string, options?: ReadOptions): Call<Artefact>;
  get(artefactId: string, options: ConditionalOptions): Call<Artefact | undefined>;
}

/** The operations of `research.jobs`. */
export interface ResearchJobsResource {
  /** List the imports, reconciliations and backfills that the caller has started, newest first. `GET /research/jobs` */
  list(query?: QueryOf<'list_research_jobs'>, options?: ReadOptions): ListCall<ResearchJobList>;
  list(query: QueryOf<'list_research_jobs'> | undefined, options: ConditionalOptions): Call<ResearchJobList | undefined>;
  /** Get an import, a reconciliation or a backfill, and its progress. It is available to its caller for 30 days. `GET /research/jobs/{job_id}` */
  get(jobId: string, options?: ReadOptions): Call<ResearchJob>;
  get(jobId: string, options: ConditionalOptions): Call<ResearchJob | undefined>;
}

/** The operations of `research.outputs`. */
export interface ResearchOutputsResource {
  /** List works, in the order in which they were first reconciled. `GET /research/outputs` */
  list(query?: QueryOf<'list_outputs'>, options?: ReadOptions): ListCall<WorkList>;
  list(query: QueryOf<'list_outputs'> | undefined, options: ConditionalOptions): Call<WorkList | undefined>;
  /** Get a work. A work that was merged into another redirects to it. `GET /research/outputs/{output_id}` */
  get(outputId: string, options?: ReadOptions): Call<Work>;
  get(outputId: string, options: ConditionalOptions): Call<Work | undefined>;
}

/** The operations of `research.venues`. */
export interface ResearchVenuesResource {
  /** List the venues whose editions can be backfilled, with the number of outputs of each edition. `GET /research/venues` */
  list(query?: QueryOf<'list_venues'>, options?: ReadOptions): ListCall<VenueList>;
  list(query: QueryOf<'list_venues'> | undefined, options: ConditionalOptions): Call<VenueList | undefined>;
}

/** The operations of `research`. */
export interface ResearchResource {
  /** Fetch all records of DBLP for an edition of a venue, such as neurips-2025, and reconcile them. `POST /research/backfill/{venue_edition}` */
  backfill(venueEdition: string, options?: CreateOptions): Call<ResearchJob>;
  /** Fetch the works of a researcher from ORCID and OpenAlex. `POST /research/import` */
  import(body: ImportCreate, options?: CreateOptions): Call<ResearchJob>;
  /** Build works from artefacts that share a DOI or an id of arXiv, PubMed or OpenAlex. `POST /research/reconcile` */
  reconcile(body?: ReconcileCreate, options?: CreateOptions): Call<ResearchJob>;
  readonly artefacts: ResearchArtefactsResource;
  readonly jobs: ResearchJobsResource;
  readonly outputs: ResearchOutputsResource;
  readonly venues: ResearchVenuesResource;
}

/** The operations of `reference.countries`. */
export interface ReferenceCountriesResource {
  /** List the countries of ISO 3166-1 by id. q matches their names in their own languages too. `GET /reference/countries` */
  list(query?: QueryOf<'list_countries'>, options?: ReadOptions): ListCall<CountryList>;
  list(query: QueryOf<'list_countries'> | undefined, options: ConditionalOptions): Call<CountryList | undefined>;
  /** Get a country. `GET /reference/countries/{country_id}` */
  get(countryId: string, options?: ReadOptions): Call<Country>;
  get(countryId: string, options: ConditionalOptions): Call<Country | undefined>;
}

/** The operations of `reference.currencies`. */
export interface ReferenceCurrenciesResource {
  /** List the currencies of ISO 4217 by id. The currencies of a country are its legal tender. `GET /reference/currencies` */
  list(query?: QueryOf<'list_currencies'>, options?: ReadOptions): ListCall<CurrencyList>;
  list(query: QueryOf<'list_currencies'> | undefined, options: ConditionalOptions): Call<CurrencyList | undefined>;
  /** Get a currency. `GET /reference/currencies/{currency_id}` */
  get(currencyId: string, options?: ReadOptions): Call<Currency>;
  get(currencyId: string, options: ConditionalOptions): Call<Currency | undefined>;
}

/** The operations of `reference.languages`. */
export interface ReferenceLanguagesResource {
  /** List the languages of ISO 639-3 by id. The languages of a country are those spoken there. `GET /reference/languages` */
  list(query?: QueryOf<'list_languages'>, options?: ReadOptions): ListCall<LanguageList>;
  list(query: QueryOf<'list_languages'> | undefined, options: ConditionalOptions): Call<LanguageList | undefined>;
  /** Get a language. `GET /reference/languages/{language_id}` */
  get(languageId: string, options?: ReadOptions): Call<Language>;
  get(languageId: string, options: ConditionalOptions): Call<Language | undefined>;
}

/** The operations of `reference.timezones`. */
export interface ReferenceTimezonesResource {
  /** List the IANA time zones by id, including former names. at adds their offsets at a given time. `GET /reference/timezones` */
  list(query?: QueryOf<'list_timezones'>, options?: ReadOptions): ListCall<TimezoneList>;
  list(query: QueryOf<'list_timezones'> | undefined, options: ConditionalOptions): Call<TimezoneList | undefined>;
  /** Get a time zone by its id, or by its name with / as %2F. at adds its offset at a given time. `GET /reference/timezones/{timezone_id}` */
  get(timezoneId: string, query?: QueryOf<'get_timezone'>, options?: ReadOptions): Call<Timezone>;
  get(timezoneId: string, query: QueryOf<'get_timezone'> | undefined, options: ConditionalOptions): Call<Timezone | undefined>;
}

/** The operations of `reference.cities`. */
export interface ReferenceCitiesResource {
  /** List the cities of the world, the largest first. q matches their names in other languages too. `GET /reference/cities` */
  list(query?: QueryOf<'list_cities'>, options?: ReadOptions): ListCall<CityList>;
  list(query: QueryOf<'list_cities'> | undefined, options: ConditionalOptions): Call<CityList | undefined>;
  /** Get a city by its GeoNames id. `GET /reference/cities/{city_id}` */
  get(cityId: string, options?: ReadOptions): Call<City>;
  get(cityId: string, options: ConditionalOptions): Call<City | undefined>;
}

/** The operations of `reference`. */
export interface ReferenceResource {
  readonly countries: ReferenceCountriesResource;
  readonly currencies: ReferenceCurrenciesResource;
  readonly languages: ReferenceLanguagesResource;
  readonly timezones: ReferenceTimezonesResource;
  readonly cities: ReferenceCitiesResource;
}

/** The operations of `status`. */
export interface StatusResource {
  /** Get the status of the service and the keys that sign its checkpoints. `GET /status` */
  get(options?: CallOptions): Call<ServiceStatus>;
}

/** The operations of `eventTypes`. */
export interface EventTypesResource {
  /** Get an event type with the schema of its data, an example, and the versions of the schema. `GET /event-types/{event_type}` */
  get(eventType: string, query?: QueryOf<'get_event_type'>, options?: ReadOptions): Call<EventType>;
  get(eventType: string, query: QueryOf<'get_event_type'> | undefined, options: ConditionalOptions): Call<EventType | undefined>;
  /** Declare an event type of your own application (201), or replace its fields (200). `PUT /event-types/{event_type}` */
  put(eventType: string, body: EventTypePut, options?: ChangeOptions & CreateOnlyOptions): Call<EventType>;
  /** List all event types, in the order of their names. `GET /event-types` */
  list(query?: QueryOf<'list_event_types'>, options?: ReadOptions): ListCall<EventTypeList>;
  list(query: QueryOf<'list_event_types'> | undefined, options: ConditionalOptions): Call<EventTypeList | undefined>;
}

/** The operations of `signedLink`. */
export interface SignedLinkResource {
  /** Get what a signed link is about: the organization, the record, who created the link, and when it expires. `GET /signed-link` */
  get(options?: CallOptions): Call<SignedLink>;
}

/** The operations of `documentation`. */
export interface DocumentationResource {
  /** Get links to the documentation and to the first operations to call. Browsers are redirected to /docs. `GET /` */
  getLinks(options?: CallOptions): Call<ServiceLinks>;
  /** Get the OpenAPI 3.1 document of this API. `GET /openapi.json` */
  getOpenapiDocument(options?: ReadOptions): Call<Record<string, unknown>>;
  getOpenapiDocument(options: ConditionalOptions): Call<Record<string, unknown> | undefined>;
  /** Get the first page of the documentation: the API reference, and the guides beside it. `GET /docs` */
  get(options?: ReadOptions): Call<string>;
  get(options: ConditionalOptions): Call<string | undefined>;
  /** Get a page of the documentation, such as tour, or a file: its Markdown, a script, a stylesheet or an image. `GET /docs/{asset}` */
  getAsset(asset: string, query?: QueryOf<'get_docs_asset'>, options?: ReadOptions): Call<string>;
  getAsset(asset: string, query: QueryOf<'get_docs_asset'> | undefined, options: ConditionalOptions): Call<string | undefined>;
  /** Get a list of the pages of the documentation for language models (llmstxt.org). `GET /llms.txt` */
  getLlmsText(options?: ReadOptions): Call<string>;
  getLlmsText(options: ConditionalOptions): Call<string | undefined>;
}

/** The operations of `console`. */
export interface ConsoleResource {
  /** Get the console, in which people use this API in a browser. `GET /console` */
  get(options?: ReadOptions): Call<string>;
  get(options: ConditionalOptions): Call<string | undefined>;
  /** Get a file of the console: a script, a stylesheet or an image. `GET /console/{asset}` */
  getAsset(asset: string, options?: ReadOptions): Call<string>;
  getAsset(asset: string, options: ConditionalOptions): Call<string | undefined>;
  /** Get the page on which an invited person accepts or declines. Its address has the invitation's token. `GET /invitation` */
  getInvitationPage(query?: QueryOf<'get_invitation_page'>, options?: ReadOptions): Call<string>;
  getInvitationPage(query: QueryOf<'get_invitation_page'> | undefined, options: ConditionalOptions): Call<string | undefined>;
  /** Get the page of a signed link to a custom domain: the DNS records that it needs, and a check of them. `GET /domain-setup` */
  getDomainSetupPage(options?: ReadOptions): Call<string>;
  getDomainSetupPage(options: ConditionalOptions): Call<string | undefined>;
  /** Get the page of a signed link to a webhook: its deliveries, retries, tests and the rotation of its secret. `GET /webhook-portal` */
  getWebhookPortalPage(options?: ReadOptions): Call<string>;
  getWebhookPortalPage(options: ConditionalOptions): Call<string | undefined>;
}

/** All resources of the API. */
export interface Resources {
  readonly organizations: OrganizationsResource;
  readonly me: MeResource;
  readonly anchors: AnchorsResource;
  readonly system: SystemResource;
  readonly platforms: PlatformsResource;
  readonly spaces: SpacesResource;
  readonly projectBlocks: ProjectBlocksResource;
  readonly taxonomyNodes: TaxonomyNodesResource;
  readonly sites: SitesResource;
  readonly marketingLeads: MarketingLeadsResource;
  readonly public: PublicResource;
  readonly research: ResearchResource;
  readonly reference: ReferenceResource;
  readonly status: StatusResource;
  readonly eventTypes: EventTypesResource;
  readonly signedLink: SignedLinkResource;
  readonly documentation: DocumentationResource;
  readonly console: ConsoleResource;
}
