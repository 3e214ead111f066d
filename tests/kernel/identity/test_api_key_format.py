"""API keys are recognizable by their format, and only an irreversible digest of them is stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.identity.api_key_format import (
    digest_api_key,
    generate_api_key,
    is_well_formed,
    last_characters_hint,
)
from tests.kernel.vectors import VECTORS

VECTOR = VECTORS["apiKey"]
KEY: str = VECTOR["key"]


def test_the_keys_of_the_vectors_are_well_formed():
    assert is_well_formed(KEY)
    assert digest_api_key(KEY) == VECTOR["digest"]
    assert last_characters_hint(KEY) == VECTOR["hint"]


def test_generated_keys_are_well_formed_and_distinct():
    keys = {generate_api_key() for _ in range(500)}
    assert len(keys) == 500
    assert all(is_well_formed(key) and len(key) == 42 for key in keys)


def test_generated_keys_use_every_character_of_the_alphabet():
    assert len({character for _ in range(500) for character in generate_api_key()[4:36]}) == 62


@given(st.integers(0, len(KEY) - 1), st.characters())
def test_the_checksum_detects_any_changed_character(position, character):
    mistyped = KEY[:position] + character + KEY[position + 1 :]
    assert is_well_formed(mistyped) == (mistyped == KEY)


@pytest.mark.parametrize("position", range(4, 41))
def test_the_checksum_detects_any_swap_of_adjacent_characters(position):
    swapped = KEY[:position] + KEY[position + 1] + KEY[position] + KEY[position + 2 :]
    assert not is_well_formed(swapped)


@given(st.text())
def test_other_text_is_not_well_formed(text):
    assert not is_well_formed(text)


@pytest.mark.parametrize("text", ["", "atr_", KEY[:-1], KEY + "0", KEY + "\n", " " + KEY, KEY.upper(), KEY[4:]])
def test_text_similar_to_a_key_is_not_well_formed(text):
    assert not is_well_formed(text)


@pytest.mark.parametrize(
    "text",
    [
        "atr_0123456789abcdefGHIJKLMNOPQRSTU3WICJl",
        "atr_0123456789abcdefGHIJKLMNOPQRSTUVW3lpTZS",
        "atr_0123456789abcdefGHIJKLMNOPQRSTU-4N5H8q",
    ],
)
def test_a_correct_checksum_is_not_sufficient(text):
    assert not is_well_formed(text)


def test_the_hint_shows_only_the_last_four_characters():
    key = generate_api_key()
    assert last_characters_hint(key) == "atr_…" + key[38:]
