"""What holds for every call of Lambda's, be it a request, a batch of messages or a tick."""

from collections.abc import Callable
from typing import Any

from chalicelib.kernel.core.logs import add_invocation_id


def named(event: Any, get_response: Callable[[Any], Any]) -> Any:
    """Let what is written name the call."""
    # Chalice keeps Lambda's context in a request under another name than in all other events.
    context = getattr(event, "lambda_context", None) or event.context
    add_invocation_id(context.aws_request_id)
    return get_response(event)
