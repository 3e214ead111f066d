"""The stored taxonomy of a platform: its nodes, the state of the tree, and the items that find nodes.

All of it is in one partition, as `kernel/trees` describes. The path and depth of a node are computed from its ancestors
when it is read, so a move writes few items whatever the size of the subtree. Derived items find a node by its name,
slug or other labels. The *slug index* item of a slug lists the ids of the nodes that have it. A *former position* item
redirects from the parent and slug that a node had to the node, and so from all former paths below it.

A node counts its children and attachments, and is deleted only if both counts are zero, so nothing is orphaned.
`height` is an upper bound of the number of levels below a node: it grows with deeper descendants and never shrinks,
which makes it cheap to maintain. The exact height is read from the tree only if the bound forbids a move.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Final, Literal, Self

from chalicelib.features.taxonomy.entities.slug_index import (
    LABEL_KEY_SUFFIX,
    NAME_KEY_PREFIX,
    SLUG_KEY_SUFFIX,
    SLUG_NAMESPACE,
    TAXONOMY_PARTITION,
    WORD_KEY_PREFIX,
    taxonomy_tree,
)
from chalicelib.features.taxonomy.models import MAX_NODES, NodeOut, SystemTagSetOut
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.storage.entity import Collection, Entity, Item, ItemKey, ItemReads
from chalicelib.kernel.storage.log_rules import LogRules, entries_about_others, items_after, removal_below_parent
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.search_keys import key_prefix_of_exact_name
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.trees.reading import TreeReader
from chalicelib.kernel.trees.tree import NODE_SORT_KEY, Tree, TreeState
from chalicelib.kernel.work.jobs import Job

ALL_NODES_LIST: Final = "L"
ROOT_TERMS_LIST: Final = "roots"
SYSTEM_TAG: Final = "system"


class Taxonomy(TreeState):
    """The state of a platform's taxonomy tree.

    `tags` maps the slugs of system tags to node ids. `pending_removals` counts deleted nodes whose subtrees are still
    stored.
    """

    kind, log_rules = "taxonomy", LogRules(has_entries=False)
    unauthenticated_fields: ClassVar = dict.fromkeys(
        ("last_position", "pending_removals"), "Concurrent requests change it without a new version."
    )
    pk = TAXONOMY_PARTITION
    version_fields = ("version", "pending_removals")
    attribute_names: ClassVar = {"pending_removals": "felled"}

    organization_id: str
    platform_id: str
    last_position: int = -1
    pending_removals: int = 0
    tags: dict[str, str] = field(default_factory=dict)


class TaxonomyNode(Entity):
    """A node of a taxonomy.

    `tree_version` is the version of the tree with which the node got its slug and parent, and `ancestor_ids` holds its
    ancestors at that time. `listed` is the name of the list of all nodes. `sibling_list` is the name of the list of
    the node's siblings: the id of the parent, `roots` or `system`. Both are None once the node is deleted, which hides
    its descendants, too.
    `last_position` is the highest position of its children. `ancestors` is set when the node is hydrated.
    """

    kind, parameter = "taxonomy.node", "taxonomy_node_id"
    log_rules = LogRules(
        ended_by=("taxonomy.node.deleted",),
        changed_by={
            "taxonomy.system_tags.created": lambda entry: [
                TaxonomyNode.make_item_key(platform_id=entry["target"]["id"], id=each["id"])
                for each in items_after(entry, "slug").values()
                if "id" in each
            ],
            **entries_about_others("taxonomy.node.deleted"),
        },
        removed_by={"taxonomy.node.deleted": removal_below_parent},
        is_ended=lambda node: node.listed is None,
        depends_on=lambda entry: (
            [TaxonomyNode.make_item_key(platform_id=entry["data"]["platformId"], id=entry["data"]["parentId"])]
            if entry["data"]["parentId"]
            else []
        ),
    )
    unauthenticated_fields: ClassVar = dict.fromkeys(
        ("child_count", "attachment_count", "height", "last_position"), "Requests that change other nodes count them."
    )
    pk, sk = TAXONOMY_PARTITION, NODE_SORT_KEY
    in_platform = Collection("P#{platform_id}#T#{listed}", "{position:010d}#{id}", index="index1")
    among_siblings = Collection("P#{platform_id}#T#C#{sibling_list}", "{position:010d}#{id}", index="index2")
    by_slug = Unique(
        SLUG_NAMESPACE + "#{parent_id}",
        "{slug}",
        error_code="slug_taken",
        field="slug",
        applies_to=lambda node: node.listed is not None,
        advice="Siblings need different slugs. Choose another.",
    )
    quota = Quota("taxonomy nodes", TAXONOMY_PARTITION, MAX_NODES, lambda _node: True)
    output_model = NodeOut
    version_fields = ("version", "child_count", "attachment_count", "height")
    attribute_names: ClassVar = {"ancestor_ids": "lineage", "tree_version": "placed", "sibling_list": "shelf"}
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
    sibling_list: str | None = None
    ancestor_ids: list[str] = field(default_factory=list)
    tree_version: int = 1
    child_count: int = 0
    attachment_count: int = 0
    height: int = 0
    last_position: int = -1
    ancestors: tuple["TaxonomyNode", ...] = field(default=(), compare=False)

    @property
    def organization_and_platform_id_fields(self) -> dict[str, Any]:
        """The ids of the organization and platform, by path parameter, which related records have, too."""
        return {"organization_id": self.organization_id, "platform_id": self.platform_id}

    @property
    def tree(self) -> Tree:
        """The tree of the node."""
        return taxonomy_tree(self.platform_id)

    @property
    def path(self) -> str:
        """The slugs from the root to the node, joined by slashes."""
        return "/".join(node.slug for node in self.ancestors_and_self)

    @property
    def depth(self) -> int:
        """The level of the node; 1 for a root."""
        return len(self.ancestors_and_self)

    @property
    def ancestors_and_self(self) -> tuple["TaxonomyNode", ...]:
        """The ancestors and the node itself, the root first. Raises ValueError if the node was not hydrated."""
        if bool(self.parent_id) != bool(self.ancestors):
            raise ValueError(f"the ancestors of {self.id} were not loaded")
        return (*self.ancestors, self)

    def hydration_reads(self, items: Mapping[ItemKey, Item]) -> ItemReads[Self | None]:
        """Request the ancestors of the node, and those of the other nodes that were read.

        Return the node with its ancestors, or None if any of them is deleted.
        """
        reader = TreeReader.from_items(self.tree, dict(items))
        node_ids = [item["id"] for item in items.values() if item.get("kind") == self.kind]
        yield from reader.consistent_ancestor_reads(node_ids)
        return self.from_loaded_reader(reader, self.id)

    @classmethod
    def from_loaded_reader(cls, reader: TreeReader, node_id: str) -> Self | None:
        """Return a node and its ancestors, which `reader` has loaded, or None if the node doesn't exist."""
        nodes: tuple[Self, ...] = ()
        for item in reader.nodes_from_root_or_none(node_id) or ():
            nodes = (*nodes, cls.from_item(item).replace(ancestors=nodes))
        return nodes[-1] if nodes else None

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """The items that find the node by its id, name, slug and other labels."""
        sort_keys = [
            key_prefix_of_exact_name(NAME_KEY_PREFIX, fold_case_accents_and_spaces(self.name)),
            key_prefix_of_exact_name(WORD_KEY_PREFIX, self.slug) + SLUG_KEY_SUFFIX,
            *(
                key_prefix_of_exact_name(WORD_KEY_PREFIX, fold_case_accents_and_spaces(label)) + LABEL_KEY_SUFFIX
                for label in self.alt_labels
            ),
        ]
        row = {"pk": self.item_key[0], "node_id": self.id, "lineage": self.ancestor_ids}
        return ancestor_cache.build_ancestor_pointer(self.id, **self.organization_and_platform_id_fields), *(
            {**row, "sk": sort_key + self.id} for sort_key in sort_keys
        )

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the text fields with the person's data redacted."""
        fields = person.redacted_field_changes({"name": self.name, "description": self.description})
        labels = [person.redact(label) for label in self.alt_labels]
        return fields if labels == self.alt_labels else {**fields, "alt_labels": [*dict.fromkeys(labels)]}


class SystemTagSet(RecordSet):
    """The system tags of a platform."""

    kind = "taxonomy.system_tags"
    item_key_field = "slug"
    output_model = SystemTagSetOut


class NodeRemovalJob(Job):
    """The removal of a deleted node and its subtree. `turns` counts the slices that ended before the job was done."""

    kind, task = "taxonomy.felling", "taxonomy.remove"
    pk, sk = TAXONOMY_PARTITION, "G#{node_id}"

    organization_id: str
    platform_id: str
    node_id: str
    turns: int = 0
