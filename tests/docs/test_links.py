"""What the documents point to is there."""

import re
from pathlib import Path

import pytest

from local.paths import ROOT

DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\]\(#([^)]+)\)")
PATH = re.compile(r"`((?:chalicelib|docs|entrypoints|infrastructure|kernel|local|tests|\.ci)/[\w./-]*)`")
TARGET = re.compile(r"(?:`|^ +)make ([a-z-]+)", re.MULTILINE)

of_documents = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@of_documents
def test_links_lead_to_files(document: Path) -> None:
    targets = [target for target in LINK.findall(document.read_text()) if "://" not in target]
    assert [target for target in targets if not (document.parent / target).exists()] == []


@of_documents
def test_anchors_lead_to_headings(document: Path) -> None:
    text = document.read_text()
    headings = re.findall(r"^#+ (.+)$", text.lower(), re.MULTILINE)
    assert set(ANCHOR.findall(text)) <= {re.sub(r"[^a-z0-9 -]", "", heading).replace(" ", "-") for heading in headings}


@of_documents
def test_paths_in_the_text_are_there(document: Path) -> None:
    paths = [path.removesuffix("/<noun>/") for path in PATH.findall(document.read_text())]
    assert [path for path in paths if not any((base / path).exists() for base in (ROOT, ROOT / "chalicelib"))] == []


@of_documents
def test_what_make_is_told_to_make_is_a_target(document: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(TARGET.findall(document.read_text())) <= set(targets)
