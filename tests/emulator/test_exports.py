"""An export of the log as a client uses it: created, polled, downloaded and verified offline."""

import base64
import gzip
import json
import time
from hashlib import sha256
from typing import Any

import httpx
import pytest

from chalicelib.features.audit.exports.logic.verify import (
    describe_proof,
    parse_omitted_runs,
    verify_checkpoint_note,
)
from tests.emulator.api_clients import ApiClient
from tests.emulator.log_reader import wait_until_appended
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


def export_until_completed(caller: ApiClient, organization: str, **body: Any) -> dict[str, Any]:
    """Create an export and return it once it is completed."""
    response = caller.post(f"/organizations/{organization}/audit-log/export-async", json=body)
    assert response.status_code == 202, response.text
    export_url = response.url.join(response.headers["Location"])
    wait_until(lambda: caller.get(export_url).json()["status"] == "completed", timeout_seconds=60)
    record: dict[str, Any] = caller.get(export_url).json()
    return record


def test_export_is_downloaded_and_verified_offline(create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    for n in range(5):
        ada.patch(f"/organizations/{organization}", json={"companyAddress": f"{n}" * 3000})
    wait_until_appended(ada, organization)
    record = export_until_completed(ada, organization, filters={"type": "organization.updated"})
    download = httpx.get(record["downloadUrl"], trust_env=False)
    assert download.status_code == 200
    assert download.headers["Content-Type"] == "application/gzip"
    assert download.headers["Content-Disposition"].endswith('.ndjson.gz"')
    file = download.content
    assert (len(file), sha256(file).hexdigest()) == (record["sizeBytes"], record["sha256"])
    key = base64.b64decode(ada.get("/status").json()["auditPublicKey"])
    head = verify_checkpoint_note(record["checkpoint"].encode(), key)
    lines = gzip.decompress(file).splitlines(keepends=True)
    assert "5 of" in describe_proof(lines, head, parse_omitted_runs(json.dumps(record).encode()))


def test_altered_download_urls_are_rejected_and_each_read_creates_a_new_url(create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    record = export_until_completed(ada, organization, format="csv")
    download_url = record["downloadUrl"]
    for altered_url in (
        download_url.replace("audit-log.csv.gz", "audit-log.ndjson.gz"),
        download_url.replace("=900&", "=9000&"),
    ):
        assert httpx.get(altered_url, trust_env=False).status_code == 403
    assert httpx.get(download_url, trust_env=False).status_code == 200
    time.sleep(1.1)
    path = f"/organizations/{organization}/audit-log/export-async/{record['id']}"
    assert ada.get(path).json()["downloadUrl"] != download_url
