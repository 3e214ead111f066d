"""What researchers and works are called: which texts are ids, in which form they are kept, what makes two works one."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.http.fields import fold_text

_ORCID: Final = re.compile(r"[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X]")
_OPENALEX_AUTHOR: Final = re.compile(r"A[1-9][0-9]{0,18}")
_DOI: Final = re.compile(r"10\.[0-9]{4,9}/\S+")
_ADDRESS: Final = re.compile(r"^(?:https?://)?(?:dx\.|www\.)?doi\.org/|^doi:\s*", re.IGNORECASE)
_ARXIV: Final = re.compile(r"([0-9]{4}\.[0-9]{4,5}|[a-z-]+(?:\.[a-z]{2})?/[0-9]{7})(?:v[0-9]+)?", re.IGNORECASE)
_ARXIV_ADDRESS: Final = re.compile(r"^.*arxiv\.org/(?:abs|pdf)/|^arxiv:\s*|\.pdf$", re.IGNORECASE)
_ARXIV_DOI: Final = "10.48550/arxiv."
_PMID: Final = re.compile(r"(?:https?://\S+/)?(?:pmid:\s*)?0*([1-9][0-9]{0,9})/?", re.IGNORECASE)
_JOINING: Final = ("doi", "arxiv", "pmid", "openalex")
_LONGEST_DOI: Final = 512


def is_orcid(text: str) -> bool:
    """Return whether a text is an ORCID iD, with the right check digit (ISO 7064, MOD 11-2)."""
    if not _ORCID.fullmatch(text):
        return False
    total = 0
    for digit in text.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    check = (12 - total % 11) % 11
    return text[-1] == ("X" if check == 10 else str(check))  # noqa: PLR2004 - of the standard


def is_openalex_author(text: str) -> bool:
    """Return whether a text is the id of an author at OpenAlex, as far as its form tells."""
    return bool(_OPENALEX_AUTHOR.fullmatch(text))


def doi_of(text: object) -> str | None:
    """Return a DOI bare and in lower case: it means the same in any letters."""
    bare = ascii_lower(_ADDRESS.sub("", str(text or "").strip()))
    return bare if _DOI.fullmatch(bare) and len(bare) <= _LONGEST_DOI else None


def arxiv_of(text: object) -> str | None:
    """Return an id of arXiv without its version; it may stand in an address."""
    tail = _ARXIV_ADDRESS.sub("", str(text or "").strip())
    found = _ARXIV.fullmatch(tail)
    return ascii_lower(found[1]) if found else None


def pmid_of(text: object) -> str | None:
    """Return the digits of a PubMed id; they may stand in an address."""
    found = _PMID.fullmatch(str(text or "").strip())
    return found[1] if found else None


def identified(**said: object) -> dict[str, str]:
    """Return what identifies a work, as far as it is well-formed. A DOI that arXiv gave is also an id of arXiv."""
    doi = doi_of(said.get("doi"))
    derived = doi.removeprefix(_ARXIV_DOI) if doi and doi.startswith(_ARXIV_DOI) else None
    found = {
        "doi": doi,
        "arxiv": arxiv_of(said.get("arxiv")) or arxiv_of(derived),
        "pmid": pmid_of(said.get("pmid")),
        "openalex": said.get("openalex"),
        "dblp": said.get("dblp"),
    }
    return {name: str(value) for name, value in found.items() if value}


def keys_of(identifiers: Mapping[str, str]) -> list[str]:
    """Return the keys by which artefacts are of one work."""
    return [f"{name}:{identifiers[name]}" for name in _JOINING if name in identifiers]


def alike(title: str, authors: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what two works have in common that may be one: title and first author's family name; None if unknown."""
    family = _family(authors[0]["name"]) if authors else ""
    plain = _plain(title)
    return _digest(f"{plain}\n{family}") if family and plain else None


def title_digest(title: str) -> str | None:
    """Return what titles have in common that differ in case, accents and punctuation only; None if nothing is left."""
    plain = _plain(title)
    return _digest(plain) if plain else None


def _plain(title: str) -> str:
    return re.sub(r"\W+", " ", fold_text(title)).strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _family(name: str) -> str:
    before, comma, _ = fold_text(name).partition(",")
    return before if comma else fold_text(name).rpartition(" ")[2]
