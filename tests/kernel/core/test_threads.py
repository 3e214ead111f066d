"""Threads do not outlive a response, except for those that are abandoned after a time limit."""

import ast
from threading import Event
from time import monotonic
from typing import Final

import pytest

from chalicelib.kernel.core import threads
from local.paths import ROOT

STARTING_MODULES: Final = {"asyncio", "concurrent.futures.thread", "concurrent.futures.process", "multiprocessing"}
STARTING_NAMES: Final = {"Thread", "Timer", "ThreadPoolExecutor", "ProcessPoolExecutor", "start_new_thread", "fork"}


def thread_starting_names(source):
    """Return the names in a module with which it could start a thread or process."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield from {module} & STARTING_MODULES | {each.name for each in names} & STARTING_NAMES
            case ast.Import(names=names):
                yield from {each.name for each in names} & STARTING_MODULES
            case ast.Attribute(attr=name) if name in STARTING_NAMES:
                yield name


def test_only_one_module_starts_threads():
    files = (ROOT / "chalicelib").rglob("*.py")
    found = {str(file.relative_to(ROOT)) for file in files if [*thread_starting_names(file.read_text())]}
    assert found == {"chalicelib/kernel/core/threads.py"}


@pytest.mark.parametrize(
    "source",
    [
        "from threading import Thread",
        "import threading\nthreading.Timer(1, print)",
        "from concurrent import futures\nfutures.ThreadPoolExecutor()",
        "import asyncio",
        "import _thread\n_thread.start_new_thread(print, ())",
    ],
)
def test_each_way_to_start_a_thread_is_found(source):
    assert [*thread_starting_names(source)]


def test_background_work_ends_before_the_block_and_a_slow_one_is_abandoned():
    finished, release = Event(), Event()

    def wait() -> None:
        release.wait(30)

    started_at = monotonic()
    with threads.waiting_for_background_work():
        threads.start_in_background(finished.set, name="fast")
        threads.start_in_background(wait, name="slow")
        threads.start_in_background(wait, name="slow")
    assert finished.is_set()
    assert threads.MAX_BACKGROUND_SECONDS <= monotonic() - started_at < 20 * threads.MAX_BACKGROUND_SECONDS
    release.set()


def test_the_first_exception_of_parallel_calls_is_raised_after_all_have_ended():
    ended = Event()

    def fail() -> None:
        raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        threads.call_in_threads([fail, ended.set], max_threads=2, name="test")
    assert ended.is_set()
    with pytest.raises(ValueError, match="first"):
        threads.start_thread(fail, name="test").result(5)
