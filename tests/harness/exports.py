"""Exports of a log, made over HTTP and by the workers, and the files that come of them."""

import base64
import csv
import gzip
import json
from dataclasses import dataclass
from hashlib import shake_256
from io import StringIO
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3 import models as moto_s3
from moto.s3.models import s3_backends

from chalicelib.features.audit.exports.logic.verify import read_checkpoint, read_evidence, verify
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files, table
from tests.catalogue.evidence import PUBLIC_KEY
from tests.harness.api import Answer, Api, Json
from tests.harness.builders import Made
from tests.harness.callers import Caller
from tests.harness.organizations import Founded
from tests.harness.workers import Workers


def asked_to_export(api: Api, organization: Founded, *, as_: Caller | None = None, **body: Any) -> Answer:
    """Return the answer to the request to make an export in the background, by the owner or whoever is named."""
    return api.post(f"{organization.path}/audit-log/export-async", as_=as_ or organization.owner, json=body)


@dataclass(frozen=True)
class Started(Made):
    """An export in the background."""

    organization: Founded

    listed_at = "{organization.path}/audit-log/export-async"

    @property
    def key(self) -> tuple[str, str]:
        """Where it is stored."""
        return f"O#{self.organization.id}", f"X#{self.id}"

    def now(self, api: Api) -> Json:
        """Return it as its organization's owner finds it now."""
        answer = api.get(self.path, as_=self.organization.owner)
        assert answer.status == 200, answer.text
        return answer.json


def begin_export(api: Api, organization: Founded, **body: Any) -> Started:
    """Let the owner start an export in the background."""
    answer = asked_to_export(api, organization, **body)
    assert answer.status == 202, answer.text
    return Started(answer.json, organization)


def completed(api: Api, workers: Workers, organization: Founded, **body: Any) -> Json:
    """Return an export that the owner started and the workers completed."""
    started = begin_export(api, organization, **body)
    workers.deliver()
    record = started.now(api)
    assert record["status"] == "completed", record
    return record


def fetched(record: Json) -> bytes:
    """Return the file that an export's address leads to, as it is in the file store."""
    _, bucket, *name = unquote(urlsplit(record["downloadUrl"]).path).split("/")
    if bucket != settings().exports_bucket:  # It is in the name of the host.
        name = [bucket, *name]
    return b"".join(files.read_file(settings().exports_bucket, "/".join(name)))


def exported(api: Api, organization: Founded, *, as_: Caller | None = None, **query: Any) -> Answer:
    """Return the answer to the request for an export at once, by the owner or whoever is named."""
    return api.get(f"{organization.path}/audit-log/export", as_=as_ or organization.owner, query=query)


def proven(record: Json) -> str:
    """Return what the offline verifier says of the file of an export in NDJSON and its record. Raises Broken."""
    head = read_checkpoint(record["checkpoint"].encode(), base64.b64decode(PUBLIC_KEY))
    return verify(
        gzip.decompress(fetched(record)).splitlines(keepends=True), head, read_evidence(json.dumps(record).encode())
    )


def lines(record: Json) -> list[Json]:
    """Return the entries of an export in NDJSON."""
    return [json.loads(line) for line in gzip.decompress(fetched(record)).splitlines()]


def rows(text: str) -> list[dict[str, str]]:
    """Return what the rows of a CSV say, by the names in its first line."""
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


def being_made() -> list[str]:
    """Return the names of the files of which there are but parts."""
    bucket = s3_backends[DEFAULT_ACCOUNT_ID]["global"].buckets[settings().exports_bucket]
    return [upload.key_name for upload in bucket.multiparts.values()]


def fill(log: str, number: int, letters: int = 10) -> None:
    """Let a log hold so many entries more, that say so much, below HTTP."""
    moment = now()
    for n in range(number):
        event = Event(
            id=new_id(moment),
            type="organization.updated",
            occurred_at=moment,
            log=log,
            actor={"type": "system", "id": None, "name": None},
            target={"type": "organization", "id": log, "name": f"Name {n}"},
            context={"operationId": "fill", "requestId": None, "ipAddress": None, "userAgent": None},
            changes=[],
            data={f"field{k}": _text(f"{n} {k}", min(letters, 4000)) for k in range(1 + letters // 4000)},
        )
        table.write_transaction(event.writes(Chains.read(log)))
    ledger.append_pending(log)


def _text(seed: str, letters: int) -> str:
    # Hardly to be packed any smaller.
    return shake_256(seed.encode()).hexdigest(letters // 2)


def let_parts_be_small(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """Let parts of a file be as small as this, here and in S3."""
    monkeypatch.setattr(files, "MIN_PART_BYTES", least)
    monkeypatch.setattr(moto_s3, "S3_UPLOAD_PART_MIN_SIZE", least)
