"""What the items of a menu may be: pure decisions."""

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from chalicelib.features.platforms.models.nested_items import Parts, placed, refuse_large, refuse_repeated_ids
from chalicelib.features.sites.menus.models import MOST_ITEMS
from chalicelib.kernel.core.problems import FieldError, ValidationProblem

_LEADS_BY: Final = {"page": "page_id", "url": "url", "group": None}
_FIELDS: Final = {"page_id": "pageId", "url": "url"}


def refuse_wrong(items: Parts) -> None:
    """Raise Invalid if they are too many or too large, if two have one id, or if one leads elsewhere than it says."""
    number = sum(1 for _ in placed(items, ""))
    if number > MOST_ITEMS:
        detail = f"must have {MOST_ITEMS} items or fewer, on all levels; these are {number}"
        raise ValidationProblem([FieldError("/items", "too_many", detail)])
    refuse_repeated_ids(items, "/items")
    faults = [fault for path, item in placed(items, "/items") for fault in _misled(item, path)]
    if faults:
        raise ValidationProblem(faults)
    refuse_large("menu", items)


def _misled(item: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """Yield the faults of an item that lacks what its type leads by, or has what another's does."""
    for name, field in _FIELDS.items():
        leads = name == _LEADS_BY[item["type"]]
        if leads and not item[name]:
            yield FieldError(f"{path}/{field}", "required", f"An item of type {item['type']} leads somewhere by this.")
        elif item[name] and not leads:
            yield FieldError(f"{path}/{field}", "malformed", f"An item of type {item['type']} has none: leave it out.")


def refuse_unknown(items: Parts, known: Container[str]) -> None:
    """Raise Invalid for each item whose page is none of those that there are."""
    lost = [path for path, item in placed(items, "/items") if item["page_id"] and item["page_id"] not in known]
    if lost:
        raise ValidationProblem(
            [FieldError(f"{path}/pageId", "unknown", "No page of this site has this id.") for path in lost]
        )
