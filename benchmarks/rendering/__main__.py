"""Looks for the pages that take longest to render, of those that can be stored and of those that are refused.

    python -m benchmarks.rendering [MINUTES]

It measures the CPU time of known patterns, then of what chance makes, at the size that is just not refused and at the
largest, and prints the worst. It ends with 1 if a page took more than 150 ms, or became more than 1 MiB of HTML.
"""

import sys
import time
import zlib
from collections.abc import Iterator
from itertools import count
from typing import Final

from benchmarks.rendering import shapes
from benchmarks.rendering.shapes import Page
from chalicelib.features.sites.rendering.logic import content
from chalicelib.features.sites.rendering.logic.limits import TooComplex

BUDGET_MS: Final = 150.0
BUDGET_BYTES: Final = 1024 * 1024
_TRIES: Final = 5
_SHOWN: Final = 12


def main(minutes: float) -> int:
    """Search, print the worst, and return the exit status."""
    until = time.monotonic() + 60 * minutes
    content.render_blocks(shapes.of_text("a"))  # What is imported once counts for none.
    worst: list[tuple[float, int, str]] = []
    for name, page in _candidates():
        for label, each in (("whole", page), ("largest shown", _largest(page))):
            milliseconds, size, outcome = _measured(each)
            worst.append((milliseconds, size, f"{name}, {label}: {outcome}"))
        worst = sorted(worst, reverse=True)[: _SHOWN * 4]
        if time.monotonic() > until:
            break
    for milliseconds, size, name in worst[:_SHOWN]:
        print(f"{milliseconds:7.1f} ms {size:9,} bytes  {name}")
    return int(worst[0][0] > BUDGET_MS or max(size for _, size, _ in worst) > BUDGET_BYTES)


def _candidates() -> Iterator[tuple[str, Page]]:
    yield from shapes.known()
    for seed in count():
        pattern = shapes.found(seed)
        kind = shapes.KINDS[seed % len(shapes.KINDS)]
        yield f"{pattern!r} ({kind.__name__.removeprefix('of_')})", kind(pattern)


def _measured(page: Page) -> tuple[float, int, str]:
    """Return the least CPU time of some tries in milliseconds, the bytes of HTML, and what became of a page."""
    times, size, outcome = [], 0, "shown"
    for _ in range(_TRIES):
        began = time.process_time()
        try:
            html = content.render_blocks(page).encode()
            zlib.compress(html, 4)
            size = len(html)
        except TooComplex as refused:
            outcome = str(refused).partition(".")[0]
        times.append((time.process_time() - began) * 1000)
        if times[-1] < BUDGET_MS / 2:
            break
    return min(times), size, outcome


def _largest(page: Page) -> Page:
    """Return the largest beginning of a page that is not refused."""
    few, many = 0.0, 1.0
    for _ in range(7):
        middle = (few + many) / 2
        try:
            content.render_blocks(_beginning(page, middle))
        except TooComplex:
            many = middle
        else:
            few = middle
    return _beginning(page, few)


def _beginning(page: Page, part: float) -> Page:
    if len(page) > 1:
        return page[: int(len(page) * part)]
    (block,) = page
    if "items" in block:
        return [{**block, "items": block["items"][: int(len(block["items"]) * part)]}]
    if "columns" in block:
        return [{**block, "columns": [_beginning(column, part) for column in block["columns"]]}]
    return [{**block, "text": block["text"][: int(len(block["text"]) * part)]}]


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5))
