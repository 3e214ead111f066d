"""What the company's own programs report: the types of their events, and the events of one morning."""

from typing import Any, Final

Json = dict[str, Any]

_PERSONAL: Final[Json] = {"type": "string", "x-personal-data": True}
_VOLUNTEER: Final[Json] = {"type": "volunteer", "id": "v-204", "name": "Nils Fennimore"}
_GAUGE: Final[Json] = {"type": "gauge", "id": "upper-arrel-3", "name": "Upper Arrel 3"}

EVENT_TYPES: Final[dict[str, Json]] = {
    "volunteer.registered": {
        "description": "Somebody offered to look after gauges.",
        "sentence": "{actor} wants to look after gauges on the {data.river}.",
        "schema": {
            "type": "object",
            "properties": {"river": {"type": "string", "maxLength": 100}, "email": {**_PERSONAL, "maxLength": 254}},
            "required": ["river"],
            "additionalProperties": False,
        },
    },
    "gauge.inspected": {
        "description": "Somebody inspected a gauge in the field and read its staff.",
        "sentence": "{actor} inspected {target} and read {data.level} m.",
        "schema": {
            "type": "object",
            "properties": {"level": {"type": "number"}, "note": {**_PERSONAL, "maxLength": 500}},
            "required": ["level"],
            "additionalProperties": False,
        },
    },
    "reading.approved": {
        "description": "The readings of a gauge were checked, and may be published.",
        "sentence": "{actor} approved {data.count} readings of {target}.",
        "schema": {
            "type": "object",
            "properties": {"count": {"type": "integer", "minimum": 1}},
            "required": ["count"],
            "additionalProperties": False,
        },
    },
}
"""The event types that the operator declares, by name."""

EVENTS: Final[list[Json]] = [
    {
        "type": "volunteer.registered",
        "actor": _VOLUNTEER,
        "data": {"river": "Arrel", "email": "nils@example.com"},
    },
    {
        "type": "gauge.inspected",
        "actor": _VOLUNTEER,
        "targets": [_GAUGE],
        "data": {"level": 1.42, "note": "Nils cleaned the sensor. There was a crayfish in it."},
    },
    {"type": "reading.approved", "targets": [_GAUGE], "data": {"count": 1008}},
]
"""The events that the owner reports. In the first two, a volunteer without an account is the actor."""
