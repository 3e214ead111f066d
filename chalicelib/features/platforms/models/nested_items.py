"""Documents with nested items, such as a navigation. Each item has an id, and may have child items in `children`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator
from pydantic_core import to_json

from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.http.fields import out_of_range_error

MAX_DOCUMENT_BYTES: Final = 64 * 1024
"""Maximum size of a document as JSON. It is stored in the item of its record."""
NestedItems = Iterable[Mapping[str, Any]]


def iter_pointers_and_items(items: NestedItems, pointer: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield items and their descendants in document order, each with its JSON Pointer."""
    for index, item in enumerate(items):
        item_pointer = f"{pointer}/{index}"
        yield item_pointer, item
        yield from iter_pointers_and_items(item.get("children", ()), f"{item_pointer}/children")


def reject_duplicate_ids(items: NestedItems, pointer: str) -> None:
    """Raise ValidationProblem with an error for each item that has the id of an earlier one."""
    seen_ids: set[str] = set()
    errors = []
    for item_pointer, item in iter_pointers_and_items(items, pointer):
        if item["id"] in seen_ids:
            errors.append(FieldError(f"{item_pointer}/id", "repeated", "Another item has this id. Use different ids."))
        seen_ids.add(item["id"])
    if errors:
        raise ValidationProblem(errors)


def reject_oversized_document(noun: str, document: Any) -> None:
    """Raise ValidationProblem if a document exceeds the maximum size. `noun` names the document in the problem."""
    size = len(to_json(document))
    if size > MAX_DOCUMENT_BYTES:
        detail = f"A {noun} has at most {MAX_DOCUMENT_BYTES} bytes as JSON; this one has {size}."
        raise ValidationProblem([FieldError("", "too_large", detail)])


def _reject_children(children: list[Any]) -> list[Any]:
    if children:
        raise out_of_range_error("must be empty: a navigation is at most 3 levels deep")
    return children


NoChildren = Annotated[list[Any], AfterValidator(_reject_children)]
"""The empty children of an item at the deepest level."""
