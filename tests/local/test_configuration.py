"""The settings of a run: generated values, values of the environment, and errors."""

import json
import os
import stat
from pathlib import Path

import pytest

from chalicelib.entrypoints.kinds import KINDS
from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.core.settings import settings
from local.__main__ import main
from local.paths import ROOT
from local.server import run as run_module
from local.server.configuration import (
    SENDER,
    add_settings,
    clear_cloud_variables,
    stub_source_settings,
    write_run_settings,
)
from tests.harness.fresh_process import run_in_fresh_process
from tests.local.conftest import KEY_VARIABLES

ENDPOINT = "http://127.0.0.1:4566"
URL = "http://127.0.0.1:8000"
IMPORT_RECORD_TYPES = "from chalicelib.kernel.storage import record_types"


def configure_run(folder):
    write_run_settings(folder, endpoint=ENDPOINT, public_url=URL)
    return settings()


def test_a_run_gets_every_required_setting(local_state):
    run_settings = configure_run(local_state / "8000")
    expected = {"stage": "local", "public_url": URL, "aws_endpoint_url": ENDPOINT, "mail_from": SENDER}
    assert (expected | {"webhook_allow_private": True}).items() <= run_settings.model_dump().items()
    assert json.loads(Path(run_settings.auth_jwks).read_text())["keys"]
    assert run_settings.auth_issuer
    assert run_settings.auth_audience
    keys = {getattr(run_settings, name.lower()) for name in KEY_VARIABLES}
    assert [len(from_base64(key)) for key in keys] == [32] * len(KEY_VARIABLES)


def test_commands_know_all_record_types():
    kinds = "[each.kind for each in record_types.all_record_types()]"
    program = f"import json, local.server.configuration; {IMPORT_RECORD_TYPES}; print(json.dumps({kinds}))"
    assert run_in_fresh_process(program) == sorted(KINDS)


@pytest.mark.parametrize("call", ["all_record_types()", "find_record_type('organization')"])
def test_a_process_that_knows_no_record_types_fails_instead_of_overlooking_some(call):
    attempt = f"try:\n    record_types.{call}\nexcept record_types.RecordTypesNotRegistered:\n    print(1)"
    assert run_in_fresh_process(f"{IMPORT_RECORD_TYPES}\n{attempt}") == 1


def test_keys_are_kept_and_each_run_has_its_own(local_state):
    first = configure_run(local_state / "8000")
    assert configure_run(local_state / "8000") == first
    assert configure_run(local_state / "8001").token_key != first.token_key


def test_the_environment_takes_precedence(local_state, monkeypatch):
    values = {"AUTH_ISSUER": "https://id.example.com", "MAIL_FROM": "atrium@example.com", "WEBHOOK_ALLOW_PRIVATE": "0"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    run_settings = configure_run(local_state / "8000")
    assert [run_settings.auth_issuer, run_settings.mail_from] == list(values.values())[:2]
    assert run_settings.webhook_allow_private is False


def test_research_sources_are_stubbed_unless_the_environment_sets_them(monkeypatch):
    monkeypatch.setenv("ORCID_BASE_URL", "https://pub.orcid.org")
    assert stub_source_settings("http://127.0.0.1:4567") == {
        "openalex_base_url": "http://127.0.0.1:4567",
        "dblp_base_url": "http://127.0.0.1:4567",
        "openalex_rate": 100,
        "dblp_rate": 100,
    }


@pytest.mark.usefixtures("local_state")  # It restores the variables that are removed here.
def test_aws_settings_of_the_environment_are_removed(monkeypatch):
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_REGION", "TABLE_NAME", "DELIVERIES_SLOW_QUEUE_URL"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("MAIL_FROM", "atrium@example.com")
    clear_cloud_variables()
    assert "elsewhere" not in os.environ.values()
    assert os.environ["MAIL_FROM"] == "atrium@example.com"


def test_the_settings_file_is_private_and_copied_for_chalice_local(local_state):
    file = write_run_settings(local_state / "8000", endpoint=ENDPOINT, public_url=URL)
    add_settings(file, {"jobs_queue_url": "http://127.0.0.1:4566/000000000000/atrium-jobs"})
    assert json.loads(file.read_text()) == json.loads((local_state / "settings.json").read_text())
    assert json.loads(file.read_text())["jobs_queue_url"].endswith("/atrium-jobs")
    assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE((local_state / "settings.json").stat().st_mode) == 0o600
    config = json.loads((ROOT / ".chalice" / "config.json").read_text())
    assert config["stages"]["local"]["environment_variables"] == {"SETTINGS_FILE": ".local/settings.json"}


@pytest.mark.usefixtures("signal_handlers", "local_state")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("DATA_KEY", "AAAA"), ("TOKEN_KEY", "short"), ("LOG_LEVEL", "LOUD"), ("WEBHOOK_ALLOW_PRIVATE", "maybe")),
        *(("STAGE", "prod"), ("STAGE", "dev"), ("AUTH_JWKS", "gone.json")),
    ],
)
@pytest.mark.parametrize("command", [["run", "--port", "8999"], ["provision"]])
def test_an_invalid_setting_is_named_before_anything_starts(monkeypatch, capsys, command, name, value):
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a process or resource was started")

    monkeypatch.setattr(run_module, "start_process", fail)
    monkeypatch.setattr("local.server.provisioning.provision", fail)
    monkeypatch.setenv(name, value)
    assert main(command) == 1
    error_output = capsys.readouterr().err
    assert name in error_output
    assert value not in error_output
