"""What is recorded: states of the table, what was done to them, and what came of it."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from tests.stored_forms.states import Difference, Json

FILE: Final = Path(__file__).parent / "recording.json.gz"


@dataclass(frozen=True)
class Trigger:
    """What is done. `kind` is `request`, `message`, `schedule` or `function`.

    `text`: the body of a request or of a message, or the name of a schedule or a function. `role`: the person of the
    world who sends the request; an API key is among its headers instead.
    """

    kind: str
    text: str | None = None
    method: str = ""
    url: str = ""
    role: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    queue: str = ""
    group: str | None = None
    deduplication: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of it: the answer, what was written, and what was sent to queues, by mail and to other servers."""

    status: int | None
    headers: dict[str, str]
    body: str | None
    written: Difference
    messages: list[Json]
    letters: list[Json]
    posts: list[Json]


@dataclass(frozen=True)
class Case:
    """Something that was done once. `about`: the operation or the task, by its id or name.

    `before`: the differences that are made to the world first, by their names. `moment`: when it was done.
    """

    name: str
    about: str
    before: list[str]
    moment: str
    trigger: Trigger
    outcome: Outcome


@dataclass(frozen=True)
class Recording:
    """All that is recorded. `world`: the items and files of the world; `prepared`: differences by their names."""

    people: dict[str, list[str]]
    operations: list[str]
    tasks: list[str]
    world: Difference
    prepared: dict[str, Difference]
    cases: list[Case]

    @property
    def by_name(self) -> dict[str, Case]:
        """The cases by their names."""
        return {case.name: case for case in self.cases}

    def difference(self, name: str) -> Difference:
        """Return a difference: one that was prepared, or what a case wrote."""
        return self.prepared[name] if name in self.prepared else self.by_name[name].outcome.written

    def items(self) -> Iterator[Json]:
        """Yield every recorded item, in DynamoDB's own JSON."""
        for difference in (self.world, *self.prepared.values(), *(case.outcome.written for case in self.cases)):
            yield from difference.items

    def kinds(self) -> list[str]:
        """Return the kinds of the recorded items."""
        return sorted({item["kind"]["S"] for item in self.items() if "kind" in item})


def save(recording: Recording) -> int:
    """Write the recording into its file, and return how many bytes that has."""
    text = json.dumps(asdict(recording), ensure_ascii=False, separators=(",", ":"))
    packed = BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0, filename="") as file:
        file.write(text.encode())
    FILE.write_bytes(packed.getvalue())
    return len(packed.getvalue())


@cache
def load() -> Recording:
    """Return the recording of the file."""
    found = json.loads(gzip.decompress(FILE.read_bytes()))
    prepared = {name: Difference(**each) for name, each in found["prepared"].items()}
    cases = [_case(each) for each in found["cases"]]
    return Recording(**{**found, "world": Difference(**found["world"]), "prepared": prepared, "cases": cases})


def _case(found: Mapping[str, Any]) -> Case:
    outcome = {**found["outcome"], "written": Difference(**found["outcome"]["written"])}
    return Case(**{**found, "trigger": Trigger(**found["trigger"]), "outcome": Outcome(**outcome)})
