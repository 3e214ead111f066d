"""Search for the pages that take longest to render, among those that can be stored and those that are rejected.

    python -m benchmarks.rendering [MINUTES]

It measures the processor time of known patterns, then of random ones: of the whole page, and of its largest part that
is not rejected. It prints the slowest pages. The exit status is 1 if a page takes more than 150 ms or produces more
than 1 MiB of HTML.
"""

import sys
import time
import zlib
from collections.abc import Iterator
from itertools import count
from typing import Final

from benchmarks.rendering import page_patterns
from benchmarks.rendering.page_patterns import Page
from chalicelib.features.sites.rendering.logic import content
from chalicelib.features.sites.rendering.logic.limits import TooComplex

MAX_MILLISECONDS: Final = 150.0
MAX_HTML_BYTES: Final = 1024 * 1024
_MAX_RUNS: Final = 5
_MAX_SHOWN: Final = 12


def main(minutes: float) -> int:
    """Search, print the slowest pages, and return the exit status."""
    deadline = time.monotonic() + 60 * minutes
    content.render_blocks_to_safe_html(
        page_patterns.build_text_page("a")
    )  # Import lazily loaded modules before the measurement.
    slowest: list[tuple[float, int, str]] = []
    for name, page in _candidates():
        for label, measured_page in (("whole", page), ("largest accepted", _largest_accepted_prefix(page))):
            milliseconds, size, outcome = _measure(measured_page)
            slowest.append((milliseconds, size, f"{name}, {label}: {outcome}"))
        slowest = sorted(slowest, reverse=True)[: _MAX_SHOWN * 4]
        if time.monotonic() > deadline:
            break
    for milliseconds, size, name in slowest[:_MAX_SHOWN]:
        print(f"{milliseconds:7.1f} ms {size:9,} bytes  {name}")
    return int(slowest[0][0] > MAX_MILLISECONDS or max(size for _, size, _ in slowest) > MAX_HTML_BYTES)


def _candidates() -> Iterator[tuple[str, Page]]:
    yield from page_patterns.known_pages()
    for seed in count():
        pattern = page_patterns.random_pattern(seed)
        kind = page_patterns.PAGE_BUILDERS[seed % len(page_patterns.PAGE_BUILDERS)]
        yield f"{pattern!r} ({kind.__name__})", kind(pattern)


def _measure(page: Page) -> tuple[float, int, str]:
    """Return the least processor time of some runs in milliseconds, the size of the HTML, and the outcome."""
    times, size, outcome = [], 0, "rendered"
    for _ in range(_MAX_RUNS):
        started_at = time.process_time()
        try:
            html = content.render_blocks_to_safe_html(page).encode()
            zlib.compress(html, 4)
            size = len(html)
        except TooComplex as error:
            outcome = str(error).partition(".")[0]
        times.append((time.process_time() - started_at) * 1000)
        if times[-1] < MAX_MILLISECONDS / 2:
            break
    return min(times), size, outcome


def _largest_accepted_prefix(page: Page) -> Page:
    """Return the largest prefix of a page that is not rejected."""
    accepted, rejected = 0.0, 1.0
    for _ in range(7):
        middle = (accepted + rejected) / 2
        try:
            content.render_blocks_to_safe_html(_truncate(page, middle))
        except TooComplex:
            rejected = middle
        else:
            accepted = middle
    return _truncate(page, accepted)


def _truncate(page: Page, share: float) -> Page:
    if len(page) > 1:
        return page[: int(len(page) * share)]
    (block,) = page
    if "items" in block:
        return [{**block, "items": block["items"][: int(len(block["items"]) * share)]}]
    if "columns" in block:
        return [{**block, "columns": [_truncate(column, share) for column in block["columns"]]}]
    return [{**block, "text": block["text"][: int(len(block["text"]) * share)]}]


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5))
