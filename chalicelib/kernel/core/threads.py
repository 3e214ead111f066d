"""Threads. No other module starts any, because Lambda freezes a process when its response leaves.

Work in a thread that is still running then continues with the next request, which may come in an hour or never. So
each function says how a thread ends: before the function returns, by the caller's deadline, or before the response.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from threading import Thread
from time import monotonic
from typing import Final, TypeVar

T = TypeVar("T")

MAX_BACKGROUND_SECONDS: Final = 0.15
"""How long a response waits for work in the background of its request. Such a write usually takes 5 to 20 ms."""

_background_threads: ContextVar[list[Thread] | None] = ContextVar("background_threads", default=None)


def call_in_threads(functions: Sequence[Callable[[], T]], *, max_threads: int, name: str) -> list[T]:
    """Return the results of functions that are called in parallel, each in a copy of the context.

    All threads have ended when it returns. Raises the exception of the first function that fails.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(functions), max_threads), name) as threads:
        futures = [threads.submit(copy_context().run, function) for function in functions]
    return [future.result() for future in futures]


def start_thread(function: Callable[[], T], *, name: str) -> "Future[T]":
    """Call a function in a thread, in a copy of the context, and return its future result.

    The caller waits with a time-out. What the function does after that must be harmless at any later time.
    """
    future: Future[T] = Future()
    Thread(target=copy_context().run, args=(_call_into_future, function, future), name=name, daemon=True).start()
    return future


def start_in_background(function: Callable[[], None], *, name: str) -> None:
    """Call a function in a thread that the response waits for, within `MAX_BACKGROUND_SECONDS`.

    A function that takes longer is abandoned: it may continue at any later time, or never. The thread does not get the
    context, so its AWS calls do not count towards the request.
    """
    thread = Thread(target=function, name=name, daemon=True)
    thread.start()
    if (threads := _background_threads.get()) is not None:
        threads.append(thread)


@contextmanager
def waiting_for_background_work() -> Iterator[None]:
    """At the end of the block, wait for the work that it started in the background, within the time limit."""
    threads: list[Thread] = []
    token = _background_threads.set(threads)
    try:
        yield
    finally:
        _background_threads.reset(token)
        ends_at = monotonic() + MAX_BACKGROUND_SECONDS
        for thread in threads:
            thread.join(max(0.0, ends_at - monotonic()))


def _call_into_future(function: Callable[[], T], future: "Future[T]") -> None:
    try:
        future.set_result(function())
    except Exception as error:  # noqa: BLE001 - re-raised in the waiting thread
        future.set_exception(error)
