"""API keys are recognizable by their format, and the time of their last use is stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.identity.api_key_format import (
    digest_api_key,
    generate_api_key,
    is_well_formed,
    last_characters_hint,
)
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.table import TransactionCancelled
from tests.harness.organizations import create_api_key
from tests.kernel.vectors import VECTORS

VECTOR = VECTORS["apiKey"]
KEY: str = VECTOR["key"]


def test_the_keys_of_the_vectors_are_well_formed():
    assert is_well_formed(KEY)
    assert (digest_api_key(KEY), last_characters_hint(KEY)) == (VECTOR["digest"], VECTOR["hint"])


def test_generated_keys_are_well_formed_and_distinct_and_use_the_whole_alphabet():
    keys = {generate_api_key() for _ in range(500)}
    assert len(keys) == 500
    assert all(
        is_well_formed(key) and len(key) == 42 and last_characters_hint(key) == f"atr_…{key[38:]}" for key in keys
    )
    assert len({character for key in keys for character in key[4:36]}) == 62


@given(st.integers(0, len(KEY) - 1), st.characters())
def test_the_checksum_detects_any_changed_character(position, character):
    mistyped = KEY[:position] + character + KEY[position + 1 :]
    assert is_well_formed(mistyped) == (mistyped == KEY)


def test_the_checksum_detects_any_swap_of_adjacent_characters():
    for position in range(4, 41):
        swapped = KEY[:position] + KEY[position + 1] + KEY[position] + KEY[position + 2 :]
        assert not is_well_formed(swapped), position


@given(st.text())
def test_other_text_is_not_well_formed(text):
    assert not is_well_formed(text)


def test_text_similar_to_a_key_is_not_well_formed():
    for text in ("", "atr_", KEY[:-1], KEY + "0", KEY + "\n", " " + KEY, KEY.upper(), KEY[4:]):
        assert not is_well_formed(text), text
    wrong_length_or_alphabet = ("GHIJKLMNOPQRSTU3WICJl", "GHIJKLMNOPQRSTUVW3lpTZS", "GHIJKLMNOPQRSTU-4N5H8q")
    for end_with_a_correct_checksum in wrong_length_or_alphabet:
        assert not is_well_formed(f"atr_0123456789abcdef{end_with_a_correct_checksum}")


@pytest.mark.parametrize(
    "fault", [TransactionCancelled({}, is_contended=True), unavailable("Busy.")], ids=["conflict", "unavailable"]
)
def test_a_failed_write_of_the_last_use_is_repeated_with_the_next_request(api, organization, ada, monkeypatch, fault):
    key = create_api_key(api, organization)

    def fail(_: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(table, "write_transaction", fail)
        assert api.get(organization.path, caller=key).status == 200
    path = f"{organization.path}/api-keys/{key.id}"
    assert api.get(path, caller=ada).json["lastUsedAt"] is None
    assert api.get(organization.path, caller=key).status == 200
    assert api.get(path, caller=ada).json["lastUsedAt"] is not None
