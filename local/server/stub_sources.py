"""Stubs of ORCID, OpenAlex and DBLP, which return a few sample works in the original formats.

Written from the public documentation:

- ORCID: https://info.orcid.org/documentation/integration-guide/orcid-record/ and
  https://github.com/ORCID/orcid-model/blob/master/src/main/resources/record_3.0/README.md
- OpenAlex: https://developers.openalex.org/guides/page-through-results,
  https://developers.openalex.org/api-reference/errors
- DBLP: https://dblp.org/faq/13501473
"""

import base64
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from local.server.shutdown import shut_down_on_sigterm

_UPDATED: Final = 1_760_000_000_000

Json = dict[str, Any]


@dataclass(frozen=True)
class Researcher:
    """A person with the ids of the sources. `pid`: the id at DBLP."""

    name: str
    orcid: str | None = None
    author_id: str = "A0"
    pid: str = "00/1"


@dataclass(frozen=True)
class Work:
    """A work with its ids at the sources (`put_code` at ORCID). A source without an id does not have the work."""

    title: str
    year: int | None
    authors: Sequence[Researcher]
    venue: str | None = None
    kind: str = "article"
    doi: str | None = None
    arxiv: str | None = None
    pmid: str | None = None
    put_code: int | None = None
    openalex: str | None = None
    dblp: str | None = None
    toc: str | None = None


def orcid_summary(work: Work, orcid: str) -> Json:
    """Return a work summary in the format of ORCID."""
    known = {"doi": work.doi, "arxiv": work.arxiv, "pmid": work.pmid}
    return {
        "put-code": work.put_code,
        "created-date": {"value": _UPDATED},
        "last-modified-date": {"value": _UPDATED},
        "source": {"source-orcid": None, "source-client-id": None, "source-name": {"value": "Sample"}},
        "title": {"title": {"value": work.title}, "subtitle": None, "translated-title": None},
        "external-ids": {"external-id": [_external_id(*each) for each in known.items() if each[1]]},
        "url": None,
        "type": {"article": "journal-article"}.get(work.kind, work.kind),
        "publication-date": {"year": {"value": str(work.year)}, "month": None, "day": None} if work.year else None,
        "journal-title": {"value": work.venue} if work.venue else None,
        "visibility": "public",
        "path": f"/{orcid}/work/{work.put_code}",
        "display-index": "0",
    }


def _external_id(kind: str, value: str | None) -> Json:
    return {
        "external-id-type": kind,
        "external-id-value": value,
        "external-id-normalized": {"value": value, "transient": True},
        "external-id-normalized-error": None,
        "external-id-url": None,
        "external-id-relationship": "self",
    }


def openalex_work(work: Work) -> Json:
    """Return a work in the format of OpenAlex."""
    doi = f"https://doi.org/{work.doi}" if work.doi else None
    ids = {"openalex": f"https://openalex.org/{work.openalex}", "doi": doi}
    ids["pmid"] = f"https://pubmed.ncbi.nlm.nih.gov/{work.pmid}" if work.pmid else None
    source = {"display_name": work.venue, "type": "conference" if work.kind == "conference-paper" else "journal"}
    arxiv = [{"landing_page_url": f"http://arxiv.org/abs/{work.arxiv}", "source": None}] if work.arxiv else []
    place = {"landing_page_url": doi, "source": source if work.venue else None}
    return {
        "id": ids["openalex"],
        "doi": doi,
        "display_name": work.title,
        "publication_year": work.year,
        "type": "preprint" if work.kind == "preprint" else "article",
        "ids": {name: value for name, value in ids.items() if value},
        "primary_location": place,
        "locations": [place, *arxiv],
        "authorships": [_authorship(person) for person in work.authors],
    }


def _authorship(person: Researcher) -> Json:
    orcid = f"https://orcid.org/{person.orcid}" if person.orcid else None
    author = {"id": f"https://openalex.org/{person.author_id}", "display_name": person.name, "orcid": orcid}
    return {"author_position": "first", "author": author, "raw_author_name": person.name}


def dblp_hit(work: Work) -> Json:
    """Return a work as a search hit of DBLP. A single author is not a list, and the title ends with a full stop."""
    authors = [{"@pid": person.pid, "text": person.name} for person in work.authors]
    info = {
        "authors": {"author": authors[0] if len(authors) == 1 else authors},
        "title": f"{work.title}.",
        "venue": work.venue,
        "year": str(work.year),
        "type": "Conference and Workshop Papers" if work.kind == "conference-paper" else "Journal Articles",
        "key": work.dblp,
        "doi": work.doi,
        "url": f"https://dblp.org/rec/{work.dblp}",
    }
    return {"@score": "1", "@id": "1", "info": {name: value for name, value in info.items() if value}}


@dataclass(frozen=True)
class StubResponse:
    """A response of a source."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class StubSources:
    """The three sources on one server; their paths differ.

    `merged`: ids of merged OpenAlex authors and their replacements. `page_size`: maximum size of a page.
    """

    works: Sequence[Work]
    merged: Mapping[str, str] = field(default_factory=dict)
    page_size: int = 100

    def respond(self, address: str) -> StubResponse:
        """Return the response to a GET request."""
        path, query = urlsplit(address).path, dict(parse_qsl(urlsplit(address).query))
        match path.strip("/").split("/"):
            case ["v3.0", orcid, "works"]:
                return self._orcid(orcid)
            case ["authors", author_id]:
                return self._author(author_id)
            case ["works"]:
                return self._openalex(query)
            case ["search", "publ", "api"]:
                return self._dblp(query)
        return StubResponse(404, {"error": "Not Found"})

    def _people(self) -> Iterable[Researcher]:
        return (person for work in self.works for person in work.authors)

    def _orcid(self, orcid: str) -> StubResponse:
        if orcid not in {person.orcid for person in self._people()}:
            body = {"response-code": 404, "developer-message": "404 Not Found", "error-code": 9016}
            return StubResponse(404, body)
        own = [work for work in self.works if work.put_code and orcid in {each.orcid for each in work.authors}]
        groups = [
            {
                "last-modified-date": {"value": _UPDATED},
                "external-ids": summary["external-ids"],
                "work-summary": [summary],
            }
            for summary in (orcid_summary(work, orcid) for work in own)
        ]
        return StubResponse(
            200, {"last-modified-date": {"value": _UPDATED}, "group": groups, "path": f"/{orcid}/works"}
        )

    def _author(self, author_id: str) -> StubResponse:
        if author_id in self.merged:
            return StubResponse(301, {}, {"Location": f"/authors/{self.merged[author_id]}"})
        person = next((each for each in self._people() if each.author_id == author_id), None)
        if person is None:
            return StubResponse(404, {"error": "Not Found", "message": f"Author {author_id} not found"})
        orcid = f"https://orcid.org/{person.orcid}" if person.orcid else None
        return StubResponse(200, {"id": f"https://openalex.org/{author_id}", "orcid": orcid})

    def _openalex(self, query: Mapping[str, str]) -> StubResponse:
        _, _, wanted = query.get("filter", "").partition(":")
        known = [work for work in self.works if work.openalex]
        own = [w for w in known if wanted in {id_ for each in w.authors for id_ in (each.orcid, each.author_id)}]
        cursor = query.get("cursor", "*")
        first = 0 if cursor == "*" else int(base64.b64decode(cursor))
        size = min(int(query.get("per_page", 25)), self.page_size)
        following = base64.b64encode(str(first + size).encode()).decode() if first + size < len(own) else None
        meta = {"count": len(own), "per_page": size, "next_cursor": following}
        return StubResponse(200, {"meta": meta, "results": [openalex_work(work) for work in own[first : first + size]]})

    def _dblp(self, query: Mapping[str, str]) -> StubResponse:
        toc = query.get("q", "").removeprefix("toc:").removesuffix(".bht:")
        own = [work for work in self.works if work.toc == toc]
        first, size = int(query.get("f", 0)), min(int(query.get("h", 30)), self.page_size)
        page = own[first : first + size]
        hits: Json = {
            "@total": str(len(own)),
            "@computed": str(len(own)),
            "@sent": str(len(page)),
            "@first": str(first),
        }
        hits |= {"hit": [dblp_hit(work) for work in page]} if page else {}
        status = {"@code": "200", "text": "OK"}
        return StubResponse(200, {"result": {"query": query.get("q", ""), "status": status, "hits": hits}})


SAMPLE_RESEARCHER: Final = Researcher("Josiah Carberry", "0000-0002-1825-0097", "A5000000097", "00/97")
"""The fictional researcher of ORCID's own documentation."""

_WARE: Final = Researcher("Terra Ware", None, "A5000000098", "00/98")
_POTTER: Final = Researcher("Clay Potter 0001", "0000-0001-5109-3700", "A5000000099", "00/99")

SAMPLE_SOURCES: Final = StubSources(
    works=(
        Work(
            "Toward a Unified Theory of High-Energy Metaphysics",
            2008,
            [SAMPLE_RESEARCHER],
            "Journal of Psychoceramics",
            doi="10.5555/12345678",
            put_code=1001,
            openalex="W5000000001",
        ),
        Work(
            "The Memory Bus Considered Harmful",
            2012,
            [SAMPLE_RESEARCHER, _WARE],
            "Journal of Psychoceramics",
            doi="10.5555/987654321",
            put_code=1002,
            openalex="W5000000002",
        ),
        Work(
            "Cracks in Kilns, Learned from Shards",
            2025,
            [_WARE, SAMPLE_RESEARCHER],
            "NeurIPS",
            "conference-paper",
            arxiv="2501.00001",
            openalex="W5000000003",
            dblp="conf/nips/WareC25",
            toc="db/conf/nips/neurips2025",
        ),
        Work(
            "Glazing as Variational Inference",
            2025,
            [_POTTER],
            "NeurIPS",
            "conference-paper",
            doi="10.5555/3000001",
            dblp="conf/nips/Potter25",
            toc="db/conf/nips/neurips2025",
        ),
        Work(
            "On the Firing of Deep Ceramics",
            2024,
            [_POTTER, _WARE],
            "ICML",
            "conference-paper",
            doi="10.5555/3000002",
            put_code=1003,
            openalex="W5000000004",
            dblp="conf/icml/PotterW24",
            toc="db/conf/icml/icml2024",
        ),
    ),
    merged={"A5000000096": "A5000000097"},
    page_size=2,
)
"""The sample works of `make run`."""


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Respond from the samples."""
        reply = SAMPLE_SOURCES.respond(self.path)
        body = json.dumps(reply.body).encode()
        self.send_response(HTTPStatus(reply.status))
        for name, value in {**reply.headers, "Content-Type": "application/json"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(port: int) -> None:
    """Serve on 127.0.0.1 until SIGTERM."""
    with ThreadingHTTPServer(("127.0.0.1", port), _Conversation) as server:
        shut_down_on_sigterm(server)
        server.serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
