"""A new process finds all record types and tasks, although no request has imported a feature."""

import re

from chalicelib.entrypoints import catalogue
from chalicelib.kernel.storage.entity import KINDS
from local.paths import ROOT
from tests.harness.fresh_process import run_in_fresh_process


def test_a_new_process_finds_every_record_type():
    # Authorization of a webhook change reads memberships, but no module of the webhooks imports that entity.
    found_types = run_in_fresh_process("""
import json
from chalicelib.entrypoints import catalogue
from chalicelib.kernel.storage.entity import KINDS
from chalicelib.kernel.storage.record_types import all_record_types, find_record_type
assert not [name for name in KINDS if "." in name]
assert find_record_type("organization.member") and not find_record_type("organization.stranger")
print(json.dumps(sorted(kind.kind for kind in all_record_types())))
""")
    catalogue.all_operations()
    catalogue.register_tasks()
    assert found_types == sorted(kind for kind, entity in KINDS.items() if entity.__module__.startswith("chalicelib."))


def test_a_new_process_finds_every_task():
    found_tasks = run_in_fresh_process("""
import json
from chalicelib.entrypoints.catalogue import register_tasks
from chalicelib.kernel.work import tasks
register_tasks()
print(json.dumps([task.name for task in tasks.all_tasks()]))
""")
    decorator = re.compile(r"^@task\(", re.MULTILINE)
    files = (ROOT / "chalicelib/features").rglob("tasks.py")
    assert len(found_tasks) == sum(len(decorator.findall(file.read_text())) for file in files)
    assert {"api_keys.expire", "organizations.purge"} <= set(found_tasks)
