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

from chalicelib.features.audit.exports.logic.verify import (
    describe_proof,
    parse_omitted_runs,
    verify_checkpoint_note,
)
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.entries import outbox_writes
from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files, table
from tests.catalogue.log_proof import PUBLIC_KEY
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Caller
from tests.harness.organizations import CreatedOrganization
from tests.harness.pending_entries import build_event
from tests.harness.record_clients import CreatedRecord
from tests.harness.workers import Workers


def post_export(
    api: ApiClient, organization: CreatedOrganization, *, caller: Caller | None = None, **body: Any
) -> ApiResponse:
    return api.post(f"{organization.path}/audit-log/export-async", caller=caller or organization.owner, json=body)


@dataclass(frozen=True)
class CreatedExport(CreatedRecord):
    organization: CreatedOrganization

    collection_path = "{organization.path}/audit-log/export-async"

    @property
    def item_key(self) -> tuple[str, str]:
        return f"O#{self.organization.id}", f"X#{self.id}"

    def get(self, api: ApiClient) -> Json:
        return api.get(self.path, caller=self.organization.owner).expect(200).json


def create_export(api: ApiClient, organization: CreatedOrganization, **body: Any) -> CreatedExport:
    return CreatedExport(post_export(api, organization, **body).expect(202).json, organization)


def create_completed_export(api: ApiClient, workers: Workers, organization: CreatedOrganization, **body: Any) -> Json:
    started = create_export(api, organization, **body)
    workers.deliver()
    record = started.get(api)
    assert record["status"] == "completed", record
    return record


def download_file(record: Json) -> bytes:
    """Return the stored file that the download URL of an export names."""
    _, bucket, *name = unquote(urlsplit(record["downloadUrl"]).path).split("/")
    if bucket != settings().exports_bucket:  # The bucket is in the host name.
        name = [bucket, *name]
    return b"".join(files.iter_file_chunks(settings().exports_bucket, "/".join(name)))


def get_inline_export(
    api: ApiClient, organization: CreatedOrganization, *, caller: Caller | None = None, **query: Any
) -> ApiResponse:
    return api.get(f"{organization.path}/audit-log/export", caller=caller or organization.owner, query=query)


def verify_export_file(record: Json) -> str:
    """Return the result of the offline verifier for an NDJSON export and its record. Raises Broken."""
    head = verify_checkpoint_note(record["checkpoint"].encode(), base64.b64decode(PUBLIC_KEY))
    return describe_proof(
        gzip.decompress(download_file(record)).splitlines(keepends=True),
        head,
        parse_omitted_runs(json.dumps(record).encode()),
    )


def read_ndjson_entries(record: Json) -> list[Json]:
    return [json.loads(line) for line in gzip.decompress(download_file(record)).splitlines()]


def parse_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text, newline=""), strict=True))


def unfinished_uploads() -> list[str]:
    """Return the names of files whose uploads are not complete."""
    bucket = s3_backends[DEFAULT_ACCOUNT_ID]["global"].buckets[settings().exports_bucket]
    return [upload.key_name for upload in bucket.multiparts.values()]


def append_entries(log: str, count: int, characters: int = 10) -> None:
    """Append entries with so many characters of data to a log, bypassing HTTP."""
    for n in range(count):
        target = {"type": "organization", "id": log, "name": f"Name {n}"}
        data = {f"field{k}": _random_text(f"{n} {k}", min(characters, 4000)) for k in range(1 + characters // 4000)}
        event = build_event("organization.updated", log, target, data)
        table.write_transaction(outbox_writes([event], Chains.read(log)))
    ledger.append_pending_and_return_longest_wait_ms(log)


def _random_text(seed: str, length: int) -> str:
    # Hexadecimal digits of a hash compress badly.
    return shake_256(seed.encode()).hexdigest(length // 2)


def set_min_part_bytes(monkeypatch: pytest.MonkeyPatch, min_bytes: int) -> None:
    """Lower the minimum size of a file's parts, in the service and in S3."""
    monkeypatch.setattr(files, "MIN_PART_BYTES", min_bytes)
    monkeypatch.setattr(moto_s3, "S3_UPLOAD_PART_MIN_SIZE", min_bytes)
