"""The recording: initial states of the table, triggers and their outcomes."""

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
    """The trigger of a case. `kind` is `request`, `message`, `schedule` or `function`.

    `text`: the body of a request or of a message, or the name of a schedule or a function. `role`: the role of the
    person who sends the request. A request with an API key has it in its headers instead.
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
    """The outcome of a case: the response, the writes, queued messages, e-mails and requests to other servers."""

    status: int | None
    headers: dict[str, str]
    body: str | None
    written: Difference
    messages: list[Json]
    letters: list[Json]
    posts: list[Json]


@dataclass(frozen=True)
class Case:
    """A recorded run. `about`: the id of the operation or the name of the task.

    `before`: the names of the differences that lead from the world to the initial state. `moment`: the time of the run.
    """

    name: str
    about: str
    before: list[str]
    moment: str
    trigger: Trigger
    outcome: Outcome


@dataclass(frozen=True)
class Recording:
    """The recording. `world`: the items and files of the tenant. `prepared`: further differences by name."""

    people: dict[str, list[str]]
    operations: list[str]
    tasks: list[str]
    world: Difference
    prepared: dict[str, Difference]
    cases: list[Case]

    @property
    def by_name(self) -> dict[str, Case]:
        """The cases by name."""
        return {case.name: case for case in self.cases}

    def difference(self, name: str) -> Difference:
        """Return a prepared difference, or the writes of a case."""
        return self.prepared[name] if name in self.prepared else self.by_name[name].outcome.written

    def items(self) -> Iterator[Json]:
        """Yield every recorded item in DynamoDB's JSON format."""
        for difference in (self.world, *self.prepared.values(), *(case.outcome.written for case in self.cases)):
            yield from difference.items

    def kinds(self) -> list[str]:
        """Return the kinds of the recorded items."""
        return sorted({item["kind"]["S"] for item in self.items() if "kind" in item})


def save(recording: Recording) -> int:
    """Write the recording to its file, and return the size of the file in bytes."""
    text = json.dumps(asdict(recording), ensure_ascii=False, separators=(",", ":"))
    compressed = BytesIO()
    with gzip.GzipFile(fileobj=compressed, mode="wb", compresslevel=9, mtime=0, filename="") as file:
        file.write(text.encode())
    FILE.write_bytes(compressed.getvalue())
    return len(compressed.getvalue())


@cache
def load() -> Recording:
    """Load the recording from its file."""
    data = json.loads(gzip.decompress(FILE.read_bytes()))
    prepared = {name: Difference(**each) for name, each in data["prepared"].items()}
    cases = [_case(each) for each in data["cases"]]
    return Recording(**{**data, "world": Difference(**data["world"]), "prepared": prepared, "cases": cases})


def _case(data: Mapping[str, Any]) -> Case:
    outcome = {**data["outcome"], "written": Difference(**data["outcome"]["written"])}
    return Case(**{**data, "trigger": Trigger(**data["trigger"]), "outcome": Outcome(**outcome)})
