"""Checkpoints are signed byte for byte as C2SP specifies, and only valid ones verify."""

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import example, given
from hypothesis import strategies as st

from chalicelib.kernel.core.encoding import from_base64, to_base64
from chalicelib.kernel.crypto.checkpoints import (
    MAX_NOTE_CHARACTERS,
    BadSignature,
    Checkpoint,
    MalformedNote,
    NoteError,
    parse,
    public_key,
    sign_checkpoint_note,
    verify_checkpoint_note,
)
from tests.kernel.vectors import VECTORS

VECTOR = VECTORS["checkpoint"]
NOTE: str = VECTOR["note"]
TEXT, SIGNATURES = NOTE.split("\n\n")
SEED = from_base64(VECTOR["signingKey"])
KEY = from_base64(VECTOR["publicKey"])
HEAD = Checkpoint(VECTOR["origin"], VECTOR["size"], bytes.fromhex(VECTORS["log"]["rootsBySize"][7]))

OTHER_SEED = bytes(32)
OTHER_KEY = public_key(OTHER_SEED)


def build_signature_line(seed: bytes, text: str, key_id_of: str) -> str:
    """Return a signature line over any text with the key id of another note's signature."""
    key_id = parse(key_id_of).signatures[0].key_id
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(text.encode())
    return f"— {VECTOR['origin']} {to_base64(key_id + signature)}\n"


def test_the_public_key_of_the_vectors_seed_is_theirs():
    assert public_key(SEED) == KEY


def test_signing_returns_the_note_of_the_vectors():
    assert sign_checkpoint_note(HEAD, SEED) == NOTE


def test_verification_returns_the_checkpoint():
    assert verify_checkpoint_note(NOTE, [KEY]) == HEAD


def test_an_empty_log_has_a_checkpoint():
    empty = Checkpoint("atrium/empty", 0, bytes(32))
    assert verify_checkpoint_note(sign_checkpoint_note(empty, SEED), [KEY]) == empty


@given(st.integers(0, 2**53), st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_any_head_signed_with_any_key_verifies(size, root, seed):
    head = Checkpoint(HEAD.origin, size, root)
    assert verify_checkpoint_note(sign_checkpoint_note(head, seed), [OTHER_KEY, public_key(seed)]) == head


@given(st.integers(0, len(NOTE) - 1), st.characters())
@example(NOTE.index("=\n", -5) - 1, "B")
def test_no_character_of_a_note_can_be_changed(position, character):
    changed = NOTE[:position] + character + NOTE[position + 1 :]
    if changed != NOTE:
        with pytest.raises(NoteError):
            verify_checkpoint_note(changed, [KEY])


@given(st.text())
def test_any_other_text_is_malformed(text):
    with pytest.raises(MalformedNote):
        parse(text)


def test_a_note_does_not_verify_with_another_key():
    with pytest.raises(BadSignature):
        verify_checkpoint_note(NOTE, [OTHER_KEY])


def test_a_note_does_not_verify_without_keys():
    with pytest.raises(BadSignature):
        verify_checkpoint_note(NOTE, [])


def test_a_note_verifies_with_a_retired_key():
    assert verify_checkpoint_note(NOTE, [OTHER_KEY, KEY]) == HEAD


def test_a_signature_over_another_head_is_bad():
    forged = NOTE.replace("\n7\n", "\n6\n")
    with pytest.raises(BadSignature):
        verify_checkpoint_note(forged, [KEY])


def test_a_signature_by_another_key_with_this_keys_id_is_bad():
    with pytest.raises(BadSignature):
        verify_checkpoint_note(f"{TEXT}\n\n{build_signature_line(OTHER_SEED, TEXT + chr(10), key_id_of=NOTE)}", [KEY])


def test_a_truncated_signature_is_bad():
    truncated = to_base64(from_base64(SIGNATURES.split(" ")[2].strip())[:-1])
    with pytest.raises(BadSignature):
        verify_checkpoint_note(f"{TEXT}\n\n— {VECTOR['origin']} {truncated}\n", [KEY])


def test_a_signature_under_another_name_is_ignored():
    with pytest.raises(BadSignature):
        verify_checkpoint_note(NOTE.replace("— atrium/", "— elsewhere/"), [KEY])


def test_signatures_of_unknown_witnesses_are_ignored():
    witness = "— witness.example/w Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe\n"
    assert verify_checkpoint_note(NOTE + witness, [KEY]) == HEAD
    assert verify_checkpoint_note(f"{TEXT}\n\n{witness}{SIGNATURES}", [KEY]) == HEAD


def test_the_signatures_of_all_known_keys_must_be_valid():
    doubly_signed = NOTE + sign_checkpoint_note(HEAD, OTHER_SEED).split("\n\n")[1]
    assert verify_checkpoint_note(doubly_signed, [KEY, OTHER_KEY]) == HEAD
    one_wrong = NOTE + build_signature_line(SEED, TEXT + "\n", key_id_of=sign_checkpoint_note(HEAD, OTHER_SEED))
    assert verify_checkpoint_note(one_wrong, [KEY]) == HEAD
    with pytest.raises(BadSignature):
        verify_checkpoint_note(one_wrong, [KEY, OTHER_KEY])


def test_extension_lines_are_signed_and_parsed():
    text = f"{TEXT}\nsomething more\n"
    note = f"{text}\n{build_signature_line(SEED, text, key_id_of=NOTE)}"
    assert verify_checkpoint_note(note, [KEY]) == replace(HEAD, extensions=("something more",))
    assert sign_checkpoint_note(verify_checkpoint_note(note, [KEY]), SEED) == note


def test_parsing_does_not_verify():
    note = parse(NOTE)
    assert note.checkpoint == HEAD
    assert note.text == TEXT + "\n"
    assert [(s.name, len(s.signature)) for s in note.signatures] == [(HEAD.origin, 64)]


ROOT = to_base64(HEAD.root)


@pytest.mark.parametrize(
    "note",
    [
        "",
        "\n",
        TEXT,
        TEXT + "\n",
        TEXT + "\n\n",
        NOTE[:-1],
        NOTE[:-1] + "x",
        NOTE + "\n",
        NOTE + "more\n",
        NOTE.replace("\n", "\r\n"),
        NOTE.replace("\n\n", "\n"),
        NOTE.replace("— ", "- "),
        NOTE.replace("atrium", "atr\tium"),
        NOTE.replace("— atrium/", "— atrium+"),
        NOTE.replace("— atrium/", "— atrium\u00a0"),
        NOTE.replace("atrium", "\ud800"),
        f"\n7\n{ROOT}\n\n{SIGNATURES}",
        f"origin\n7\n\n{SIGNATURES}",
        f"origin\n07\n{ROOT}\n\n{SIGNATURES}",
        f"origin\n-7\n{ROOT}\n\n{SIGNATURES}",
        f"origin\n+7\n{ROOT}\n\n{SIGNATURES}",
        f"origin\n\u0667\n{ROOT}\n\n{SIGNATURES}",
        f"origin\n{10**19}\n{ROOT}\n\n{SIGNATURES}",
        f"origin\n7\n{ROOT[:-1]}\n\n{SIGNATURES}",
        f"origin\n7\n{ROOT[:-4]}\n\n{SIGNATURES}",
        f"origin\n7\n{to_base64(bytes(31))}\n\n{SIGNATURES}",
        f"origin\n7\n{ROOT.replace('/', '_')}\n\n{SIGNATURES}",
        f"origin\n7\nÜber{ROOT[4:]}\n\n{SIGNATURES}",
        f"origin\n7\n{ROOT}\n\nextension\n\n{SIGNATURES}",
        f"{TEXT}\n\n— name\n",
        f"{TEXT}\n\n— name AAAA=\n",
        f"{TEXT}\n\n— name {to_base64(bytes(4))}\n",
        f"{TEXT}\n\n— name {to_base64(bytes(68))} \n",
        f"{TEXT}\n{'x' * MAX_NOTE_CHARACTERS}\n\n{SIGNATURES}",
    ],
)
def test_a_note_in_another_format_is_malformed(note):
    with pytest.raises(MalformedNote):
        verify_checkpoint_note(note, [KEY])


@pytest.mark.parametrize("seed", [b"", bytes(31), bytes(33)])
def test_a_seed_has_32_bytes(seed):
    with pytest.raises(ValueError, match="32"):
        sign_checkpoint_note(HEAD, seed)
    with pytest.raises(ValueError, match="32"):
        public_key(seed)
