"""The library: a researcher's works and those of a conference, fetched from the sources and reconciled."""

import time
from typing import Final

from local.seed.callers import Caller, Json, NotSeeded, Service
from local.seed.content.library import EDITION, RESEARCHER
from local.seed.leads import operator
from local.seed.organization import Company

_MOST_SECONDS: Final = 120
_LOOK_SECONDS: Final = 0.2


def fill(service: Service, company: Company) -> None:
    """Let the organization have a researcher's works, and everybody those of a conference."""
    reader, desk = company.owner, operator(service)
    if not _known(reader):
        _await(reader, reader.post("/research/import", {"researcherId": RESEARCHER, "organizationId": company.id}))
    if any(artefact["outputId"] is None for artefact in _known(reader)):
        _await(reader, reader.post("/research/reconcile", {"organizationId": company.id}))
    venue, _, year = EDITION.rpartition("-")
    if not desk.items("/research/outputs", venueId=venue, year=year):
        _await(desk, desk.post(f"/research/backfill/{EDITION}"))


def _known(reader: Caller) -> list[Json]:
    return reader.items("/research/artefacts", researcherId=RESEARCHER)


def _await(caller: Caller, job: Json) -> None:
    """Wait until a job is done. Raises NotSeeded if it fails, or takes too long."""
    deadline = time.monotonic() + _MOST_SECONDS
    while job["status"] in ("queued", "running"):
        if time.monotonic() > deadline:
            raise NotSeeded(f"The {job['kind']} of research takes longer than {_MOST_SECONDS} s. Seed again later.")
        time.sleep(_LOOK_SECONDS)
        job = caller.get(f"/research/jobs/{job['id']}")
    if job["status"] == "failed":
        raise NotSeeded(f"The {job['kind']} of research failed ({job['error']}). {job['detail']}")
