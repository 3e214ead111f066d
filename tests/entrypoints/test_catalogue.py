"""What a worker's process knows when it begins: all that it may meet, although no request has imported a feature."""

import re

from chalicelib.entrypoints import catalogue
from chalicelib.kernel.entity import KINDS
from local.folders import ROOT
from tests.harness.fresh import fresh


def test_a_worker_knows_every_kind_of_record_that_requests_make() -> None:
    # The purge of an organization meets its members' records, and no task imports the members.
    known = fresh("""
import json
from chalicelib.entrypoints.catalogue import load_tasks
from chalicelib.kernel.entity import KINDS
load_tasks()
print(json.dumps(sorted(KINDS)))
""")
    catalogue.operations()
    assert known == sorted(kind for kind, entity in KINDS.items() if entity.__module__.startswith("chalicelib."))
    assert "organization.member" in known


def test_a_worker_knows_every_task() -> None:
    known = fresh("""
import json
from chalicelib.entrypoints.catalogue import load_tasks
from chalicelib.kernel import tasks
load_tasks()
print(json.dumps([task.name for task in tasks.declared()]))
""")
    declared = re.compile(r"^@task\(", re.MULTILINE)
    files = (ROOT / "chalicelib/features").glob("*/tasks.py")
    assert len(known) == sum(len(declared.findall(file.read_text())) for file in files)
    assert {"api_keys.expire", "organizations.purge"} <= set(known)
