"""Commands that operators run on their own machines, and that commit log entries. No request and no message starts one.

They need the keys of the stage, so that nobody who can only write to the table can use them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

OPERATOR_ACTOR: Final[Mapping[str, str | None]] = {"type": "operator", "id": None, "name": None}
"""The actor in the entries of commands. AWS knows who ran a command, the service does not."""


@dataclass(frozen=True)
class Command:
    """A command of operators.

    `name`: the operation in the entry's context. `emits`: the events that it can emit, which can be about records of
    any type.
    """

    name: str
    emits: tuple[str, ...]
