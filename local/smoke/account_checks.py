"""Checks of a stage's resources in AWS."""

from typing import Any, Final

from chalice.app import SQSEventConfig

from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.work import queues
from chalicelib.kernel.work.dead_letters import DeadLetterQueue
from infrastructure.account import client
from infrastructure.names import Stage
from infrastructure.resources import RECURSIVE_FUNCTIONS
from local.smoke.target import (
    DEPLOY_REMEDY,
    LIST_DEAD_LETTERS,
    CheckSkipped,
    Target,
    fail_on_aws_errors,
    read_until,
    require,
)

_ALARM_SECONDS: Final = 300
"""How long to wait for the end of alarms. CloudWatch reads a metric some minutes after it was measured."""


def check_dead_letters(_: Target) -> str:
    """Check that no message failed."""
    with_messages = {
        name: count
        for name, url in queues.queue_urls_by_name().items()
        if (count := DeadLetterQueue.for_source(url).count_messages())
    }
    counts = ", ".join(f"{describe_count(count, 'message')} of {name}" for name, count in with_messages.items())
    require(not with_messages, f"There are dead letters: {counts}.", f"{LIST_DEAD_LETTERS} shows them.")
    return "The dead-letter queues are empty."


def check_event_sources(target: Target) -> str:
    """Check that each queue has a function, and that failed messages of a batch stay in their queue."""
    stage = _deployed_stage(target)
    names = _queue_functions()
    mappings = [mapping for name in names for mapping in _list_mappings(stage, name)]
    require(len(mappings) == len(names), f"{len(names)} functions have {len(mappings)} event sources.", DEPLOY_REMEDY)
    for mapping in mappings:
        source = str(mapping["EventSourceArn"]).rpartition(":")[2]
        require(mapping["State"] == "Enabled", f"The event source {source} is {mapping['State']}.", DEPLOY_REMEDY)
        is_partial = "ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", ())
        require(is_partial, f"The event source {source} loses failed messages.", DEPLOY_REMEDY)
    return f"{describe_count(len(mappings), 'event source')} of queues are enabled, and lose no failed message."


def check_recursion(target: Target) -> str:
    """Check that Lambda lets the functions of queues run in chains of messages."""
    stage = _deployed_stage(target)
    with fail_on_aws_errors():
        refusing = [
            name
            for name in RECURSIVE_FUNCTIONS
            if client("lambda").get_function_recursion_config(FunctionName=stage.function_name(name))["RecursiveLoop"]
            != "Allow"
        ]
    require(not refusing, f"These functions do not allow it: {', '.join(refusing)}.", DEPLOY_REMEDY)
    return f"{', '.join(RECURSIVE_FUNCTIONS)} allow it."


def check_alarms(target: Target) -> str:
    """Check that no alarm of the stage is active.

    `anchor-missing` and `sweep-missing` are active before the first deployment, and for some minutes after the first
    run of these functions.
    """
    stage = _deployed_stage(target)
    alarms = read_until(lambda: _read_alarms(stage), lambda read: not _names_of_active(read), _ALARM_SECONDS)
    require(alarms, f"No alarm is called {stage.prefix}-...", "Run `make bootstrap`.")
    active = _names_of_active(alarms)
    require(not active, f"These alarms are active: {', '.join(active)}.", "docs/operations/running.md describes each.")
    return f"None of {describe_count(len(alarms), 'alarm')} is active."


def _read_alarms(stage: Stage) -> list[dict[str, Any]]:
    with fail_on_aws_errors():
        pages = client("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{stage.prefix}-")
        return [alarm for page in pages for alarm in page["MetricAlarms"]]


def _names_of_active(alarms: list[dict[str, Any]]) -> list[str]:
    return [alarm["AlarmName"] for alarm in alarms if alarm["StateValue"] == "ALARM"]


def _deployed_stage(target: Target) -> Stage:
    if target.stage is None:
        raise CheckSkipped("A run on this machine has no such resource.")
    return target.stage


def _queue_functions() -> list[str]:
    from app import app

    return [source.name for source in app.event_sources if isinstance(source, SQSEventConfig)]


def _list_mappings(stage: Stage, function: str) -> list[dict[str, Any]]:
    with fail_on_aws_errors():
        response = client("lambda").list_event_source_mappings(FunctionName=stage.function_name(function))
    mappings: list[dict[str, Any]] = response["EventSourceMappings"]
    return mappings
