"""Identifiers of researchers and works: validation, normalization and matching."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces

_ORCID: Final = re.compile(r"[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X]")
_OPENALEX_AUTHOR: Final = re.compile(r"A[1-9][0-9]{0,18}")
_DOI: Final = re.compile(r"10\.[0-9]{4,9}/\S+")
_DOI_URL_PREFIX: Final = re.compile(r"^(?:https?://)?(?:dx\.|www\.)?doi\.org/|^doi:\s*", re.IGNORECASE)
_ARXIV: Final = re.compile(r"([0-9]{4}\.[0-9]{4,5}|[a-z-]+(?:\.[a-z]{2})?/[0-9]{7})(?:v[0-9]+)?", re.IGNORECASE)
_ARXIV_URL_PARTS: Final = re.compile(r"^.*arxiv\.org/(?:abs|pdf)/|^arxiv:\s*|\.pdf$", re.IGNORECASE)
_ARXIV_DOI_PREFIX: Final = "10.48550/arxiv."
_PMID: Final = re.compile(r"(?:https?://\S+/)?(?:pmid:\s*)?0*([1-9][0-9]{0,9})/?", re.IGNORECASE)
_MATCHING_SCHEMES: Final = ("doi", "arxiv", "pmid", "openalex")
_MAX_DOI_CHARACTERS: Final = 512
"""Length of a DOI."""


def is_orcid(text: str) -> bool:
    """Return whether a text is an ORCID iD with a valid check digit (ISO 7064, MOD 11-2)."""
    if not _ORCID.fullmatch(text):
        return False
    total = 0
    for digit in text.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    check = (12 - total % 11) % 11
    return text[-1] == ("X" if check == 10 else str(check))  # noqa: PLR2004 - defined by the standard


def is_openalex_author_id(text: str) -> bool:
    """Return whether a text has the form of an OpenAlex author id."""
    return bool(_OPENALEX_AUTHOR.fullmatch(text))


def normalize_doi_or_none(text: object) -> str | None:
    """Return a DOI without prefix and in lower case, because DOIs ignore case; None if it is invalid."""
    bare = ascii_lower(_DOI_URL_PREFIX.sub("", str(text or "").strip()))
    return bare if _DOI.fullmatch(bare) and len(bare) <= _MAX_DOI_CHARACTERS else None


def normalize_arxiv_id_or_none(text: object) -> str | None:
    """Return an arXiv id, possibly from a URL, without its version; None if it is invalid."""
    tail = _ARXIV_URL_PARTS.sub("", str(text or "").strip())
    match = _ARXIV.fullmatch(tail)
    return ascii_lower(match[1]) if match else None


def normalize_pmid_or_none(text: object) -> str | None:
    """Return a PubMed id, possibly from a URL; None if it is invalid."""
    match = _PMID.fullmatch(str(text or "").strip())
    return match[1] if match else None


def normalize_identifiers(**values: object) -> dict[str, str]:
    """Return the valid identifiers of a work. A DOI of arXiv yields an arXiv id, too."""
    doi = normalize_doi_or_none(values.get("doi"))
    derived = doi.removeprefix(_ARXIV_DOI_PREFIX) if doi and doi.startswith(_ARXIV_DOI_PREFIX) else None
    normalized = {
        "doi": doi,
        "arxiv": normalize_arxiv_id_or_none(values.get("arxiv")) or normalize_arxiv_id_or_none(derived),
        "pmid": normalize_pmid_or_none(values.get("pmid")),
        "openalex": values.get("openalex"),
        "dblp": values.get("dblp"),
    }
    return {name: str(value) for name, value in normalized.items() if value}


def match_keys(identifiers: Mapping[str, str]) -> list[str]:
    """Return the match keys of identifiers. Artefacts with a common match key belong to the same work."""
    return [f"{name}:{identifiers[name]}" for name in _MATCHING_SCHEMES if name in identifiers]


def title_first_author_digest(title: str, authors: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a digest of title and first author's family name, or None if either is missing."""
    family = _folded_family_name(authors[0]["name"]) if authors else ""
    normalized_title = _normalize_title(title)
    return _digest(f"{normalized_title}\n{family}") if family and normalized_title else None


def title_digest(title: str) -> str | None:
    """Return a digest of a title that ignores case, accents and punctuation, None if nothing is left."""
    normalized_title = _normalize_title(title)
    return _digest(normalized_title) if normalized_title else None


def _normalize_title(title: str) -> str:
    return re.sub(r"\W+", " ", fold_case_accents_and_spaces(title)).strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _folded_family_name(name: str) -> str:
    family, comma, _ = fold_case_accents_and_spaces(name).partition(",")
    return family if comma else fold_case_accents_and_spaces(name).rpartition(" ")[2]
