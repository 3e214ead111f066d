"""A schedule's next tick, now: `python -m local tick anchor`."""

import importlib
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from chalicelib.kernel.core.problems import Problem
from local.server.configuration import forget_the_cloud, use_run
from local.server.event_source_emulator import schedules


class NoTick(Exception):
    """There is no such schedule, or nothing that it could tick for; says what there is."""


def tick(name: str, port: int | None = None) -> Any:
    """Let a schedule tick for the run on a port, or for the one that was started last; return its handler's answer.

    What it queues is that run's to do; what the service writes about it is not shown. Raises NoTick, and SettingsError
    if the environment is of another stage.
    """
    forget_the_cloud()
    known = {schedule.name: schedule for schedule in schedules(importlib.import_module("app").app)}
    if name not in known:
        raise NoTick(f"There is no schedule {name!r}. There are: {', '.join(sorted(known))}.")
    try:
        if use_run(port):
            with redirect_stdout(StringIO()):
                return known[name].tick()
    except Problem as problem:
        raise NoTick(problem.detail) from problem
    raise NoTick("No run was found. Start `make run`.")
