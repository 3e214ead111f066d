"""A key is known at sight, and stored only as what can't be turned back into it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.identity.api_key_format import api_key_hint, digest_api_key, generate_api_key, is_well_formed

VECTOR = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())["apiKey"]
KEY: str = VECTOR["key"]


def test_the_vectors_key_is_well_formed() -> None:
    assert is_well_formed(KEY)
    assert digest_api_key(KEY) == VECTOR["digest"]
    assert api_key_hint(KEY) == VECTOR["hint"]


def test_each_generated_key_is_well_formed_and_another() -> None:
    keys = {generate_api_key() for _ in range(500)}
    assert len(keys) == 500
    assert all(is_well_formed(key) and len(key) == 42 for key in keys)


def test_every_character_of_the_alphabet_is_drawn() -> None:
    assert len({character for _ in range(500) for character in generate_api_key()[4:36]}) == 62


@given(st.integers(0, len(KEY) - 1), st.characters())
def test_no_single_character_can_be_mistyped(position: int, character: str) -> None:
    mistyped = KEY[:position] + character + KEY[position + 1 :]
    assert is_well_formed(mistyped) == (mistyped == KEY)


@pytest.mark.parametrize("position", range(4, 41))
def test_no_two_neighbours_can_change_places(position: int) -> None:
    swapped = KEY[:position] + KEY[position + 1] + KEY[position] + KEY[position + 2 :]
    assert not is_well_formed(swapped)


@given(st.text())
def test_no_other_text_is_a_key(text: str) -> None:
    assert not is_well_formed(text)


@pytest.mark.parametrize("text", ["", "atr_", KEY[:-1], KEY + "0", KEY + "\n", " " + KEY, KEY.upper(), KEY[4:]])
def test_what_is_nearly_a_key_is_none(text: str) -> None:
    assert not is_well_formed(text)


@pytest.mark.parametrize(
    "text",
    [
        "atr_0123456789abcdefGHIJKLMNOPQRSTU3WICJl",
        "atr_0123456789abcdefGHIJKLMNOPQRSTUVW3lpTZS",
        "atr_0123456789abcdefGHIJKLMNOPQRSTU-4N5H8q",
    ],
)
def test_a_right_checksum_is_not_enough(text: str) -> None:
    assert not is_well_formed(text)


def test_the_hint_tells_only_the_last_four_characters() -> None:
    key = generate_api_key()
    assert api_key_hint(key) == "atr_…" + key[38:]
