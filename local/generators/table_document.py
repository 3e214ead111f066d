"""`docs/reference/table.md`: what the one table holds, said by the entities and the kernel themselves."""

import inspect
from collections.abc import Iterable, Sequence
from typing import Final

from chalicelib.entrypoints import catalogue
from chalicelib.features.notifications.logic.subscriptions import subscriptions_key
from chalicelib.features.notifications.webhooks.logic import host_rate_limit
from chalicelib.features.platforms.members.entities import platform_membership_sort_key
from chalicelib.features.research.entities import (
    COMPARISON_PARTITION,
    EDITION_COUNTS_PARTITION,
    MATCH_KEYS_PARTITION,
    STALE_ARTEFACTS_PARTITION,
    Artefact,
    ResearchOutput,
    researcher_partition,
)
from chalicelib.features.research.logic import throttle
from chalicelib.features.sites.entities.redirects import redirect_path_key
from chalicelib.features.sites.entities.sites import TREE_PARTITION
from chalicelib.features.sites.pages.entities import slug_index as page_trails
from chalicelib.features.sites.visits.logic import stored_sitemaps
from chalicelib.features.taxonomy.attachments.entities import entity_attachments_key
from chalicelib.features.taxonomy.entities import slug_index
from chalicelib.features.tenancy.api_keys.entities import KEY_DEPENDENCY_PREFIX
from chalicelib.features.tenancy.entities.memberships import email_sort_key
from chalicelib.kernel.audit_log import ledger, quarantine
from chalicelib.kernel.audit_log.entries import body_key, pending_key
from chalicelib.kernel.audit_log.mac_chains import chain_key
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.identity import auth, email_hashes
from chalicelib.kernel.permissions.access_epochs import log_partition
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.storage.entity import SCHEDULE_SHARDS, Entity, ItemKey, Quota
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.trees import Tree
from chalicelib.kernel.storage.unique_values import FORMER_NAME_DAYS, MAX_FORMER_NAMES, Unique
from chalicelib.kernel.transactions import unique_items
from infrastructure.resources import FACETS, INDEXES, TTL_ATTRIBUTE
from local.generators.markdown import code, table

_HEAD: Final = f"""\
# The table

Made from the entities by `make generate`; a test compares it.

Everything is in one DynamoDB table: a partition key `pk`, a sort key `sk`, and the indexes below. Keys are templates: a
record's own fields stand in braces. A template with a field that is absent yields no key, and the record is not in that
index. `{TTL_ATTRIBUTE}` (seconds since 1970) lets DynamoDB remove an item some time later; what reads such an item also
looks at the clock. All reads of the table itself are consistent. No request and no
worker scans it; the operator's commands `verify`, `reseal` and `renew-seals` do.

[access-patterns.md](access-patterns.md) says what each operation reads and writes.
"""

_INDEXES_TEXT: Final = """\
Each carries whole items. An overloaded index serves many lists: its keys say which.
"""

_ENTITIES_TEXT: Final = """\
Every record has `id`, `createdAt`, `updatedAt` and `version`; a write is made on condition that the version is the one
that was read.
"""

_KERNEL_TEXT: Final = """\
Items that are no records, and that are written beside them.
"""

_UNIQUES_TEXT: Final = """\
A unique value is held by an item of its own, put on condition that nobody else holds it.
"""

_LIMITS_TEXT: Final = """\
A limit is a counter beside the records, raised in the transaction that creates one, on condition that it isn't reached.
"""

_DUE_TEXT: Final = f"""\
What has to happen later carries a mark: `duepk` = `DUE#` and one of {SCHEDULE_SHARDS} shards, `duesk` =
`<when>#<pk>#<sk>`,
`task` = what to do. The sweep reads what is due each minute, moves the mark by condition, and queues the task.
"""

GUARD: Final = "guard of a unique value"
"""The item that holds one."""

_LOG: Final = "{log_id}"
_PLATFORM: Final = "{platform_id}"
_TAXONOMY: Final = f"P#{_PLATFORM}#T"
_PAGES: Final = Tree(TREE_PARTITION)

_KERNEL_INDEXES: Final = (
    ("index1", ledger.sequence_key(_LOG, 0)[0]),
    ("index2", "ANCHOR#{shard}"),
    ("due", "DUE#{shard}"),
)

_Rows = Iterable[Sequence[str]]


def entities() -> list[type[Entity]]:
    """Return every entity of the service, by its key."""
    stored = [entity for entity in catalogue.record_kinds() if not issubclass(entity, RecordSet)]
    return sorted(stored, key=lambda entity: (entity.pk, entity.sk))


def item_keys() -> list[tuple[str, str, str]]:
    """Return each kind of item's name and the templates of its keys, as the document gives them."""
    records = [(entity.kind, entity.pk, entity.sk) for entity in entities()]
    counters = [("counter", entity.quota.partition, _counter(entity.quota)) for entity in entities() if entity.quota]
    guards = [(GUARD, *_guard(unique)) for entity in entities() for unique in entity.uniques.values()]
    others = [(name, pk, sk) for name, (pk, sk), _ in _others() if name not in ("counter", GUARD)]
    return [*records, *counters, *guards, *others]


def index_keys() -> list[tuple[str, str]]:
    """Return each list's or filter's index and the template of its partition key."""
    indexed = [(c.index, c.pk) for entity in entities() for c in entity.collections.values() if c.index]
    facets = [(facet.index, facet.pk) for entity in entities() for facet in entity.facets.values()]
    return [*indexed, *facets, *_KERNEL_INDEXES]


def document() -> str:
    """Return the whole document."""
    sections = [
        ("Indexes", _INDEXES_TEXT, ("index", "partition key", "sort key", "used for"), _indexes()),
        ("Records", _ENTITIES_TEXT, ("kind", "pk", "sk", "what it is"), _records()),
        ("Lists and filters", "Each is one Query.", ("of", "list", "index", "partition key", "sort key"), _lists()),
        ("Unique values", _UNIQUES_TEXT, ("of", "field", "pk", "sk", "if taken", "a former value"), _uniques()),
        ("Limits", _LIMITS_TEXT, ("of", "at most", "pk", "sk"), _limits()),
        ("What is due", _DUE_TEXT, ("item", "what, and when"), _dues()),
        ("Other items", _KERNEL_TEXT, ("item", "pk", "sk", "what it is"), _other_items()),
    ]
    return _HEAD + "".join(_section(*section) for section in sections)


def _section(title: str, text: str, columns: Sequence[str], rows: _Rows) -> str:
    return f"\n## {title}\n\n{text.strip()}\n\n{table(columns, rows)}\n"


def _indexes() -> _Rows:
    for name in INDEXES:
        yield code(name), code(f"{name}pk"), code(f"{name}sk"), "lists"
    for name in FACETS:
        yield code(name), code(f"{name}pk"), code("sk"), "filters of lists, in the list's own order"
    yield code("due"), code("duepk"), code("duesk"), "what has to happen later"


def _records() -> _Rows:
    for entity in entities():
        yield code(entity.kind), code(entity.pk), code(entity.sk), _sentence(entity)


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
    pk, _ = ledger.sequence_key(_LOG, 0)
    yield code("entry"), "by sequence", code("index1"), code(pk), code("{sequence}") + ", 12 digits"
    keys = code("index2"), code(ledger.unanchored_pk("{shard}")), code("{since}#{log_id}")
    yield code("ledger head"), f"grown since it was anchored, in {ledger.UNANCHORED_SHARDS} shards", *keys


def _uniques() -> _Rows:
    for entity in entities():
        for unique in entity.uniques.values():
            pk, sk = _guard(unique)
            held = f"the last {MAX_FORMER_NAMES} lead here for {FORMER_NAME_DAYS} days"
            availability = held if unique.former_values_field else "is free at once"
            lapses = f"; the present one is free from `{unique.expires_at_field}` on" if unique.expires_at_field else ""
            yield (
                code(entity.kind),
                code(unique.field),
                code(pk),
                code(sk),
                code(unique.error_code),
                availability + lapses,
            )


def _guard(unique: Unique) -> ItemKey:
    return unique_items.guard_key(unique, _Placeholders())


def _limits() -> _Rows:
    for entity in entities():
        if limit := entity.quota:
            yield code(entity.kind), f"{_most(limit)} {limit.name}", code(limit.partition), code(_counter(limit))


def _most(limit: Quota) -> str:
    return code(limit.limit.upper()) if isinstance(limit.limit, str) else str(limit.limit)


def _counter(limit: Quota) -> str:
    return f"COUNT#{limit.name}"


def _dues() -> _Rows:
    for entity in entities():
        if entity.scheduled_task is not Entity.scheduled_task:
            yield code(entity.kind), _sentence(entity.scheduled_task)
    yield "outbox pointer", "waking the ledger, some seconds after the commit, if nothing else has"


def _other_items() -> _Rows:
    return [(name, code(pk), code(sk), text) for name, (pk, sk), text in _others()]


def _others() -> list[tuple[str, ItemKey, str]]:
    return [
        (GUARD, ("U#{space}#{value}", "#"), "whose it is; a former slug with the day it ends"),
        ("stored answer", ("I#{principal}#{sha256 of the key}", "#"), "an `Idempotency-Key`'s first answer, for a day"),
        ("key pointer", auth.api_key_pointer_key("{sha256 of the API key}"), "where the record of an API key is"),
        (
            "resting key",
            ("O#{organization_id}", f"{KEY_DEPENDENCY_PREFIX}{{id}}"),
            "a live API key, and whose rights it rests on",
        ),
        ("long entry", body_key(_LOG, "{id}"), "the canonical bytes of an entry that are too many to stand in it"),
        (
            "ledger head",
            ledger.head_key(_LOG),
            "a log's size, peaks and signed notes, and how far it is delivered",
        ),
        (
            "chain",
            (chain_key(_LOG, 0)[0], f"{ledger.HEAD}{{shard}}"),
            "one of a log's 16 chains: the number and the MAC of its newest entry",
        ),
        ("address", ("O#{organization_id}", email_sort_key("{email}", "{user_id}")), "a member, by their address"),
        (
            "address",
            ("P#{platform_id}", email_sort_key("{email}", "{user_id}")),
            "a platform's member, by their address",
        ),
        (
            "membership below",
            ("O#{organization_id}", platform_membership_sort_key("{user_id}", "{platform_id}")),
            "that a user is a member of a platform, in its organization",
        ),
        ("batch", (ledger.sequence_key(_LOG, 0)[0], "{sequence}"), "the ids of entries that were appended at once"),
        ("subscribers", subscriptions_key(_LOG), "who is told of a log's events, as of how far it is delivered"),
        ("waiting delivery", ("V#{webhook_id}", "!{sequence}#{id}"), "a delivery that waits for its webhook to answer"),
        ("outbox pointer", pending_key(_LOG, "{id}"), "an entry that waits for its sequence"),
        ("quarantined", quarantine.quarantine_key(_LOG, "{id}"), "what was in an outbox and is no entry, for 90 days"),
        (
            "record pointer",
            ancestor_cache.pointer_key("{id}"),
            "in which places a record is that has an address of its own",
        ),
        ("name", (_TAXONOMY, f"{slug_index.NAME_KEY_PREFIX}{{name}}#{{id}}"), "a node of a taxonomy, by its name"),
        (
            "word",
            (_TAXONOMY, f"{slug_index.WORD_KEY_PREFIX}{{slug or label}}#{{id}}"),
            "a node of a taxonomy, by its slug or label",
        ),
        ("trail", slug_index.slug_index_key(_PLATFORM, "{slug}"), "the nodes of a taxonomy that have a slug"),
        (
            "former place",
            slug_index.former_position_key(_PLATFORM, "{parent_id}", "{slug}"),
            "who had a slug below a node last",
        ),
        (
            "attached entity",
            entity_attachments_key(_PLATFORM, "{type}", "{id}"),
            "which nodes of a taxonomy are put on an entity",
        ),
        ("seat", _PAGES.node_key("{id}"), "where a page is in a tree of its site: its slug, and below which page"),
        ("page trail", page_trails.slug_key(_PAGES, "{slug}"), "the pages of a tree that have a slug"),
        (
            "former page trail",
            page_trails.former_slug_key(_PAGES, "{slug}"),
            "the pages that were published by a slug, and where",
        ),
        ("page title", ("W#{site_id}#Q", "{title}#{id}"), "a page of a site, by its title"),
        (
            "sitemap",
            stored_sitemaps.head_key("{site_id}"),
            "which parts a site's sitemap has, and what they were made of",
        ),
        ("sitemap piece", ("W#{site_id}#S", "{part}#{piece}"), "a piece of a sitemap, compressed"),
        ("redirected path", redirect_path_key("{site_id}", "{from_path}"), "a redirect, by its path"),
        ("redirect target", ("W#{site_id}#F", "T#{sha256 of the path}#{id}"), "a redirect, by where it leads"),
        ("pace", throttle.throttle_key("{source}"), "from when on a public service may be asked again"),
        ("stale artefact", (STALE_ARTEFACTS_PARTITION, "{id}"), "an artefact that changed since its output was made"),
        ("artefact key", (MATCH_KEYS_PARTITION, "{key}#{id}"), "an artefact, by an identifier it shares with others"),
        (
            "output comparison",
            (COMPARISON_PARTITION, "{title and family name}#{year}#{id}"),
            "an output, by what it has in common with others",
        ),
        ("edition count", (EDITION_COUNTS_PARTITION, "{edition_id}"), "how many outputs an edition of a venue has"),
        *(
            (
                f"{kind.kind} by researcher",
                (researcher_partition("{library_id}", kind, "{researcher_id}", source), "{id}"),
                f"the {kind.kind} of a researcher{', from one source' if source else ''}",
            )
            for kind, source in ((Artefact, ""), (Artefact, "{source}"), (ResearchOutput, ""))
        ),
        ("address hash key", email_hashes.HASH_KEY_ITEM_KEY, "the key that hashes addresses, sealed"),
        (
            "access epoch",
            (log_partition("{organization_id}"), "EPOCH#{sha256 of user, key or everyone}#{shard}"),
            "since when somebody, or everyone, may do less: for a day",
        ),
        (
            "closing epoch",
            (log_partition("{organization_id}"), "CLOSING-EPOCH#{sha256 of user, key or everyone}"),
            "until when nobody checks an epoch: it is about to end",
        ),
        ("counter", ("{per}", "COUNT#{noun}"), "how many records count towards a limit"),
        (
            "budget",
            ("Y#{name}#{sha256 of whose it is}", "#"),
            "how much of a budget a caller has used up, and until when",
        ),
        (
            "turns",
            host_rate_limit.slot_counter_key("{sha256 of the organization and the host}", "{second}"),
            "how many requests an organization's webhooks have sent to a host in a second, or wanted to",
        ),
        (
            "requests",
            request_quota.window_counter_key(request_quota.REQUESTS, "{sha256 of the principal}", "{end}"),
            "how many requests of a principal in a minute are used up or leased by a process",
        ),
        *(
            (
                name,
                request_quota.window_counter_key(name, "{sha256 of the client's network}", "{end}"),
                "the same of a client's network, without a valid credential",
            )
            for name in request_quota.NETWORK_LIMITS
        ),
    ]


def _sentence(documented: object) -> str:
    text = inspect.getdoc(documented) or ""
    return text.split("\n\n")[0].partition(". ")[0].replace("\n", " ").rstrip(".")


class _Placeholders(dict[str, str]):
    """Fields whose values are their names in braces: filled in with them, a template shows itself."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"
