"""A person's e-mail addresses and IDs are found and redacted in texts and JSON values."""

import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from chalicelib.kernel.storage.pii import PersonIdentifiers

ID = "4c1a2b5e-0000-4000-8000-000000000001"
ADA = PersonIdentifiers(frozenset({ID}), frozenset({"ada@example.com", "josé@example.org", 'a"b\\c@example.org'}))


def appears_in_json(person, value):
    """Return whether a person appears in JSON, after a check that `may_appear_in` has no false negatives."""
    text = json.dumps(value, ensure_ascii=False)
    appears = person.appears_in_value(from_json(text))
    assert person.may_appear_in(text) or not appears
    return appears


@pytest.mark.parametrize(
    "text",
    [
        *("ada@example.com", "ADA@Example.Com", "Mail: ada@example.com.", "<ada@example.com>", "/ada@example.com"),
        *("mailto:ada@example.com", "see email=ada@example.com", "'ada@example.com'", "“ada@example.com”"),
        *("(ada@example.com)", "*ada@example.com*", "...ada@example.com", "ada@example.com...", "ada@example.com's"),
        *("grace@example.com,ada@example.com", "ada@example.com/work", "ada@example.com - call her"),
        *("\nada@example.com\n", "/people/ada@example.com", "JOSÉ@EXAMPLE.ORG", "of josé@example.org"),
        *('a"b\\c@example.org', 'say a"b\\c@example.org', f"/people/{ID.upper()}/", ID, f"{ID}@users.example.com"),
    ],
)
def test_a_person_is_found_beside_any_punctuation(text):
    assert ADA.appears_in(text)
    assert not ADA.appears_in(ADA.redact(text))
    assert appears_in_json(ADA, {"a": [None, 1, {"b": text}]})
    assert not ADA.appears_in_value(ADA.redact_value({"a": [None, 1, {text: text}]}))
    assert appears_in_json(ADA, {text: True})


@pytest.mark.parametrize(
    "text",
    [
        *("", "ada", "example.com", "@example.com", "nada@example.com", "to nada@example.com", "x.ada@example.com"),
        *("x+ada@example.com", "the o'ada@example.com", "the o\u2019ada@example.com", "éada@example.com"),
        *("e\u0301ada@example.com", "a-ada@example.com", "email=ada@example.com", "x/ada@example.com"),
        *("ada@example.com.au", "the ada@example.com.au.", "ada@example.community", "ada@example.com-x.org"),
        *("ada@example.com--x.org", "ada@example.comé", "ada@example.co", "jose@example.org", ID[:-1] + "2"),
    ],
)
def test_a_person_is_not_found_in_a_longer_address(text):
    assert not ADA.appears_in(text)
    assert ADA.redact(text) == text
    assert not appears_in_json(ADA, {"a": text})


def test_text_around_an_address_is_preserved_and_only_changed_texts_are_returned():
    assert ADA.redact("Ada <ada@example.com>, Nada <nada@example.com>") == "Ada <…>, Nada <nada@example.com>"
    assert ADA.redact("ADA@example.com") == "…"
    texts = {"name": "Ada", "note": "ada@example.com", "none": None, "empty": ""}
    assert ADA.redacted_field_changes(texts) == {"note": "…"}


def test_a_person_without_data_appears_nowhere():
    empty_person = PersonIdentifiers(frozenset(), frozenset())
    assert not empty_person.appears_in("ada@example.com")
    assert not empty_person.may_appear_in('"ada@example.com"')
    assert not empty_person.appears_in_value("ada@example.com")


@pytest.mark.parametrize("text", ["ada@example.com", '{"a":"ada@example.com', "[" * 1000 + '"ada@example.com"'])
def test_invalid_json_is_searched_as_text(text):
    assert ADA.may_appear_in(text)
    assert ADA.appears_in_value(text)


@given(st.text(), st.text())
def test_no_surrounding_text_prevents_redaction(before, after):
    assert not ADA.appears_in(ADA.redact(f"{before}ada@example.com{after}"))


@given(st.text(st.characters(exclude_characters="@ \t\n", codec="utf-8"), min_size=1, max_size=20))
def test_every_address_is_found_as_stored(local):
    email_address = f"{local}@example.org".lower()
    person = PersonIdentifiers(frozenset(), frozenset({email_address}))
    assert person.appears_in(email_address)
    assert appears_in_json(person, {"email": email_address})
    assert person.may_appear_in(rfc8785.dumps({"email": email_address}).decode())
