"""Resolving: which node a path, a slug or another label leads to."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from chalicelib.features.taxonomy.entities import TaxonomyNode
from chalicelib.features.taxonomy.finding import known, meet
from chalicelib.features.taxonomy.models import MOST_DEPTH, MatchedBy
from chalicelib.features.taxonomy.trails import SLUG, WORDS, former_key, led_to, nodes_on, trail_key, tree_of
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.http.fields import SLUG_PATTERN, fold_text
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.search_keys import exact_key
from chalicelib.kernel.storage.trees import KEEP_MOVING, TreeReader
from chalicelib.kernel.transactions.unique_items import guard_key

_MOST_NAMESAKES: Final = 25
_MOST_STEPS: Final = 100
"""Nodes that are looked at along a former path: below who is there now, and who was there last, on each level."""

_TRIES: Final = 3

Match = tuple[TaxonomyNode, MatchedBy]


def segments(path: str) -> list[str]:
    """Return the slugs of a path; none if no node can have it."""
    slugs = ascii_lower(path.strip().strip("/")).split("/")
    possible = len(slugs) <= MOST_DEPTH and all(re.fullmatch(SLUG_PATTERN, slug) for slug in slugs)
    return slugs if possible else []


def signposts(platform_id: str, path: str) -> list[ItemKey]:
    """Return where the trails of a path's slugs are."""
    return [trail_key(platform_id, slug) for slug in segments(path)]


def by_word(platform_id: str, word: str) -> Match | None:
    """Return the node whose slug a word is or, if there is none, another label; of several, the oldest.

    What case, accents and spaces it is written with makes no difference.
    """
    reading, sought = TreeReader(tree_of(platform_id)), fold_text(word)
    begins = exact_key(WORDS, sought)
    rows = table.query(reading.tree.partition, prefix=begins, limit=_MOST_NAMESAKES).items
    by_slug = {row["node_id"] for row in rows if row["sk"].startswith(begins + SLUG)}
    for node in known(reading, meet(reading, rows)):
        if node.id in by_slug and node.slug == sought:
            return node, "slug"
        if sought in map(fold_text, node.alt_labels):
            return node, "altLabel"
    return None


def by_path(platform_id: str, path: str, read: dict[ItemKey, Item]) -> Match | None:
    """Return the node that a path leads to or, if there is none, one that had it, wherever it is now.

    `read` holds the tree and the trails of the path's slugs, and is added to. What changed since is looked at anew.
    """
    for _ in range(_TRIES):
        walk = Walk(platform_id, segments(path), read)
        version = walk.reading.state.get("version")
        if (match := walk.whole() or walk.former()) or walk.reading.state.get("version") == version:
            return match
        read = table.get_all([walk.reading.tree.state_key, *signposts(platform_id, path)])
    raise unavailable(KEEP_MOVING)


class Walk:
    """A walk through a platform's tree along the slugs of a path, whose trails were read."""

    def __init__(self, platform_id: str, slugs: list[str], read: dict[ItemKey, Item]) -> None:
        self.platform_id, self.slugs = platform_id, slugs
        self.reading = TreeReader.of(tree_of(platform_id), read)
        self._trails = [nodes_on(read.get(trail_key(platform_id, slug))) for slug in slugs]
        self._been: set[tuple[str | None, int]] = set()

    def whole(self) -> Match | None:
        """Return the node that the path leads to, if there is one."""
        nodes = (self.reading.tree.key(node_id) for trail in self._trails for node_id in trail or ())
        self.reading.read([*nodes, *self._further(self._guard, wide_only=True)])
        above: str | None = None
        for level in range(len(self.slugs)):
            above = self._below(above, level)
            if above is None:
                return None
        node = self._known(above)
        return (node, "path") if node and node.path == "/".join(self.slugs) else None

    def former(self) -> Match | None:
        """Return a node that had the path, or is below one that had the beginning of it.

        On each level who is there now goes before who was there last.
        """
        self.reading.read(self._further(self._former_key))
        node = next(self._ends(None, 0), None)
        return (node, "path" if node.path == "/".join(self.slugs) else "formerPath") if node else None

    def _ends(self, above: str | None, level: int) -> Iterator[TaxonomyNode]:
        """Yield what the path leads to from a node on, the nodes that were on it included."""
        if (above, level) in self._been or len(self._been) >= _MOST_STEPS:
            return
        self._been.add((above, level))
        if level == len(self.slugs):
            yield from filter(None, [self._known(above)])
            return
        if below := self._below(above, level):
            yield from self._ends(below, level + 1)
        key = self._former_key(above, self.slugs[level])
        self._look_at(key)
        for node_id in led_to(self.reading.items.get(key)):
            yield from self._ends(node_id, level + 1)

    def _further(self, key: Callable[[str | None, str], ItemKey], *, wide_only: bool = False) -> Iterator[ItemKey]:
        """Yield what stands at each slug below all nodes that may be above, of slugs with a wide trail only or all."""
        above: Iterable[str | None] = [None]
        for slug, trail in zip(self.slugs, self._trails, strict=True):
            if trail is None or not wide_only:
                yield from (key(node_id, slug) for node_id in above)
            above = trail or ()

    def _guard(self, above: str | None, slug: str) -> ItemKey:
        place = {"platform_id": self.platform_id, "parent_id": above, "slug": slug}
        return guard_key(TaxonomyNode.by_slug, place)

    def _former_key(self, above: str | None, slug: str) -> ItemKey:
        return former_key(self.platform_id, above, slug)

    def _below(self, above: str | None, level: int) -> str | None:
        """Return the node that has the slug of a level below another, or as a root."""
        slug, nodes = self.slugs[level], self._trails[level]
        if nodes is None:
            guard = self._guard(above, slug)
            self._look_at(guard)
            nodes = frozenset({str(self.reading.items.get(guard, {}).get("ref"))})
            self._look_at(*map(self.reading.tree.key, nodes))
        for node_id in nodes:
            node = self.reading.node(node_id)
            if node and (node.get("parent_id"), node["slug"]) == (above, slug):
                return node_id
        return None

    def _look_at(self, *keys: ItemKey) -> None:
        if wanted := {*keys} - self.reading.asked:
            self.reading.read(wanted)

    def _known(self, node_id: str | None) -> TaxonomyNode | None:
        if node_id is None:
            return None
        self.reading.load_ancestors([node_id])
        return TaxonomyNode.of(self.reading, node_id)
