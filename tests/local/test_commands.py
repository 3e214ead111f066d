"""The commands `python -m local`: run, tick, migrate, mail, routes and receive."""

import fcntl
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.admin.migrations.logic import runner
from chalicelib.features.admin.migrations.logic.migration_catalogue import MIGRATIONS, Migration
from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.settings import settings
from infrastructure.command_line import run_until_output_closes
from local.__main__ import main
from local.paths import ROOT
from local.server import run as run_module
from local.server.configuration import write_run_settings
from local.server.issuer import ISSUER
from local.server.run import Stopped, free_port, ready_message
from local.tools.webhook_receiver import PortInUse, create_receiver
from tests.harness.receiver import Reply
from tests.harness.threaded_servers import serve_in_thread
from tests.local.conftest import write_settings

ROUTE = re.compile(r"(?P<method>[A-Z]+) +(?P<path>/\S*) +(?P<file>\S+):(?P<line>\d+)")


@pytest.fixture
def used_port():
    """A port on which another server listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.usefixtures("signal_handlers", "local_state")
def test_a_port_in_use_is_rejected_and_stored_data_stays(local_state, used_port, capsys):
    stored_file = local_state / str(used_port) / "file"
    stored_file.parent.mkdir()
    stored_file.touch()
    assert main(["run", "--port", str(used_port), "--fresh"]) == 1
    assert f"PORT={used_port + 1}" in capsys.readouterr().err
    assert stored_file.exists()


@pytest.mark.usefixtures("signal_handlers", "local_state")
def test_a_used_port_of_the_receiver_is_rejected(monkeypatch, used_port, capsys):
    monkeypatch.setattr(run_module, "receiver_port", lambda _: used_port)
    assert main(["run", "--port", "8999", "--seed"]) == 1
    assert f"Port {used_port} is in use, where this run would receive webhooks" in capsys.readouterr().err


@pytest.mark.usefixtures("signal_handlers", "local_state")
def test_state_that_another_emulator_is_still_saving_is_not_used(local_state, capsys):
    with (local_state / "8999.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert main(["run", "--port", "8999"]) == 1
    assert "still saving" in capsys.readouterr().err


@pytest.mark.usefixtures("signal_handlers", "local_state")
@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_an_invalid_port_is_rejected(port, capsys):
    with pytest.raises(SystemExit):
        main(["run", f"--port={port}"])
    assert "1 to 65535" in capsys.readouterr().err


@pytest.mark.usefixtures("signal_handlers", "local_state")
def test_a_missing_emulator_and_one_that_ends_are_reported(local_state, monkeypatch, capsys):
    with monkeypatch.context() as missing:
        missing.setattr(run_module, "PYTHON", local_state / "gone")
        assert main(["run", "--port", "8999"]) == 1
    assert "make .venv-emulator/installed" in capsys.readouterr().err
    monkeypatch.setattr(run_module, "COMMAND", (sys.executable, "-c", "raise SystemExit('no room')"))
    assert main(["run", "--port", "8999"]) == 1
    assert re.search(r"(?s)The emulator ended unexpectedly.*no room", capsys.readouterr().err)


@pytest.mark.usefixtures("signal_handlers", "local_state")
def test_an_emulator_that_does_not_respond_is_stopped(local_state, monkeypatch, capsys):
    program = f"import os, time; open('{local_state}/pid', 'w').write(str(os.getpid())); time.sleep(60)"
    monkeypatch.setattr(run_module, "COMMAND", (sys.executable, "-c", program))
    monkeypatch.setattr(run_module, "READY_SECONDS", 0.6)
    assert main(["run", "--port", "8999"]) == 1
    assert "The emulator did not respond within 0.6 s" in capsys.readouterr().err
    with pytest.raises(ProcessLookupError):
        os.kill(int((local_state / "pid").read_text()), 0)


@pytest.mark.usefixtures("signal_handlers", "local_state")
def test_a_stop_during_the_start_ends_the_run_normally(monkeypatch, capsys):
    def stop(*_: object, **__: object) -> None:
        raise Stopped

    monkeypatch.setattr(run_module, "start_process", stop)
    assert main(["run", "--port", "8999"]) == 0
    assert "Stopping" in capsys.readouterr().out


@pytest.mark.usefixtures("signal_handlers", "local_state")
@pytest.mark.parametrize("setting", ["AUTH_JWKS", "AUTH_ISSUER", "AUTH_AUDIENCE"])
def test_the_ready_message_shows_how_to_read_mail_and_names_the_issuer_of_valid_tokens(
    setting, local_state, monkeypatch
):
    write_run_settings(local_state / "8000", endpoint="http://127.0.0.1:4566", public_url="http://127.0.0.1:8000")
    assert json.loads((local_state / "8000/settings.json").read_text())["auth_issuer"] == ISSUER
    message = ready_message(8000, local_state, 1)
    assert "  mail     .venv/bin/python -m local mail\n" in message
    assert "TOKEN=$(.venv/bin/python -m local token --name demo)\n" in message
    monkeypatch.setenv(setting, "https://issuer.example")
    settings.cache_clear()
    issuer = "https://issuer.example" if setting == "AUTH_ISSUER" else ISSUER
    message = ready_message(8000, local_state, 1)
    assert f"TOKEN=<a token of {issuer}>\n" in message
    assert "local token" not in message
    write_run_settings(local_state / "8000", endpoint="http://127.0.0.1:4566", public_url="http://127.0.0.1:8000")
    stored = json.loads((local_state / "8000/settings.json").read_text())
    assert stored[setting.lower()] == "https://issuer.example"  # for commands in terminals without the variable


def run_python(local_state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, with the state of a local stage."""
    environment = {**os.environ, "LOCAL_STATE": str(local_state)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("run_settings")
@pytest.mark.parametrize("arguments", [[], ["--port", "8000"]])
@pytest.mark.parametrize("schedule", ["sweep", "anchor"])
def test_a_schedule_runs_at_once(arguments, schedule, capsys):
    head = {"pk": "Q#log", "sk": "!", "index2pk": "ANCHOR#0", "index2sk": "2026-11-20T09:30:00.000Z#log"}
    due = {"pk": "A", "sk": "#", "task": "some.task", "duepk": "DUE#0", "duesk": "2026-11-20T09:30:00.000Z#A#"}
    for item in (head, due):
        client("dynamodb").put_item(TableName="atrium", Item={name: {"S": value} for name, value in item.items()})
    assert main(["tick", schedule, *arguments]) == 0
    assert capsys.readouterr().out == f"{schedule}: 1 queued.\n"


@pytest.mark.usefixtures("run_settings")
def test_only_the_schedule_and_the_number_of_queued_tasks_are_printed(local_state):
    program = """
import sys
from moto import mock_aws
from local.__main__ import main
from local.server.provisioning import provision
with mock_aws():
    provision("atrium")
    sys.exit(main(["tick", "sweep"]) or main(["tick", "anchor"]))
"""
    completed = run_python(local_state, "-W", "error", "-c", program)
    assert (completed.returncode, completed.stdout, completed.stderr) == (
        0,
        "sweep: 0 queued.\nanchor: 0 queued.\n",
        "",
    )


@pytest.mark.usefixtures("run_settings")
def test_an_unknown_schedule_fails_with_the_list_of_schedules(capsys):
    assert main(["tick", "clock"]) == 1
    assert capsys.readouterr().err == "Unknown schedule 'clock'. The schedules are: anchor, sweep.\n"


def test_a_run_that_has_ended_does_not_respond(local_state):
    write_run_settings(local_state, endpoint="http://127.0.0.1:1", public_url="http://127.0.0.1:8000")
    completed = run_python(local_state, "-m", "local", "tick", "anchor")
    assert completed.returncode == 1
    assert completed.stderr == "The database did not respond in time. Try again in a moment.\n"


@pytest.mark.usefixtures("run_settings")
@pytest.mark.parametrize("arguments", [[], ["--port", "8000"]])
def test_pending_migrations_are_applied_and_printed(arguments, capsys):
    assert main(["migrate", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": applied in ")[0] for line in lines] == [migration.id for migration in MIGRATIONS]
    assert main(["migrate", *arguments]) == 0
    assert capsys.readouterr().out == "No migrations are pending.\n"


@pytest.mark.usefixtures("run_settings")
def test_a_failed_migration_is_printed_with_its_error(monkeypatch, capsys):
    broken = Migration("0001-lost", "Has no module.", "0" * 64, "chalicelib.lost")
    monkeypatch.setattr(runner.apply_migrations_yielding_outcomes, "__defaults__", ((broken,),))
    assert main(["migrate"]) == 1
    assert "0001-lost: failed. A step ended by ModuleNotFoundError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["tick", "anchor"], "No run was found. Start `make run`.\n"),
        (["migrate", "--port", "8001"], "Start `make run`"),
        *((command, "make run") for command in (["dns", "list"], ["mail"], ["seed"])),
    ],
)
def test_without_a_run_a_command_fails_with_a_hint(command, hint, local_state, capsys):
    assert main(command) == 1
    assert hint in capsys.readouterr().err


def ses_message(subject, timestamp):
    return {
        "Source": "Atrium <mail@atrium.test>",
        "To": ["grace@example.com"],
        "Subject": subject,
        "Timestamp": timestamp,
        "BodyText": f"The text of {subject}.\n",
        "BodyHtml": f"<p>{subject}</p>\n",
    }


@pytest.fixture
def mails(local_state, receiver):
    """The mails that the emulator of the last run has accepted, oldest first."""
    mails: list[object] = []
    receiver.default_reply = Reply(status=404)
    receiver.replies_by_path["/_ministack/ses/messages"] = lambda _: Reply(
        body=json.dumps({"messages": {"000000000000": mails}}).encode()
    )
    write_settings(local_state, aws_endpoint_url=receiver.url.removesuffix("/"))
    return mails


def test_mails_are_printed_newest_first(mails, capsys):
    mails.extend([ses_message("First", 1_795_242_509.2), ses_message("Second", 1_795_242_510.1)])
    assert main(["mail"]) == 0
    second, first = capsys.readouterr().out.split("-" * 72)
    head, _, text = second.partition("\n\n")
    assert [line.split(maxsplit=1)[0] for line in head.splitlines()] == ["Date:", "From:", "To:", "Subject:"]
    assert "From:    Atrium <mail@atrium.test>\nTo:      grace@example.com\nSubject: Second" in head
    assert text.strip() == "The text of Second."
    assert "Subject: First\n\nThe text of First.\n" in first
    assert main(["mail", "--html"]) == 0
    assert capsys.readouterr().out.strip() == "<p>Second</p>"


@pytest.mark.usefixtures("mails")
@pytest.mark.parametrize("options", [[], ["--html"]])
def test_a_run_without_mail_is_reported(options, capsys):
    assert main(["mail", *options]) == 1
    assert capsys.readouterr() == ("", "No mail has been sent yet.\n")


def test_the_port_selects_the_run_whose_mail_is_printed(local_state, mails, receiver, capsys):
    write_settings(local_state / "8001", aws_endpoint_url=receiver.url.removesuffix("/"))
    write_settings(local_state, aws_endpoint_url="http://127.0.0.1:1")
    mails.append(ses_message("Of the other", 1.0))
    assert main(["mail", "--port", "8001"]) == 0
    assert "Of the other" in capsys.readouterr().out


def test_an_ended_run_has_no_mail_and_is_reported_with_a_hint(local_state, capsys):
    write_settings(local_state, aws_endpoint_url=f"http://127.0.0.1:{free_port()}")
    assert main(["mail"]) == 1
    assert "make run" in capsys.readouterr().err


def list_routes(capsys: pytest.CaptureFixture[str], *query: str) -> list[re.Match[str]]:
    assert main(["routes", *query]) == 0
    return [match for line in capsys.readouterr().out.splitlines() if (match := ROUTE.fullmatch(line))]


def test_every_operation_is_listed_with_its_file_and_line(capsys):
    rows = list_routes(capsys)
    assert len(rows) == len(all_operations())
    for row, operation in zip(rows, all_operations(), strict=True):
        assert (row["method"], row["path"]) == (operation.method, operation.path)
        lines = (ROOT / row["file"]).read_text().splitlines()[int(row["line"]) - 1 :]
        assert lines[0].startswith("@")
        first_function = next(line for line in lines if line.startswith("def "))
        assert first_function.startswith(f"def {operation.function.__name__}(")


def test_a_query_matches_path_method_or_function(capsys):
    assert {row["path"] for row in list_routes(capsys, "/by-slug")} == {"/organizations/by-slug/{slug}"}
    assert {row["method"] for row in list_routes(capsys, "DELETE")} == {"DELETE"}
    assert {row["path"] for row in list_routes(capsys, "verify_audit")} == {
        "/organizations/{organization_id}/audit-log/verify-integrity"
    }
    assert Path(list_routes(capsys, "get_organization_by_slug")[0]["file"]).name == "operations.py"


def test_a_query_without_match_fails(capsys):
    assert main(["routes", "/nowhere"]) == 1
    assert capsys.readouterr().out.strip() == ""


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("local", "routes"), ("local", "--help"), ("infrastructure", "--help")])
def test_a_command_whose_output_nobody_reads_ends_without_a_message(arguments, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    command, environment = [sys.executable, "-m", *arguments], {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    is_ignored_by_argparse = unbuffered and "--help" in arguments
    assert (ended.returncode, ended.stderr) == (0 if is_ignored_by_argparse else 141, "")


def test_a_pipe_that_breaks_elsewhere_is_an_error():
    def send() -> int:
        raise BrokenPipeError("a server closed the connection")

    with pytest.raises(BrokenPipeError, match="a server"):
        run_until_output_closes(send)


@pytest.fixture
def receiver_url():
    """The URL of a running receiver."""
    with serve_in_thread(server := create_receiver(0)):
        yield f"http://127.0.0.1:{server.server_port}/"


@pytest.mark.parametrize(
    ("body", "printed"),
    [
        ('{"type": "page.published", "data": {"title": "Ümlaut"}}', 'page.published {"title": "Ümlaut"}'),
        *((text, text) for text in ("hello", '["hello"]', '{"text": "Ada was here."}')),
    ],
)
def test_an_event_is_printed_in_a_line_and_other_bodies_are_printed_unchanged(body, printed, receiver_url, capsys):
    assert httpx.post(receiver_url, content=body.encode()).status_code == 204
    assert capsys.readouterr().out == f"{printed}\n"


def test_the_receive_command_responds_with_the_chosen_status(capsys):
    port = free_port()
    command = [sys.executable, "-m", "local", "receive", "--port", str(port), "--status", "503"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as sender:  # The process takes a moment to listen.
            assert sender.post(f"http://127.0.0.1:{port}/", content=b"hello").status_code == 503
        process.terminate()
        assert process.stdout
        assert process.stdout.read() == "hello\n"
    with pytest.raises(SystemExit, match="2"):
        main(["receive", "--status", "99"])
    assert "must be a status of a response: 200 to 599" in capsys.readouterr().err


def test_a_used_port_of_the_receive_command_is_reported(capsys):
    with create_receiver(0) as server:
        with pytest.raises(PortInUse):
            create_receiver(server.server_port)
        assert main(["receive", "--port", str(server.server_port)]) == 1
    assert "--port" in capsys.readouterr().err
