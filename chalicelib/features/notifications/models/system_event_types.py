"""The types of events about the service itself. They belong to no organization, so no webhook gets them."""

from collections.abc import Mapping
from typing import Final

from chalicelib.features.notifications.models.event_type import EventType

SYSTEM_EVENT_TYPES: Final[Mapping[str, EventType]] = {
    "system.dead_letter_redrive.completed": EventType(
        "Dead letters were sent back to their queue. Not sent to webhooks.", "The redrive {target} is completed."
    ),
    "system.dead_letter_redrive.failed": EventType(
        "Dead letters could not be sent back. Not sent to webhooks.", "The redrive {target} has failed."
    ),
    "system.dead_letter_redrive.requested": EventType(
        "An operator requested that dead letters are sent back to their queue. Not sent to webhooks.",
        "{actor} started the redrive {target}.",
    ),
    "system.event_type.created": EventType(
        "An event type was declared. Not sent to webhooks: event types belong to the deployment.",
        "{actor} declared the event type {target}.",
    ),
    "system.event_type.updated": EventType(
        "An event type was replaced; a new `version` has another schema. Not sent to webhooks.",
        "{actor} changed the event type {target}.",
    ),
    "system.log_verification.completed": EventType(
        "A verification of all logs is completed; `failures` names those that are not intact. Not sent to webhooks.",
        "The verification of all logs {target} is completed.",
    ),
    "system.log_verification.failed": EventType(
        "The verification of all logs could not be finished. Not sent to webhooks.",
        "The verification of all logs {target} has failed.",
    ),
    "system.log_verification.requested": EventType(
        "An operator requested a verification of all logs. Not sent to webhooks.",
        "{actor} started the verification of all logs {target}.",
    ),
    "system.service_key.created": EventType(
        "A service key was created. Not sent to webhooks: service keys belong to the deployment.",
        "{actor} created the service key {target}.",
    ),
    "system.service_key.revoked": EventType(
        "A service key was revoked and no longer works. Not sent to webhooks.",
        "{actor} revoked the service key {target}.",
    ),
    "system.service_key.rotated": EventType(
        "The secret of a service key was replaced. The event does not contain the secret. Not sent to webhooks.",
        "{actor} gave the service key {target} a new secret.",
    ),
}
