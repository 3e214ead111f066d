"""Fixtures of the local stage's tests: a state folder for each test, and AWS in memory."""

import base64
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws

from chalicelib.kernel.core import logs
from chalicelib.kernel.core.aws import reset_clients
from chalicelib.kernel.core.settings import settings, settings_model
from local.server.provisioning import provision
from tests.harness.data_keys import public_keys_of

KEY_VARIABLES = ("AUDIT_SIGNING_KEY", "SEAL_KEY", "ENTRY_KEY", "DATA_KEY", "TOKEN_KEY")


@pytest.fixture
def local_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder for the test, in an environment without settings."""
    for name in ("local.server.issuer", "local.paths", "local.server.run"):
        monkeypatch.setattr(f"{name}.STATE", tmp_path)
    for name in settings_model().model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("SETTINGS_FILE", "")
    monkeypatch.setenv("AWS_REGION", os.environ["AWS_REGION"])  # Commands remove it. This restores it.
    settings.cache_clear()
    reset_clients()
    yield tmp_path
    settings.cache_clear()
    reset_clients()


@pytest.fixture
def aws(local_state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AWS in memory, with the settings that a process needs to use it."""
    assert local_state.exists()
    for name in KEY_VARIABLES:
        monkeypatch.setenv(name, base64.b64encode(bytes(32)).decode())
    monkeypatch.setenv("AUDIT_PUBLIC_KEYS", public_keys_of(base64.b64encode(bytes(32)).decode()))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        yield


@pytest.fixture
def run_settings(aws: None, local_state: Path) -> None:
    """The settings files of a run on port 8000, with AWS in memory."""
    assert aws is None
    logs.powertools_logger()  # Create the logger before a test captures its output stream.
    provisioned = provision("atrium")
    for folder in (local_state, local_state / "8000"):
        write_settings(folder, **provisioned)


def write_settings(folder: Path, **values: str) -> None:
    """Write the settings file of a run."""
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(values))


@pytest.fixture
def signal_handlers() -> Iterator[None]:
    """Restore the signal handlers that a run replaces."""
    original_handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in original_handlers.items():
        signal.signal(number, handler)
