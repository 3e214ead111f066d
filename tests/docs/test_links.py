"""Links, paths and make targets in the documents exist."""

import re

import pytest

from local.paths import ROOT

DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\(#([^)]+)\)")
PATH = re.compile(r"`((?:chalicelib|docs|entrypoints|infrastructure|kernel|local|tests|\.ci)/[\w./-]*)`")
MAKE_TARGET = re.compile(r"(?:`|^ +)make ([a-z-]+)", re.MULTILINE)

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
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(MAKE_TARGET.findall(document.read_text())) <= set(targets)
