"""Starts the schedule of anchoring, on a stage or on this machine."""

import json

from botocore.exceptions import BotoCoreError, ClientError

from infrastructure.account import client
from local.server.event_source_emulator import scheduled_event
from local.smoke.target import CheckFailed, Target
from local.tools.run_schedule import run_schedule

_SCHEDULE = "anchor"


def run_anchoring(target: Target) -> None:
    """Run the hourly schedule that anchors logs now. Raises CheckFailed."""
    if target.stage is None:
        run_schedule(_SCHEDULE, target.port)
        return
    try:
        response = client("lambda").invoke(
            FunctionName=target.stage.function_name(_SCHEDULE), Payload=json.dumps(scheduled_event(_SCHEDULE)).encode()
        )
    except (BotoCoreError, ClientError) as error:
        raise CheckFailed(f"The schedule could not be run: {error}", "Check the AWS credentials.") from error
    if error_kind := response.get("FunctionError"):
        raise CheckFailed(f"The schedule failed ({error_kind}): {response['Payload'].read().decode()[:300]}")
