"""The tests that `docs/security.md` names exist."""

import ast
import re
from functools import cache
from typing import Final

import pytest

from local.paths import ROOT

DOCUMENT: Final = (ROOT / "docs/security.md").read_text()
TESTS: Final = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", DOCUMENT)))
OWASP_ROWS: Final = [line for line in DOCUMENT.splitlines() if re.match(r"\| API\d+ ", line)]


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the test classes and test functions that a file defines at its top level."""
    body = ast.parse((ROOT / file).read_text()).body
    names = [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return frozenset(name for name in names if name.startswith(("Test", "test_")))


@pytest.mark.parametrize(("file", "name"), TESTS, ids=["::".join(filter(None, test)) for test in TESTS])
def test_the_test_exists(file, name):
    assert names_in(file)
    assert not name or name in names_in(file)


def test_each_owasp_risk_has_a_row_with_tests():
    assert [re.match(r"\| API(\d+) ", row)[1] for row in OWASP_ROWS] == [str(number) for number in range(1, 11)]  # type: ignore[index]
    assert all("`tests/" in row.rpartition(" | ")[2] for row in OWASP_ROWS)


def test_the_security_policy_and_the_document_link_to_each_other():
    assert "](docs/security.md)" in (ROOT / "SECURITY.md").read_text()
    assert "](../SECURITY.md)" in DOCUMENT
