"""Generates `docs/reference/table.md`, which describes the items of the table, from the entities and the kernel."""

import inspect
from collections.abc import Iterable, Sequence
from typing import Final

from chalicelib.entrypoints import catalogue
from chalicelib.features.audit.witnesses.logic import anchored_checkpoints
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.storage.entity import SCHEDULE_SHARDS, Entity, ItemKey
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.unique_values import FORMER_NAME_DAYS, MAX_FORMER_NAMES, Unique
from chalicelib.kernel.transactions import unique_items
from infrastructure.resources import FACETS, INDEXES, TTL_ATTRIBUTE
from local.generators.markdown import code, table
from local.generators.table_items import GUARD, ITEMS_WITHOUT_RECORD, LOG

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

_LISTS_TEXT: Final = """\
A page of each list or filter is one Query. Entries about a target are in two filters, one for built-in events and one
for application events, which are read in parallel.
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
with a conditional write, and queues its task. The key of a postponed item ends with `#` and the time since which its
task has been due.
"""

"""Name of the items that reserve unique values."""


_KERNEL_INDEXES: Final = (
    ("index1", ledger.sequence_index_or_batch_key(LOG, 0)[0]),
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
    others = [(name, pk, sk) for name, (pk, sk), _ in ITEMS_WITHOUT_RECORD if name not in ("counter", GUARD)]
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
            _LISTS_TEXT,
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
            others = f", without {facet.without}" if facet.without else ""
            yield code(entity.kind), name.replace("_", " ") + others, code(facet.index), code(facet.pk), code(entity.sk)
    pk, _ = ledger.sequence_index_or_batch_key(LOG, 0)
    yield code("entry"), "by sequence", code("index1"), code(pk), code("{sequence}") + ", 12 digits"
    keys = code("index2"), code(ledger.unanchored_pk("{shard}")), code("{since}#{log_id}")
    yield code("log head"), f"grown since the last anchor, in {ledger.UNANCHORED_SHARDS} shards", *keys
    keys = code("index2"), code(anchored_checkpoints.pending_pk("{shard}")), code("{log_id}#{size}")
    lacks = f"not in the log of anchors yet, in {anchored_checkpoints.PENDING_SHARDS} shards"
    yield code("anchored checkpoint"), lacks, *keys


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
    return [(name, code(pk), code(sk), text) for name, (pk, sk), text in ITEMS_WITHOUT_RECORD]


def _first_sentence(documented: object) -> str:
    text = inspect.getdoc(documented) or ""
    return text.split("\n\n")[0].partition(". ")[0].replace("\n", " ").rstrip(".")


class _Placeholders(dict[str, str]):
    """Field values that render a template unchanged: the value of each field is its name in braces."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"
