import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from local.__main__ import main
from tests.harness.threaded_servers import serve_in_thread


def message(subject: str, at: float) -> dict[str, Any]:
    return {
        "Source": "Atrium <mail@atrium.test>",
        "To": ["grace@example.com"],
        "Subject": subject,
        "Timestamp": at,
        "BodyText": f"The text of {subject}.\n",
        "BodyHtml": f"<p>{subject}</p>\n",
    }


@pytest.fixture
def taken() -> list[dict[str, Any]]:
    """What the emulator says it took, oldest first."""
    return []


@pytest.fixture
def endpoint(taken: list[dict[str, Any]]) -> Iterator[str]:
    class Emulator(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/_ministack/ses/messages"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"messages": {"000000000000": taken}}).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing of it."""

    server = HTTPServer(("127.0.0.1", 0), Emulator)
    with serve_in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}"


def ran(folder: Path, endpoint: str) -> None:
    """Leave what a run leaves in a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"aws_endpoint_url": endpoint}))


@pytest.fixture
def run(state_folder: Path, endpoint: str) -> str:
    """The run that was started last."""
    ran(state_folder, endpoint)
    return endpoint


@pytest.mark.usefixtures("run")
class TestMail:
    def test_the_newest_comes_first(self, taken: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
        taken += [message("First", 1_795_242_509.2), message("Second", 1_795_242_510.1)]
        assert main(["mail"]) == 0
        second, first = capsys.readouterr().out.split("-" * 72)
        head, _, text = second.partition("\n\n")
        assert [line.split(maxsplit=1)[0] for line in head.splitlines()] == ["Date:", "From:", "To:", "Subject:"]
        assert "From:    Atrium <mail@atrium.test>\nTo:      grace@example.com\nSubject: Second" in head
        assert text.strip() == "The text of Second."
        assert "Subject: First\n\nThe text of First.\n" in first

    def test_the_newest_can_be_looked_at(self, taken: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
        taken += [message("First", 1.0), message("Second", 2.0)]
        assert main(["mail", "--html"]) == 0
        assert capsys.readouterr().out.strip() == "<p>Second</p>"

    @pytest.mark.parametrize("how", [[], ["--html"]])
    def test_none_is_said(self, how: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["mail", *how]) == 1
        assert capsys.readouterr() == ("", "No mail has been sent yet.\n")

    def test_another_run_is_named_by_its_port(
        self, state_folder: Path, run: str, taken: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
    ) -> None:
        ran(state_folder / "8001", run)
        ran(state_folder, "http://127.0.0.1:1")
        taken.append(message("Of the other", 1.0))
        assert main(["mail", "--port", "8001"]) == 0
        assert "Of the other" in capsys.readouterr().out


def test_without_a_run_it_says_what_to_do(state_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mail"]) == 1
    assert "make run" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = server.getsockname()[1]
    ran(state_folder, f"http://127.0.0.1:{silent}")
    assert main(["mail"]) == 1
    assert "make run" in capsys.readouterr().err
