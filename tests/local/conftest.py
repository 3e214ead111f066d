"""Fixtures of the tests of the local stage: a separate state folder, and AWS in memory."""

import base64
import json
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

KEYS = ("AUDIT_SIGNING_KEY", "SEAL_KEY", "ENTRY_KEY", "DATA_KEY", "TOKEN_KEY")


@pytest.fixture
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary `.local` folder, and an environment without settings."""
    for name in ("local.server.issuer", "local.paths", "local.server.run"):
        monkeypatch.setattr(f"{name}.STATE", tmp_path)
    for name in settings_model().model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("SETTINGS_FILE", "")
    settings.cache_clear()
    reset_clients()
    yield tmp_path
    settings.cache_clear()
    reset_clients()


@pytest.fixture
def aws(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AWS in memory, and the settings that a process needs to use it."""
    assert state_folder.exists()
    for name in KEYS:
        monkeypatch.setenv(name, base64.b64encode(bytes(32)).decode())
    monkeypatch.setenv("AUDIT_PUBLIC_KEYS", public_keys_of(base64.b64encode(bytes(32)).decode()))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        yield


@pytest.fixture
def local_run(aws: None, state_folder: Path) -> None:
    """The files that a run on port 8000 leaves in its folder, with AWS in memory."""
    assert aws is None
    logs.logger()  # Create the logger now: one that is created in a test writes to the output of that test only.
    provisioned = json.dumps(dict(provision("atrium")))
    for file in (state_folder / "settings.json", state_folder / "8000" / "settings.json"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(provisioned)


@pytest.fixture
def restored_signal_handlers() -> Iterator[None]:
    """Restore the signal handlers that a run replaces."""
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)
