"""Comparison of text without case maps only ASCII letters to ASCII letters: in addresses, names, paths and domains."""

import ast
import re
import sys
from pathlib import Path
from typing import Final

import pytest

import chalicelib
from chalicelib.features.platforms.models.domain_names import normalize_domain_name
from chalicelib.features.sites.models.url_paths import to_comparable_path
from chalicelib.kernel.core import case_folding
from chalicelib.kernel.outbound.domain_names import host_name_from_header
from chalicelib.kernel.storage.pii import PersonIdentifiers

ROOT: Final = Path(chalicelib.__path__[0])
ALLOWED: Final = {
    "kernel/core/case_folding.py": "defines the functions to use instead",
    "kernel/http/fields.py": "`fold_case_accents_and_spaces` is for searches in titles, which identify nobody",
    "kernel/core/settings.py": "names of settings",
    "kernel/crypto/keyrings.py": "the name of a setting",
    "features/research/entities.py": "the name of a path parameter",
    "features/research/models/schemas.py": "an id that matched ASCII letters and digits",
}
CHARACTERS: Final = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
KELVIN, DOTLESS, LONG_S, DOTTED = "\u212a", "\u0131", "\u017f", "\u0130"
LOWER, CASEFOLD = case_folding.lower_without_new_ascii, case_folding.casefold_without_new_ascii
FOLDS: Final = (case_folding.ascii_lower, LOWER, CASEFOLD)


def test_no_other_module_folds_case():
    modules = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if "entrypoints/openapi" not in path.as_posix()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("lower", "casefold", "upper", "swapcase")
    }
    assert modules <= ALLOWED.keys(), "use a function of chalicelib/kernel/core/case_folding.py"


def test_only_ascii_letters_become_ascii_letters():
    for fold in FOLDS:
        folded_characters = fold("\n".join(CHARACTERS[128:])).split("\n")
        for character, folded in zip(CHARACTERS[128:], folded_characters, strict=True):
            assert folded == character or not any(c.isascii() for c in folded), hex(ord(character))


def test_ascii_and_other_letters_are_folded_as_by_python():
    for character in CHARACTERS[:128]:
        assert {fold(character) for fold in FOLDS} == {character.lower()}
    for text in ("ÉMILE", "Ωmega", "ΟΔΟΣ", "ЖУК"):
        assert (LOWER(text), CASEFOLD(text)) == (text.lower(), text.casefold())


@pytest.mark.parametrize(
    ("text", "email_address"),
    [
        ("Ada@Example.COM", "ada@example.com"),
        ("o'neil+x@example.co.uk", "o'neil+x@example.co.uk"),
        ("émile@example.com", "émile@example.com"),
        ("γιώργος@example.com", "γιώργος@example.com"),
        ("ada@Bücher.example", "ada@xn--bcher-kva.example"),
        ("ada@BÜCHER.example", "ada@xn--bcher-kva.example"),
        ("ada@straße.example", "ada@xn--strae-oqa.example"),
        ("ada@XN--BCHER-KVA.example", "ada@xn--bcher-kva.example"),
    ],
)
def test_an_email_address_is_normalized_by_ascii_case_and_idna(text, email_address):
    assert case_folding.parse_email_address(text) == case_folding.email_from_claim(text) == email_address
    assert case_folding.parse_email_address(email_address) == email_address


@pytest.mark.parametrize(
    "text",
    [
        *(f"{KELVIN}evin@example.com", f"kev{DOTLESS}n@example.com", f"je{LONG_S}{LONG_S}@example.com"),
        *(f"{DOTTED}van@example.com", "ÉMILE@example.com", "weiß@example.com", "e\u0301mile@example.com"),
        *("\uff41da@example.com", "o\ufb03ce@example.com", f"ada@{KELVIN}elvin.example", "ada@example\u3002com"),
        *("ada@\uff45xample.com", "ada@xn--a.example", "ada@ex_ample.com", "ada@example..com", "ada@"),
        *("@example.com", "ada", "a b@example.com", f"{'a' * 65}@example.com", f"ada@{'é' * 300}.example"),
        f"ada@{'a.' * 130}com",
    ],
)
def test_an_email_address_with_another_normal_form_is_rejected(text):
    with pytest.raises(ValueError, match="must"):
        case_folding.parse_email_address(text)


def test_a_claim_may_contain_an_address_that_cannot_be_invited():
    assert case_folding.email_from_claim("Ada@localhost") == "ada@localhost"
    assert case_folding.email_from_claim(f"{KELVIN}evin@example.com") is None
    assert case_folding.email_from_claim("nobody") is None


def test_an_address_stored_with_a_unicode_domain_is_found():
    spellings = case_folding.email_spellings_by_domain_encoding
    assert spellings("ada@xn--bcher-kva.example") == ["ada@xn--bcher-kva.example", "ada@bücher.example"]
    for address in ("ada@example.com", "ada@xn--a.example"):
        assert spellings(address) == [address]


def test_case_folding_does_not_change_a_domain_or_a_path_to_another():
    domain = "xn--bcher-kva.example.com"
    assert normalize_domain_name("BÜCHER.Example.com") == host_name_from_header("Bücher.Example.com:443") == domain
    for text in (f"{KELVIN}elvin.example.com", f"{LONG_S}hop.example.com", "\uff53hop.example.com"):
        assert host_name_from_header(text) is None
        with pytest.raises(ValueError, match="must"):
            normalize_domain_name(text)
    assert to_comparable_path("/Looms/ÉTÉ") == "/looms/été"
    assert to_comparable_path("/\uff4bevin") == "/\uff4bevin"


def test_similar_letters_do_not_identify_a_person():
    kevin = PersonIdentifiers(frozenset(), frozenset({"kevin@example.com", "émile@example.com"}))
    assert kevin.appears_in("Write to KEVIN@Example.com.")
    assert kevin.appears_in("ÉMILE@example.com")
    assert not kevin.appears_in(f"Write to {KELVIN}evin@example.com.")
    assert not kevin.appears_in(f"{KELVIN}evin@example.com")
    assert not re.search("[A-Z]", kevin.redact("KEVIN@EXAMPLE.COM"))
