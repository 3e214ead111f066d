"""How a screen of the console is tested."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from local.seed.callers import Service


@dataclass(frozen=True)
class Scenario:
    """How a screen is tested.

    `calls`: its requests, besides those of the frame for the user and the place. `dialogs`: the values of the parameter
    `dialog` that open its dialogs. `user`: who opens it. `parameters`: the parameters in its address. Names in angle
    brackets, such as `<user>`, stand for ids.
    """

    calls: int
    dialogs: tuple[str, ...] = ()
    user: str = "maud"
    parameters: str = ""

    def address(self, path: str, ids: dict[str, str], dialog: str = "") -> str:
        """Return the address of the screen with this path, with one of its dialogs."""
        parameters = "&".join(filter(None, [self.parameters, f"dialog={dialog}" if dialog else ""]))
        return insert_ids(f"{path}?{parameters}" if parameters else path, ids)


@dataclass(frozen=True)
class Area:
    """Screens that are tested together.

    `prepare` creates what the sample company lacks, and returns ids by the names of parameters in paths and dialogs.
    """

    scenarios: dict[str, Scenario]
    prepare: Callable[[Service], dict[str, str]]


def insert_ids(text: str, ids: dict[str, str]) -> str:
    """Return an address or a dialog with ids in place of `:name` at the beginning of a segment, and of `<name>`."""
    in_path = re.sub(r"(?<=/):(\w+)", lambda match: ids[match[1]], text)
    return re.sub(r"<(\w+)>", lambda match: ids[match[1]], in_path)
