"""Resolve a path, a slug or another label to a node."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from chalicelib.features.taxonomy.entities.nodes import TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import (
    SLUG_KEY_SUFFIX,
    WORD_KEY_PREFIX,
    former_position_key,
    former_position_target_ids,
    indexed_node_ids_unless_overflowed,
    slug_index_key,
    taxonomy_tree_partition,
)
from chalicelib.features.taxonomy.logic.node_queries import load_existing_nodes, load_indexed_nodes_and_return_ids
from chalicelib.features.taxonomy.models import MAX_DEPTH, MatchedBy
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.http.fields import SLUG_PATTERN, fold_case_accents_and_spaces
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.search_keys import key_prefix_of_exact_name
from chalicelib.kernel.storage.trees import CONCURRENT_MOVES, TreeReader
from chalicelib.kernel.transactions.unique_items import guard_key

_MAX_LABEL_MATCHES: Final = 25
_MAX_FORMER_PATH_STEPS: Final = 100
"""Maximum number of nodes visited along a former path, where each level has a current and a former node."""

_MAX_ATTEMPTS: Final = 3

NodeMatch = tuple[TaxonomyNode, MatchedBy]


def path_slugs_or_empty(path: str) -> list[str]:
    """Return the slugs of a path, or an empty list if no node can have the path."""
    slugs = ascii_lower(path.strip().strip("/")).split("/")
    is_valid = len(slugs) <= MAX_DEPTH and all(re.fullmatch(SLUG_PATTERN, slug) for slug in slugs)
    return slugs if is_valid else []


def slug_index_keys(platform_id: str, path: str) -> list[ItemKey]:
    """Return the keys of the slug index items for the slugs of a path."""
    return [slug_index_key(platform_id, slug) for slug in path_slugs_or_empty(path)]


def find_match_by_slug_or_alt_label(platform_id: str, slug_or_alt_label: str) -> NodeMatch | None:
    """Return the oldest node with a slug or, if there is none, with another label.

    Case, accents and whitespace are ignored.
    """
    reader, folded_label = (
        TreeReader(taxonomy_tree_partition(platform_id)),
        fold_case_accents_and_spaces(slug_or_alt_label),
    )
    key_prefix = key_prefix_of_exact_name(WORD_KEY_PREFIX, folded_label)
    rows = table.query(reader.tree.partition, prefix=key_prefix, limit=_MAX_LABEL_MATCHES).items
    ids_by_slug = {row["node_id"] for row in rows if row["sk"].startswith(key_prefix + SLUG_KEY_SUFFIX)}
    for node in load_existing_nodes(reader, load_indexed_nodes_and_return_ids(reader, rows)):
        if node.id in ids_by_slug and node.slug == folded_label:
            return node, "slug"
        if folded_label in map(fold_case_accents_and_spaces, node.alt_labels):
            return node, "altLabel"
    return None


def find_match_by_path(platform_id: str, path: str, prefetched: dict[ItemKey, Item]) -> NodeMatch | None:
    """Return the node that has a path or, if there is none, a node that had it, wherever the node is now.

    `prefetched` holds the state of the tree and the slug index items of the path, and is extended by further reads. The
    search is repeated if the tree changed meanwhile. Raises Problem `unavailable` if it keeps changing.
    """
    for _ in range(_MAX_ATTEMPTS):
        resolver = NodePathResolver(platform_id, path_slugs_or_empty(path), prefetched)
        version = resolver.reader.state.get("version")
        match = resolver.find_match_by_current_path() or resolver.find_match_by_former_path()
        if match or resolver.reader.state.get("version") == version:
            return match
        prefetched = table.get_all([resolver.reader.tree.state_key, *slug_index_keys(platform_id, path)])
    raise unavailable(CONCURRENT_MOVES)


class NodePathResolver:
    """Resolves a path, given by its slugs, in the tree of a platform. `prefetched` holds the slug index items."""

    def __init__(self, platform_id: str, slugs: list[str], prefetched: dict[ItemKey, Item]) -> None:
        self.platform_id, self.slugs = platform_id, slugs
        self.reader = TreeReader.from_items(taxonomy_tree_partition(platform_id), prefetched)
        self._indexed_ids = [
            indexed_node_ids_unless_overflowed(prefetched.get(slug_index_key(platform_id, slug))) for slug in slugs
        ]
        self._visited: set[tuple[str | None, int]] = set()

    def find_match_by_current_path(self) -> NodeMatch | None:
        """Return the node that has the path now, if there is one."""
        node_keys = (self.reader.tree.node_key(node_id) for ids in self._indexed_ids for node_id in ids or ())
        self.reader.load_with_state(
            [*node_keys, *self._candidate_keys(self._unique_slug_guard_key, overflowed_only=True)]
        )
        parent_id: str | None = None
        for level in range(len(self.slugs)):
            parent_id = self._find_child_id(parent_id, level)
            if parent_id is None:
                return None
        node = self._load_node_or_none(parent_id)
        return (node, "path") if node and node.path == "/".join(self.slugs) else None

    def find_match_by_former_path(self) -> NodeMatch | None:
        """Return a node that had the path, or that is below a node that had the beginning of the path.

        On each level the current node takes precedence over the former one.
        """
        self.reader.load_with_state(self._candidate_keys(self._former_position_key))
        node = next(self._iter_nodes_at_end_of_path(None, 0), None)
        return (node, "path" if node.path == "/".join(self.slugs) else "formerPath") if node else None

    def _iter_nodes_at_end_of_path(self, parent_id: str | None, level: int) -> Iterator[TaxonomyNode]:
        """Yield the nodes to which the path leads from a parent on, including nodes with former positions."""
        if (parent_id, level) in self._visited or len(self._visited) >= _MAX_FORMER_PATH_STEPS:
            return
        self._visited.add((parent_id, level))
        if level == len(self.slugs):
            yield from filter(None, [self._load_node_or_none(parent_id)])
            return
        if child_id := self._find_child_id(parent_id, level):
            yield from self._iter_nodes_at_end_of_path(child_id, level + 1)
        key = self._former_position_key(parent_id, self.slugs[level])
        self._load_unread_items_into_reader(key)
        for node_id in former_position_target_ids(self.reader.items.get(key)):
            yield from self._iter_nodes_at_end_of_path(node_id, level + 1)

    def _candidate_keys(
        self, make_key: Callable[[str | None, str], ItemKey], *, overflowed_only: bool = False
    ) -> Iterator[ItemKey]:
        """Yield a key for each slug of the path below each possible parent.

        With `overflowed_only`, only slugs whose index item has overflowed are included.
        """
        parent_ids: Iterable[str | None] = [None]
        for slug, node_ids in zip(self.slugs, self._indexed_ids, strict=True):
            if node_ids is None or not overflowed_only:
                yield from (make_key(parent_id, slug) for parent_id in parent_ids)
            parent_ids = node_ids or ()

    def _unique_slug_guard_key(self, parent_id: str | None, slug: str) -> ItemKey:
        fields = {"platform_id": self.platform_id, "parent_id": parent_id, "slug": slug}
        return guard_key(TaxonomyNode.by_slug, fields)

    def _former_position_key(self, parent_id: str | None, slug: str) -> ItemKey:
        return former_position_key(self.platform_id, parent_id, slug)

    def _find_child_id(self, parent_id: str | None, level: int) -> str | None:
        """Return the id of the node with the slug of a level below a parent, or among the roots."""
        slug, node_ids = self.slugs[level], self._indexed_ids[level]
        if node_ids is None:
            slug_key = self._unique_slug_guard_key(parent_id, slug)
            self._load_unread_items_into_reader(slug_key)
            node_ids = frozenset({str(self.reader.items.get(slug_key, {}).get("ref"))})
            self._load_unread_items_into_reader(*map(self.reader.tree.node_key, node_ids))
        for node_id in node_ids:
            node = self.reader.undeleted_read_node_or_none(node_id)
            if node and (node.get("parent_id"), node["slug"]) == (parent_id, slug):
                return node_id
        return None

    def _load_unread_items_into_reader(self, *keys: ItemKey) -> None:
        if missing := {*keys} - self.reader.requested_keys:
            self.reader.load_with_state(missing)

    def _load_node_or_none(self, node_id: str | None) -> TaxonomyNode | None:
        if node_id is None:
            return None
        self.reader.load_consistent_ancestors([node_id])
        return TaxonomyNode.from_loaded_reader(self.reader, node_id)
