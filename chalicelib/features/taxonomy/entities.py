"""What is stored of a platform's taxonomy: its nodes, the tree as a whole, and what leads to nodes.

All of it stands in one partition. A node knows its parent only; its path and its depth follow from its ancestors when
it is read (`kernel/storage/trees.py`), so that a move writes the same few items whatever is below. Beside its record
stand rows
that lead to it: by its name, its slug, its other labels. The *trail* of a slug names all nodes that have it: with the
trails of all segments of a path the nodes on it are known, and read at once. That of a slug which very many nodes have
is wide and not relied on; the guards of their slugs lead on then, one level after the other. Where a node was, below
another or as a root, leads to it still, and so to all below it (`trails.py`).

The tree's version is raised by whatever changes the path of a node that is there: all such changes are one after the
other, and what relies on a path (a new node below, another move) is made on condition that none was in between. A node
counts what is right below it and attached to it, and is deleted on condition that this is nothing: so nothing is
orphaned. `height` is how many levels there are below it at most: it is raised with each node that is deeper than all
before, and never lowered, so that it costs nothing mostly; only where it forbids a move is the tree read to be exact.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final, Literal, Self

from chalicelib.features.taxonomy.models import MOST_NODES, NodeOut, SystemTagSetOut
from chalicelib.features.taxonomy.trails import LABEL, NAMES, PARTITION, SLUG, WORDS, tree_of
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.http.fields import fold_text
from chalicelib.kernel.storage import trees
from chalicelib.kernel.storage.entity import Collection, Entity, Item, ItemKey, Quota
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.search_keys import exact_key
from chalicelib.kernel.storage.trees import TreeReader
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.work.jobs import Job

LISTED: Final = "L"
ROOTS: Final = "roots"
SYSTEM: Final = "system"


class Taxonomy(Entity):
    """A platform's taxonomy as a whole. `tags`: its system tags, their ids by their slugs.

    `felled` counts the deleted nodes that are not removed yet with all below them.
    """

    kind = "taxonomy"
    pk, sk = PARTITION, trees.STATE
    version_fields = ("version", "felled")

    organization_id: str
    platform_id: str
    moved: dict[str, int] = field(default_factory=dict)
    last_position: int = -1
    felled: int = 0
    tags: dict[str, str] = field(default_factory=dict)

    def with_moved(self, nodes: Iterable[str]) -> dict[str, int]:
        """Return which nodes were placed anew last, with some of the version that comes next."""
        return trees.add_move(self.moved, self.version + 1, nodes)


class TaxonomyNode(Entity):
    """A node of a taxonomy. `placed`: the tree's version that its slug and parent came with.

    `listed` names the list of all nodes, and `shelf` that of its siblings: its parent's id, or that of the terms, or of
    the system tags, that are roots. Both are None once the node is felled: then all below it is out of sight too.
    `last_position` is that of its children. `ancestors` are known once the node is found.
    """

    kind, parameter = "taxonomy.node", "taxonomy_node_id"
    pk, sk = PARTITION, trees.NODE
    in_platform = Collection("P#{platform_id}#T#{listed}", "{position:010d}#{id}", index="index1")
    among_siblings = Collection("P#{platform_id}#T#C#{shelf}", "{position:010d}#{id}", index="index2")
    by_slug = Unique(
        "taxonomy-slug#{platform_id}#{parent_id}",
        "{slug}",
        error_code="slug_taken",
        field="slug",
        applies_to=lambda node: node.listed is not None,
        advice="Siblings have different slugs: choose another.",
    )
    quota = Quota("taxonomy nodes", PARTITION, MOST_NODES, lambda _node: True)
    output_model = NodeOut
    version_fields = ("version", "child_count", "attachment_count", "height")
    computed_fields = frozenset({"ancestors"})

    organization_id: str
    platform_id: str
    name: str
    slug: str
    parent_id: str | None = None
    description: str | None = None
    alt_labels: list[str] = field(default_factory=list)
    position: int = 0
    sort: Literal["term", "system"] = "term"
    listed: str | None = None
    shelf: str | None = None
    lineage: list[str] = field(default_factory=list)
    placed: int = 1
    child_count: int = 0
    attachment_count: int = 0
    height: int = 0
    last_position: int = -1
    ancestors: tuple["TaxonomyNode", ...] = field(default=(), compare=False)

    @property
    def ids(self) -> dict[str, Any]:
        """The ids of the places that it is in, by their parameters, as all that belongs to it carries them."""
        return {"organization_id": self.organization_id, "platform_id": self.platform_id}

    @property
    def path(self) -> str:
        """The slugs from the root to it."""
        return "/".join(node.slug for node in self.line)

    @property
    def depth(self) -> int:
        """On which level it is; a root is on the first."""
        return len(self.line)

    @property
    def line(self) -> tuple["TaxonomyNode", ...]:
        """It and its ancestors, the root first."""
        if bool(self.parent_id) != bool(self.ancestors):
            raise ValueError(f"the ancestors of {self.id} were not found out")
        return (*self.ancestors, self)

    def hydrate(self, read: dict[ItemKey, Item]) -> Self | None:
        """Return it with its ancestors; None if it or one of them is felled. Others that were read get theirs too."""
        reading = TreeReader.of(tree_of(self.platform_id), read)
        nodes = [item["id"] for item in read.values() if item.get("kind") == self.kind]
        reading.load_ancestors(nodes)
        return self.of(reading, self.id)

    @classmethod
    def of(cls, reading: TreeReader, node_id: str) -> Self | None:
        """Return a node whose chain was read, with its ancestors; None if it isn't there."""
        line: tuple[Self, ...] = ()
        for item in reading.chain(node_id) or ():
            line = (*line, cls.from_item(item).replace(ancestors=line))
        return line[-1] if line else None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """What leads to it: its id, its name, its slug and its other labels."""
        words = [
            exact_key(NAMES, fold_text(self.name)),
            exact_key(WORDS, self.slug) + SLUG,
            *(exact_key(WORDS, fold_text(label)) + LABEL for label in self.alt_labels),
        ]
        row = {"pk": self.item_key[0], "node_id": self.id, "lineage": self.lineage}
        return ancestor_cache.ancestor_pointer(self.id, **self.ids), *({**row, "sk": word + self.id} for word in words)

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets none of its texts say the person."""
        named = person.redact_all({"name": self.name, "description": self.description})
        labels = [person.redact(label) for label in self.alt_labels]
        return named if labels == self.alt_labels else {**named, "alt_labels": [*dict.fromkeys(labels)]}


class SystemTags(RecordSet):
    """The system tags of a platform."""

    kind = "taxonomy.system_tags"
    keyed_by = "slug"
    output_model = SystemTagSetOut


class Felling(Job):
    """The removal of all that is below a deleted node, and of itself at last; `turns` counts those that were full."""

    kind, task = "taxonomy.felling", "taxonomy.remove"
    pk, sk = PARTITION, "G#{node_id}"

    organization_id: str
    platform_id: str
    node_id: str
    turns: int = 0
