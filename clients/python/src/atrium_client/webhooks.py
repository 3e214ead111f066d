"""Verification of the messages to a webhook, which Standard Webhooks specifies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast, get_args

from standardwebhooks import Webhook, WebhookVerificationError

from atrium_client.events import Event, OtherEvent, WebhookEvent

__all__ = ["Event", "OtherEvent", "WebhookEvent", "WebhookVerificationError", "verify_webhook"]

_CLASSES_BY_TYPE: Final[Mapping[str, type[WebhookEvent[Any, Any]]]] = {
    type_: model for model in get_args(Event) for type_ in get_args(model.__pydantic_generic_metadata__["args"][0])
}
"""The class that reads the messages of each built-in type."""


def verify_webhook(body: str | bytes, headers: Mapping[str, str], secret: str | Sequence[str]) -> Event:
    """Return the event of a message, after verifying its signature and that it is at most five minutes old.

    An event of a type of your own, or of one that is newer than this client, is an `OtherEvent`, whose `data` is a
    dictionary.

    Args:
        body: The body as it was received, not parsed.
        headers: The headers of the request.
        secret: That of the webhook, which begins with `whsec_`. While it is being rotated, it can be a list of both.

    Raises:
        WebhookVerificationError: The message is not from the service, or older than five minutes.
    """
    message = _verify(body, dict(headers), [secret] if isinstance(secret, str) else secret)
    model = _CLASSES_BY_TYPE.get(message["type"], OtherEvent)
    return cast("Event", model.model_validate(message))


def _verify(body: str | bytes, headers: dict[str, str], secrets: Sequence[str]) -> dict[str, Any]:
    failure = WebhookVerificationError("No secret was given")
    for secret in secrets:
        webhook = Webhook(secret)
        try:
            message: dict[str, Any] = webhook.verify(body, headers)
        except WebhookVerificationError as error:
            failure = error
        except ValueError as error:  # the library does not expect a header or a body of any other form
            raise WebhookVerificationError("The message is malformed") from error
        else:
            return message
    raise failure
