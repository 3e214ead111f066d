"""Runs coroutines to their end, in any process of the tests."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine.

    It runs in a thread of its own, because an event loop already runs in the thread of a test after an earlier test of
    the process has used the browser.
    """
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(asyncio.run, coroutine).result()
