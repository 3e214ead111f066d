"""Strangers' servers as most tests want them: there are none, and whatever is sent to them is taken."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from unittest.mock import patch

import pytest

from chalicelib.kernel import outgoing
from chalicelib.kernel.outgoing import Answer


def let_them_take_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send nothing out of this process: it is taken all the same, the next time a little later."""
    durations = count(7)
    monkeypatch.setattr(
        outgoing, "post", lambda *_: Answer(status=204, error=None, body="", duration_ms=next(durations))
    )


@contextmanager
def refusing() -> Iterator[None]:
    """Let them take nothing within the block, for now: they answer 503."""
    answer = Answer(status=503, error=None, body="", duration_ms=7)
    with patch.object(outgoing, "post", lambda *_: answer):
        yield
