"""The command `python -m local receive`: a receiver for webhooks."""

from collections.abc import Iterator
from threading import Thread

import httpx
import pytest

from local.__main__ import main
from local.tools.webhook_receiver import PortInUse, create_receiver


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a running receiver."""
    with create_receiver(0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_an_event_is_printed_in_a_line_and_accepted(url, capsys):
    assert httpx.post(url, json={"type": "page.published", "data": {"title": "Ümlaut"}}).status_code == 204
    assert capsys.readouterr().out == 'page.published {"title": "Ümlaut"}\n'


@pytest.mark.parametrize("body", ["hello", '["hello"]', '{"text": "Ada was here."}'])
def test_other_bodies_are_printed_unchanged(url, capsys, body):
    assert httpx.post(url, content=body).status_code == 204
    assert capsys.readouterr().out == f"{body}\n"


def test_a_port_in_use_is_reported(capsys):
    with create_receiver(0) as server:
        with pytest.raises(PortInUse):
            create_receiver(server.server_port)
        assert main(["receive", "--port", str(server.server_port)]) == 1
    assert "--port" in capsys.readouterr().err
