"""What holds for every call of Lambda's, be it a request, a batch of messages or a tick."""

from collections.abc import Callable
from typing import Any

from chalicelib.kernel.core.logs import name_invocation


def named(event: Any, get_response: Callable[[Any], Any]) -> Any:
    """Let what is written name the call."""
    # Chalice keeps Lambda's context in a request under another name than in all other events.
    context = getattr(event, "lambda_context", None) or event.context
    name_invocation(context.aws_request_id)
    return get_response(event)
