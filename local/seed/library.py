"""The research library: the works of a researcher and of a conference, fetched from the sources and reconciled."""

import time
from typing import Final

from local.seed.callers import Caller, Json, SeedFailed, Service
from local.seed.content.library import EDITION, RESEARCHER
from local.seed.leads import operator_caller
from local.seed.organization import Company

_MAX_JOB_SECONDS: Final = 120
_POLL_SECONDS: Final = 0.2


def ensure_research_library(service: Service, company: Company) -> None:
    """Import the works of a researcher for the organization, and those of a conference for all organizations."""
    owner, operator = company.owner, operator_caller(service)
    if not _artefacts(owner):
        _wait_for_job(owner, owner.post("/research/import", {"researcherId": RESEARCHER, "organizationId": company.id}))
    if any(artefact["outputId"] is None for artefact in _artefacts(owner)):
        _wait_for_job(owner, owner.post("/research/reconcile", {"organizationId": company.id}))
    venue, _, year = EDITION.rpartition("-")
    if not operator.list_all("/research/outputs", venueId=venue, year=year):
        _wait_for_job(operator, operator.post(f"/research/backfill/{EDITION}"))


def _artefacts(caller: Caller) -> list[Json]:
    return caller.list_all("/research/artefacts", researcherId=RESEARCHER)


def _wait_for_job(caller: Caller, job: Json) -> None:
    """Wait until a job completes. Raises SeedFailed if it fails or takes too long."""
    deadline = time.monotonic() + _MAX_JOB_SECONDS
    while job["status"] in ("queued", "running"):
        if time.monotonic() > deadline:
            raise SeedFailed(
                f"The research job {job['kind']!r} takes longer than {_MAX_JOB_SECONDS} s. Seed again later."
            )
        time.sleep(_POLL_SECONDS)
        job = caller.get(f"/research/jobs/{job['id']}")
    if job["status"] == "failed":
        raise SeedFailed(f"The research job {job['kind']!r} failed ({job['error']}). {job['detail']}")
