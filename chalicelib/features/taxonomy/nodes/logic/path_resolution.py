"""Resolve a path, a slug or another label to a node."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import ClassVar, Final

from chalicelib.features.taxonomy.entities.nodes import TaxonomyNode
from chalicelib.features.taxonomy.entities.slug_index import (
    SLUG_KEY_SUFFIX,
    WORD_KEY_PREFIX,
    former_position_key,
    former_position_target_ids,
    indexed_node_ids_unless_overflowed,
    taxonomy_tree,
)
from chalicelib.features.taxonomy.logic.node_queries import (
    load_indexed_nodes,
    load_node_or_none,
)
from chalicelib.features.taxonomy.models import MAX_DEPTH, MatchedBy
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.search_keys import key_prefix_of_exact_name
from chalicelib.kernel.trees.paths import PathResolver, Position, valid_slugs_or_none
from chalicelib.kernel.trees.reading import CONCURRENT_MOVES, TreeReader

_MAX_LABEL_MATCHES: Final = 25
_MAX_FORMER_PATH_STEPS: Final = 100
"""Maximum number of nodes visited along a former path, where each level has a current and a former node."""

_MAX_ATTEMPTS: Final = 3

NodeMatch = tuple[TaxonomyNode, MatchedBy]


def path_slugs_or_empty(path: str) -> list[str]:
    """Return the slugs of a path, or an empty list if no node can have the path."""
    return valid_slugs_or_none(ascii_lower(path.strip().strip("/")).split("/"), MAX_DEPTH) or []


def slug_index_keys(platform_id: str, path: str) -> list[ItemKey]:
    """Return the keys of the slug index items for the slugs of a path."""
    return [*map(taxonomy_tree(platform_id).slug_index_key, path_slugs_or_empty(path))]


def find_match_by_slug_or_alt_label(platform_id: str, slug_or_alt_label: str) -> NodeMatch | None:
    """Return the oldest node with a slug or, if there is none, with another label.

    Case, accents and whitespace are ignored.
    """
    reader, folded_label = TreeReader(taxonomy_tree(platform_id)), fold_case_accents_and_spaces(slug_or_alt_label)
    key_prefix = key_prefix_of_exact_name(WORD_KEY_PREFIX, folded_label)
    rows = table.query(reader.tree.partition, prefix=key_prefix, limit=_MAX_LABEL_MATCHES).items
    ids_by_slug = {row["node_id"] for row in rows if row["sk"].startswith(key_prefix + SLUG_KEY_SUFFIX)}
    for node in load_indexed_nodes(reader, rows):
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
        reader = TreeReader.from_items(taxonomy_tree(platform_id), prefetched)
        resolver = NodePathResolver(reader, path_slugs_or_empty(path))
        version = reader.state.get("version")
        match = resolver.find_match_by_current_path() or resolver.find_match_by_former_path()
        if match or reader.state.get("version") == version:
            return match
        prefetched = table.get_all([reader.tree.state_key, *slug_index_keys(platform_id, path)])
    raise unavailable(CONCURRENT_MOVES)


class NodePathResolver(PathResolver[str | None]):
    """Resolves a path in the tree of a platform. The reader contains the slug index items. A step is a node id."""

    max_steps: ClassVar = _MAX_FORMER_PATH_STEPS

    def find_match_by_current_path(self) -> NodeMatch | None:
        """Return the node that has the path now, if there is one."""
        tree = self.reader.tree
        node_keys = [tree.node_key(node_id) for slug in self.slugs for node_id in self._indexed_ids(slug) or ()]
        self.reader.load_with_state([*node_keys, *self._candidate_keys(tree.slug_guard_key, overflowed_only=True)])
        node_ids = [node_id for node_id, _ in self.iter_current_path(None)]
        node = self._load_node_or_none(node_ids[-1]) if node_ids and len(node_ids) == len(self.slugs) else None
        return (node, "path") if node and node.path == "/".join(self.slugs) else None

    def find_match_by_former_path(self) -> NodeMatch | None:
        """Return a node that had the path, or that is below a node that had the beginning of the path.

        On each level the current node takes precedence over the former one.
        """
        self.reader.load_with_state(self._candidate_keys(partial(former_position_key, self.reader.tree)))
        nodes = map(self._load_node_or_none, self.iter_ends_of_former_path(None, 0, set()))
        node = next(filter(None, nodes), None)
        return (node, "path" if node.path == "/".join(self.slugs) else "formerPath") if node else None

    def _iter_next_steps(self, step: str | None, level: int) -> Iterator[str | None]:
        if child := next(self.iter_current_children(step, level), None):
            yield child[0]
        former_position = self._read_item_or_none(former_position_key(self.reader.tree, step, self.slugs[level]))
        yield from former_position_target_ids(former_position)

    def _indexed_positions_or_none(self, slug: str) -> Mapping[str, Position] | None:
        node_ids = self._indexed_ids(slug)
        nodes = ((node_id, self.reader.undeleted_read_node_or_none(node_id)) for node_id in node_ids or ())
        return None if node_ids is None else {node_id: node for node_id, node in nodes if node}

    def _read_item_or_none(self, key: ItemKey) -> Item | None:
        self.reader.load_unread([key])
        return self.reader.items.get(key)

    def _indexed_ids(self, slug: str) -> frozenset[str] | None:
        return indexed_node_ids_unless_overflowed(self.reader.items.get(self.reader.tree.slug_index_key(slug)))

    def _candidate_keys(
        self, make_key: Callable[[str | None, str], ItemKey], *, overflowed_only: bool = False
    ) -> Iterator[ItemKey]:
        """Yield a key for each slug of the path below each possible parent.

        With `overflowed_only`, only slugs whose index item has overflowed are included.
        """
        parent_ids: Iterable[str | None] = [None]
        for slug in self.slugs:
            node_ids = self._indexed_ids(slug)
            if node_ids is None or not overflowed_only:
                yield from (make_key(parent_id, slug) for parent_id in parent_ids)
            parent_ids = node_ids or ()

    def _load_node_or_none(self, node_id: str | None) -> TaxonomyNode | None:
        return load_node_or_none(self.reader, node_id) if node_id else None
