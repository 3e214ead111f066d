"""The recording: initial states of the table, triggers and their outcomes, and what of these is compared."""

import gzip
import json
import re
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
        return {case.name: case for case in self.cases}

    def difference(self, name: str) -> Difference:
        """Return a prepared difference, or the writes of a case."""
        return self.prepared[name] if name in self.prepared else self.by_name[name].outcome.written

    def items(self) -> Iterator[Json]:
        """Yield every recorded item in DynamoDB's JSON format."""
        for difference in (self.world, *self.prepared.values(), *(case.outcome.written for case in self.cases)):
            yield from difference.items

    def kinds(self) -> list[str]:
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
    data = json.loads(gzip.decompress(FILE.read_bytes()))
    prepared = {name: Difference(**each) for name, each in data["prepared"].items()}
    cases = [_case(each) for each in data["cases"]]
    return Recording(**{**data, "world": Difference(**data["world"]), "prepared": prepared, "cases": cases})


def _case(data: Mapping[str, Any]) -> Case:
    outcome = {**data["outcome"], "written": Difference(**data["outcome"]["written"])}
    return Case(**{**data, "trigger": Trigger(**data["trigger"]), "outcome": Outcome(**outcome)})


DOCUMENTS: Final = (
    "get_console",
    "get_console_asset",
    "get_docs",
    "get_docs_asset",
    "get_domain_setup_page",
    "get_invitation_page",
    "get_llms_text",
    "get_openapi_document",
    "get_webhook_portal_page",
)
"""Operations that return files of the release, which may change: only their status and their headers are compared."""
DESCRIBED: Final = ("list_event_types",)
"""Operations whose responses contain schemas: everything except the descriptions is compared."""

_SIGNED: Final = re.compile(r"(X-Amz-(?:Date|Signature)=|X-Amz-Credential=[^%&]+%2F)[0-9A-Za-z]+")
"""What depends on the real clock in a presigned URL: its time, the date in its credential, its signature."""

_RELEASE: Final = re.compile(r'("version": ?")\d+\.\d+\.\d+(?=")')
"""The release of the service in its status."""

_PROBLEM: Final = '"urn:atrium:problem:'
_CONTENT_HEADERS: Final = ("etag", "content-length")


def normal_text(operation: str, text: str) -> str | None:
    """Return the part of a body that is compared: without signatures, the release, and the details of problems."""
    if operation in DOCUMENTS:
        return None
    masked = _RELEASE.sub(r"\1*", _SIGNED.sub(r"\1*", text))
    if operation in DESCRIBED:
        return json.dumps(_without_prose(json.loads(masked), "description"))
    return json.dumps(_without_prose(json.loads(masked), "detail")) if _is_problem(masked) else masked


def normal_headers(operation: str, headers: Mapping[str, str], text: str) -> dict[str, str]:
    """Return the headers of a response that are compared. `text` is its body."""
    has_prose = operation in (*DOCUMENTS, *DESCRIBED) or _is_problem(text)
    omitted = _CONTENT_HEADERS if has_prose or _SIGNED.search(text) or _RELEASE.search(text) else ()
    return {name: value for name, value in headers.items() if name.lower() not in omitted}


def _is_problem(text: str) -> bool:
    return text.startswith(('{"type": ' + _PROBLEM, '{"type":' + _PROBLEM))


def _without_prose(value: Any, member: str) -> Any:
    if isinstance(value, dict):
        is_prose = isinstance(value.get(member), str)
        compared = {name: each for name, each in value.items() if not (is_prose and name == member)}
        return {name: _without_prose(each, member) for name, each in compared.items()}
    return [_without_prose(each, member) for each in value] if isinstance(value, list) else value
