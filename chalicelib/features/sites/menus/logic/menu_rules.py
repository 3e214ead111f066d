"""Rules for the items of a menu. No I/O."""

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from chalicelib.features.platforms.models.nested_items import Parts, refuse_large, refuse_repeated_ids, walk_items
from chalicelib.features.sites.menus.models import MAX_MENU_ITEMS
from chalicelib.kernel.core.problems import FieldError, ValidationProblem

_TARGET_FIELDS: Final = {"page": "page_id", "url": "url", "group": None}
_JSON_NAMES: Final = {"page_id": "pageId", "url": "url"}


def reject_invalid_items(items: Parts) -> None:
    """Raise ValidationProblem if items are too many or too large, repeat an id, or have a target of the wrong type."""
    number = sum(1 for _ in walk_items(items, ""))
    if number > MAX_MENU_ITEMS:
        detail = f"must have {MAX_MENU_ITEMS} items or fewer, on all levels; these are {number}"
        raise ValidationProblem([FieldError("/items", "too_many", detail)])
    refuse_repeated_ids(items, "/items")
    errors = [error for path, item in walk_items(items, "/items") for error in _target_errors(item, path)]
    if errors:
        raise ValidationProblem(errors)
    refuse_large("menu", items)


def _target_errors(item: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """Yield the errors of an item that lacks the target of its type, or has another type's."""
    for name, field in _JSON_NAMES.items():
        is_target = name == _TARGET_FIELDS[item["type"]]
        if is_target and not item[name]:
            yield FieldError(f"{path}/{field}", "required", f"An item of type {item['type']} needs it as its target.")
        elif item[name] and not is_target:
            yield FieldError(f"{path}/{field}", "malformed", f"An item of type {item['type']} cannot have it. Omit it.")


def reject_unknown_pages(items: Parts, page_ids: Container[str]) -> None:
    """Raise ValidationProblem for each item whose page does not exist."""
    unknown = [
        path for path, item in walk_items(items, "/items") if item["page_id"] and item["page_id"] not in page_ids
    ]
    if unknown:
        raise ValidationProblem(
            [FieldError(f"{path}/pageId", "unknown", "No page of this site has this id.") for path in unknown]
        )
