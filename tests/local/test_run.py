import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.kernel.core.settings import settings
from local.__main__ import main
from local.server import run as run_module
from local.server.configuration import configure
from local.server.issuer import ISSUER
from local.server.run import Stopped, ready

pytestmark = pytest.mark.usefixtures("restored_signal_handlers", "state_folder")


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_in_use_is_refused_and_nothing_is_lost(
    state_folder: Path, taken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = state_folder / str(taken) / "kept"
    kept.parent.mkdir()
    kept.touch()
    assert main(["run", "--port", str(taken), "--fresh"]) == 1
    assert f"PORT={taken + 1}" in capsys.readouterr().err
    assert kept.exists()


def test_a_seed_whose_receiver_could_not_listen_is_refused(
    monkeypatch: pytest.MonkeyPatch, taken: int, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_module, "receiver_port", lambda _: taken)
    assert main(["run", "--port", "8999", "--seed"]) == 1
    assert f"Port {taken} is in use, where this run would receive webhooks" in capsys.readouterr().err


def test_state_that_an_emulator_still_saves_is_left_alone(
    state_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (state_folder / "8999.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["run", "--port", "8999"]) == 1
    assert "still saving" in capsys.readouterr().err


def test_an_emulator_that_is_not_installed_is_named(
    state_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_module, "PYTHON", state_folder / "gone")
    assert main(["run", "--port", "8999"]) == 1
    assert "make .venv-emulator/installed" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_a_port_is_a_number_of_16_bits(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", f"--port={port}"])
    assert "1 to 65535" in capsys.readouterr().err


def test_an_emulator_that_falls_ends_the_run_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run_module, "COMMAND", (sys.executable, "-c", "raise SystemExit('no room')"))
    assert main(["run", "--port", "8999"]) == 1
    said = capsys.readouterr().err
    assert "The emulator ended unexpectedly" in said
    assert "no room" in said


def test_an_emulator_that_gives_no_answer_is_ended(
    state_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = f"import os, time; open('{state_folder}/pid', 'w').write(str(os.getpid())); time.sleep(60)"
    monkeypatch.setattr(run_module, "COMMAND", (sys.executable, "-c", program))
    monkeypatch.setattr(run_module, "READY_SECONDS", 1)
    assert main(["run", "--port", "8999"]) == 1
    assert "The emulator did not respond within 1 s" in capsys.readouterr().err
    with pytest.raises(ProcessLookupError):
        os.kill(int((state_folder / "pid").read_text()), 0)


def test_a_stop_while_it_starts_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise Stopped

    monkeypatch.setattr(run_module, "start", stopped)
    assert main(["run", "--port", "8999"]) == 0
    assert "Stopping" in capsys.readouterr().out


def test_it_says_where_mail_is_read(state_folder: Path) -> None:
    configure(state_folder / "8000", endpoint="http://127.0.0.1:4566", public_url="http://127.0.0.1:8000")
    assert "  mail   .venv/bin/python -m local mail\n" in ready(8000, state_folder, 1)


@pytest.mark.parametrize("setting", ["AUTH_JWKS", "AUTH_ISSUER", "AUTH_AUDIENCE"])
def test_it_names_the_issuer_whose_tokens_count(
    setting: str, state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(state_folder / "8000", endpoint="http://127.0.0.1:4566", public_url="http://127.0.0.1:8000")
    assert "TOKEN=$(.venv/bin/python -m local token --name demo)\n" in ready(8000, state_folder, 1)
    monkeypatch.setenv(setting, "https://issuer.example")
    settings.cache_clear()
    issuer = "https://issuer.example" if setting == "AUTH_ISSUER" else ISSUER
    assert f"TOKEN=<a token of {issuer}>\n" in ready(8000, state_folder, 1)
    assert "local token" not in ready(8000, state_folder, 1)
