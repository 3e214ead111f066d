"""Generates `docs/reference/table.md`, which describes the items of the table, from the entities and the kernel."""

import inspect
from collections.abc import Iterable, Sequence
from typing import Final

from chalicelib.entrypoints import catalogue
from chalicelib.features.notifications.logic.subscriptions import subscriptions_key
from chalicelib.features.notifications.webhooks.logic import host_rate_limit
from chalicelib.features.notifications.webhooks.models.attempt_counts import COUNTS_PREFIX
from chalicelib.features.platforms.members.entities import membership_listing_sort_key
from chalicelib.features.research.entities import (
    COMPARISON_PARTITION,
    EDITION_COUNTS_PARTITION,
    MATCH_KEYS_PARTITION,
    STALE_ARTEFACTS_PARTITION,
    Artefact,
    ResearchOutput,
    researcher_partition_key,
)
from chalicelib.features.research.logic import throttle
from chalicelib.features.sites.entities.redirects import redirect_by_path_key
from chalicelib.features.sites.entities.sites import TREE_PARTITION
from chalicelib.features.sites.pages.entities import slug_index as page_slug_index
from chalicelib.features.sites.visits.logic import stored_sitemaps
from chalicelib.features.taxonomy.attachments.entities import entity_attachments_key
from chalicelib.features.taxonomy.entities import slug_index
from chalicelib.features.tenancy.api_keys.entities import KEY_DEPENDENCY_PREFIX
from chalicelib.features.tenancy.entities.memberships import email_sort_key
from chalicelib.features.tenancy.invitations.entities import address_partition
from chalicelib.features.tenancy.logic import email_hashes
from chalicelib.kernel.audit_log import ledger, quarantine
from chalicelib.kernel.audit_log.entries import body_key, pending_key
from chalicelib.kernel.audit_log.mac_chains import chain_key
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.identity import auth, userinfo
from chalicelib.kernel.permissions.access_epochs import organization_partition
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage.entity import SCHEDULE_SHARDS, Entity, ItemKey
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.trees import TreePartition
from chalicelib.kernel.storage.unique_values import FORMER_NAME_DAYS, MAX_FORMER_NAMES, Unique
from chalicelib.kernel.transactions import unique_items
from infrastructure.resources import FACETS, INDEXES, TTL_ATTRIBUTE
from local.generators.markdown import code, table

_HEAD: Final = f"""\
# The table

`make generate` writes this page from the entities. A test compares it.

All data is in one DynamoDB table with the partition key `pk`, the sort key `sk` and the indexes below. Keys are given
as templates with the record's fields in braces. If a field is absent, the template yields no key, and the record is not
in that index. DynamoDB removes an item some time after its `{TTL_ATTRIBUTE}` (seconds since 1970), so readers of such
items also check the time. All reads of the table itself are strongly consistent. Neither requests nor workers scan the
table. Only the operators' commands `verify`, `reseal`, `renew-seals` and `reanchor` do.

[access-patterns.md](access-patterns.md) shows what each operation reads and writes.
"""

_INDEXES_TEXT: Final = """\
Each index contains whole items. An overloaded index serves many lists, which its keys distinguish.
"""

_ENTITIES_TEXT: Final = """\
Every record has `id`, `createdAt`, `updatedAt` and `version`. Each write has the condition that the version is the one
that was read.
"""

_KERNEL_TEXT: Final = """\
Items that are not records. Most are written in the transaction of a record.
"""

_UNIQUES_TEXT: Final = """\
A separate item, the guard, reserves each unique value. It is written on condition that no other record has the value.
"""

_QUOTAS_TEXT: Final = """\
A counter item counts the records of each limit. The transaction that creates a record increments it, on condition that
the limit is not reached.
"""

_SCHEDULED_TEXT: Final = f"""\
An item with scheduled work has three more attributes: `duepk` = `DUE#` and one of {SCHEDULE_SHARDS} shards, `duesk` =
`<due time>#<pk>#<sk>` and `task` = the name of the task. Each minute the sweep queries the due items, postpones each
with a conditional write, and queues its task.
"""

GUARD: Final = "unique value guard"
"""Name of the items that reserve unique values."""

_LOG: Final = "{log_id}"
_PLATFORM: Final = "{platform_id}"
_TAXONOMY: Final = f"P#{_PLATFORM}#T"
_PAGES: Final = TreePartition(TREE_PARTITION)

_KERNEL_INDEXES: Final = (
    ("index1", ledger.sequence_index_or_batch_key(_LOG, 0)[0]),
    ("index2", "ANCHOR#{shard}"),
    ("due", "DUE#{shard}"),
)

_Rows = Iterable[Sequence[str]]


def entities() -> list[type[Entity]]:
    """Return the entities of the service, sorted by their keys."""
    stored_kinds = [entity for entity in catalogue.list_record_types() if not issubclass(entity, RecordSet)]
    return sorted(stored_kinds, key=lambda entity: (entity.pk, entity.sk))


def item_keys() -> list[tuple[str, str, str]]:
    """Return the name and the key templates of each kind of item, in the order of the document."""
    records = [(entity.kind, entity.pk, entity.sk) for entity in entities()]
    counters = [("counter", entity.quota.partition, _counter(entity.quota)) for entity in entities() if entity.quota]
    guards = [(GUARD, *_guard(unique)) for entity in entities() for unique in entity.uniques.values()]
    others = [(name, pk, sk) for name, (pk, sk), _ in _kernel_items() if name not in ("counter", GUARD)]
    return [*records, *counters, *guards, *others]


def index_keys() -> list[tuple[str, str]]:
    """Return the index and the template of the partition key of each list and filter."""
    indexed = [(c.index, c.pk) for entity in entities() for c in entity.collections.values() if c.index]
    facets = [(facet.index, facet.pk) for entity in entities() for facet in entity.facets.values()]
    return [*indexed, *facets, *_KERNEL_INDEXES]


def table_page() -> str:
    """Return the document."""
    sections = [
        ("Indexes", _INDEXES_TEXT, ("index", "partition key", "sort key", "used for"), _indexes()),
        ("Records", _ENTITIES_TEXT, ("kind", "pk", "sk", "description"), _records()),
        (
            "Lists and filters",
            "A page of each list or filter is one Query.",
            ("kind", "list or filter", "index", "partition key", "sort key"),
            _lists(),
        ),
        ("Unique values", _UNIQUES_TEXT, ("kind", "field", "pk", "sk", "error", "former values"), _uniques()),
        ("Limits", _QUOTAS_TEXT, ("kind", "limit", "pk", "sk"), _limits()),
        ("Scheduled tasks", _SCHEDULED_TEXT, ("item", "task"), _scheduled()),
        ("Other items", _KERNEL_TEXT, ("item", "pk", "sk", "description"), _other_items()),
    ]
    return _HEAD + "".join(_section(*section) for section in sections)


def _section(title: str, text: str, columns: Sequence[str], rows: _Rows) -> str:
    return f"\n## {title}\n\n{text.strip()}\n\n{table(columns, rows)}\n"


def _indexes() -> _Rows:
    for name in INDEXES:
        yield code(name), code(f"{name}pk"), code(f"{name}sk"), "lists"
    for name in FACETS:
        yield code(name), code(f"{name}pk"), code("sk"), "filters of lists, in the order of the list"
    yield code("due"), code("duepk"), code("duesk"), "scheduled tasks"


def _records() -> _Rows:
    for entity in entities():
        yield code(entity.kind), code(entity.pk), code(entity.sk), _first_sentence(entity)


def _lists() -> _Rows:
    for entity in entities():
        for name, collection in entity.collections.items():
            shards = f", in {collection.shards} shards" if collection.shards else ""
            yield (
                code(entity.kind),
                name.replace("_", " ") + shards,
                code(collection.index or ""),
                code(collection.pk),
                code(collection.sk),
            )
        for name, facet in entity.facets.items():
            yield code(entity.kind), name.replace("_", " "), code(facet.index), code(facet.pk), code(entity.sk)
    pk, _ = ledger.sequence_index_or_batch_key(_LOG, 0)
    yield code("entry"), "by sequence", code("index1"), code(pk), code("{sequence}") + ", 12 digits"
    keys = code("index2"), code(ledger.unanchored_pk("{shard}")), code("{since}#{log_id}")
    yield code("log head"), f"grown since the last anchor, in {ledger.UNANCHORED_SHARDS} shards", *keys


def _uniques() -> _Rows:
    for entity in entities():
        for unique in entity.uniques.values():
            pk, sk = _guard(unique)
            reserved = f"the last {MAX_FORMER_NAMES} redirect for {FORMER_NAME_DAYS} days"
            availability = reserved if unique.former_values_field else "available at once"
            expires = f"; the current one expires at `{unique.expires_at_field}`" if unique.expires_at_field else ""
            yield (
                code(entity.kind),
                code(unique.field),
                code(pk),
                code(sk),
                code(unique.error_code),
                availability + expires,
            )


def _guard(unique: Unique) -> ItemKey:
    return unique_items.guard_key(unique, _Placeholders())


def _limits() -> _Rows:
    for entity in entities():
        if limit := entity.quota:
            yield code(entity.kind), f"{_maximum(limit)} {limit.name}", code(limit.partition), code(_counter(limit))


def _maximum(limit: Quota) -> str:
    return code(limit.limit.upper()) if isinstance(limit.limit, str) else str(limit.limit)


def _counter(limit: Quota) -> str:
    return f"COUNT#{limit.name}"


def _scheduled() -> _Rows:
    for entity in entities():
        if entity.scheduled_task is not Entity.scheduled_task:
            text = _first_sentence(entity.scheduled_task).removeprefix("Return ")
            yield code(entity.kind), text[:1].upper() + text[1:]
    yield "outbox pointer", "Notify the ledger, some seconds after the commit, if the entry is still pending"


def _other_items() -> _Rows:
    return [(name, code(pk), code(sk), text) for name, (pk, sk), text in _kernel_items()]


def _kernel_items() -> list[tuple[str, ItemKey, str]]:
    return [
        (GUARD, ("U#{namespace}#{value}", "#"), "the owner of the value; for a former slug also its last day"),
        (
            "stored response",
            ("I#{principal}#{sha256 of the key}", "#"),
            "the response for an `Idempotency-Key`, for a day",
        ),
        (
            "userinfo response",
            userinfo.userinfo_key("{sha256 of token, subject, issuer and names of claims}"),
            "what the issuer's userinfo endpoint says about a user, encrypted, for an hour at most",
        ),
        ("API key pointer", auth.api_key_pointer_key("{sha256 of the API key}"), "the key of an API key's record"),
        (
            "API key dependency",
            ("O#{organization_id}", f"{KEY_DEPENDENCY_PREFIX}{{id}}"),
            "an active API key, and the principals on whose rights it depends",
        ),
        ("entry body", body_key(_LOG, "{id}"), "the bytes of an entry that is too long for one item"),
        (
            "log head",
            ledger.head_key(_LOG),
            "the size, peaks and signed notes of a log, and the last entry that was delivered",
        ),
        (
            "MAC chain",
            (chain_key(_LOG, 0)[0], f"{ledger.HEAD_SORT_KEY}{{shard}}"),
            "one of the 16 MAC chains of a log: the number and the MAC of its newest entry",
        ),
        (
            "member by e-mail",
            ("O#{organization_id}", email_sort_key("{email}", "{user_id}")),
            "an organization's member",
        ),
        (
            "member by e-mail",
            ("P#{platform_id}", email_sort_key("{email}", "{user_id}")),
            "a platform's member, by e-mail address",
        ),
        ("invitation by address", (address_partition("{email}"), "{id}"), "a pending invitation, for the invitee"),
        (
            "platform membership",
            ("O#{organization_id}", membership_listing_sort_key("{user_id}", "{platform_id}")),
            "a user's membership of a platform, in the partition of its organization",
        ),
        (
            "entry batch",
            (ledger.sequence_index_or_batch_key(_LOG, 0)[0], "{sequence}"),
            "the ids of entries that were appended together",
        ),
        ("subscriber list", subscriptions_key(_LOG), "the subscribers to a log, as of the last delivered entry"),
        (
            "deferred delivery",
            ("V#{webhook_id}", "!{sequence}#{id}"),
            "a delivery that waits for its webhook to respond",
        ),
        (
            "attempt counts",
            ("V#{webhook_id}", f"{COUNTS_PREFIX}{{hour}}"),
            "counters of a webhook's attempts in an hour, for 8 days",
        ),
        ("outbox pointer", pending_key(_LOG, "{id}"), "a pending entry, which has no sequence yet"),
        (
            "quarantined item",
            quarantine.quarantine_key(_LOG, "{id}"),
            "an item of an outbox that was not an entry, for 90 days",
        ),
        (
            "ancestor pointer",
            ancestor_cache.ancestor_pointer_key("{id}"),
            "the containers of a record whose path does not contain them",
        ),
        (
            "node by name",
            (_TAXONOMY, f"{slug_index.NAME_KEY_PREFIX}{{name}}#{{id}}"),
            "a node of a taxonomy, by its name",
        ),
        (
            "node by slug or label",
            (_TAXONOMY, f"{slug_index.WORD_KEY_PREFIX}{{slug or label}}#{{id}}"),
            "a node of a taxonomy, by its slug or label",
        ),
        ("node slug index", slug_index.slug_index_key(_PLATFORM, "{slug}"), "the nodes of a taxonomy with a slug"),
        (
            "former node position",
            slug_index.former_position_key(_PLATFORM, "{parent_id}", "{slug}"),
            "the last node that had a slug below a parent",
        ),
        (
            "entity attachments",
            entity_attachments_key(_PLATFORM, "{type}", "{id}"),
            "the nodes of a taxonomy that are attached to an entity",
        ),
        ("page position", _PAGES.node_key("{id}"), "the slug and the parent of a page in a tree of its site"),
        ("page slug index", page_slug_index.slug_positions_key(_PAGES, "{slug}"), "the positions of pages with a slug"),
        (
            "former page positions",
            page_slug_index.former_slug_positions_key(_PAGES, "{slug}"),
            "the former positions of the published pages with a slug",
        ),
        ("page by title", ("W#{site_id}#Q", "{title}#{id}"), "a page of a site, by its title"),
        (
            "sitemap",
            stored_sitemaps.sitemap_head_key("{site_id}"),
            "the parts of a site's sitemap, and the versions that they were built from",
        ),
        ("sitemap piece", ("W#{site_id}#S", "{part}#{piece}"), "a piece of a sitemap, compressed"),
        ("redirect by path", redirect_by_path_key("{site_id}", "{from_path}"), "a redirect, by its path"),
        ("redirect by target", ("W#{site_id}#F", "T#{sha256 of the path}#{id}"), "a redirect, by its target"),
        ("source throttle", throttle.throttle_key("{source}"), "the time of the next request to a public service"),
        (
            "stale artefact",
            (STALE_ARTEFACTS_PARTITION, "{id}"),
            "an artefact that has changed since its output was built",
        ),
        (
            "artefact match key",
            (MATCH_KEYS_PARTITION, "{key}#{id}"),
            "an artefact, by an identifier that others may share",
        ),
        (
            "output by similarity",
            (COMPARISON_PARTITION, "{title and family name}#{year}#{id}"),
            "an output, by the values that are compared to find duplicates",
        ),
        ("edition count", (EDITION_COUNTS_PARTITION, "{edition_id}"), "the number of outputs of an edition of a venue"),
        *(
            (
                f"{kind.kind} by researcher",
                (researcher_partition_key("{library_id}", kind, "{researcher_id}", source), "{id}"),
                f"a {kind.kind.replace('-', ' ')} of a researcher{', from one source' if source else ''}",
            )
            for kind, source in ((Artefact, ""), (Artefact, "{source}"), (ResearchOutput, ""))
        ),
        ("e-mail hash key", email_hashes.HASH_KEY_ITEM_KEY, "the key that hashes e-mail addresses, encrypted"),
        (
            "access epoch",
            (organization_partition("{organization_id}"), "EPOCH#{sha256 of user, key or everyone}#{shard}"),
            "the time at which the rights of a principal, or of all, were lowered; for a day",
        ),
        (
            "closing epoch",
            (organization_partition("{organization_id}"), "CLOSING-EPOCH#{sha256 of user, key or everyone}"),
            "the time until which no transaction checks an epoch, because a change of it is in progress",
        ),
        ("counter", ("{partition}", "COUNT#{name}"), "the number of records that count towards a limit"),
        (
            "rate limit bucket",
            ("Y#{name}#{sha256 of the subject}", "#"),
            "the used part of a rate limit, and the time of its reset",
        ),
        (
            "host request counter",
            host_rate_limit.slot_counter_key("{sha256 of the organization and the host}", "{second}"),
            "the requests that an organization's webhooks sent, or wanted to send, to a host in a second",
        ),
        (
            "request counter",
            request_quota.window_counter_key(request_quota.REQUESTS, "{sha256 of the principal}", "{end}"),
            "the requests of a principal in a minute that are used, or reserved by a process",
        ),
        *(
            (
                name,
                request_quota.window_counter_key(name, "{sha256 of the client's network}", "{end}"),
                "the anonymous requests, or those with a rejected key, of a client network in a time window",
            )
            for name in request_quota.NETWORK_LIMITS
        ),
    ]


def _first_sentence(documented: object) -> str:
    text = inspect.getdoc(documented) or ""
    return text.split("\n\n")[0].partition(". ")[0].replace("\n", " ").rstrip(".")


class _Placeholders(dict[str, str]):
    """Field values that render a template unchanged: the value of each field is its name in braces."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"
