import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from chalicelib.kernel.core.encoding import from_base64
from chalicelib.kernel.core.settings import Settings, SettingsError, settings
from local.__main__ import main
from local.paths import ROOT
from local.server import run as run_module
from local.server.configuration import SENDER, complete, configure, forget_the_cloud, stand_ins
from tests.local.conftest import KEYS

ENDPOINT = "http://127.0.0.1:4566"
URL = "http://127.0.0.1:8000"


def configured(folder: Path) -> Settings:
    configure(folder, endpoint=ENDPOINT, public_url=URL)
    return settings()


def test_the_service_gets_all_it_needs(state_folder: Path) -> None:
    known = configured(state_folder / "8000")
    assert known.stage == "local"
    assert known.public_url == URL
    assert known.aws_endpoint_url == ENDPOINT
    assert known.webhook_allow_private is True
    assert known.mail_from == SENDER
    assert json.loads(Path(known.auth_jwks).read_text())["keys"]
    assert known.auth_issuer
    assert known.auth_audience
    assert len({getattr(known, key.lower()) for key in KEYS}) == len(KEYS)
    assert all(len(from_base64(getattr(known, key.lower()))) == 32 for key in KEYS)


def test_keys_stay_and_runs_have_their_own(state_folder: Path) -> None:
    first = configured(state_folder / "8000")
    assert configured(state_folder / "8000") == first
    assert configured(state_folder / "8001").token_key != first.token_key


def test_the_environment_wins(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTH_ISSUER", "https://id.example.com")
    monkeypatch.setenv("MAIL_FROM", "atrium@example.com")
    monkeypatch.setenv("WEBHOOK_ALLOW_PRIVATE", "0")
    known = configured(state_folder / "8000")
    assert known.auth_issuer == "https://id.example.com"
    assert known.mail_from == "atrium@example.com"
    assert known.webhook_allow_private is False


def test_sources_of_research_are_stood_in_for_unless_the_environment_names_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ORCID_BASE_URL", "https://pub.orcid.org")
    assert stand_ins("http://127.0.0.1:4567") == {
        "openalex_base_url": "http://127.0.0.1:4567",
        "dblp_base_url": "http://127.0.0.1:4567",
        "openalex_rate": 100,
        "dblp_rate": 100,
    }


@pytest.mark.usefixtures("state_folder")  # which gives back what is dropped here
def test_nothing_leads_past_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_REGION", "TABLE_NAME", "DELIVERIES_SLOW_QUEUE_URL"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("MAIL_FROM", "atrium@example.com")
    forget_the_cloud()
    assert "elsewhere" not in os.environ.values()
    assert os.environ["MAIL_FROM"] == "atrium@example.com"


def test_the_file_is_private_and_also_where_chalice_local_looks(state_folder: Path) -> None:
    file = configure(state_folder / "8000", endpoint=ENDPOINT, public_url=URL)
    complete(file, {"jobs_queue_url": "http://127.0.0.1:4566/000000000000/atrium-jobs"})
    assert json.loads(file.read_text()) == json.loads((state_folder / "settings.json").read_text())
    assert json.loads(file.read_text())["jobs_queue_url"].endswith("/atrium-jobs")
    assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE((state_folder / "settings.json").stat().st_mode) == 0o600
    config = json.loads((ROOT / ".chalice" / "config.json").read_text())
    assert config["stages"]["local"]["environment_variables"] == {"SETTINGS_FILE": ".local/settings.json"}


@pytest.mark.usefixtures("restored_signal_handlers", "state_folder")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKEN_KEY", "short"),
        ("LOG_LEVEL", "LOUD"),
        ("WEBHOOK_ALLOW_PRIVATE", "maybe"),
        ("STAGE", "prod"),
        ("STAGE", "dev"),
        ("AUTH_JWKS", "gone.json"),
    ],
)
@pytest.mark.parametrize("command", [["run", "--port", "8999"], ["provision"]])
def test_a_wrong_setting_ends_it_by_name_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: Sequence[str],
    name: str,
    value: str,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("started something")

    monkeypatch.setattr(run_module, "start", refuse)
    monkeypatch.setattr("local.server.provisioning.provision", refuse)
    monkeypatch.setenv(name, value)
    assert main(command) == 1
    said = capsys.readouterr().err
    assert name in said
    assert value not in said


def test_configuring_wrongly_raises(state_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_KEY", "AAAA")
    with pytest.raises(SettingsError, match="DATA_KEY"):
        configure(state_folder / "8000", endpoint=ENDPOINT, public_url=URL)
