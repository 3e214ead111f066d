"""Strangers' servers as most tests want them: there are none, and whatever is sent to them is taken."""

from itertools import count

import pytest

from chalicelib.kernel import outgoing
from chalicelib.kernel.outgoing import Answer


def let_them_take_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send nothing out of this process: it is taken all the same, the next time a little later."""
    durations = count(7)
    monkeypatch.setattr(
        outgoing, "post", lambda *_: Answer(status=204, error=None, body="", duration_ms=next(durations))
    )
