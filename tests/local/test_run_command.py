"""The command `python -m local run`: its errors, and its message when the run is ready."""

import fcntl
import os
import re
import socket
import sys

import pytest

from chalicelib.kernel.core.settings import settings
from local.__main__ import main
from local.server import run as run_module
from local.server.configuration import write_run_settings
from local.server.issuer import ISSUER
from local.server.run import Stopped, ready_message

pytestmark = pytest.mark.usefixtures("signal_handlers", "local_state")


@pytest.fixture
def used_port():
    """A port on which another server listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_in_use_is_rejected_and_stored_data_stays(local_state, used_port, capsys):
    stored_file = local_state / str(used_port) / "file"
    stored_file.parent.mkdir()
    stored_file.touch()
    assert main(["run", "--port", str(used_port), "--fresh"]) == 1
    assert f"PORT={used_port + 1}" in capsys.readouterr().err
    assert stored_file.exists()


def test_a_used_port_of_the_receiver_is_rejected(monkeypatch, used_port, capsys):
    monkeypatch.setattr(run_module, "receiver_port", lambda _: used_port)
    assert main(["run", "--port", "8999", "--seed"]) == 1
    assert f"Port {used_port} is in use, where this run would receive webhooks" in capsys.readouterr().err


def test_state_that_another_emulator_is_still_saving_is_not_used(local_state, capsys):
    with (local_state / "8999.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["run", "--port", "8999"]) == 1
    assert "still saving" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_an_invalid_port_is_rejected(port, capsys):
    with pytest.raises(SystemExit):
        main(["run", f"--port={port}"])
    assert "1 to 65535" in capsys.readouterr().err


def test_a_missing_emulator_and_one_that_ends_are_reported(local_state, monkeypatch, capsys):
    with monkeypatch.context() as missing:
        missing.setattr(run_module, "PYTHON", local_state / "gone")
        assert main(["run", "--port", "8999"]) == 1
    assert "make .venv-emulator/installed" in capsys.readouterr().err
    monkeypatch.setattr(run_module, "COMMAND", (sys.executable, "-c", "raise SystemExit('no room')"))
    assert main(["run", "--port", "8999"]) == 1
    assert re.search(r"(?s)The emulator ended unexpectedly.*no room", capsys.readouterr().err)


def test_an_emulator_that_does_not_respond_is_stopped(local_state, monkeypatch, capsys):
    program = f"import os, time; open('{local_state}/pid', 'w').write(str(os.getpid())); time.sleep(60)"
    monkeypatch.setattr(run_module, "COMMAND", (sys.executable, "-c", program))
    monkeypatch.setattr(run_module, "READY_SECONDS", 0.6)
    assert main(["run", "--port", "8999"]) == 1
    assert "The emulator did not respond within 0.6 s" in capsys.readouterr().err
    with pytest.raises(ProcessLookupError):
        os.kill(int((local_state / "pid").read_text()), 0)


def test_a_stop_during_the_start_ends_the_run_normally(monkeypatch, capsys):
    def stop(*_: object, **__: object) -> None:
        raise Stopped

    monkeypatch.setattr(run_module, "start_process", stop)
    assert main(["run", "--port", "8999"]) == 0
    assert "Stopping" in capsys.readouterr().out


@pytest.mark.parametrize("setting", ["AUTH_JWKS", "AUTH_ISSUER", "AUTH_AUDIENCE"])
def test_the_ready_message_shows_how_to_read_mail_and_names_the_issuer_of_valid_tokens(
    setting, local_state, monkeypatch
):
    write_run_settings(local_state / "8000", endpoint="http://127.0.0.1:4566", public_url="http://127.0.0.1:8000")
    message = ready_message(8000, local_state, 1)
    assert "  mail   .venv/bin/python -m local mail\n" in message
    assert "TOKEN=$(.venv/bin/python -m local token --name demo)\n" in message
    monkeypatch.setenv(setting, "https://issuer.example")
    settings.cache_clear()
    issuer = "https://issuer.example" if setting == "AUTH_ISSUER" else ISSUER
    message = ready_message(8000, local_state, 1)
    assert f"TOKEN=<a token of {issuer}>\n" in message
    assert "local token" not in message
