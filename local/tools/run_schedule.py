"""Runs a schedule now: `python -m local tick anchor`."""

import importlib
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from chalicelib.kernel.core.problems import Problem
from local.server.configuration import clear_cloud_variables, use_run
from local.server.event_source_emulator import schedules


class ScheduleNotRun(Exception):
    """The schedule does not exist, or there is no run. The message says what exists or what to do."""


def run_schedule(name: str, port: int | None = None) -> Any:
    """Run a schedule once for the run on a port, by default for the last run, and return its handler's result.

    The run processes the tasks that the schedule queues. The log records of the handler are not printed. Raises
    ScheduleNotRun, and SettingsError if the environment belongs to another stage.
    """
    clear_cloud_variables()
    schedules_by_name = {schedule.name: schedule for schedule in schedules(importlib.import_module("app").app)}
    if name not in schedules_by_name:
        raise ScheduleNotRun(f"Unknown schedule {name!r}. The schedules are: {', '.join(sorted(schedules_by_name))}.")
    try:
        if use_run(port):
            with redirect_stdout(StringIO()):
                return schedules_by_name[name].invoke()
    except Problem as problem:
        raise ScheduleNotRun(problem.detail) from problem
    raise ScheduleNotRun("No run was found. Start `make run`.")
