"""An export of the log as a program at a desk fetches it: asked for, waited for, downloaded, and proven offline."""

import base64
import gzip
import json
import time
from hashlib import sha256
from typing import Any

import httpx
import pytest

from chalicelib.features.audit.exports.logic.verify import read_checkpoint, read_evidence, verify
from tests.emulator.conftest import Calling
from tests.emulator.outside import settled
from tests.emulator.people import Caller
from tests.harness.waiting import until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]


def completed(caller: Caller, organization: str, **asked: Any) -> dict[str, Any]:
    """An export once it is completed."""
    answer = caller.post(f"/organizations/{organization}/audit-log/export-async", json=asked)
    assert answer.status_code == 202, answer.text
    where = answer.url.join(answer.headers["Location"])
    until(lambda: caller.get(where).json()["status"] == "completed", seconds=60)
    record: dict[str, Any] = caller.get(where).json()
    return record


def test_it_is_downloaded_by_its_address_and_proven_by_its_record(calling: Calling) -> None:
    ada = calling("ada")
    organization = ada.makes_organization()
    for n in range(5):
        ada.patch(f"/organizations/{organization}", json={"companyAddress": f"{n}" * 3000})
    settled(ada, organization)
    record = completed(ada, organization, filters={"type": "organization.updated"})
    download = httpx.get(record["downloadUrl"], trust_env=False)
    assert download.status_code == 200
    assert download.headers["Content-Type"] == "application/gzip"
    assert download.headers["Content-Disposition"].endswith('.ndjson.gz"')
    file = download.content
    assert (len(file), sha256(file).hexdigest()) == (record["sizeBytes"], record["sha256"])
    key = base64.b64decode(ada.get("/status").json()["auditPublicKey"])
    head = read_checkpoint(record["checkpoint"].encode(), key)
    lines = gzip.decompress(file).splitlines(keepends=True)
    assert "5 of" in verify(lines, head, read_evidence(json.dumps(record).encode()))


def test_its_address_is_refused_if_it_was_altered_and_made_anew_each_time(calling: Calling) -> None:
    ada = calling("ada")
    organization = ada.makes_organization()
    record = completed(ada, organization, format="csv")
    address = record["downloadUrl"]
    for altered in (address.replace("audit-log.csv.gz", "audit-log.ndjson.gz"), address.replace("=900&", "=9000&")):
        assert httpx.get(altered, trust_env=False).status_code == 403
    assert httpx.get(address, trust_env=False).status_code == 200
    time.sleep(1.1)
    path = f"/organizations/{organization}/audit-log/export-async/{record['id']}"
    assert ada.get(path).json()["downloadUrl"] != address
