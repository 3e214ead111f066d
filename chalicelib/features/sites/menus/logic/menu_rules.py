"""Validation of the items of a menu. Without I/O."""

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from chalicelib.features.platforms.models.nested_items import (
    NestedItems,
    iter_pointers_and_items,
    reject_duplicate_ids,
    reject_oversized_document,
)
from chalicelib.features.sites.menus.models import MAX_MENU_ITEMS
from chalicelib.kernel.core.problems import FieldError, ValidationProblem

_TARGET_FIELDS: Final = {"page": "page_id", "url": "url", "group": None}
_JSON_NAMES: Final = {"page_id": "pageId", "url": "url"}


def reject_invalid_items(items: NestedItems) -> None:
    """Raise ValidationProblem if there are too many items, duplicate ids, wrong targets, or too much data."""
    count = sum(1 for _ in iter_pointers_and_items(items, ""))
    if count > MAX_MENU_ITEMS:
        detail = f"must have {MAX_MENU_ITEMS} items or fewer, on all levels; these are {count}"
        raise ValidationProblem([FieldError("/items", "too_many", detail)])
    reject_duplicate_ids(items, "/items")
    errors = [error for path, item in iter_pointers_and_items(items, "/items") for error in _target_errors(item, path)]
    if errors:
        raise ValidationProblem(errors)
    reject_oversized_document("menu", items)


def _target_errors(item: Mapping[str, Any], pointer: str) -> Iterator[FieldError]:
    """Yield the errors of an item without the target that its type needs, or with the target of another type."""
    for name, field in _JSON_NAMES.items():
        is_target = name == _TARGET_FIELDS[item["type"]]
        if is_target and not item[name]:
            yield FieldError(
                f"{pointer}/{field}", "required", f"An item of type {item['type']} needs it as its target."
            )
        elif item[name] and not is_target:
            yield FieldError(
                f"{pointer}/{field}", "malformed", f"An item of type {item['type']} cannot have it. Omit it."
            )


def reject_unknown_pages(items: NestedItems, existing_page_ids: Container[str]) -> None:
    """Raise ValidationProblem for each item whose page does not exist."""
    unknown = [
        path
        for path, item in iter_pointers_and_items(items, "/items")
        if item["page_id"] and item["page_id"] not in existing_page_ids
    ]
    if unknown:
        raise ValidationProblem(
            [FieldError(f"{path}/pageId", "unknown", "No page of this site has this id.") for path in unknown]
        )
