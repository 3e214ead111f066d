"""Export a log in the background, and verify the file offline."""

import base64
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx

from benchmarks.log_scale.logs import Log
from benchmarks.log_scale.meter import Usage, measure_usage, perform_operation, run_in_new_process
from chalicelib.entrypoints.catalogue import register_tasks
from chalicelib.features.audit.exports.entities import AuditExport
from chalicelib.kernel.audit_log import entry_macs
from chalicelib.kernel.work import tasks
from local.paths import ROOT
from tests.harness.callers import Person

_FINAL_STATUSES: Final = ("completed", "failed")
_VERIFIER_PROGRAM: Final = """
import re, sys
from pathlib import Path
from chalicelib.features.audit.exports.logic.verify import main
code = main(sys.argv[1:])
print(int(re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[0]) // 1024)
sys.exit(code)
"""


def export(log: Log, owner: Person) -> dict[str, Any]:
    """Export a whole log, download and verify the file, and return the measurements."""
    started, _ = perform_operation("start_audit_export", log.id, owner)
    usage, memory = run_in_new_process(_run_export, log, owner, started["id"])
    record, _ = perform_operation("get_audit_export", log.id, owner, export_id=started["id"])
    if record["status"] != "completed":
        raise SystemExit(f"The export of {log.entries} entries {record['status']}: {record['error']}")
    with TemporaryDirectory() as folder:
        verified = _verify(Path(folder), record)
    return {
        "entries": record["entryCount"],
        "bytes": record["sizeBytes"],
        "parts": usage.calls["UploadPart"],
        "calls": usage.calls_text,
        "seconds": round(usage.seconds, 1),
        "memory": asdict(memory),
        "verifier": verified,
    }


def _run_export(log: Log, owner: Person, export_id: str) -> Usage:
    register_tasks()
    pk, sk = AuditExport.make_item_key(organization_id=log.id, id=export_id)
    with measure_usage() as usage:
        while (
            perform_operation("get_audit_export", log.id, owner, export_id=export_id)[0]["status"]
            not in _FINAL_STATUSES
        ):
            tasks.run_task({"task": AuditExport.task, "pk": pk, "sk": sk})
    return usage


def _verify(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    file, checkpoint = folder / "export.ndjson.gz", folder / "checkpoint"
    checkpoint.write_text(record["checkpoint"])
    with httpx.stream("GET", record["downloadUrl"]) as response, file.open("wb") as stored:
        response.raise_for_status()
        for piece in response.iter_bytes():
            stored.write(piece)
    public_key = base64.b64encode(entry_macs.current_and_former_public_keys()[0]).decode()
    arguments = [str(file), "--checkpoint", str(checkpoint), "--public-key", public_key]
    started_at = time.monotonic()
    process = subprocess.run(  # noqa: S603 - a constant program and its own arguments
        [sys.executable, "-c", _VERIFIER_PROGRAM, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise SystemExit(f"The verifier failed: {process.stdout}{process.stderr}")
    *lines, max_mib = process.stdout.splitlines()
    return {"seconds": round(time.monotonic() - started_at, 1), "mostMiB": int(max_mib), "said": " ".join(lines)}
