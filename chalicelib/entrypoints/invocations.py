"""Middleware for every invocation of a Lambda function: requests, batches of messages and schedules."""

from collections.abc import Callable
from typing import Any

from chalicelib.kernel.core.logs import add_invocation_id


def add_invocation_id_to_logs(event: Any, get_response: Callable[[Any], Any]) -> Any:
    """Add the invocation's id to all log records."""
    # Chalice stores Lambda's context in requests under another name than in all other events.
    context = getattr(event, "lambda_context", None) or event.context
    add_invocation_id(context.aws_request_id)
    return get_response(event)
