"""Strangers' servers as most tests want them: there are none, and whatever is sent to them is taken."""

import pytest

from chalicelib.kernel import outgoing
from chalicelib.kernel.outgoing import Answer

TAKEN = Answer(status=204, error=None, body="", duration_ms=7)


def let_them_take_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send nothing out of this process: it is taken all the same."""
    monkeypatch.setattr(outgoing, "post", lambda *_: TAKEN)
