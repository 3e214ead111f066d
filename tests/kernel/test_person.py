import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from chalicelib.kernel.storage.pii import PersonalData

ID = "4c1a2b5e-0000-4000-8000-000000000001"
ADA = PersonalData(frozenset({ID}), frozenset({"ada@example.com", "josé@example.org", 'a"b\\c@example.org'}))


def in_json(person: PersonalData, text: str) -> bool:
    """Whether JSON names somebody: what is not worth a closer look doesn't."""
    in_value = person.appears_in_value(from_json(text))
    assert person.may_appear_in(text) or not in_value
    return in_value


@pytest.mark.parametrize(
    "text",
    [
        "ada@example.com",
        "ADA@Example.Com",
        "Mail: ada@example.com.",
        "<ada@example.com>",
        "mailto:ada@example.com",
        "see email=ada@example.com",
        "'ada@example.com'",
        "“ada@example.com”",
        "(ada@example.com)",
        "*ada@example.com*",
        "...ada@example.com",
        "ada@example.com...",
        "grace@example.com,ada@example.com",
        "ada@example.com/work",
        "ada@example.com - call her",
        "ada@example.com's",
        "\nada@example.com\n",
        "JOSÉ@EXAMPLE.ORG",
        "of josé@example.org",
        'a"b\\c@example.org',
        'say a"b\\c@example.org',
        f"/people/{ID.upper()}/",
        ID,
        f"{ID}@users.example.com",
        "/ada@example.com",
        "/people/ada@example.com",
    ],
)
def test_somebody_is_found_in_whatever_surrounds_their_address(text: str) -> None:
    assert ADA.appears_in(text)
    assert not ADA.appears_in(ADA.redact(text))
    assert in_json(ADA, json.dumps({"a": [None, 1, {"b": text}]}, ensure_ascii=False))
    assert not ADA.appears_in_value(ADA.redact_value({"a": [None, 1, {text: text}]}))
    assert in_json(ADA, json.dumps({text: True}, ensure_ascii=False))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ada",
        "example.com",
        "@example.com",
        "nada@example.com",
        "to nada@example.com",
        "x.ada@example.com",
        "x+ada@example.com",
        "the o'ada@example.com",
        "the o\u2019ada@example.com",
        "éada@example.com",
        "e\u0301ada@example.com",
        "a-ada@example.com",
        "email=ada@example.com",
        "x/ada@example.com",
        "ada@example.com.au",
        "the ada@example.com.au.",
        "ada@example.community",
        "ada@example.com-x.org",
        "ada@example.com--x.org",
        "ada@example.comé",
        "ada@example.co",
        "jose@example.org",
        ID[:-1] + "2",
    ],
)
def test_nobody_is_found_in_a_longer_address(text: str) -> None:
    assert not ADA.appears_in(text)
    assert ADA.redact(text) == text
    assert not in_json(ADA, json.dumps({"a": text}, ensure_ascii=False))


def test_what_stands_around_an_address_stays() -> None:
    assert ADA.redact("Ada <ada@example.com>, Nada <nada@example.com>") == "Ada <…>, Nada <nada@example.com>"
    assert ADA.redact("ADA@example.com") == "…"


def test_only_texts_that_change_are_returned() -> None:
    texts = {"name": "Ada", "note": "ada@example.com", "none": None, "empty": ""}
    assert ADA.redact_all(texts) == {"note": "…"}


def test_nobody_in_particular_is_nowhere() -> None:
    nobody = PersonalData(frozenset(), frozenset())
    assert not nobody.appears_in("ada@example.com")
    assert not nobody.may_appear_in('"ada@example.com"')
    assert not nobody.appears_in_value("ada@example.com")


@pytest.mark.parametrize("text", ["ada@example.com", '{"a":"ada@example.com', "[" * 1000 + '"ada@example.com"'])
def test_what_is_no_json_is_looked_through_as_text(text: str) -> None:
    assert ADA.may_appear_in(text)
    assert ADA.appears_in_value(text)


@given(st.text(), st.text())
def test_whatever_stands_around_the_address_it_is_gone_afterwards(before: str, behind: str) -> None:
    assert not ADA.appears_in(ADA.redact(f"{before}ada@example.com{behind}"))


@given(st.text(st.characters(exclude_characters="@ \t\n", codec="utf-8"), min_size=1, max_size=20))
def test_every_address_is_found_as_it_is_stored(local: str) -> None:
    email = f"{local}@example.org".lower()
    person = PersonalData(frozenset(), frozenset({email}))
    assert person.appears_in(email)
    assert in_json(person, rfc8785.dumps({"email": email}).decode())
