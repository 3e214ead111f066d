"""A server that stands in for ORCID, OpenAlex and DBLP, and a client of the research operations."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from chalicelib.features.research.logic import source_client
from local.server.stub_sources import Researcher, Sources, Work
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller
from tests.harness.receiver import Receiver, Reply, Request
from tests.harness.workers import Workers

CARBERRY = Researcher("Josiah Carberry", "0000-0002-1825-0097", "A5000000097", "00/97")
POTTER = Researcher("Clay Potter", "0000-0001-5109-3700", "A5000000099", "00/99")


def works(number: int, *, of: Researcher = CARBERRY, **fields: Any) -> list[Work]:
    """Return works of a researcher, which ORCID and OpenAlex list with the same DOI."""
    return [
        Work(
            f"On Kilns, Part {n}",
            2000 + n % 20,
            [of],
            doi=f"10.5555/{n:06d}",
            put_code=n + 1,
            openalex=f"W{n + 1}",
            **fields,
        )
        for n in range(number)
    ]


@dataclass
class World:
    """The sources and their works. `reply_override`: returns another reply to a request, or None."""

    receiver: Receiver
    sources: Sources = field(default_factory=lambda: Sources(works(3)))
    instead: Callable[[Request], Reply | None] = lambda _request: None

    def answer(self, request: Request) -> Reply:
        """Return the reply to a request."""
        if override := self.instead(request):
            return override
        reply = self.sources.reply(request.path)
        headers = {**reply.headers, "Content-Type": "application/json"}
        return Reply(reply.status, headers, json.dumps(reply.body).encode())

    @property
    def asked(self) -> list[str]:
        """The paths of the requests, without queries."""
        return [request.path.partition("?")[0] for request in self.receiver.requests]

    def knows(self, *works: Sequence[Work], **options: Any) -> None:
        """Replace the works of the sources."""
        self.sources = Sources([work for group in works for work in group], **options)


@contextmanager
def sources() -> Iterator[World]:
    """Run the server of the sources within the block."""
    with Receiver() as receiver:
        fake_sources = World(receiver)
        receiver.answer = fake_sources.answer
        yield fake_sources
        source_client.reset_connections()


@dataclass(frozen=True)
class Library:
    """A client of the research operations for a caller, optionally for the library of an organization."""

    api: Api
    workers: Workers
    caller: Caller
    organization_id: str | None = None

    @property
    def _library_fields(self) -> Json:
        return {"organizationId": self.organization_id} if self.organization_id else {}

    def asked(self, path: str, body: Json | None = None) -> Answer:
        """Request a job, and return the response."""
        return self.api.post(path, as_=self.caller, json=body)

    def done(self, answer: Answer) -> Json:
        """Process all queued messages, and return the job."""
        assert answer.status == 202, answer.text
        self.workers.deliver(delayed=True)
        return self.api.get(answer.location, as_=self.caller).json

    def imported(self, researcher_id: str = "0000-0002-1825-0097") -> Json:
        """Import the works of a researcher, and return the completed job."""
        return self.done(self.asked("/research/import", {"researcherId": researcher_id, **self._library_fields}))

    def reconciled(self) -> Json:
        """Reconcile the library, and return the completed job."""
        return self.done(self.asked("/research/reconcile", self._library_fields))

    def items(self, what: str, **query: Any) -> list[Json]:
        """List all artefacts or outputs that the caller sees."""
        pages = self.api.pages(f"/research/{what}", as_=self.caller, query={"limit": 100, **query})
        return [item for page in pages for item in page["items"]]
