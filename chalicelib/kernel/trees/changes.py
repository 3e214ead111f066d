"""Changes of a tree: the checks of a node's new position, and the changes of the nodes above it."""

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.http.fields import derive_slug
from chalicelib.kernel.operations.inputs import KnownValues
from chalicelib.kernel.storage.entity import Entity, ItemKey
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.trees.reading import read_consistent_tree
from chalicelib.kernel.trees.tree import Tree

R = TypeVar("R", bound=Entity)


def requested_position_keys(
    values: KnownValues, tree: Tree, name_field: str, parent_key: Callable[[str], ItemKey]
) -> list[ItemKey]:
    """Return the keys of the slug index item and of the parent in the body of a request that creates or moves a node.

    The slug of a new node is derived from `name_field`, unless the body contains it.
    """
    slug, name, parent_id = map(values.body_field_or_none, ("slug", name_field, "parent_id"))
    if slug is None and name and values.operation.method == "POST":
        slug = derive_slug(name)
    return [*([tree.slug_index_key(slug)] if slug else []), *([parent_key(parent_id)] if parent_id else [])]


def reject_cycle(node_id: str, ancestor_ids: Container[str], detail: str) -> None:
    """Raise Problem `cycle` if a node is among its new ancestors."""
    if node_id in ancestor_ids:
        raise Problem.create_with_field_error("/parentId", "cycle", detail)


@dataclass(frozen=True)
class DepthLimit:
    """The maximum depth of a node. `explanation`: why it is exceeded, by the number of levels below the node."""

    max_depth: int
    explanation: Callable[[int], str]

    def allows(self, ancestor_count: int, height: int) -> bool:
        """Return whether a node with `height` levels below it can have a number of ancestors."""
        return ancestor_count + 1 + height <= self.max_depth

    def reject_excess(self, ancestor_count: int, height: int) -> None:
        """Raise ValidationProblem `too_deep` unless the limit allows it."""
        if not self.allows(ancestor_count, height):
            raise ValidationProblem([FieldError("/parentId", "too_deep", self.explanation(height))])

    def read_height(self, tree: Tree, min_version: int, node_id: str) -> int:
        """Return the number of levels below a node. Reads the whole tree, as `read_consistent_tree` does."""
        children = read_consistent_tree(tree, min_version).children_by_parent_id()
        level, height = children.get(node_id, ()), 0
        while level and height < self.max_depth:
            level, height = [child for node in level for child in children.get(node["id"], ())], height + 1
        return height


class RecordUpdates(Generic[R]):
    """Collects changes of records, such as counts of children, so that each record is written once."""

    def __init__(self, changes: UnitOfWork) -> None:
        self._changes = changes
        self._records: dict[ItemKey, tuple[R, dict[str, Any]]] = {}

    def with_changes(self, record: R) -> R:
        """Return a record, which was read, with the changes so far."""
        original, fields = self._records.get(record.item_key, (record, {}))
        return original.replace(**fields)

    def set_fields(self, record: R, **fields: Any) -> None:
        """Set fields of a record."""
        self._records.setdefault(record.item_key, (record, {}))[1].update(fields)

    def add_to_unit_of_work(self) -> None:
        """Add the changes to the unit of work, without new versions of the records."""
        for record, fields in self._records.values():
            self._changes.update_untracked(record, **fields)
