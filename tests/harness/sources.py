"""ORCID, OpenAlex and DBLP on the loopback interface, in one server; and what is asked for of research over HTTP."""

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
    """Return so many works of a researcher, each known to ORCID and to OpenAlex by one DOI."""
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
    """The sources as they are at the moment. `instead`: what answers a request in their stead, or None."""

    receiver: Receiver
    sources: Sources = field(default_factory=lambda: Sources(works(3)))
    instead: Callable[[Request], Reply | None] = lambda _request: None

    def answer(self, request: Request) -> Reply:
        """Return what is answered."""
        if told := self.instead(request):
            return told
        reply = self.sources.reply(request.path)
        headers = {**reply.headers, "Content-Type": "application/json"}
        return Reply(reply.status, headers, json.dumps(reply.body).encode())

    @property
    def asked(self) -> list[str]:
        """The paths that were asked for, without their queries."""
        return [request.path.partition("?")[0] for request in self.receiver.requests]

    def knows(self, *known: Sequence[Work], **more: Any) -> None:
        """Let the sources know just these works."""
        self.sources = Sources([work for each in known for work in each], **more)


@contextmanager
def sources() -> Iterator[World]:
    """Let the sources answer within the block."""
    with Receiver() as receiver:
        world = World(receiver)
        receiver.answer = world.answer
        yield world
        source_client.reset_connections()


@dataclass(frozen=True)
class Library:
    """What somebody does with research, over HTTP; in an organization's library if one is named."""

    api: Api
    workers: Workers
    caller: Caller
    organization_id: str | None = None

    @property
    def _place(self) -> Json:
        return {"organizationId": self.organization_id} if self.organization_id else {}

    def asked(self, path: str, body: Json | None = None) -> Answer:
        """Ask for a job."""
        return self.api.post(path, as_=self.caller, json=body)

    def done(self, answer: Answer) -> Json:
        """Return a job once all that is queued is done."""
        assert answer.status == 202, answer.text
        self.workers.deliver(delayed=True)
        return self.api.get(answer.location, as_=self.caller).json

    def imported(self, researcher_id: str = "0000-0002-1825-0097") -> Json:
        """Import a researcher's works, and return the job."""
        return self.done(self.asked("/research/import", {"researcherId": researcher_id, **self._place}))

    def reconciled(self) -> Json:
        """Reconcile, and return the job."""
        return self.done(self.asked("/research/reconcile", self._place))

    def items(self, what: str, **query: Any) -> list[Json]:
        """Return all artefacts, or outputs, that are seen."""
        pages = self.api.pages(f"/research/{what}", as_=self.caller, query={"limit": 100, **query})
        return [item for page in pages for item in page["items"]]
