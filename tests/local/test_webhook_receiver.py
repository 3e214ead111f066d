"""The command `python -m local receive`: a receiver for webhooks."""

import httpx
import pytest

from local.__main__ import main
from local.tools.webhook_receiver import PortInUse, create_receiver
from tests.harness.threaded_servers import serve_in_thread


@pytest.fixture
def url():
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
def test_an_event_is_printed_in_a_line_and_other_bodies_are_printed_unchanged(body, printed, url, capsys):
    assert httpx.post(url, content=body.encode()).status_code == 204
    assert capsys.readouterr().out == f"{printed}\n"


def test_a_port_in_use_is_reported(capsys):
    with create_receiver(0) as server:
        with pytest.raises(PortInUse):
            create_receiver(server.server_port)
        assert main(["receive", "--port", str(server.server_port)]) == 1
    assert "--port" in capsys.readouterr().err
