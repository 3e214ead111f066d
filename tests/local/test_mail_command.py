"""The command `python -m local mail`: prints the mail of a run."""

import json
import socket
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from local.__main__ import main
from tests.harness.threaded_servers import serve_in_thread


def ses_message(subject, timestamp):
    return {
        "Source": "Atrium <mail@atrium.test>",
        "To": ["grace@example.com"],
        "Subject": subject,
        "Timestamp": timestamp,
        "BodyText": f"The text of {subject}.\n",
        "BodyHtml": f"<p>{subject}</p>\n",
    }


def write_run_settings(folder, endpoint):
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"aws_endpoint_url": endpoint}))


@pytest.fixture
def emulator(local_state):
    """The endpoint of the last run's emulator, and the mails that it has accepted, oldest first."""

    class Emulator(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/_ministack/ses/messages"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"messages": {"000000000000": mails}}).encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    mails: list[object] = []
    with serve_in_thread(server := HTTPServer(("127.0.0.1", 0), Emulator)):
        endpoint = f"http://127.0.0.1:{server.server_port}"
        write_run_settings(local_state, endpoint)
        yield endpoint, mails


def test_mails_are_printed_newest_first(emulator, capsys):
    emulator[1].extend([ses_message("First", 1_795_242_509.2), ses_message("Second", 1_795_242_510.1)])
    assert main(["mail"]) == 0
    second, first = capsys.readouterr().out.split("-" * 72)
    head, _, text = second.partition("\n\n")
    assert [line.split(maxsplit=1)[0] for line in head.splitlines()] == ["Date:", "From:", "To:", "Subject:"]
    assert "From:    Atrium <mail@atrium.test>\nTo:      grace@example.com\nSubject: Second" in head
    assert text.strip() == "The text of Second."
    assert "Subject: First\n\nThe text of First.\n" in first
    assert main(["mail", "--html"]) == 0
    assert capsys.readouterr().out.strip() == "<p>Second</p>"


@pytest.mark.parametrize("options", [[], ["--html"]])
def test_a_run_without_mail_is_reported(options, emulator, capsys):
    assert main(["mail", *options]) == 1
    assert capsys.readouterr() == ("", "No mail has been sent yet.\n")


def test_the_port_selects_another_run(local_state, emulator, capsys):
    endpoint, mails = emulator
    write_run_settings(local_state / "8001", endpoint)
    write_run_settings(local_state, "http://127.0.0.1:1")
    mails.append(ses_message("Of the other", 1.0))
    assert main(["mail", "--port", "8001"]) == 0
    assert "Of the other" in capsys.readouterr().out


def test_an_ended_run_is_reported_with_a_hint(local_state, capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed_port = server.getsockname()[1]
    write_run_settings(local_state, f"http://127.0.0.1:{closed_port}")
    assert main(["mail"]) == 1
    assert "make run" in capsys.readouterr().err
