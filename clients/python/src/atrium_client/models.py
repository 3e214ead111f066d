"""The records of the API. `make clients` writes this file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from atrium_client._base import KEEP_UNEXPECTED, Model


class Acceptance(Model):
    """An invitation as the invited person sees it, and the membership that accepting it created.

    Use it for the page to which the link in the mail leads: `can_accept` and `reason` tell whether the signed-in
    user can accept.
    """

    organization: PlaceOffered | None
    """Null if the invitation is to a platform."""
    platform: PlaceOffered | None
    """Null if the invitation is to an organization."""
    role: Literal["member", "editor", "admin"]
    email: str
    status: Literal["pending", "accepted", "declined", "revoked", "expired"]
    expires_at: str
    invited_by: str | None
    """Id of the user or API key. Null after the person was erased."""
    inviter_name: str | None
    """The inviter's name, if they are a member."""
    can_accept: bool | None
    """Whether the calling user can accept it now. Null without a credential."""
    reason: Literal["email_mismatch", "already_member", "invitation_used"] | None
    """Code of the problem that keeps the user from accepting."""
    membership: Member | None


class Actor(Model):
    """Who performed the action, with their name at that time.

    In the entry of a built-in event, it is the principal: a user, an API key, the holder of a signed link, an
    operator, an anonymous caller or the service itself. For the last two, and for operators who run a command,
    `id` is null. In the entry of an application event, the application can name any other actor, and `asserted`
    marks such an actor. The name helps people to read the log. Programs compare `type` and `id`, because a person
    can change their name.
    """

    type: str
    """`user`, `api_key`, `link`, `operator`, `anonymous` or `system`; in application events also `service_key`, and
    any type that the application names.
    """
    id: str | None
    name: str | None
    asserted: bool | None = None
    """True if the application named the actor. The service has not verified it: trust it as far as you trust
    `reported_by`. Absent otherwise.
    """
    created_by: LinkCreatorReference | None = None
    """Who created the link, if the actor is the holder of a signed link. Its holder acts with the rights of this
    user. Absent otherwise.
    """


class ActorIn(Model):
    """Who caused an event, as the caller asserts. The entry marks the actor as asserted, and names the caller."""

    type: str
    id: str
    name: str | None = None
    """Shown to people."""


class ActorReference(Model):
    """The principal who caused a built-in event: a user, a key, a link, an anonymous caller or the service itself.

    `id` is null for anonymous callers, for the service itself, and for operators who run a command.
    """

    type: Literal["user", "api_key", "service_key", "link", "operator", "anonymous", "system"]
    id: str | None


class Anchor(Model):
    """A leaf of the log of anchors: the size and the root of a log of the service, as they were anchored.

    The data of the leaf (RFC 9162) are three lines, each with a newline: `log`, `tree_size`, and the root in
    base64.
    """

    index: int
    """The index of the leaf in the log of anchors, from 0."""
    log: str
    """The SHA-256 of the log's origin, hex. The origin is `atrium/` and the id of the organization, which cannot be
    guessed from it.
    """
    tree_size: int
    """The number of entries of the anchored tree."""
    root_hash: str
    """The root of the anchored tree, hex."""


class AnchorList(Model):
    """One page of a list."""

    items: list[Anchor]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    checkpoint: str | None
    """The tree head of the log of anchors with most cosignatures, the largest of these (C2SP tlog-checkpoint, tlog-
    cosignature). It signs the first anchors of the list, up to its size. Null until a witness has cosigned, and
    always on a stage without witnesses.
    """


class AnchorProof(Model):
    """The first anchor of the log after the entry: a signed tree head that was stored outside of the table.

    `path` proves that its tree contains the entry.
    """

    tree_size: int
    """The number of entries of the anchored tree."""
    path: list[str]
    """RFC 9162 inclusion proof of the entry in the anchored tree, hex."""
    checkpoint: str
    """The signed tree head (C2SP tlog-checkpoint). The data of its leaf in the log of anchors has three lines, each
    with a newline: the SHA-256 of its first line in hexadecimal, its second and its third line.
    """


class ApiKey(Model):
    """A credential of a program, which has access to one organization within its scopes.

    Only the responses that create or rotate it contain the secret in `key`.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    name: str
    scopes: list[str]
    """Keys that were created earlier may have `audit-log:write`, which is equal to `audit-log:read`."""
    expires_at: str | None
    allowed_ips: list[str]
    hint: str
    key: str | None
    """The secret, when created or rotated. Null otherwise."""
    former_secrets_until: str | None
    """When the last of the secrets that were replaced by `rotate` stops working. Once this time has passed, only the
    current secret works. Null if there are no former secrets.
    """
    created_by: str | None
    """Id of the user or API key that created it. Null after the person was erased."""
    last_used_at: str | None
    """To the minute."""
    status: Literal["active", "revoked", "expired"]
    revoked_because: RevokedBecause | None
    """The user or key whose change revoked it, and the reason. Null if the key itself was revoked."""
    revoked_keys: list[RevokedKey] | None
    """The keys that were revoked with it. Null except in the log entry of its revocation."""


class ApiKeyList(Model):
    """One page of a list."""

    items: list[ApiKey]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    names: dict[str, PrincipalName] | None = None
    """The names of the organization's members and API keys whose ids are in the items, by id. Present if the request
    has `include=names`.
    """


class Artefact(Model):
    """A source's record of a work, as it was fetched.

    Artefacts are never edited: another import updates them, and a reconciliation builds works from them.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    source: Literal["orcid", "openalex", "dblp"]
    source_id: str
    """The id of the record at the source."""
    researcher_ids: list[str]
    """All ids, in the record, of the researchers for whom it was imported. At most 20."""
    title: str
    type: str
    year: int | None
    venue_name: str | None
    identifiers: Identifiers
    authors: list[Author]
    """The first 100. Empty if the source names none."""
    fetched_at: str
    """When this content was first fetched. A repeated import of the same content does not change it."""
    content_hash: str
    """SHA-256 of the canonical JSON (RFC 8785) of the source's record, in hexadecimal."""
    output_id: str | None
    """The output built from this artefact. Null until it is reconciled."""


class ArtefactList(Model):
    """One page of a list."""

    items: list[Artefact]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Attachment(Model):
    """The assignment of a taxonomy node to an entity.

    The entity is a record of the organization, or one of your own systems that Atrium knows only by type and id.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    platform_id: str
    node_id: str
    entity_type: str
    entity_id: str


class AttachmentList(Model):
    """One page of a list."""

    items: list[Attachment]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Attempt(Model):
    """One attempt to deliver an event.

    It has either the status code of the receiver's response, or an error such as a timeout.
    """

    number: int
    at: str
    duration_ms: int
    status_code: int | None
    """The status of the response. Null without a response."""
    error: str | None
    """Why there was no response."""
    response_body: str | None
    """The first KiB of the response body. Null if it was empty."""


class AttemptCounts(Model):
    """The attempts to deliver events to a webhook in a period, with their typical duration.

    Each retry counts as an attempt. Test messages do not count.
    """

    delivered: int
    """Attempts that the endpoint answered with a status of 2xx."""
    failed: int
    """Attempts with another status, or without a response."""
    median_duration_ms: int | None
    """The median duration of the attempts with a response, whatever its status. Time-outs and refused connections do
    not count. The error is at most 10 % or a millisecond. Null without a response.
    """


class AuditEntry(Model):
    """One entry of the log. `sequence` and `integrity` are null for a second or two, until the entry is in the tree.

    Only the entries of application events have `version`, `received_at`, `reported_by` and `targets`. `erased`
    marks an entry that named a person whose data was erased. Only its signed position, type and time remain.
    """

    id: str
    sequence: int | None
    type: str
    version: int | None = None
    """The version of the event type's schema. Present for application events only."""
    occurred_at: str
    """When the event occurred. For an application event, the application says so; for an erased entry, it is the
    time of receipt.
    """
    received_at: str | None = None
    """When the service received the event: the time by which the log is filtered. Present for application events
    only.
    """
    organization_id: str | None
    actor: Actor | None
    reported_by: Reporter | None = None
    """Who reported the event. Present for application events only."""
    target: Target | None
    """What the event is about; the first of `targets` for an application event, null if it has none."""
    targets: list[Target] | None = None
    """All that the event is about. Present for application events only."""
    context: EntryContext | None
    changes: list[FieldChange]
    """The public fields that changed. Empty for an application event."""
    data: dict[str, Any] | None
    """The public record after the change or, for an application event, what the application sent."""
    integrity: Integrity | None
    erased: bool | None = None
    """True for an erased entry; absent otherwise."""


class AuditEntryList(Model):
    """One page of a list."""

    items: list[AuditEntry]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class AuditExport(Model):
    """A background export of an audit log: a gzip file that is available for 7 days.

    Verify the file with `verify.py` and the checkpoint in the export, without the service.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    status: Literal["queued", "running", "completed", "failed", "expired"]
    format: Literal["ndjson", "csv"]
    filters: ExportFilters
    entry_count: int | None
    """Entries in the file; while the export is running, the number so far."""
    size_bytes: int | None
    """Size of the compressed file."""
    sha256: str | None
    """SHA-256 of the compressed file, hex."""
    checkpoint: str | None
    """The signed head of the log that the export covers."""
    evidence: list[OmittedEntries] | None
    """The hashes of the omitted entries, which prove that an NDJSON file is part of the log. Null if more than 2,000
    hashes were needed, and in lists.
    """
    download_url: str | None
    """Valid for 15 minutes. Each request returns a new URL. Anyone with the URL can download the file. Null in
    lists.
    """
    error: str | None
    """Why it failed."""
    expires_at: str | None
    """When the file is deleted."""


class AuditExportList(Model):
    """One page of a list."""

    items: list[AuditExport]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Author(Model):
    """An author as a source names them.

    The ORCID iD is null if the source does not know it, so two authors with the same name may be different
    people.
    """

    name: str
    orcid: str | None


class Branch(Model):
    """A node with its subtree, as the taxonomy tree contains it.

    `children` is empty for a leaf, and below the requested depth.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    platform_id: str
    name: str
    slug: str
    parent_id: str | None
    """Null if it is a root."""
    description: str | None
    alt_labels: list[str]
    position: int
    kind: Literal["term", "system"]
    """`system` for a system tag."""
    path: str
    """The slugs from the root to the node, joined by slashes."""
    depth: int
    """The level of the node; 1 for a root."""
    children: list[Branch]
    """Ordered by position."""


class ButtonBlock(Model):
    """A prominent link, such as a call to action.

    The address can be a path of the site, a URL or a `mailto:` link.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["button"]
    label: str
    url: str
    """A web address, an e-mail address by `mailto:`, a path of the site, or `#` and a block's id."""


class CallerRole(Model):
    """The role of the caller at a place, whether it is their own there or follows from one above.

    Use it to show people what they can change, before they try.
    """

    role: Role
    """An API key has the role of its scopes."""


class Capability(Model):
    """Something that a space can do in your product, such as video calls.

    Atrium stores the key and the settings, and your front end interprets them.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    space_id: str
    capability_key: str
    settings: dict[str, Any]


class CapabilityCreate(Model):
    """A capability to give to a space.

    You choose the key; the settings are any JSON object, up to 64 KiB.
    """

    capability_key: str
    """A key that the caller chooses."""
    settings: dict[str, Any] | None = None
    """The default is `{}`."""


class CapabilityList(Model):
    """One page of a list."""

    items: list[Capability]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class CapabilitySet(Model):
    """All capabilities of a space, with the id and version of the space.

    It is the data of the event that reports their replacement.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    items: list[Capability]


class Channel(Model):
    """A chat room, or another program, that receives events as sentences.

    A channel that needs attention receives no messages until it is fixed.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    provider: Literal["slack", "discord", "teams", "webhook"]
    name: str
    events: list[str]
    areas: list[str] | None
    """The areas whose events it receives: those that the API key which last changed it may read. Null if a user
    changed it last: all areas.
    """
    config: ChannelConfig
    enabled: bool
    status: Literal["active", "needs_attention"]
    last_error: str | None
    """Why the channel needs attention."""


class ChannelConfig(Model):
    """The URL that receives a channel's messages, masked.

    The host and the last characters are enough to recognize it.
    """

    webhook_url: str
    """The masked URL: its scheme, host and last characters."""


class ChannelList(Model):
    """One page of a list."""

    items: list[Channel]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class ChannelTarget(Model):
    """The URL that receives a channel's messages.

    Create it in the settings of the chat room, and keep it secret: it is a credential.
    """

    webhook_url: str
    """The provider's URL for incoming messages. Send the masked URL back to keep the current one."""


class Check(Model):
    """The health of a dependency of the service, such as its table.

    `detail` describes what is wrong if the status is `degraded`.
    """

    name: str
    status: Literal["ok", "degraded"]
    detail: str | None


class City(Model):
    """A city in GeoNames with at least 15,000 inhabitants, or a capital.

    Use it to complete addresses, and to find a time zone by place.
    """

    id: str
    """The GeoNames id."""
    created_at: str
    updated_at: str
    version: int
    """Always 1, as the data are replaced as a whole."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""
    name: str
    ascii_name: str
    country_id: str | None
    """The id of the country; null if the country has no ISO 3166-1 code, such as Kosovo."""
    admin: str | None
    """GeoNames code of the administrative division."""
    latitude: float
    """Degrees, WGS 84."""
    longitude: float
    """Degrees, WGS 84."""
    population: int
    timezone: str
    """The id of the time zone."""


class CityList(Model):
    """One page of a list."""

    items: list[City]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""


class CodeBlock(Model):
    """Source code, shown verbatim in a fixed-width font.

    The language is a hint for programs that highlight syntax; pages of the service do not.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["code"]
    text: str
    language: str | None = None


class ColumnsBlock(Model):
    """Blocks in columns, if the screen is wide enough.

    On a narrow screen the columns are below each other.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["columns"]
    columns: list[list[Block]]
    """Columns can contain columns, at most three levels deep."""


class Config(Model):
    """The configuration that a front end needs to start: the platform, its theme, navigation, modules and blocks.

    Read it once and show what is enabled.
    """

    platform: PlatformSummary
    theme: Theme
    navigation: Navigation
    home: Home
    modules: list[ConfigModule]
    custom_domain: ConfigDomain | PublicDomain | None
    """Null if none is claimed. Anonymous callers see it only if it is verified."""
    project_blocks: list[ProjectBlock]
    version: int
    """Increases with every change of the platform, its modules, project blocks, domain and the space."""


class ConfigCapability(Model):
    """A capability of the resolved space.

    Your front end decides what it means, for example whether to show a button for video calls.
    """

    capability_key: str
    settings: dict[str, Any]


class ConfigDomain(Model):
    """The custom domain of a platform, without the results of its last check.

    Members see it before it is verified, with the DNS records that it needs.
    """

    domain: str
    status: Literal["none", "pending", "verified", "failed", "lapsed"]
    verified_at: str | None
    records: list[ConfigRecord]


class ConfigModule(Model):
    """The effective state of a module, which tells a front end whether to show it.

    Callers without a role do not see the settings of a module that is off.
    """

    module_id: str
    enabled: bool
    source: Literal["system", "platform", "space", "dependency"]
    """What decided: the catalogue (`system`), the platform, the space, or a dependency of the module. It is `space`
    for a module that the platform lacks, because only the override of the space names it.
    """
    inherited: bool
    """Whether the platform has the module and no override of the space applies."""
    locked: bool
    """Whether the platform prevents overrides."""
    settings: dict[str, Any]
    """Settings of the platform, deeply merged with those of an override that applies."""
    blocked_by: list[str]
    """Why the state is not as configured: `locked` if the platform's lock makes the override of the space
    ineffective, `unknown_module` if the platform lacks the overridden module, and the ids of the dependencies
    that are off, if they are why the module is off.
    """
    name: str
    depends_on: list[str]
    """Modules that must be on for this one to be on."""


class ConfigRecord(Model):
    """A DNS record that the domain needs.

    One proves the ownership of the domain, the other leads its visitors to the platform.
    """

    purpose: Literal["ownership", "routing"]
    type: Literal["TXT", "CNAME", "A", "AAAA", "ALIAS"]
    name: str
    expected: str


class Consent(Model):
    """Consent to be contacted, as it was stored.

    The version names the text that the person saw, so that you can prove what they agreed to.
    """

    text_version: str
    """Version of the consent text."""
    given_at: str


class ConsentGiven(Model):
    """Consent to be contacted.

    Send the version of the text that the form showed, and the time at which the person agreed.
    """

    text_version: str
    """Version of the consent text."""
    given_at: str | None = None
    """Time of the consent; now if omitted."""


class ConsistencyProof(Model):
    """A proof that the log at one size is the beginning of the log at another (RFC 9162, section 2.1.4).

    Compare the roots with those in the checkpoints that you stored.
    """

    from_: int
    """The size of the earlier tree."""
    to: int
    """The size of the later tree."""
    from_root_hash: str
    """The root of the earlier tree, hex."""
    to_root_hash: str
    """The root of the later tree, hex."""
    path: list[str]
    """RFC 9162 consistency proof, hex. Empty if `from` and `to` are equal."""
    checkpoint: str
    """The newest signed tree head (C2SP tlog-checkpoint). The proof leads to its root."""
    consistency_path: list[str] | None
    """RFC 9162 consistency proof from `to` to the size of `checkpoint`. Null if both are the same size."""


class ContextIn(Model):
    """The address and the browser from which the actor used your own application.

    The log stores them as the caller states them. Nothing checks whether they are true.
    """

    ip_address: str | None = None
    """An IPv4 or IPv6 address."""
    user_agent: str | None = None


class Country(Model):
    """A country as defined by ISO 3166-1, with its currencies, languages and calling code.

    The names are from Unicode CLDR.
    """

    id: str
    """ISO 3166-1 alpha-2."""
    created_at: str
    updated_at: str
    version: int
    """Always 1, as the data are replaced as a whole."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""
    alpha3: str
    numeric: str
    """Three digits."""
    name: str
    official_name: str
    flag: str
    """The flag as an emoji."""
    currencies: list[str]
    """Ids of the currencies that are legal tender."""
    languages: list[str]
    """Ids of the languages spoken in the country, the most widely spoken first."""
    calling_code: str | None
    """E.164 calling code, including an area code that identifies the country; the first of several."""


class CountryList(Model):
    """One page of a list."""

    items: list[Country]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""


class Counts(Model):
    """The numbers of records that a job has processed: artefacts, or the outputs of a reconciliation.

    They grow while the job runs.
    """

    created: int
    """The default is `0`."""
    updated: int
    """The default is `0`."""
    unchanged: int
    """The default is `0`."""
    conflicts: int
    """Merges that a reconciliation suggests but does not make: outputs that share no identifier, are at most a year
    apart, and have the same title and first author or, if one of them lists no authors (ORCID never does), the
    same title and a common researcher. The default is `0`.
    """


class CreatedEvent(Model):
    """The confirmation that one element of a batch is in the organization's log.

    `GET /organizations/{organizationId}/audit-log/{entryId}` shows the entry.
    """

    id: str
    """The id of the event's entry in the log."""


class CreatedEvents(Model):
    """The ids of the entries that a batch added to the organization's log.

    They have the order of the request, so the first id belongs to the first event.
    """

    items: list[CreatedEvent]
    """The events, in the order of the request."""


class Credential(Model):
    """What the service knows about the token or key of the request.

    It shows how long the credential is valid, and what limits an API key or service key. It never contains the
    secret.
    """

    type: Literal["user", "api_key", "service_key"]
    """As the type of the actor in log entries."""
    expires_at: str | None
    """When it stops working: the token's `exp`, or the expiry of the key or of its former secret."""
    audiences: list[str] | None
    """The token's `aud`. Null for a key."""
    scopes: list[str] | None
    """The key's scopes. Null for a user."""
    allowed_ips: list[str] | None
    """The networks (CIDR) from which the key works; empty if from any. Null for a user."""
    created_by: str | None
    """Id of the user or API key that created the key. Null for a user."""


class Currency(Model):
    """A currency as defined by ISO 4217.

    `minor_units` is the number of decimal places of its amounts, such as 2 for the franc and 0 for the yen.
    """

    id: str
    """ISO 4217 alphabetic code."""
    created_at: str
    updated_at: str
    version: int
    """Always 1, as the data are replaced as a whole."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""
    numeric: str
    """Three digits."""
    name: str
    symbol: str
    """The symbol in English, else the symbol in a country that uses the currency, else the code."""
    minor_units: int | None
    """Number of decimals; null for units without decimals, such as gold."""


class CurrencyList(Model):
    """One page of a list."""

    items: list[Currency]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""


class CustomBlock(Model):
    """Data for the caller's own programs, such as a chart that your front end draws.

    HTML pages do not show it.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["custom"]
    data: dict[str, Any]


class CustomDomain(Model):
    """The custom domain of a platform, and the DNS records that verify it.

    Its id is the id of the platform, because a platform has at most one.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    domain: str | None
    """The domain in lower case and ASCII, as in DNS. Null if none is claimed."""
    status: Literal["none", "pending", "verified", "failed", "lapsed"]
    """`pending` for at most 7 days, then `verified` or `failed`; `lapsed` after 72 hours without proof of ownership."""
    records: list[DnsRecord]
    """The DNS records that the domain needs; empty if none is claimed."""
    verified_at: str | None
    """When it was verified; null if it is not."""
    last_checked_at: str | None
    """Verified domains are checked once a day, pending ones more often."""
    last_error: (
        Literal[
            "TXT_NOT_FOUND",
            "TXT_MISMATCH",
            "CNAME_MISMATCH",
            "APEX_NEEDS_A_OR_ALIAS",
            "DOMAIN_TAKEN",
            "DNS_TIMEOUT",
            "DNS_FAILURE",
        ]
        | None
    )
    """What the last check found, as a code. `TXT_NOT_FOUND`: no ownership record. `TXT_MISMATCH`: an ownership
    record with another value. `CNAME_MISMATCH`: no CNAME record, or one that leads elsewhere; `observed` of the
    record is empty if there is none. `APEX_NEEDS_A_OR_ALIAS`: the same for a domain without a subdomain.
    `DOMAIN_TAKEN`: another platform has verified the domain. `DNS_TIMEOUT`, `DNS_FAILURE`: DNS did not answer.
    Errors of the ownership record come first.
    """
    last_error_detail: str | None
    """Which record is missing or wrong, what it should be, what to do, and what happens at `fails_at`. Null without
    an error.
    """
    next_check_at: str | None
    """When the service checks the DNS next. Null if no domain is claimed, and after it failed or lapsed: `verify`
    then starts again.
    """
    fails_at: str | None
    """When a pending domain becomes `failed`, or a verified one without its ownership record `lapsed`. Null
    otherwise.
    """


class DatadogDestination(Model):
    """The log intake of one of the sites of Datadog, the monitoring service.

    Each entry becomes a log, whose message is the JSON of the entry.
    """

    _tag: ClassVar[str | None] = "type"

    type: Literal["datadog"]
    site: Literal[
        "datadoghq.com",
        "us3.datadoghq.com",
        "us5.datadoghq.com",
        "datadoghq.eu",
        "ap1.datadoghq.com",
        "ap2.datadoghq.com",
        "ddog-gov.com",
    ]
    """The site of your Datadog organization."""
    api_key: str
    """An API key of Datadog."""
    service: str | None = None
    """The `service` of the logs. The default is `"atrium"`."""


class DatadogDestinationPatch(Model):
    """The log intake of one of the sites of Datadog, in a change of a stream.

    The API key is needed only with another site, because the stored one is only sent where it was sent before.
    """

    _tag: ClassVar[str | None] = "type"

    type: Literal["datadog"]
    site: Literal[
        "datadoghq.com",
        "us3.datadoghq.com",
        "us5.datadoghq.com",
        "datadoghq.eu",
        "ap1.datadoghq.com",
        "ap2.datadoghq.com",
        "ddog-gov.com",
    ]
    """The site of your Datadog organization."""
    api_key: str | None = None
    """An API key of Datadog. Required with another site. If omitted, the current one stays."""
    service: str | None = None
    """The `service` of the logs. The default is `"atrium"`."""


class DeadLetter(Model):
    """A message that failed too often.

    Its body is not shown, because it can name records of tenants.
    """

    message_id: str
    """SQS's id of the message, which the log records of its failures contain, too."""
    task: str | None
    """The work that the message asks for; `ledger.append` for new entries of a log. Null if another program put the
    message there.
    """
    can_be_redriven: bool
    """Whether this release has the task. Other messages would fail again, so a redrive skips them."""
    request_ids: list[str]
    """The first three requests that caused the message. Empty if the sweep queued it."""
    receive_count: int
    """How often it was received, here and in its queue. Each look counts."""
    sent_at: str
    """When it was sent or, in the two FIFO queues `events` and `deliveries`, when it was moved here."""


class DeadLetterQueue(Model):
    """A dead-letter queue: how many messages it has, and the first of them.

    A message moves there after five failures, and stays for 14 days. Its alarm is active as long as there are
    any.
    """

    queue: Literal["events", "jobs", "deliveries", "deliveries-slow"]
    """The queue whose messages failed."""
    name: str
    """The name of the dead-letter queue."""
    message_count: int
    """The approximate number of messages, as SQS states it."""
    oldest_sent_at: str | None
    """When the oldest of the shown messages was sent."""
    messages: list[DeadLetter]
    """The first messages, at most 10. While somebody else looks at the queue or sends messages back, some may be
    missing.
    """


class DeadLetters(Model):
    """All dead-letter queues at this moment.

    It is no list of records: SQS may show other messages at each look, and counts the looks.
    """

    queues: list[DeadLetterQueue]
    """Always the same four, in the order of a message's way."""


class Delivery(Model):
    """The delivery of one event to one webhook, with its attempts.

    It is pending until an attempt succeeds or the last one fails. `skipped` means that it was not sent: the
    webhook was not enabled, may not receive the event any more, or the event was erased.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    webhook_id: str
    event_id: str
    """The id of the log entry. It is also the id of the delivery, and the `webhook-id` of each attempt."""
    event_type: str
    status: Literal["pending", "succeeded", "failed", "skipped"]
    attempts: list[Attempt]
    next_attempt_at: str | None
    completed_at: str | None


class DeliveryDetail(Model):
    """The delivery of an event to a webhook, with the HTTP request that was or will be sent.

    Compare the request with what your endpoint received, for example when it rejects a signature.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    webhook_id: str
    event_id: str
    """The id of the log entry. It is also the id of the delivery, and the `webhook-id` of each attempt."""
    event_type: str
    status: Literal["pending", "succeeded", "failed", "skipped"]
    attempts: list[Attempt]
    next_attempt_at: str | None
    completed_at: str | None
    request: DeliveryRequest


class DeliveryList(Model):
    """One page of a list."""

    items: list[Delivery]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class DeliveryRequest(Model):
    """The request of a delivery's last attempt or, before the first one, of its next attempt.

    It is not stored. It is derived from the webhook and the log entry as they are now.
    """

    url: str
    """The webhook's URL. The values in its query are masked."""
    headers: dict[str, str]
    """The headers, with lower-case names. The signatures are masked. `webhook-timestamp` is absent before the first
    attempt.
    """
    body: str | None
    """The body, which has the same bytes in each attempt. Null for an API key without the scope to read the event's
    area, and if the log entry was erased.
    """


class Destination(Model):
    """Where a log stream sends entries, with the fields of its type and without credentials.

    The types are those of the destinations in a request; programs have to ignore types that they do not know.
    """

    type: Literal["https", "splunk", "datadog", "s3"]


class DividerBlock(Model):
    """A thematic break between two parts of a page.

    HTML pages show it as a horizontal line.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["divider"]


class DnsRecord(Model):
    """A DNS record that the domain needs, and what the last check observed.

    `relative_name` is the name to enter in the form of a DNS provider.
    """

    purpose: Literal["ownership", "routing"]
    """`ownership` proves who owns the domain, `routing` directs its visitors to the service."""
    type: Literal["TXT", "CNAME", "A", "AAAA", "ALIAS"]
    """`ALIAS` points an apex to a name; some providers call it ANAME or CNAME flattening."""
    name: str
    """The fully qualified name."""
    relative_name: str
    """The name relative to the registered domain, as most providers expect it; `@` is that domain."""
    expected: str
    observed: list[str]
    """Values observed at the last check."""
    ok: bool
    """Whether the record is as required."""


class DomainCounts(Model):
    """How many platforms of an organization have claimed a domain of their own, and how many of these do not work
    yet.

    The inventory of domains names them, and the custom domain of a platform has the DNS records that are missing.
    """

    total: int
    """Platforms that have claimed a domain."""
    unverified: int
    """Those whose domain is pending, failed or lapsed."""
    is_at_least: bool
    """Whether there may be more, because only some of them were counted."""


class EffectiveModule(Model):
    """The effective state of a module in a space, and where it comes from.

    `blocked_by` lists what keeps the module from the state that the platform or the space configured.
    """

    module_id: str
    enabled: bool
    source: Literal["system", "platform", "space", "dependency"]
    """What decided: the catalogue (`system`), the platform, the space, or a dependency of the module. It is `space`
    for a module that the platform lacks, because only the override of the space names it.
    """
    inherited: bool
    """Whether the platform has the module and no override of the space applies."""
    locked: bool
    """Whether the platform prevents overrides."""
    settings: dict[str, Any]
    """Settings of the platform, deeply merged with those of an override that applies."""
    blocked_by: list[str]
    """Why the state is not as configured: `locked` if the platform's lock makes the override of the space
    ineffective, `unknown_module` if the platform lacks the overridden module, and the ids of the dependencies
    that are off, if they are why the module is off.
    """


class EffectiveModuleList(Model):
    """One page of a list."""

    items: list[EffectiveModule]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class EmbedBlock(Model):
    """Content of another site, such as a video.

    The page links to it and does not load it, so visitors are not tracked by the other site.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["embed"]
    url: str


class EntryContext(Model):
    """The request that led to the entry.

    Together with the request id it connects the entry with the service's log records. In application events,
    address and user agent are those of the actor, if the application stated them.
    """

    operation_id: str
    request_id: str | None
    ip_address: str | None
    user_agent: str | None


class EntryProof(Model):
    """A proof that an entry is in the log (RFC 9162, section 2.1.3). Save the response: it is a receipt.

    `verify.py receipt` checks it with the public key alone.
    """

    entry: AuditEntry
    leaf_hash: str
    """The hash of the entry's leaf, hex."""
    sequence: int
    """The position of the entry. Its leaf has the index `sequence` - 1."""
    tree_size: int
    """The number of entries of the tree to which `path` belongs."""
    root_hash: str
    """The root of that tree, hex."""
    path: list[str]
    """RFC 9162 inclusion proof: the hashes from the leaf to the root, hex."""
    checkpoint: str
    """The newest signed tree head (C2SP tlog-checkpoint). The proof leads to its root."""
    consistency_path: list[str] | None
    """RFC 9162 consistency proof from `tree_size` to the size of `checkpoint`. Null if both are the same size."""
    witness: WitnessProof | None
    """What witnesses have cosigned. Null until the log was anchored, which happens each hour, and always null on a
    stage without witnesses.
    """


class EntrySelection(Model):
    """Filters for the entries.

    An entry has to match all of them. `organization.member.*` matches all types that begin with
    `organization.member.`.
    """

    to: str | None = None
    """Latest time, RFC 3339 with an offset."""
    from_: str | None = None
    """Earliest time, RFC 3339 with an offset. Not after `to`."""
    type: str | None = None
    """One event type, or a prefix with `.*` for all types below it."""
    actor_id: str | None = None
    """Only entries by this actor, as in `actor.id`: the id of a user or an API key, or of an actor that an
    application named.
    """
    target_id: str | None = None
    """Only entries about this record, as in `target.id`. The target of a change of a member is the membership: `id`
    in the list of members, not `user_id`. A transfer of the ownership is about the organization. An application
    event is found by its first target.
    """


class ErasedActor(Model):
    """A person whom only your application knows, by the type and id with which its events name the person.

    Both are compared exactly, so `C-17` and `c-17` are different people.
    """

    type: str
    id: str


class Erasure(Model):
    """The progress of the erasure of a person.

    A minute after completion it searches once more for records that were in flight, then clears all data about
    the person. If the second search fails, `error` has the reason. After an error, create another erasure of the
    person, which uses the results of this one.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    status: Literal["queued", "running", "completed", "failed"]
    erased_records: int
    """Records that were removed or redacted so far."""
    erased_entries: int
    """Log entries that were erased so far."""
    error: str | None
    """Why it failed, and what to do. A `completed` erasure has it if the second search failed."""


class ErasureList(Model):
    """One page of a list."""

    items: list[Erasure]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class EventIn(Model):
    """Something that happened in your own application, to write to the organization's log.

    It has at most 64 KiB as JSON in UTF-8. The schema of its type decides which `data` is valid.
    """

    type: str
    """A type that operators have declared."""
    version: int | None = None
    """The version of the type's schema. If omitted, the latest one."""
    occurred_at: str | None = None
    """When the event occurred: at most 7 days ago and 5 minutes ahead. If omitted, now."""
    actor: ActorIn | None = None
    """Who caused the event. If omitted, the caller."""
    targets: list[TargetIn] | None = None
    """What the event is about. The filter `target_id` of lists finds the first one."""
    context: ContextIn | None = None
    """From where the actor caused the event."""
    data: dict[str, Any] | None = None
    """What the type's schema describes."""


class EventType(Model):
    """A kind of event that webhooks, channels and log streams can subscribe to.

    The schema and the example describe the `data` of its events. `version` and `versions` are present for the
    types of your own application. A built-in type has the schema of the release.
    """

    id: str | None = None
    """The id of the type in the log."""
    type: str
    description: str
    """When the event occurs."""
    sentence: str | None = None
    """The text of chat messages, with placeholders."""
    deprecated: bool | None = None
    """Whether programs should stop writing such events."""
    version: int | None = None
    """The version of the schema that is shown."""
    versions: list[SchemaVersion] | None = None
    """All versions of the schema, the first one first. Events can name any of them."""
    schema_: dict[str, Any]
    """JSON Schema (2020-12) of the event's `data`."""
    example: dict[str, Any] | None
    """An example of the event's `data`. Null if the schema has none."""
    created_at: str | None = None
    """When an operator declared the type."""
    updated_at: str | None = None
    """When an operator changed the type."""


class EventTypeList(Model):
    """One page of a list."""

    items: list[EventType]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class ExportFilters(Model):
    """The filters with which an export was started.

    A filter that was not set is null, and an export without filters has the whole log.
    """

    to: str | None
    """Latest time, RFC 3339 with an offset."""
    from_: str | None
    """Earliest time, RFC 3339 with an offset. Not after `to`."""
    type: str | None
    """One event type, or a prefix with `.*` for all types below it."""
    actor_id: str | None
    """Only entries by this actor, as in `actor.id`: the id of a user or an API key, or of an actor that an
    application named.
    """
    target_id: str | None
    """Only entries about this record, as in `target.id`. The target of a change of a member is the membership: `id`
    in the list of members, not `user_id`. A transfer of the ownership is about the organization. An application
    event is found by its first target.
    """


class FieldChange(Model):
    """One public field before and after the change that an entry records.

    A value over 4 KiB appears as `{sha256, size}`.
    """

    field: str
    from_: Any
    to: Any


class FieldError(Model):
    """One error of a request, with its location. A form can show `detail` beside the field to which `pointer`
    points.
    """

    pointer: str
    """Its location: `/slug` in the body, `query/limit`, `path/user_id` or `header/If-Match`."""
    code: str
    """What is wrong, for programs."""
    detail: str
    """What is wrong, and what is accepted instead, for people."""


class Finding(Model):
    """A stored record that does not agree with the audit log.

    Somebody with access to the database may have added, changed or removed it without the service.
    """

    kind: Literal["unlogged", "differing", "missing", "newer"]
    """`unlogged`: no entry explains the record. `differing`: it is not as the service stored it last. `missing`: it
    is gone, although the last entry says that it exists. `newer`: a newer release seems to have stored it, so it
    cannot be compared. If one is being deployed, compare again after the deployment.
    """
    type: str
    """The type of the record."""
    id: str
    """The id of the record."""
    fields: list[str]
    """The fields that differ. Fields that no entry contains, such as hashes, are named together if any of them
    differs. `derived_items` stands for items that the service derives from the record.
    """


class FindingCounts(Model):
    """The number of findings of each kind. With `has_more`, there are at least as many."""

    unlogged: int
    """Records that no entry explains. The default is `0`."""
    differing: int
    """Records that differ from what was stored. The default is `0`."""
    missing: int
    """Records that are gone. The default is `0`."""
    newer: int
    """Records that this release cannot compare. The default is `0`."""


class FoundOrganization(Model):
    """An organization as operators find it, with any status.

    Operators see who owns it, and nothing of its contents.
    """

    id: str
    name: str
    slug: str
    company_name: str | None
    status: Literal["active", "pending_deletion"]
    created_at: str
    owner_id: str
    """The user id of the owner."""
    deleted_at: str | None
    """When its owner deleted it. It is purged 30 days later."""


class FoundOrganizationList(Model):
    """One page of a list."""

    items: list[FoundOrganization]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class HeadingBlock(Model):
    """A heading, which structures a page.

    Choose levels without gaps, because screen readers show them as an outline of the page.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["heading"]
    level: int
    text: str
    """One line of Markdown."""


class Home(Model):
    """The home page of a platform, which your front end renders from the layout and its blocks.

    It may name a space or a site to open.
    """

    layout: str | None
    blocks: list[HomeBlock]
    """The default is `[]`."""
    space_id: str | None
    site_id: str | None


class HomeBlock(Model):
    """A block of a platform's home page.

    Your front end gives the type and the settings their meaning; Atrium stores them as they are.
    """

    id: str
    type: str
    settings: dict[str, Any]
    """The default is `{}`."""


class HomeBlockIn(Model):
    """A block of a platform's home page to store.

    Choose an id that is unique on the page, and a type that your front end knows.
    """

    id: str
    type: str
    settings: dict[str, Any] | None = None
    """The default is `{}`."""


class HttpsDestination(Model):
    """An HTTPS endpoint of yours. Each batch is one POST request, signed like the messages of webhooks."""

    _tag: ClassVar[str | None] = "type"

    type: Literal["https"]
    url: str
    """The https URL that receives the batches."""
    format: Literal["json", "ndjson"] | None = None
    """A JSON array, or one entry in each line. The default is `"json"`."""


class IdDerivation(Model):
    """How a user's id follows from the claims `iss` and `sub` of their token.

    With it, other programs can compute the ids that members and log entries contain.
    """

    method: Literal["sub", "uuid5"]
    """`sub`: the subject is a UUID, and is the id in lower case. `uuid5`: the id is UUIDv5(UUIDv5(NAMESPACE_URL,
    issuer), subject) (RFC 9562).
    """
    issuer: str
    """The token's `iss`."""
    subject: str
    """The token's `sub`."""


class Identifiers(Model):
    """Identifiers of a work, without URLs: the DOI in lower case, the arXiv id without version.

    Artefacts that share one describe the same work.
    """

    doi: str | None
    arxiv: str | None
    pmid: str | None
    openalex: str | None
    dblp: str | None


class ImageBlock(Model):
    """An image at a URL, with a text that replaces it for people who do not see it.

    Atrium does not store the image itself.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["image"]
    url: str
    """A web address, or a path of the site."""
    alt: str
    """Alternative text. Empty for a decorative image."""


class Integrity(Model):
    """The position of the entry in the Merkle tree.

    The hash commits to the complete entry, so a change of the entry can be detected.
    """

    leaf_hash: str
    """SHA-256(0x00 ‖ canonical JSON), hex."""
    tree_size: int
    """The size of the first tree that contains the entry."""
    erasure_signature: str | None = None
    """Present for an erased entry only: the service's signature of the remaining fields, or null if the entry had
    been altered before the erasure. The value is the base64 of the first 4 bytes of the public key's SHA-256,
    followed by the 64-byte Ed25519 signature. verify.py checks it instead of the leaf hash.
    """


class IntegrityReport(Model):
    """The result of a verification.

    If `valid` is false, `failure` names what is wrong and `first_invalid_sequence` where.
    """

    valid: bool
    tree_size: int
    root_hash: str
    """The root hash of the whole tree, hex."""
    checkpoint: str | None
    """The signed tree head (C2SP). Store it: every later log must begin with it."""
    pending_entries: int
    """Entries committed but not yet in the tree."""
    checked_entries: int
    """Entries verified so far."""
    first_invalid_sequence: int | None
    failure: Literal["modified", "missing", "reordered", "truncated", "forked", "bad_signature"] | None
    """`modified`: an entry was altered. `missing`: there is no entry with this sequence. `reordered`: another entry
    has this sequence. `truncated`: the log is shorter than its head, its newest anchor or the checkpoint in the
    request. `forked`: the root of its tree differs from one of these. `bad_signature`: no key of this service
    signed the head, the anchor or the checkpoint in the request.
    """
    suppressed: int
    """Changes whose entries were removed before they received a sequence. A log with more than 0 is not valid, even
    if every remaining entry is intact.
    """
    next_cursor: str | None
    """The cursor for the next request. Null once the whole log is verified."""


class Invitation(Model):
    """An offer of a role in an organization or a platform, sent to an e-mail address.

    Only the responses that send it contain the link to accept it.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    platform_id: str | None
    """The platform to which it invites. Null: the organization."""
    email: str
    role: Literal["member", "editor", "admin"]
    message: str | None
    """The message to the invited person. The mail omits it during the first day of the organization, unless somebody
    has already accepted an invitation to it.
    """
    expires_in_days: int
    status: Literal["pending", "accepted", "declined", "revoked", "expired"]
    expires_at: str
    invited_by: str | None
    """Id of the user or API key. Null after the person was erased."""
    sent_at: str | None
    """When it was last sent or, if the service sends no mail, issued. Null if its mail was withheld."""
    mail_withheld: bool
    """Whether no mail was sent because the address receives too many or has unsubscribed. The invitation can still
    be accepted: send its link yourself.
    """
    accept_url: str | None
    """Link to accept it, when it is sent. Null otherwise."""


class InvitationList(Model):
    """One page of a list."""

    items: list[Invitation]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    names: dict[str, PrincipalName] | None = None
    """The names of the organization's members and API keys whose ids are in the items, by id. Present if the request
    has `include=names`.
    """


class InvitationOfCaller(Model):
    """A pending invitation to the verified e-mail address of the caller.

    They accept or decline it with `POST /me/invitations/{invitation_id}`, or with the link in the mail. An
    invitation to a platform can also be accepted with `join`.
    """

    id: str
    organization: PlaceOffered
    """The organization, or the one that has the platform."""
    platform: PlaceOffered | None
    """Null if the invitation is to the organization."""
    role: Literal["member", "editor", "admin"]
    invited_by: str | None
    """Id of the user or API key. Null after the person was erased."""
    inviter_name: str | None
    """The inviter's name, if they are a member."""
    expires_at: str


class InvitationOfCallerList(Model):
    """One page of a list."""

    items: list[InvitationOfCaller]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Language(Model):
    """A language as defined by ISO 639-3.

    `native_name` is its name in the language itself, which people recognize in a list.
    """

    id: str
    """ISO 639-3."""
    created_at: str
    updated_at: str
    version: int
    """Always 1, as the data are replaced as a whole."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""
    alpha2: str | None
    """ISO 639-1, if it has one."""
    name: str
    native_name: str | None
    """The name of the language in that language."""


class LanguageList(Model):
    """One page of a list."""

    items: list[Language]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""


class Lead(Model):
    """A lead as operators see it: the first submission, and all that one email address submitted within a day.

    `history` and `notes` record the work on it.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    contact_name: str
    contact_email: str
    company_name: str | None
    message: str | None
    source: str | None
    consent: Consent | None
    status: Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]
    notes: list[Note]
    """Ordered by time."""
    history: list[StatusGivenBy]
    """Ordered by time."""
    submissions: list[Submission]
    """Ordered by time. Email addresses are not verified, so each submission may have another sender."""


class LeadList(Model):
    """One page of a list."""

    items: list[Lead]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class LeadStatusOption(Model):
    """A possible status of a lead, and the statuses that can follow it.

    Use it to offer only changes that succeed.
    """

    status: Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]
    label: str
    terminal: bool
    """Whether no other status can follow."""
    next: list[Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]]
    """The statuses that can follow."""


class LeadStatusOptionList(Model):
    """One page of a list."""

    items: list[LeadStatusOption]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class LinkCreator(Model):
    """The member who sent a signed link to its holder.

    The holder acts with the rights of this person, and can ask them if the task is not clear.
    """

    name: str | None
    """The name, or else the username or e-mail address. Null if the service knows none."""


class LinkCreatorReference(Model):
    """The user with whose rights the holder of a signed link acts, with their name at that time.

    An erasure of this person also erases the entries about what the holder did.
    """

    _tag: ClassVar[str | None] = "type"

    type: Literal["user"]
    id: str
    name: str | None


class LinkedOrganization(Model):
    """The organization that owns the record of a signed link.

    Its name tells the holder who asks them to do something, before they act.
    """

    id: str
    name: str


class ListBlock(Model):
    """A list of short texts, numbered if `ordered` is true.

    Use a text block with Markdown for nested lists.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["list"]
    items: list[str]
    """One line of Markdown each."""
    ordered: bool | None = None
    """The default is `false`."""


class LogFailure(Model):
    """A log that is not intact, and where it begins to differ from what the service wrote.

    Verify the log itself to see the details, and keep its exports as evidence.
    """

    log_id: str
    """The organization's id, or `system-0` to `system-15` for the logs of the service itself."""
    organization_id: str | None
    """Null for a log of the service itself."""
    failure: Literal[
        "modified", "missing", "reordered", "truncated", "forked", "bad_signature", "suppressed", "anchor_rewritten"
    ]
    """What `GET …/audit-log/verify-integrity` reports. In addition, `suppressed`: entries were removed before they
    received a sequence. `anchor_rewritten`: the file of the newest anchor was written again.
    """
    first_invalid_sequence: int | None
    """The first entry that is affected."""


class LogStream(Model):
    """The settings of a log stream, as entries of the log and events show them.

    They do not contain credentials, and nothing about the progress of the stream.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    destination: Destination
    events: list[str]
    areas: list[str] | None
    """The areas whose events it receives: those that the API key which last changed it may read. Null if a user
    changed it last: all areas.
    """
    description: str | None
    enabled: bool
    status: Literal["active", "paused", "disabled"]
    start_sequence: int
    """The sequence of the first entry that it sends, or has sent since it was last restarted."""
    external_id: str | None
    """For S3: the external id with which the service assumes the role. Require it in the role's trust policy. Null
    for other destinations.
    """
    secret: str | None
    """For HTTPS: the secret that signs the batches. Only in the response that creates or rotates it."""
    former_secrets_until: str | None
    """Until when messages are also signed with former secrets. Once this time has passed, they are signed with the
    current one only. Null if there are no former secrets.
    """
    disabled_reason: str | None
    """Why the service disabled the stream."""


class LogStreamDetail(Model):
    """A log stream, which sends the entries of an organization's log to a system of yours, in order.

    Only the responses that create or rotate the secret of an HTTPS endpoint contain it.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    destination: Destination
    events: list[str]
    areas: list[str] | None
    """The areas whose events it receives: those that the API key which last changed it may read. Null if a user
    changed it last: all areas.
    """
    description: str | None
    enabled: bool
    status: Literal["active", "paused", "failing", "disabled"]
    """`failing` while attempts to send the next batch fail. They are repeated."""
    start_sequence: int
    """The sequence of the first entry that it sends, or has sent since it was last restarted."""
    external_id: str | None
    """For S3: the external id with which the service assumes the role. Require it in the role's trust policy. Null
    for other destinations.
    """
    secret: str | None
    """For HTTPS: the secret that signs the batches. Only in the response that creates or rotates it."""
    former_secrets_until: str | None
    """Until when messages are also signed with former secrets. Once this time has passed, they are signed with the
    current one only. Null if there are no former secrets.
    """
    disabled_reason: str | None
    """Why the service disabled the stream."""
    position: int
    """The sequence of the last entry that the stream has sent or skipped."""
    lag_entries: int
    """The number of the log's entries after `position`."""
    lag_seconds: int
    """The age of the first entry after `position`. 0 if there is none."""
    failing_since: str | None
    """The time since when every attempt has failed. Null if the last one succeeded."""
    last_error: StreamError | None


class LogStreamDetailList(Model):
    """One page of a list."""

    items: list[LogStreamDetail]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class LogSummary(Model):
    """The state of an organization's audit log, as its last checkpoint states it.

    The service has not verified the checkpoint for this response. `verify-integrity` verifies the log, and
    `verify.py` does so without the service.
    """

    size: int
    """Entries that the checkpoint covers."""
    checkpoint: str | None
    """The signed head of the log. Null before the first one."""
    latest_entry_at: str | None
    """When the last entry that the checkpoint covers was committed. A checkpoint has no time of its own."""
    pending_entries: int
    """Committed entries that are not in the tree yet; a lower bound if there are very many."""


class LogVerification(Model):
    """A verification of all logs against their signed heads and their newest anchors.

    Without failures, every log is as the service wrote it.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    status: Literal["queued", "running", "completed", "failed"]
    """`completed` and `failed` are final. A completed verification can have failures."""
    logs_checked: int
    """Logs verified so far."""
    entries_checked: int
    """Entries verified so far."""
    failure_count: int
    """Logs that are not intact."""
    failures: list[LogFailure]
    """The first 100 logs that are not intact."""
    started_at: str | None
    """When a worker began."""
    completed_at: str | None
    """When the verification ended."""
    error: str | None
    """Why it could not be finished."""


class LogVerificationList(Model):
    """One page of a list."""

    items: list[LogVerification]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Matched(Model):
    """How the request was resolved: which domain the host is, which space was selected and which locale applies.

    Null means that a host or a path matched nothing.
    """

    host: Literal["customDomain", "subdomain"] | None
    """Which domain of the platform the host is; null if none."""
    space: MatchedSpace | None
    locale: str
    """The requested locale, or else the default of the platform."""


class MatchedSpace(Model):
    """The space that the request selects, and whether its id or the path selected it.

    Its module overrides and capabilities apply.
    """

    id: str
    slug: str
    name: str
    by: Literal["spaceId", "path"]
    """The field of the request that selected the space."""


class Me(Model):
    """The caller as the service sees them: a user by their token, or an API key or service key by its record.

    Use it to show who is signed in, and to find out why a request is refused: which address counts as verified,
    and which role or scopes the caller has.
    """

    id: str
    """The id of the user or key, as in members and log entries."""
    id_derivation: IdDerivation | None
    """How a user's id follows from the token. Null for a key."""
    username: str | None
    """Null if the token has none, and for a key."""
    name: str | None
    """The user's or the key's name."""
    email: str | None
    """Null if the token has none, and for a key."""
    email_verified: bool
    """Whether the issuer says that the address is the user's. Only then can they accept invitations."""
    is_operator: bool
    """Whether the user is an operator of the service."""
    credential: Credential
    organizations: list[OrganizationOfCaller]
    """The first 25 organizations of a user, or the organization of an API key. Empty for a service key."""
    has_more_organizations: bool
    """Whether the user has further organizations. `GET /organizations` lists all."""
    pending_invitations: list[InvitationOfCaller]
    """The latest 10 invitations to the user's verified address that can be accepted now, without their tokens. They
    are searched for among the latest 200 invitations to the address. `GET /me/invitations` lists all.
    """
    has_more_pending_invitations: bool
    """Whether there may be further invitations to the address. `GET /me/invitations` lists all."""


class Member(Model):
    """A person with a role in an organization, a platform or a space.

    Only admins and the person themselves see the e-mail address.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    user_id: str
    username: str | None
    name: str | None
    email: str | None
    """Null unless the caller is an admin or the member."""
    role: Role
    joined_at: str
    platform_id: str | None
    """The platform, or null in an organization."""
    space_id: str | None
    """The space, or null outside of spaces."""
    revoked_keys: list[RevokedKey] | None
    """API keys that a change of the role revoked. Null except in its response and its log entry."""


class MemberCounts(Model):
    """How many people belong to an organization.

    The number is exact below 1,000. Show a larger one as "1,000+", because counting further would cost more with
    each person.
    """

    total: int
    """The number of members, 1,000 at most."""
    is_at_least: bool
    """Whether there may be more, because only some of them were counted."""


class MemberList(Model):
    """One page of a list."""

    items: list[Member]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    names: dict[str, PrincipalName] | None = None
    """The names of the organization's members and API keys whose ids are in the items, by id. Present if the request
    has `include=names`.
    """


class Menu(Model):
    """A menu of a site, such as the main menu or the footer.

    Items that link to pages have the pages' current paths.
    """

    id: str
    """Id chosen by the caller."""
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    site_id: str
    name: str
    items: list[MenuItem]
    """Items in the order in which they were sent."""


class MenuBranchIn(Model):
    """An item of a menu that can have children.

    Items of the third level, the lowest one, cannot.
    """

    id: str
    """Unique within the menu."""
    label: str
    type: Literal["page", "url", "group"]
    page_id: str | None = None
    """The linked page of the site; for type `page`."""
    url: str | None = None
    """For type `url`: a web address, a `mailto:` address or a path of the site."""
    children: list[MenuLeafIn] | None = None
    """The default is `[]`."""
    path: str | None = None
    """Ignored, so that responses can be sent back."""
    dangling: bool | None = None
    """Ignored, so that responses can be sent back. The default is `false`."""


class MenuItem(Model):
    """An item of a menu, as visitors see it.

    `dangling` is true if its page was deleted, and `path` is null if its page is not published.
    """

    id: str
    label: str
    type: Literal["page", "url", "group"]
    page_id: str | None
    url: str | None
    path: str | None
    """The published path of the page. Null for an unpublished page, which only members see."""
    dangling: bool
    """Whether the page was deleted. The default is `false`."""
    children: list[MenuItem]
    """The default is `[]`."""


class MenuItemIn(Model):
    """A top-level item of a menu.

    It links to a page of the site by id or to an address, or only groups its children.
    """

    id: str
    """Unique within the menu."""
    label: str
    type: Literal["page", "url", "group"]
    page_id: str | None = None
    """The linked page of the site; for type `page`."""
    url: str | None = None
    """For type `url`: a web address, a `mailto:` address or a path of the site."""
    children: list[MenuBranchIn] | None = None
    """The default is `[]`."""
    path: str | None = None
    """Ignored, so that responses can be sent back."""
    dangling: bool | None = None
    """Ignored, so that responses can be sent back. The default is `false`."""


class MenuLeafIn(Model):
    """An item on the lowest level of a menu.

    It links to a page or an address, and has no children.
    """

    id: str
    """Unique within the menu."""
    label: str
    type: Literal["page", "url", "group"]
    page_id: str | None = None
    """The linked page of the site; for type `page`."""
    url: str | None = None
    """For type `url`: a web address, a `mailto:` address or a path of the site."""
    children: list[Any] | None = None
    """The default is `[]`."""
    path: str | None = None
    """Ignored, so that responses can be sent back."""
    dangling: bool | None = None
    """Ignored, so that responses can be sent back. The default is `false`."""


class MenuSummary(Model):
    """A menu in a list, without its items.

    Its id is the name that you chose, such as `footer`.
    """

    id: str
    """Id chosen by the caller."""
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    site_id: str
    name: str


class MenuSummaryList(Model):
    """One page of a list."""

    items: list[MenuSummary]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Migration(Model):
    """A change of the table's contents that a release needs, and its state.

    Operators apply pending ones by a deployment.
    """

    id: str
    """Migrations are applied in the order of their ids."""
    description: str
    state: Literal["pending", "applied", "failed"]
    """The next run retries `failed`. An applied migration is `failed` if its checksum has changed."""
    applied_at: str | None
    duration_ms: int | None
    """Duration of its steps in all runs together."""
    checksum: str
    """SHA-256 of its code and data, in hexadecimal."""
    error: str | None
    """Why it failed, and what to do."""


class MigrationList(Model):
    """One page of a list."""

    items: list[Migration]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class MigrationsHealth(Model):
    """Whether all migrations are applied, with the numbers of those that are not.

    Nothing else about them is public.
    """

    healthy: bool
    """Whether nothing is pending and nothing failed."""
    pending: int
    failed: int


class Module(Model):
    """A part of your product that a platform can switch on and off, such as a forum.

    The name of a platform's own module is its id. To give it a display name, store one in `settings`.
    """

    module_id: str
    name: str
    enabled: bool
    locked: bool
    """Whether spaces can't override it."""
    settings: dict[str, Any]
    source: Literal["system", "platform"]
    """`platform` if the platform has settings for the module, else `system`."""
    depends_on: list[str]
    """Modules that must be on for this one to be on."""


class ModuleChange(Model):
    """A change of one module of a platform. Omitted fields keep their values.

    Null for `enabled`, `locked` and `settings` removes the platform's settings of the module.
    """

    module_id: str
    """Id of a module of the catalogue, or of the platform's own."""
    enabled: bool | None = None
    """Null resets to the default, which is on."""
    locked: bool | None = None
    """Whether spaces can't override it. Null resets to false."""
    settings: dict[str, Any] | None = None
    """A JSON Merge Patch of the settings (RFC 7396). Null removes all settings."""
    depends_on: list[str] | None = None
    """Modules that must be on for this one to be on. Only modules of the platform's own can change it. Null removes
    all.
    """


class ModuleList(Model):
    """One page of a list."""

    items: list[Module]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class ModuleSet(Model):
    """The modules of a platform, with the id and version of the platform.

    It is the data of the event that reports a change of them.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    items: list[Module]


class Navigation(Model):
    """The navigation of a platform, which your front end shows as its menu.

    Items that the caller cannot open are omitted.
    """

    items: list[NavigationItem]
    """The default is `[]`."""


class NavigationBranchIn(Model):
    """A navigation item that may have child items, on the second level of the navigation.

    Its children are on the last level.
    """

    id: str
    label: str
    type: Literal["page", "space", "module", "url", "group"]
    target: str | None = None
    """Where the item leads: an id or a path. For type `url`, an http(s) or mailto URL, or a path."""
    children: list[NavigationLeafIn] | None = None
    """The default is `[]`."""


class NavigationItem(Model):
    """A navigation item, which leads to a space, a page, a module or an address.

    `type` says what the target is.
    """

    id: str
    label: str
    type: Literal["page", "space", "module", "url", "group"]
    target: str | None
    children: list[NavigationItem]
    """The default is `[]`."""


class NavigationItemIn(Model):
    """A top-level navigation item to store.

    Choose an id that is unique in the navigation; it identifies the item in your front end.
    """

    id: str
    label: str
    type: Literal["page", "space", "module", "url", "group"]
    target: str | None = None
    """Where the item leads: an id or a path. For type `url`, an http(s) or mailto URL, or a path."""
    children: list[NavigationBranchIn] | None = None
    """The default is `[]`."""


class NavigationLeafIn(Model):
    """A navigation item on the lowest level.

    It has a target like every other item, but no children.
    """

    id: str
    label: str
    type: Literal["page", "space", "module", "url", "group"]
    target: str | None = None
    """Where the item leads: an id or a path. For type `url`, an http(s) or mailto URL, or a path."""
    children: list[Any] | None = None
    """The default is `[]`."""


class NewSignedLink(Model):
    """A new signed link. It is not stored, so only this response contains it.

    Send `url` to the person who is to use it. Its fragment contains the token, which browsers never send to a
    server.
    """

    id: str
    """The id of the link. The log entry that records its creation has the same id, and so has the actor of the
    entries about what its holder does.
    """
    url: str
    """The page for the holder, with the token behind `#token=`."""
    expires_at: str
    """An hour after the creation. The link ends earlier if its creator loses the right to it."""


class Node(Model):
    """A category in the taxonomy of a platform.

    Its path consists of the slugs from the root to it, and follows when a node above it moves.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    platform_id: str
    name: str
    slug: str
    parent_id: str | None
    """Null if it is a root."""
    description: str | None
    alt_labels: list[str]
    position: int
    kind: Literal["term", "system"]
    """`system` for a system tag."""
    path: str
    """The slugs from the root to the node, joined by slashes."""
    depth: int
    """The level of the node; 1 for a root."""


class NodeList(Model):
    """One page of a list."""

    items: list[Node]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Note(Model):
    """A note of an operator about a lead.

    Notes are added with a change of status, and are never changed.
    """

    text: str
    at: str
    by: str
    """The id of the operator."""


class OmittedEntries(Model):
    """A run of consecutive entries that a filtered export omits.

    The hashes stand for them, so the export can still be verified.
    """

    from_: int
    to: int
    hashes: list[str]
    """The roots, in hex, of the largest perfect subtrees (RFC 6962) that hold exactly these entries, from left to
    right.
    """


class Organization(Model):
    """A tenant: the company or group to which members, platforms, sites and the audit log belong.

    Nobody outside of it can see its records.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    name: str
    slug: str
    company_name: str | None
    company_legal_name: str | None
    company_id: str | None
    company_country: str | None
    company_address: str | None
    legal_email: str | None
    support_email: str | None
    notifications: bool
    """Whether people get a mail when somebody else changes their role, transfers the ownership to them, or removes
    them.
    """
    status: Literal["active", "pending_deletion"]
    owner_id: str
    deletion_due_at: str | None
    """When it is purged unless it is restored."""


class OrganizationList(Model):
    """One page of a list."""

    items: list[OrganizationListItem]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class OrganizationListItem(Model):
    """An organization in the list of the caller's organizations, with the role of the caller.

    A front end uses the role to decide which settings it shows. The service checks the role in each request.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    name: str
    slug: str
    company_name: str | None
    company_legal_name: str | None
    company_id: str | None
    company_country: str | None
    company_address: str | None
    legal_email: str | None
    support_email: str | None
    notifications: bool
    """Whether people get a mail when somebody else changes their role, transfers the ownership to them, or removes
    them.
    """
    status: Literal["active", "pending_deletion"]
    owner_id: str
    deletion_due_at: str | None
    """When it is purged unless it is restored."""
    role: Role | None
    """The caller's role in it. An API key has the role of its general scopes."""


class OrganizationOfCaller(Model):
    """An organization of the caller, and their role in it.

    It has what a menu for choosing an organization shows. `GET /organizations/{organization_id}` returns all
    fields.
    """

    id: str
    name: str
    slug: str
    role: Role
    """An API key has the role of its general scopes."""


class OrganizationSummary(Model):
    """The numbers that the start page of an organization shows, in one response.

    What the caller's role or the scopes of their key do not let them read is null.
    """

    members: MemberCounts | None
    pending_invitations: int | None
    """Invitations to the organization and its platforms that nobody has answered. An expired one counts until its
    expiry is in the log, some minutes later.
    """
    webhooks: WebhookCounts | None
    domains: DomainCounts | None
    log: LogSummary | None


class Override(Model):
    """What one space sets for a module instead of inheriting it from the platform.

    It has no effect while the platform locks the module.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    space_id: str
    module_id: str
    enabled: bool
    settings: dict[str, Any]


class OverrideEffect(Model):
    """The state of the overridden module in the space.

    It differs from the override if something blocks it: the platform locked the module or does not have it, or a
    module on which it depends is disabled.
    """

    enabled: bool
    locked: bool
    """Whether the platform prevents overrides."""
    blocked_by: list[str]
    """Why the state is not as configured: `locked` if the platform's lock makes the override of the space
    ineffective, `unknown_module` if the platform lacks the overridden module, and the ids of the dependencies
    that are off, if they are why the module is off.
    """


class OverrideSet(Model):
    """All module overrides of a space, with the id and version of the space.

    It is the data of the event that reports their replacement.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    items: list[Override]


class OverrideWithEffect(Model):
    """The override of a module by a space, and its present effect.

    A space can override a module that its platform has locked. The override is stored and takes effect when the
    lock ends.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    space_id: str
    module_id: str
    enabled: bool
    settings: dict[str, Any]
    effective: OverrideEffect


class OverrideWithEffectList(Model):
    """One page of a list."""

    items: list[OverrideWithEffect]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class OverrideWrite(Model):
    """The state of a module that a space sets for itself.

    An omitted `enabled` is true, whatever the platform has set. `settings` are merged into those of the platform,
    so an omitted one is inherited. The response shows in `effective` whether the override has an effect.
    """

    module_id: str
    enabled: bool | None = None
    """The default is `true`."""
    settings: dict[str, Any] | None = None
    """The default is `{}`."""


class Page(Model):
    """A page of a site with its content.

    Editors see the draft; visitors see the revision that was published last.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    site_id: str
    title: str
    slug: str
    parent_id: str | None
    seo: Seo
    publish_at: str | None
    unpublish_at: str | None
    is_home: bool
    path: str
    """Path of the revision that is shown."""
    status: Literal["draft", "scheduled", "published", "archived"]
    has_unpublished_changes: bool
    """Whether the draft differs from the published revision."""
    draft_revision_id: str | None
    """Null in responses to the public."""
    published_revision_id: str | None
    published_at: str | None
    """When the published revision was published."""
    blocks: list[Block]
    """Content."""


class PageSummary(Model):
    """A page in a list, without its blocks.

    Use it to show the structure of a site to editors.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    site_id: str
    title: str
    slug: str
    parent_id: str | None
    seo: Seo
    publish_at: str | None
    unpublish_at: str | None
    is_home: bool
    path: str
    """Path of the revision that is shown."""
    status: Literal["draft", "scheduled", "published", "archived"]
    has_unpublished_changes: bool
    """Whether the draft differs from the published revision."""
    draft_revision_id: str | None
    """Null in responses to the public."""
    published_revision_id: str | None
    published_at: str | None
    """When the published revision was published."""


class PageSummaryList(Model):
    """One page of a list."""

    items: list[PageSummary]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class PlaceOffered(Model):
    """The organization or platform to which the person is invited.

    It shows only what the person needs to decide.
    """

    id: str
    name: str
    slug: str


class Platform(Model):
    """A product or community that an organization offers, with its theme, navigation and home page.

    It is a draft until it is published.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    organization_id: str
    name: str
    slug: str
    description: str | None
    join_policy: Literal["open", "invite"]
    default_locale: str
    status: Literal["draft", "published"]
    published_at: str | None
    """When it was published; null while it is a draft."""
    subdomain: str
    """The permanent subdomain of the platform."""
    theme: Theme
    navigation: Navigation
    home: Home
    warnings: list[Warned]
    """Colour pairs of the theme that are hard to read."""


class PlatformDomain(Model):
    """A platform and the hosts at which it is found.

    Every platform has a subdomain of the service, and may have a custom domain.
    """

    platform_id: str
    platform_slug: str
    platform_name: str
    custom_domain: str | None
    """Null if none is claimed."""
    subdomain: str
    """The permanent subdomain of the platform."""
    verification_status: Literal["none", "pending", "verified", "failed", "lapsed"]
    """Status of the custom domain; `none` if none is claimed."""
    verified_at: str | None
    last_checked_at: str | None


class PlatformDomainList(Model):
    """One page of a list."""

    items: list[PlatformDomain]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class PlatformSummary(Model):
    """A platform in a list, without its theme, navigation and home page.

    Get the platform to read those.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    organization_id: str
    name: str
    slug: str
    description: str | None
    join_policy: Literal["open", "invite"]
    default_locale: str
    status: Literal["draft", "published"]
    published_at: str | None
    """When it was published; null while it is a draft."""
    subdomain: str
    """The permanent subdomain of the platform."""


class PlatformSummaryList(Model):
    """One page of a list."""

    items: list[PlatformSummaryListItem]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class PlatformSummaryListItem(Model):
    """A platform in a list of the caller's platforms, with the role of the caller.

    A front end uses the role to decide which settings it shows. The service checks the role in each request.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    organization_id: str
    name: str
    slug: str
    description: str | None
    join_policy: Literal["open", "invite"]
    default_locale: str
    status: Literal["draft", "published"]
    published_at: str | None
    """When it was published; null while it is a draft."""
    subdomain: str
    """The permanent subdomain of the platform."""
    role: Role | None
    """The caller's role in it: that of their membership, `admin` for admins of the organization, otherwise `member`.
    An API key has the role of its general scopes.
    """


class Preview(Model):
    """A preview of a page, and a link that shows it to others without a credential.

    Everybody who has the link can open it until it expires.
    """

    page: Page
    blocks: list[Block]
    preview_url: str
    """Anyone with this link sees the preview."""
    token: str
    """The token in the link."""
    expires_at: str


class PrincipalName(Model):
    """The name of a user or API key whose id occurs in the items of a list.

    Show it instead of the id. It is the current name, which can differ from the one at the time of an action.
    """

    type: Literal["user", "api_key"]
    name: str | None
    """Null if the user's token contained no name."""
    username: str | None
    """Null for an API key, and if the token contained none."""


class Problem(Model):
    """The response to a request that failed (RFC 9457). `detail` is text for people, and `code` is for programs: its
    meaning never changes. `errors` lists everything that is wrong with the request at once.
    """

    type: str
    """`urn:atrium:problem:`, followed by the code."""
    title: str
    """A short description of the code."""
    status: int
    """The HTTP status."""
    detail: str
    """What is wrong with this request, and what to do about it."""
    code: Literal[
        "malformed_json",
        "invalid_cursor",
        "invalid_header",
        "unknown_api_version",
        "unauthenticated",
        "token_expired",
        "api_key_revoked",
        "api_key_expired",
        "insufficient_role",
        "insufficient_scope",
        "email_mismatch",
        "ip_not_allowed",
        "forbidden",
        "not_found",
        "no_such_route",
        "method_not_allowed",
        "slug_taken",
        "already_exists",
        "already_member",
        "invalid_transition",
        "owner_must_transfer",
        "domain_taken",
        "cycle",
        "redirect_loop",
        "not_empty",
        "limit_exceeded",
        "export_too_large",
        "idempotency_in_progress",
        "conflict",
        "invitation_expired",
        "invitation_revoked",
        "invitation_used",
        "export_expired",
        "precondition_failed",
        "payload_too_large",
        "unsupported_media_type",
        "validation_failed",
        "idempotency_key_reused",
        "rate_limited",
        "internal_error",
        "unavailable",
    ]
    instance: str
    """The path of the request."""
    request_id: str
    """The `X-Request-Id` of the response, for questions to support."""
    errors: list[FieldError] | None = None
    """All errors of the request."""
    nearest_routes: list[str] | None = None
    """The methods and paths that the caller of an unknown route may mean."""
    existing_id: str | None = None
    """The id of the record that already exists, if the caller may read it."""


class ProjectBlock(Model):
    """A part of your product that an organization arranges itself, such as a showcase.

    Your front end renders it from its settings.
    """

    project_block_id: str
    title: str | None
    enabled: bool
    settings: dict[str, Any]


class ProjectBlockList(Model):
    """One page of a list."""

    items: list[ProjectBlock]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class ProjectBlockSet(Model):
    """All project blocks of a platform, with the id and version of the platform.

    It is the data of the event that reports a change of them.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    items: list[ProjectBlock]


class ProjectBlockWrite(Model):
    """A project block of a platform to store.

    You choose the id, under which your front end knows what to render.
    """

    project_block_id: str
    """An id that the caller chooses."""
    title: str | None = None
    enabled: bool | None = None
    """The default is `true`."""
    settings: dict[str, Any] | None = None
    """The default is `{}`."""


class PublicDomain(Model):
    """The verified custom domain of a platform, as anonymous callers see it.

    A domain that is not verified is hidden from them.
    """

    domain: str
    status: Literal["none", "pending", "verified", "failed", "lapsed"]


class PublicLead(Model):
    """A submission as its sender sees it.

    It has neither the notes of operators nor other submissions of the same address.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    contact_name: str
    contact_email: str
    company_name: str | None
    message: str | None
    consent: Consent | None
    status: Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]
    history: list[StatusGiven]
    """Ordered by time."""
    lead_token: str | None
    """Token for the header `Lead-Token`, valid for 90 days. Returned once, null afterwards."""


class PublicLeadList(Model):
    """One page of a list."""

    items: list[PublicLead]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class QuoteBlock(Model):
    """A quotation, with its source if you know it.

    HTML pages mark it as a quotation for screen readers, too.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["quote"]
    text: str
    """One line of Markdown."""
    cite: str | None = None
    """Who said it, and where."""


class Reconciliation(Model):
    """A comparison of all stored records of an organization with its audit log.

    Without findings, every member, role, API key, domain and other compared record is as the log says.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    status: Literal["queued", "running", "completed", "failed"]
    """`completed` and `failed` are final. A comparison that has found suspects stays `running` for a minute, and
    then checks them again: they can be changes in flight.
    """
    checked_records: int
    """Records compared so far."""
    checked_entries: int
    """Entries compared so far."""
    findings: list[Finding]
    """The first 100 findings. Empty until the status is `completed`."""
    finding_counts: FindingCounts
    """The number of findings of each kind."""
    has_more: bool
    """Whether there are further findings."""
    completed_at: str | None
    """When the comparison ended."""
    error: str | None
    """Why it failed."""


class ReconciliationList(Model):
    """One page of a list."""

    items: list[Reconciliation]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Redirect(Model):
    """A redirect of a path of a site to another path or address.

    Search engines follow it, so a page keeps its rank when it moves.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    site_id: str
    from_path: str
    to_path: str | None
    """The target; for a moved page its current path, or null while the page is not published."""
    status_code: Literal[301, 302, 307, 308]
    enabled: bool
    origin: Literal["manual", "page"]
    """`page` if a page was at this path: the path, and the paths below it, redirect to the moved pages."""


class RedirectList(Model):
    """One page of a list."""

    items: list[Redirect]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Redirected(Model):
    """The destination of a redirect for a visitor.

    Your server or CDN sends the location with the status code.
    """

    location: str
    """A path of the site, or a web address."""
    status_code: Literal[301, 302, 307, 308]


class Redrive(Model):
    """A redrive: dead letters that are sent back to their queue, in the background.

    Messages of tasks that this release does not have are skipped, and stay.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    status: Literal["queued", "running", "completed", "failed"]
    """`completed` and `failed` are final."""
    queue: Literal["events", "jobs", "deliveries", "deliveries-slow"]
    """The queue that receives the messages."""
    max_messages: int
    """The redrive ends after this number."""
    sent: int
    """Messages sent back so far. After an interruption, it can be some too few."""
    skipped: int
    """Messages that stay, because this release does not have their tasks."""
    completed_at: str | None
    """When the redrive ended."""
    error: str | None
    """Why it failed."""


class RedriveList(Model):
    """One page of a list."""

    items: list[Redrive]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Replay(Model):
    """A replay of deliveries, oldest first, after an outage of the receiver.

    `requeued` counts the deliveries that it sends again.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    webhook_id: str
    status: Literal["queued", "running", "completed", "failed"]
    from_: str
    to: str
    """The default is the time of the request."""
    delivery_status: Literal["pending", "succeeded", "failed", "skipped"] | None
    """Null stands for failed and skipped deliveries."""
    requeued: int
    """The number of matching deliveries, a lower bound if there are very many. Once the replay has ended, the number
    of deliveries that it queued, or that were queued already. With the status `pending` or `succeeded` and
    without `to`, it can include the delivery of the replay's own event.
    """
    error: str | None
    """Why the replay failed."""


class ReplayList(Model):
    """One page of a list."""

    items: list[Replay]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Reporter(Model):
    """The user, API key or service key that sent an application event.

    The service authenticated it. It differs from the actor if the application named one.
    """

    type: Literal["user", "api_key", "service_key"]
    id: str
    name: str | None


class ResearchJob(Model):
    """A background job of research: an import, a reconciliation or a backfill.

    Poll it until it is completed or failed.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    kind: Literal["import", "reconcile", "backfill"]
    status: Literal["queued", "running", "completed", "failed"]
    counts: Counts
    error: (
        Literal["unknown_researcher", "source_unavailable", "refused_by_source", "malformed_answer", "too_many_alike"]
        | None
    )
    """Why the job failed, as a code."""
    detail: str | None
    """Why the job failed, in words."""
    skipped: list[str]
    """The first 20 unreadable records with the reasons."""
    skipped_count: int
    """Number of unreadable records."""
    organization_id: str | None
    """The organization of the library, if any."""
    researcher_id: str | None
    """The researcher whose works the job imports."""
    edition_id: str | None
    """The edition that the job backfills."""


class ResearchJobList(Model):
    """One page of a list."""

    items: list[ResearchJob]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Resolved(Model):
    """The node to which a path, a slug or a label resolves, with the nodes above it.

    `matched_by` says what matched, such as a former path.
    """

    node: Node
    ancestors: list[Node]
    """Ordered from the root down."""
    matched_by: Literal["path", "slug", "altLabel", "formerPath"]


class ResolvedConfig(Model):
    """The configuration of a platform in a space, with the capabilities of the space.

    A front end shows what is enabled in it.
    """

    platform: PlatformSummary
    theme: Theme
    navigation: Navigation
    home: Home
    modules: list[ConfigModule]
    custom_domain: ConfigDomain | PublicDomain | None
    """Null if none is claimed. Anonymous callers see it only if it is verified."""
    project_blocks: list[ProjectBlock]
    version: int
    """Increases with every change of the platform, its modules, project blocks, domain and the space."""
    capabilities: list[ConfigCapability]
    """Capabilities of the space; empty if no space was selected."""
    matched: Matched


class Revision(Model):
    """A version of the content of a page, with its blocks.

    It never changes, so it can be compared, previewed, published and restored.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    page_id: str
    title: str
    slug: str
    parent_id: str | None
    seo: Seo
    created_by: str | None
    """The id of the user or API key. Null after an erasure."""
    restored_from: str | None
    """The revision that was restored to create this one."""
    blocks: list[Block]


class RevisionSummary(Model):
    """A revision in a list, without its blocks.

    It shows who made it, when, and from which revision it was restored.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    page_id: str
    title: str
    slug: str
    parent_id: str | None
    seo: Seo
    created_by: str | None
    """The id of the user or API key. Null after an erasure."""
    restored_from: str | None
    """The revision that was restored to create this one."""


class RevisionSummaryList(Model):
    """One page of a list."""

    items: list[RevisionSummary]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    names: dict[str, PrincipalName] | None = None
    """The names of the organization's members and API keys whose ids are in the items, by id. Present if the request
    has `include=names`.
    """


class RevokedBecause(Model):
    """Why an API key was revoked automatically.

    `id` names the person or the other key on which it depended. Create another key for the program that used it.
    """

    reason: Literal["parent_revoked", "member_removed", "member_left", "member_demoted", "person_erased"]
    id: str | None
    """Id of that key or user. Null after the person was erased."""


class RevokedKey(Model):
    """An API key that another change revoked, such as the removal of a member.

    Replace it in the program that uses it.
    """

    id: str
    name: str


class Robots(Model):
    """Instructions for crawlers, which become the robots.txt of the site.

    Well-behaved crawlers follow them; they protect nothing.
    """

    disallow: list[str]
    """The default is `[]`."""
    extra: str | None


class RobotsIn(Model):
    """Instructions for crawlers to store.

    Each path in `disallow` applies to everything that begins with it. The sitemap omits pages at these paths.
    """

    disallow: list[str] | None = None
    """Paths, for all crawlers. `*` stands for any text, and `$` at the end for the end of the path. The default is
    `[]`.
    """
    extra: str | None = None
    """Further lines of robots.txt."""


class S3Destination(Model):
    """A bucket of yours in Amazon S3.

    The service writes objects with lines of JSON, compressed by gzip, with a role of yours that it assumes.
    """

    _tag: ClassVar[str | None] = "type"

    type: Literal["s3"]
    bucket: str
    region: str
    """The region of the bucket."""
    prefix: str | None = None
    """Beginning of the objects' names."""
    role_arn: str
    """The role that the service assumes with the stream's `external_id`. Its name begins with `atrium-log-stream-`."""


class SchemaVersion(Model):
    """The number of a schema that an operator declared, and when.

    Events that name the number are validated with this schema. It never changes.
    """

    version: int
    created_at: str


class Seo(Model):
    """Metadata for search engines and link previews.

    A page that is `noindex` is not in the sitemap.
    """

    title: str | None
    description: str | None
    canonical: str | None
    noindex: bool
    """The default is `false`."""
    image: str | None


class SeoIn(Model):
    """Metadata for search engines and link previews to store.

    `noindex` keeps the page out of the sitemap and asks search engines to ignore it.
    """

    title: str | None = None
    """Replaces the title of the page."""
    description: str | None = None
    canonical: str | None = None
    """URL of the original, if the content was published elsewhere first."""
    noindex: bool | None = None
    """Whether search engines are asked not to index the page. The default is `false`."""
    image: str | None = None
    """Image for link previews."""


class ServiceKey(Model):
    """A credential of the deployment, which writes and reads application events in all organizations.

    It can do nothing else. Only the responses that create or rotate it contain the secret in `key`.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    name: str
    scopes: list[str]
    """`events:write` includes `events:read`."""
    expires_at: str
    allowed_ips: list[str]
    hint: str
    key: str | None
    """The secret, when created or rotated. Null otherwise."""
    former_secrets_until: str | None
    """When the last of the secrets that were replaced by `rotate` stops working. Once this time has passed, only the
    current secret works. Null if there are no former secrets.
    """
    created_by: str | None
    """Id of the operator who created it."""
    last_used_at: str | None
    """To the minute."""
    status: Literal["active", "revoked", "expired"]
    types: list[str] | None
    """The event types and patterns to which it is limited. Null for all types."""


class ServiceKeyList(Model):
    """One page of a list."""

    items: list[ServiceKey]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class ServiceLinks(Model):
    """The paths at which a client of this service starts.

    Each path is relative to the base URL of the service. The OpenAPI document describes all others.
    """

    docs: str
    """The documentation page."""
    openapi: str
    """The OpenAPI document."""
    status: str
    """The status of the service, without a credential."""
    event_types: str
    """The events to which webhooks can subscribe."""
    me: str
    """The caller and their credential."""
    organizations: str
    """The caller's organizations."""


class ServiceStatus(Model):
    """The status of the service, its versions, and the public keys that verify its signatures.

    Former keys verify older checkpoints.
    """

    status: Literal["ok", "degraded"]
    version: str
    """The release that responds."""
    api_version: str
    time: str
    checks: list[Check]
    audit_public_key: str
    """Ed25519 public key that verifies checkpoints: 32 bytes in base64."""
    audit_public_keys: list[str]
    """This key, its successor, and former keys."""


class SignedLink(Model):
    """What a signed link is about, and who created it. `platform_id` or `webhook_id` names the record, by its type."""

    type: Literal["custom_domain", "webhook"]
    organization_id: str
    platform_id: str | None
    """The platform whose custom domain the link is about. Null for a webhook."""
    webhook_id: str | None
    """The webhook that the link is about. Null for a custom domain."""
    organization: LinkedOrganization
    created_by: LinkCreator
    expires_at: str
    """An hour after the creation. The link ends earlier if its creator loses the right to it."""


class Site(Model):
    """A website of an organization, with pages, menus and redirects.

    Visitors find it at its host once it is published.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    organization_id: str
    name: str
    slug: str
    description: str | None
    default_locale: str
    platform_id: str | None
    robots: Robots
    status: Literal["draft", "published"]
    published_at: str | None
    """When the site was published. Null while it is a draft."""
    host: str
    """The verified custom domain of the platform or, without one, a host of the service. Events and log entries
    contain the host of the service, since they describe the stored site and not its platform's domain.
    """
    home_page_id: str | None
    """The page at `/`. Null if there is none."""


class SiteList(Model):
    """One page of a list."""

    items: list[Site]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Space(Model):
    """An area of a platform with its own members, modules and capabilities.

    An open one admits every member of the platform.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    platform_id: str
    name: str
    slug: str
    description: str | None
    visibility: Literal["open", "private"]
    position: int


class SpaceList(Model):
    """One page of a list."""

    items: list[Space]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class SplunkDestination(Model):
    """The HTTP Event Collector of Splunk Cloud Platform or Splunk Enterprise.

    Each entry becomes an event of its own, with the time at which it occurred.
    """

    _tag: ClassVar[str | None] = "type"

    type: Literal["splunk"]
    url: str
    """The URL of the collector. If it has no path, `/services/collector/event` is added."""
    token: str
    """The collector's token."""
    index: str | None = None
    """The index. If omitted, that of the token."""
    sourcetype: str | None = None
    """The source type. If omitted, that of the token."""


class SplunkDestinationPatch(Model):
    """The HTTP Event Collector of Splunk, in a change of a stream.

    The token is needed only with another URL, because the stored one is only sent where it was sent before.
    """

    _tag: ClassVar[str | None] = "type"

    type: Literal["splunk"]
    url: str
    """The URL of the collector. If it has no path, `/services/collector/event` is added."""
    token: str | None = None
    """The collector's token. Required with another URL. If omitted, the current one stays."""
    index: str | None = None
    """The index. If omitted, that of the token."""
    sourcetype: str | None = None
    """The source type. If omitted, that of the token."""


class StatusGiven(Model):
    """A status that a submission had, and since when.

    Senders do not see which operator set it.
    """

    status: Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]
    at: str


class StatusGivenBy(Model):
    """A status that a lead had, since when, and the operator who set it.

    `by` is null if the sender set it.
    """

    status: Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]
    at: str
    by: str | None
    """The id of the operator, or null for the sender."""


class StreamError(Model):
    """The last failed attempt to send a batch of entries to the destination.

    It stays after later successes, so that you can see what went wrong.
    """

    at: str
    status_code: int | None
    """The status of the response. Null without a response."""
    message: str


class Submission(Model):
    """What an interested person submitted at one time.

    Several submissions of one address within a day belong to one lead.
    """

    id: str
    submitted_at: str
    contact_name: str
    company_name: str | None
    message: str | None
    source: str | None
    consent: Consent | None
    status: Literal["new", "contacted", "qualified", "converted", "unqualified", "spam", "withdrawn"]
    """The status that the sender sees."""


class Subscription(Model):
    """Whether an address receives mails about invitations and memberships, from any organization.

    The response does not contain the address.
    """

    unsubscribed: bool


class Suppression(Model):
    """The suppression of an e-mail address, as the log shows it.

    It contains no address, only the fact that one was suppressed.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""


class SystemTagSet(Model):
    """The system tags of a platform, with the id and version of the platform.

    It is the data of the event that reports new ones.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    items: list[Node]
    """Ordered by position."""


class SystemTags(Model):
    """One page of a list."""

    items: list[Node]
    created: int
    """The number of tags that were created."""
    next_cursor: None
    """Always null: the tags are not paginated."""


class Target(Model):
    """The record that the action changed or, for an application event, what the application named.

    The name is the one at the time of the action, so the entry can be read after a deletion. It is null if an
    application named none.
    """

    type: str
    id: str
    name: str | None


class TargetIn(Model):
    """Something that an event is about, such as an invoice or a customer.

    The application chooses the type and the id. The log stores both without spaces around them, and lists can be
    filtered by the id.
    """

    type: str
    id: str
    name: str | None = None
    """Shown to people."""


class TextBlock(Model):
    """Paragraphs and other Markdown elements, such as links, emphasis and nested lists.

    HTML in the text is not interpreted.
    """

    _tag: ClassVar[str | None] = "type"

    id: str
    """Unique within the page."""
    type: Literal["text"]
    text: str
    """Markdown: CommonMark with tables and strikethrough. HTML is shown as text."""


class Theme(Model):
    """The colours, fonts and logos of a platform, which your front end applies.

    Colours with too little contrast appear in `warnings`.
    """

    mode: Literal["light", "dark", "auto"] | None
    colors: dict[str, str]
    """The default is `{}`."""
    fonts: dict[str, str]
    """The default is `{}`."""
    logo_url: str | None
    favicon_url: str | None
    tokens: dict[str, Any]
    """The default is `{}`."""


class Timezone(Model):
    """A time zone of the IANA database, with its offset from UTC.

    Its id is the name with `.` instead of `/`, as paths need it.
    """

    id: str
    """The name with `.` instead of `/`."""
    created_at: str
    updated_at: str
    version: int
    """Always 1, as the data are replaced as a whole."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""
    name: str
    """The IANA name."""
    countries: list[str]
    """Ids of countries: first the country of the city in the name, then others that use the same time."""
    utc_offset: str
    """Smallest offset in the 12 months from `at` or else now on, or in 2037 if these would end later."""
    dst_offset: str | None
    """Largest offset in the same 12 months; null if the offset does not change."""
    offset: str | None
    """The offset at the time `at`; null if it was not given."""


class TimezoneList(Model):
    """One page of a list."""

    items: list[Timezone]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    data_version: str
    """The date of the data."""
    attribution: str
    """Attribution that must be shown with the data."""


class Tree(Model):
    """One page of a list."""

    items: list[Branch]
    """The roots, ordered by position."""
    next_cursor: None
    """Always null: a tree is not paginated."""


class Trial(Model):
    """The result of a test message: what the receiver answered, and how long it took.

    The test message is not an event, and is sent only once.
    """

    delivered: bool
    status_code: int | None
    """The status of the response. Null without a response."""
    error: str | None
    """Why the message was not delivered."""
    duration_ms: int


class UpdatedModuleList(Model):
    """One page of a list."""

    items: list[UpdatedModuleListItem]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""
    warnings: list[Warned]
    """New modules of the platform's own whose ids are similar to the id of another module."""


class UpdatedModuleListItem(Model):
    """A module of a platform after a change of its modules.

    Modules that the request did not contain are as they were.
    """

    module_id: str
    name: str
    enabled: bool
    locked: bool
    """Whether spaces can't override it."""
    settings: dict[str, Any]
    source: Literal["system", "platform"]
    """`platform` if the platform has settings for the module, else `system`."""
    depends_on: list[str]
    """Modules that must be on for this one to be on."""


class Venue(Model):
    """A conference whose editions can be backfilled.

    Its id, such as `neurips`, is also a filter of the works.
    """

    id: str
    name: str
    editions: list[VenueEdition]


class VenueEdition(Model):
    """The edition of a venue in one year.

    Its id, such as `neurips-2025`, selects it for a backfill.
    """

    id: str
    year: int
    output_count: int
    """Outputs created by backfills."""


class VenueList(Model):
    """One page of a list."""

    items: list[Venue]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class Visit(Model):
    """The content at a host and path: a published page, a redirect, or nothing.

    Your server or CDN turns it into the response to a visitor.
    """

    site: Site
    match: Literal["page", "redirect", "none"]
    page: Page | None
    """The published page if `match` is `page`, else null."""
    redirect: Redirected | None
    """The redirect if `match` is `redirect`, else null."""


class Warned(Model):
    """A problem with a value that the service accepted.

    The change took effect; fix the value if people should be able to use the result.
    """

    pointer: str
    """JSON Pointer into the theme, or into the request that changed modules."""
    code: Literal["low_contrast", "similar_id"]
    """`low_contrast`: colours that are hard to read. `similar_id`: a new module whose id is similar to the id of
    another module.
    """
    detail: str


class Webhook(Model):
    """An endpoint of yours that receives the events of an organization, signed.

    Only the responses that create or rotate its secret contain it.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    url: str
    events: list[str]
    areas: list[str] | None
    """The areas whose events it receives: those that the API key which last changed it may read. Null if a user
    changed it last: all areas.
    """
    description: str | None
    enabled: bool
    status: Literal["active", "paused", "disabled"]
    secret: str | None
    """Only in the response that creates or rotates it. Null otherwise."""
    former_secrets_until: str | None
    """Until when messages are also signed with former secrets. Once this time has passed, they are signed with the
    current one only. Null if there are no former secrets.
    """
    failing_since: str | None
    """The time since when every attempt has failed. Null if the last one succeeded. After a time-out, the service
    probes the webhook with one event at a time, and all other events wait until a probe succeeds.
    """
    disabled_reason: str | None
    """Why the service disabled the webhook."""


class WebhookCounts(Model):
    """How many endpoints of yours receive the events of an organization.

    Those that fail need attention: the list of webhooks says since when, and why the service has disabled one.
    """

    total: int
    """All webhooks, including paused ones."""
    failing: int
    """Active webhooks whose last attempt has failed, and those that the service has disabled."""


class WebhookList(Model):
    """One page of a list."""

    items: list[Webhook]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


class WebhookStatistics(Model):
    """Counts of a webhook's attempts. The periods end now, and start at a multiple of five minutes."""

    last_hour: AttemptCounts
    last_day: AttemptCounts
    last_week: AttemptCounts


class WitnessProof(Model):
    """What servers outside of the service have cosigned: one log of the anchors of all organizations.

    `path` proves that it contains the anchor. `verify.py receipt --witness-key` checks the cosignatures.
    """

    anchor: AnchorProof
    index: int
    """The index of the anchor in the log of anchors, from 0."""
    tree_size: int
    """The number of anchors that the witnesses have cosigned."""
    path: list[str]
    """RFC 9162 inclusion proof of the anchor in the log of anchors, hex."""
    checkpoint: str
    """The tree head of the log of anchors, signed by the service and cosigned by witnesses (C2SP tlog-cosignature)."""
    cosigned_by: list[str]
    """The names of the witnesses that have cosigned `checkpoint`. Verify their signatures: the names prove nothing."""
    consistency_path: list[str] | None
    """RFC 9162 consistency proof from `witnessed_size` of the query to `tree_size`, hex. Null without
    `witnessed_size`, and if it is greater than `tree_size`.
    """


class Work(Model):
    """A work, built from all artefacts of a library that share an identifier.

    `provenance` names the artefact from which each field was taken.
    """

    id: str
    created_at: str
    updated_at: str
    version: int
    """1 when created. Each change adds 1."""
    title: str
    type: str
    year: int | None
    venue_id: str | None
    doi: str | None
    authors: list[Author]
    researcher_ids: list[str]
    """Researchers of all its artefacts. At most 20."""
    artefact_ids: list[str]
    """By precedence of the source: dblp, then openalex, then orcid."""
    provenance: dict[str, str]
    """Field → the artefact that its value comes from."""


class WorkList(Model):
    """One page of a list."""

    items: list[Work]
    next_cursor: str | None
    """The `cursor` of the next page. Only null means that there is none."""


Block: TypeAlias = Annotated[
    ButtonBlock
    | CodeBlock
    | ColumnsBlock
    | CustomBlock
    | DividerBlock
    | EmbedBlock
    | HeadingBlock
    | ImageBlock
    | ListBlock
    | QuoteBlock
    | TextBlock,
    KEEP_UNEXPECTED,
]
"""A block of a page, with the fields of its type.

The types are those of the blocks in a request; programs have to ignore types that they do not know.
"""
Role: TypeAlias = Literal["member", "editor", "admin", "owner"]
"""A member's role in an organization, a platform or a space.

Each role includes the rights of the roles before it. Members read, editors change content, admins manage people
and settings, and the owner of an organization can transfer or delete it.
"""
