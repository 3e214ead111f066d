"""Parts of a document that callers keep, such as items of a navigation: each has an id, and may have others below."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator
from pydantic_core import to_json

from chalicelib.kernel.core.problems import FieldError, ValidationProblem
from chalicelib.kernel.http.fields import out_of_range_error

MOST_BYTES: Final = 64 * 1024
"""Of a document as JSON: a record carries it."""

Parts = Iterable[Mapping[str, Any]]


def walk_items(parts: Parts, pointer: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield parts and those below them, in the order of reading, each with where it stands."""
    for number, part in enumerate(parts):
        path = f"{pointer}/{number}"
        yield path, part
        yield from walk_items(part.get("children", ()), f"{path}/children")


def refuse_repeated_ids(parts: Parts, pointer: str) -> None:
    """Raise Invalid for each part whose id another one before it has."""
    seen: set[str] = set()
    faults = []
    for path, part in walk_items(parts, pointer):
        if part["id"] in seen:
            faults.append(FieldError(f"{path}/id", "repeated", "Another one has this id; ids have to be different."))
        seen.add(part["id"])
    if faults:
        raise ValidationProblem(faults)


def refuse_large(noun: str, document: Any) -> None:
    """Raise Invalid if a document takes more room than it may."""
    size = len(to_json(document))
    if size > MOST_BYTES:
        detail = f"A {noun} has at most {MOST_BYTES} bytes as JSON; this has {size}."
        raise ValidationProblem([FieldError("", "too_large", detail)])


def _not_deeper(children: list[Any]) -> list[Any]:
    if children:
        raise out_of_range_error("must be empty: a navigation is at most 3 levels deep")
    return children


NothingBelow = Annotated[list[Any], AfterValidator(_not_deeper)]
"""What is below an item of a navigation on the lowest level: none."""
