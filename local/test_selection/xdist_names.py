"""The names of tests as pytest-xdist reports them."""

import re
from typing import Final

_GROUP: Final = re.compile(r"@\w+$")


def remove_xdist_group(name: str) -> str:
    """Return the name of a test without what pytest-xdist appends if the test is in a group."""
    return _GROUP.sub("", name)
