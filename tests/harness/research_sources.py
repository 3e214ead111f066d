"""A server that stands in for ORCID, OpenAlex and DBLP, and a client of the research operations."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from chalicelib.features.research.logic import source_client
from local.server.stub_sources import Researcher, StubSources, Work
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Caller
from tests.harness.receiver import ReceivedRequest, Receiver, Reply
from tests.harness.workers import Workers

CARBERRY = Researcher("Josiah Carberry", "0000-0002-1825-0097", "A5000000097", "00/97")
POTTER = Researcher("Clay Potter", "0000-0001-5109-3700", "A5000000099", "00/99")


def build_works(count: int, *, author: Researcher = CARBERRY, **fields: Any) -> list[Work]:
    """Return works of a researcher, which ORCID and OpenAlex list with the same DOI."""
    return [
        Work(
            f"On Kilns, Part {n}",
            2000 + n % 20,
            [author],
            doi=f"10.5555/{n:06d}",
            put_code=n + 1,
            openalex=f"W{n + 1}",
            **fields,
        )
        for n in range(count)
    ]


def job_counts(**counts: int) -> dict[str, int]:
    """Return the counts of a job, which are 0 by default."""
    return {**dict.fromkeys(("created", "updated", "unchanged", "conflicts"), 0), **counts}


def build_work(title: str, *, by: Researcher = CARBERRY, year: int = 2020, **fields: Any) -> Work:
    return Work(title, year, [by], **fields)


@dataclass
class FakeSources:
    """The sources and their works. `reply_override`: returns another reply to a request, or None."""

    receiver: Receiver
    sources: StubSources = field(default_factory=lambda: StubSources(build_works(3)))
    reply_override: Callable[[ReceivedRequest], Reply | None] = lambda _request: None

    def reply_to(self, request: ReceivedRequest) -> Reply:
        if override := self.reply_override(request):
            return override
        reply = self.sources.respond(request.path)
        headers = {**reply.headers, "Content-Type": "application/json"}
        return Reply(reply.status, headers, json.dumps(reply.body).encode())

    @property
    def requested_paths(self) -> list[str]:
        """The paths of the requests, without queries."""
        return [request.path.partition("?")[0] for request in self.receiver.requests]

    def set_works(self, *works: Sequence[Work], **options: Any) -> None:
        self.sources = StubSources([work for group in works for work in group], **options)


@contextmanager
def serve_fake_sources() -> Iterator[FakeSources]:
    with Receiver() as receiver:
        fake_sources = FakeSources(receiver)
        receiver.default_reply = fake_sources.reply_to
        yield fake_sources
        source_client.reset_connections()


@dataclass(frozen=True)
class ResearchClient:
    """A client of the research operations for a caller, optionally for the library of an organization."""

    api: ApiClient
    workers: Workers
    caller: Caller
    organization_id: str | None = None

    @property
    def _library_fields(self) -> Json:
        return {"organizationId": self.organization_id} if self.organization_id else {}

    def post_job(self, path: str, body: Json | None = None) -> ApiResponse:
        return self.api.post(path, caller=self.caller, json=body)

    def get(self, path: str, **query: Any) -> ApiResponse:
        return self.api.get(path, caller=self.caller, query=query)

    def complete_job(self, answer: ApiResponse) -> Json:
        """Process all queued messages, and return the job."""
        answer.expect(202)
        self.workers.deliver(include_delayed=True)
        return self.api.get(answer.location, caller=self.caller).json

    def import_works(self, researcher_id: str = "0000-0002-1825-0097") -> Json:
        return self.complete_job(self.post_import(researcher_id))

    def post_import(self, researcher_id: str = "0000-0002-1825-0097") -> ApiResponse:
        return self.post_job("/research/import", {"researcherId": researcher_id, **self._library_fields})

    def reconcile(self) -> Json:
        return self.complete_job(self.post_job("/research/reconcile", self._library_fields))

    def list_records(self, collection: str, **query: Any) -> list[Json]:
        pages = self.api.get_pages(f"/research/{collection}", caller=self.caller, query={"limit": 100, **query})
        return [item for page in pages for item in page["items"]]
