"""A new process needs only valid settings, and finds all record types, tasks and event types."""

import os
import re
import subprocess
import sys
from string import Formatter

import pytest

from chalicelib.entrypoints import catalogue
from chalicelib.features.notifications.models.event_types import EVENT_PATTERNS, EVENT_TYPES
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


def import_app(**environment: str) -> subprocess.CompletedProcess[str]:
    """Import the app in a process that has only these environment variables and those that Python needs."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "COVERAGE_PROCESS_CONFIG") if name in os.environ}
    command, environment = [sys.executable, "-c", "import app"], inherited | environment
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_missing_setting_fails_the_start_on_lambda_with_its_name():
    completed = import_app(AWS_LAMBDA_FUNCTION_NAME="atrium-prod", STAGE="prod")
    assert completed.returncode != 0
    assert "AUDIT_SIGNING_KEY: Field required" in completed.stderr


def test_the_app_can_be_imported_without_settings_for_packaging():
    assert import_app().returncode == 0


def test_the_event_types_are_those_that_the_service_emits():
    assert sorted(EVENT_TYPES) == catalogue.event_names()


@pytest.mark.parametrize("event_type", EVENT_TYPES.values(), ids=EVENT_TYPES)
def test_descriptions_and_message_templates_are_sentences(event_type):
    for text in (event_type.description, event_type.sentence):
        assert text.endswith(".")
        assert text[0] == "{" or text[0].isupper()
    assert {name for _, name, _, _ in Formatter().parse(event_type.sentence) if name} <= {"actor", "target", "count"}


def test_descriptions_and_sentences_are_unique():
    assert len({event_type.sentence for event_type in EVENT_TYPES.values()}) == len(EVENT_TYPES)
    assert len({event_type.description for event_type in EVENT_TYPES.values()}) == len(EVENT_TYPES)


def test_patterns_match_at_least_one_event():
    assert {"*", "organization.*", "organization.webhook.*", "organization.updated"} <= EVENT_PATTERNS
    invalid = {"organization", "organization.", "organization.web*", "organization.updated.*", "**", ""}
    assert not invalid & EVENT_PATTERNS
