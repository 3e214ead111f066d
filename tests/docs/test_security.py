"""What the document says of attacks is shown by tests that there are."""

import ast
import re
from functools import cache
from typing import Final

import pytest

from local.paths import ROOT

DOCUMENT: Final = (ROOT / "docs/security.md").read_text()
NAMED: Final = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", DOCUMENT)))
ROWS: Final = [line for line in DOCUMENT.splitlines() if re.match(r"\| API\d+ ", line)]


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the classes and functions that a file of tests defines at its top, if they are tests."""
    body = ast.parse((ROOT / file).read_text()).body
    defined = [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return frozenset(name for name in defined if name.startswith(("Test", "test_")))


@pytest.mark.parametrize(("file", "name"), NAMED, ids="::".join)
def test_each_test_that_it_names_is_there(file: str, name: str) -> None:
    assert names_in(file)
    assert not name or name in names_in(file)


def test_each_risk_of_owasp_has_a_row_with_its_tests() -> None:
    assert [re.match(r"\| API(\d+) ", row)[1] for row in ROWS] == [str(number) for number in range(1, 11)]  # type: ignore[index]
    assert all("`tests/" in row.rpartition(" | ")[2] for row in ROWS)


def test_the_policy_leads_to_it() -> None:
    assert "](docs/security.md)" in (ROOT / "SECURITY.md").read_text()
    assert "](../SECURITY.md)" in DOCUMENT
