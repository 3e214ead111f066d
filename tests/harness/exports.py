"""Exports of a log, and their files."""

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
    """Request an export in the background, by default as the owner, and return the response."""
    return api.post(f"{organization.path}/audit-log/export-async", as_=as_ or organization.owner, json=body)


@dataclass(frozen=True)
class Started(Made):
    """An export in the background."""

    organization: Founded

    listed_at = "{organization.path}/audit-log/export-async"

    @property
    def key(self) -> tuple[str, str]:
        """The key of its item."""
        return f"O#{self.organization.id}", f"X#{self.id}"

    def now(self, api: Api) -> Json:
        """Read the export as the owner of its organization."""
        answer = api.get(self.path, as_=self.organization.owner)
        assert answer.status == 200, answer.text
        return answer.json


def begin_export(api: Api, organization: Founded, **body: Any) -> Started:
    """Create an export in the background as the owner."""
    answer = asked_to_export(api, organization, **body)
    assert answer.status == 202, answer.text
    return Started(answer.json, organization)


def completed(api: Api, workers: Workers, organization: Founded, **body: Any) -> Json:
    """Create an export as the owner, let the workers complete it, and return it."""
    started = begin_export(api, organization, **body)
    workers.deliver()
    record = started.now(api)
    assert record["status"] == "completed", record
    return record


def fetched(record: Json) -> bytes:
    """Return the stored file that the download URL of an export names."""
    _, bucket, *name = unquote(urlsplit(record["downloadUrl"]).path).split("/")
    if bucket != settings().exports_bucket:  # The bucket is in the host name.
        name = [bucket, *name]
    return b"".join(files.read_file(settings().exports_bucket, "/".join(name)))


def exported(api: Api, organization: Founded, *, as_: Caller | None = None, **query: Any) -> Answer:
    """Request an inline export, by default as the owner, and return the response."""
    return api.get(f"{organization.path}/audit-log/export", as_=as_ or organization.owner, query=query)


def proven(record: Json) -> str:
    """Return the result of the offline verifier for an NDJSON export and its record. Raises Broken."""
    head = read_checkpoint(record["checkpoint"].encode(), base64.b64decode(PUBLIC_KEY))
    return verify(
        gzip.decompress(fetched(record)).splitlines(keepends=True), head, read_evidence(json.dumps(record).encode())
    )


def lines(record: Json) -> list[Json]:
    """Return the entries of an NDJSON export."""
    return [json.loads(line) for line in gzip.decompress(fetched(record)).splitlines()]


def rows(text: str) -> list[dict[str, str]]:
    """Return the rows of a CSV text, by column name."""
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


def being_made() -> list[str]:
    """Return the names of files whose uploads are not complete."""
    bucket = s3_backends[DEFAULT_ACCOUNT_ID]["global"].buckets[settings().exports_bucket]
    return [upload.key_name for upload in bucket.multiparts.values()]


def fill(log: str, number: int, letters: int = 10) -> None:
    """Append entries with so many characters of data to a log, bypassing HTTP."""
    timestamp = now()
    for n in range(number):
        event = Event(
            id=new_id(timestamp),
            type="organization.updated",
            occurred_at=timestamp,
            log=log,
            actor={"type": "system", "id": None, "name": None},
            target={"type": "organization", "id": log, "name": f"Name {n}"},
            context={"operationId": "fill", "requestId": None, "ipAddress": None, "userAgent": None},
            changes=[],
            data={f"field{k}": _random_text(f"{n} {k}", min(letters, 4000)) for k in range(1 + letters // 4000)},
        )
        table.write_transaction(event.writes(Chains.read(log)))
    ledger.append_pending(log)


def _random_text(seed: str, length: int) -> str:
    # Hexadecimal digits of a hash compress badly.
    return shake_256(seed.encode()).hexdigest(length // 2)


def let_parts_be_small(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """Lower the minimum size of a file's parts, in the service and in S3."""
    monkeypatch.setattr(files, "MIN_PART_BYTES", least)
    monkeypatch.setattr(moto_s3, "S3_UPLOAD_PART_MIN_SIZE", least)
