"""The commands `make pause` and `make resume`: stop everything that writes to a stage's data, and start it again.

Queues are paused by disabling their event source mappings. A function with a reserved concurrency of 0 would still
receive messages, and each throttled receive counts as an attempt, so messages would reach the dead-letter queues.
"""

import time
from collections.abc import Iterator
from typing import Any, Final

from infrastructure import configuration
from infrastructure.account import CommandError, client, translate_errors
from infrastructure.names import Stage
from infrastructure.policies import GRANTS

_API_FUNCTION: Final = "api_handler"
_POLL_SECONDS: Final = 2.0
_WAIT_SECONDS: Final = 300
"""How long to wait for the event source mappings. Lambda usually needs less than a minute."""

_SETTLED_STATES: Final = ("Enabled", "Disabled")


def pause(name: str) -> None:
    """Stop the API, the schedules and the queues of a stage. Raises CommandError. The command can be repeated.

    The API responds with 500 or 503 until `resume`. Messages wait in their queues.
    """
    stage = configuration.load_stage_in_current_account(name)
    with translate_errors():
        client("lambda").put_function_concurrency(
            FunctionName=stage.function_name(_API_FUNCTION), ReservedConcurrentExecutions=0
        )
        for rule in _iter_rules(stage):
            client("events").disable_rule(Name=rule)
        _set_mappings_and_wait(stage, enabled=False)
    print(
        f"{name} is paused: its API, schedules and queues are stopped. Functions that were running may write for up to"
        f" 15 minutes.\nTo start everything again: make resume STAGE={name}"
    )


def resume(name: str) -> None:
    """Start the queues, the schedules and the API of a stage. Raises CommandError. The command can be repeated."""
    stage = configuration.load_stage_in_current_account(name)
    concurrency = configuration.reserved_concurrency(stage.name).get(_API_FUNCTION)
    function = stage.function_name(_API_FUNCTION)
    with translate_errors():
        _set_mappings_and_wait(stage, enabled=True)
        for rule in _iter_rules(stage):
            client("events").enable_rule(Name=rule)
        if concurrency is None:
            client("lambda").delete_function_concurrency(FunctionName=function)
        else:
            client("lambda").put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=concurrency)
    print(f"{name} is running again: its queues, schedules and API.")


def _set_mappings_and_wait(stage: Stage, *, enabled: bool) -> None:
    """Enable or disable all event source mappings of a stage, and wait until they are. Raises CommandError."""
    wanted, ends_at = "Enabled" if enabled else "Disabled", time.monotonic() + _WAIT_SECONDS
    while others := [mapping for mapping in _iter_mappings(stage) if mapping["State"] != wanted]:
        for mapping in others:
            if mapping["State"] in _SETTLED_STATES:  # Lambda rejects updates of a mapping that is being changed.
                client("lambda").update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)
        if time.monotonic() > ends_at:
            states = ", ".join(f"{_queue_name(mapping)} is {mapping['State']}" for mapping in others)
            raise CommandError(f"Not every queue is {wanted.lower()}: {states}. Run the command again.")
        time.sleep(_POLL_SECONDS)


def _iter_mappings(stage: Stage) -> Iterator[dict[str, Any]]:
    found = False
    for function in GRANTS:
        pages = client("lambda").get_paginator("list_event_source_mappings")
        for page in pages.paginate(FunctionName=_function_arn(stage, function)):
            found = found or bool(page["EventSourceMappings"])
            yield from page["EventSourceMappings"]
    if not found:
        raise CommandError(
            f"{stage.name} has no event source mappings. Deploy it first: make deploy STAGE={stage.name}"
        )


def _iter_rules(stage: Stage) -> Iterator[str]:
    """Yield the names of the rules that invoke a stage's functions. CloudFormation chooses other names than Chalice."""
    for function in GRANTS:
        pages = client("events").get_paginator("list_rule_names_by_target")
        found = pages.paginate(TargetArn=_function_arn(stage, function))
        yield from (name for page in found for name in page["RuleNames"])


def _function_arn(stage: Stage, function: str) -> str:
    return stage.arn("lambda", f"function:{stage.function_name(function)}")


def _queue_name(mapping: dict[str, Any]) -> str:
    return str(mapping["EventSourceArn"]).rpartition(":")[2]
