"""Links, paths, make targets and tests in the documents exist."""

import ast
import re
from functools import cache
from typing import Final

import pytest

from local.paths import ROOT

DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\(#([^)]+)\)")
PATH = re.compile(r"`((?:chalicelib|docs|entrypoints|infrastructure|kernel|local|tests|\.ci)/[\w./-]*)`")
MAKE_TARGET = re.compile(r"(?:`|^ +)make ([a-z-]+)", re.MULTILINE)
MAKE_TARGETS: Final = {*re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}

SECURITY_DOCUMENT: Final = (ROOT / "docs/security.md").read_text()
TESTS: Final = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", SECURITY_DOCUMENT)))
OWASP_ROWS: Final = [line for line in SECURITY_DOCUMENT.splitlines() if re.match(r"\| API\d+ ", line)]

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@each_document
def test_linked_files_exist(document):
    targets = [target for target in LINK.findall(document.read_text()) if "://" not in target]
    assert [target for target in targets if not (document.parent / target).exists()] == []


@each_document
def test_linked_headings_exist(document):
    text = document.read_text()
    headings = re.findall(r"^#+ (.+)$", text.lower(), re.MULTILINE)
    assert set(ANCHOR.findall(text)) <= {re.sub(r"[^a-z0-9 -]", "", heading).replace(" ", "-") for heading in headings}


@each_document
def test_paths_in_the_text_exist(document):
    paths = [path.removesuffix("/<noun>/") for path in PATH.findall(document.read_text())]
    assert [path for path in paths if not any((base / path).exists() for base in (ROOT, ROOT / "chalicelib"))] == []


@each_document
def test_make_targets_exist(document):
    assert set(MAKE_TARGET.findall(document.read_text())) <= MAKE_TARGETS


def test_make_targets_in_modules_exist():
    """Messages of the commands advise them."""
    modules = [file for folder in ("chalicelib", "infrastructure", "local") for file in (ROOT / folder).rglob("*.py")]
    named = {target for file in modules for target in re.findall(r"`make ([a-z-]+)", file.read_text())}
    assert {"bootstrap", "doctor"} <= named <= MAKE_TARGETS


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the test classes and test functions that a file defines at its top level."""
    body = ast.parse((ROOT / file).read_text()).body
    names = [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return frozenset(name for name in names if name.startswith(("Test", "test_")))


@pytest.mark.parametrize(("file", "name"), TESTS, ids=["::".join(filter(None, test)) for test in TESTS])
def test_a_test_that_the_security_document_names_exists(file, name):
    assert names_in(file)
    assert not name or name in names_in(file)


def test_each_owasp_risk_has_a_row_with_tests():
    assert [re.match(r"\| API(\d+) ", row)[1] for row in OWASP_ROWS] == [str(number) for number in range(1, 11)]  # type: ignore[index]
    assert all("`tests/" in row.rpartition(" | ")[2] for row in OWASP_ROWS)


def test_the_security_policy_and_the_document_link_to_each_other():
    assert "](docs/security.md)" in (ROOT / "SECURITY.md").read_text()
    assert "](../SECURITY.md)" in SECURITY_DOCUMENT
