"""What a worker's process knows when it begins: all that it may meet, although no request has imported a feature."""

import re

from chalicelib.entrypoints import catalogue
from chalicelib.kernel.storage.entity import KINDS
from local.paths import ROOT
from tests.harness.fresh_process import run_in_fresh_process


def test_a_process_finds_every_kind_of_record_although_nothing_has_imported_it() -> None:
    # A caller's membership decides whether a webhook changes, and no module of the webhooks imports the members.
    known = run_in_fresh_process("""
import json
from chalicelib.entrypoints import catalogue
from chalicelib.kernel.storage.entity import KINDS
from chalicelib.kernel.storage.record_types import all_record_types, find_record_type
assert not [name for name in KINDS if "." in name]
assert find_record_type("organization.member") and not find_record_type("organization.stranger")
print(json.dumps(sorted(kind.kind for kind in all_record_types())))
""")
    catalogue.operations()
    catalogue.load_tasks()
    assert known == sorted(kind for kind, entity in KINDS.items() if entity.__module__.startswith("chalicelib."))


def test_a_worker_knows_every_task() -> None:
    known = run_in_fresh_process("""
import json
from chalicelib.entrypoints.catalogue import load_tasks
from chalicelib.kernel.work import tasks
load_tasks()
print(json.dumps([task.name for task in tasks.all_tasks()]))
""")
    declared = re.compile(r"^@task\(", re.MULTILINE)
    files = (ROOT / "chalicelib/features").rglob("tasks.py")
    assert len(known) == sum(len(declared.findall(file.read_text())) for file in files)
    assert {"api_keys.expire", "organizations.purge"} <= set(known)
