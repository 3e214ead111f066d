"""Capacity profiles: the concurrent executions that a deployed stage reserves, and those that its queues may use.

`CAPACITY` selects the profile of a stage. Chalice reads the concurrency of queues from the handlers in `app.py`, and
the reserved concurrency from `.chalice/config.json`, where `make bootstrap` writes that of the profile.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class CapacityProfile(NamedTuple):
    """Concurrent executions by function. A function without `reserved_concurrency` reserves none.

    `maximum_concurrency`: of each queue's event source. Lambda requires at least 2.
    """

    reserved_concurrency: Mapping[str, int]
    maximum_concurrency: Mapping[str, int]


PROFILES: Final[Mapping[str, CapacityProfile]] = {
    "full": CapacityProfile(
        {
            "api_handler": 300,
            "events": 100,
            "deliveries": 400,
            "deliveries_slow": 50,
            "jobs": 20,
            "sweep": 2,
            "anchor": 2,
            "migrate": 1,
        },
        {"events": 100, "deliveries": 400, "deliveries_slow": 50, "jobs": 20},
    ),
    "small": CapacityProfile({}, {"events": 2, "deliveries": 2, "deliveries_slow": 2, "jobs": 2}),
}
"""The profiles by name. All queues of `small` together leave 2 of the 10 executions of a new account."""


def profile_of(environment: Mapping[str, str]) -> CapacityProfile:
    """Return the profile of a stage with these environment variables, by default `small` for `dev`, else `full`."""
    return PROFILES[environment.get("CAPACITY") or ("small" if environment.get("STAGE") == "dev" else "full")]
