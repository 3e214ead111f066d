"""A compact range has the root of RFC 6962. Checkpoints are signed as C2SP specifies, and only valid ones verify."""

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
from chalicelib.kernel.crypto.merkle import CompactRange, leaf_hash
from tests.harness import rfc6962
from tests.kernel.vectors import VECTORS

LOG = VECTORS["log"]

leaves = st.lists(st.binary(max_size=8).map(leaf_hash), max_size=70)


def tree_of(hashes, begin=0):
    return CompactRange(begin=begin).with_appended_leaves(hashes)


def test_each_size_of_the_vectors_has_its_root():
    assert leaf_hash(LOG["firstLeafData"].encode()).hex() == LOG["leafHashes"][0]
    hashes = [bytes.fromhex(leaf) for leaf in LOG["leafHashes"]]
    assert [tree_of(hashes[:size]).root_hash().hex() for size in range(8)] == LOG["rootsBySize"]


@given(leaves)
def test_the_tree_is_that_of_the_definition_also_when_leaves_are_added_one_by_one(hashes):
    tree = tree_of(hashes)
    assert (tree.size, tree.root_hash()) == (len(hashes), rfc6962.tree_root(hashes))
    assert CompactRange(tree.size, tree.peaks) == tree
    stepwise = CompactRange()
    for leaf in hashes:
        stepwise = stepwise.with_appended_leaves([leaf])
    assert stepwise == tree


def test_extending_does_not_change_the_original():
    single = tree_of([leaf_hash(b"first")])
    single.with_appended_leaves([leaf_hash(b"second")])
    assert single == CompactRange(1, (leaf_hash(b"first"),))


@given(leaves, st.data())
def test_a_range_consists_of_its_largest_complete_subtrees_in_any_steps(hashes, data):
    begin, middle, end = sorted(data.draw(st.integers(0, len(hashes))) for _ in range(3))
    range_ = tree_of(hashes[begin:end], begin)
    assert range_ == CompactRange(end - begin, tuple(rfc6962.subtree_roots(hashes, begin, end)), begin)
    assert range_ == tree_of(hashes[begin:middle], begin).with_appended_leaves(hashes[middle:end])


def test_a_range_that_does_not_start_at_zero_has_no_root():
    with pytest.raises(ValueError, match="no root"):
        tree_of([leaf_hash(b"second")], begin=1).root_hash()


@pytest.mark.parametrize(
    ("size", "count", "begin"),
    [(0, 1, 0), (1, 0, 0), (3, 1, 0), (4, 2, 0), (-1, 1, 0), (0, 1, 5), (2, 1, 1), (2, 2, 2), (2, 1, -2), (4, 2, 3)],
)
def test_peaks_that_do_not_fit_the_size_are_rejected(size, count, begin):
    with pytest.raises(ValueError, match="peak"):
        CompactRange(size, (bytes(32),) * count, begin)


def test_hashes_of_another_length_are_rejected():
    with pytest.raises(ValueError, match="32 bytes"):
        CompactRange(1, (bytes(31),))
    for leaf in (b"", bytes(31), bytes(33), b"the data itself"):
        with pytest.raises(ValueError, match="leaf"):
            tree_of([leaf])


VECTOR = VECTORS["checkpoint"]
NOTE: str = VECTOR["note"]
TEXT, SIGNATURES = NOTE.split("\n\n")
SEED = from_base64(VECTOR["signingKey"])
KEY = from_base64(VECTOR["publicKey"])
HEAD = Checkpoint(VECTOR["origin"], VECTOR["size"], bytes.fromhex(VECTORS["log"]["rootsBySize"][7]))
ROOT = to_base64(HEAD.root)

OTHER_SEED = bytes(32)
OTHER_KEY = public_key(OTHER_SEED)
OTHER_NOTE = sign_checkpoint_note(HEAD, OTHER_SEED)
WITNESS = "— witness.example/w Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe\n"


def build_signature_line(seed, text, key_id_of):
    """Return a signature line over any text with the key id of another note's signature."""
    key_id = parse(key_id_of).signatures[0].key_id
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(text.encode())
    return f"— {VECTOR['origin']} {to_base64(key_id + signature)}\n"


ONE_WRONG_SIGNATURE = NOTE + build_signature_line(SEED, TEXT + "\n", key_id_of=OTHER_NOTE)
TRUNCATED_SIGNATURE = to_base64(from_base64(SIGNATURES.split(" ")[2].strip())[:-1])


def test_signing_returns_the_note_of_the_vectors():
    assert public_key(SEED) == KEY
    assert sign_checkpoint_note(HEAD, SEED) == NOTE


@given(st.integers(0, 2**53), st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
@example(0, bytes(32), SEED)
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


@pytest.mark.parametrize(
    ("note", "keys"),
    [
        (NOTE, [KEY]),
        (NOTE, [OTHER_KEY, KEY]),
        (NOTE + WITNESS, [KEY]),
        (f"{TEXT}\n\n{WITNESS}{SIGNATURES}", [KEY]),
        (NOTE + OTHER_NOTE.split("\n\n")[1], [KEY, OTHER_KEY]),
        (ONE_WRONG_SIGNATURE, [KEY]),
    ],
)
def test_a_note_verifies_if_the_signatures_of_all_known_keys_are_valid(note, keys):
    assert verify_checkpoint_note(note, keys) == HEAD


@pytest.mark.parametrize(
    ("note", "keys"),
    [
        (NOTE, [OTHER_KEY]),
        (NOTE, []),
        (NOTE.replace("\n7\n", "\n6\n"), [KEY]),
        (f"{TEXT}\n\n{build_signature_line(OTHER_SEED, TEXT + chr(10), key_id_of=NOTE)}", [KEY]),
        (f"{TEXT}\n\n— {VECTOR['origin']} {TRUNCATED_SIGNATURE}\n", [KEY]),
        (NOTE.replace("— atrium/", "— elsewhere/"), [KEY]),
        (ONE_WRONG_SIGNATURE, [KEY, OTHER_KEY]),
    ],
)
def test_a_note_without_a_valid_signature_does_not_verify(note, keys):
    with pytest.raises(BadSignature):
        verify_checkpoint_note(note, keys)


def test_extension_lines_are_signed_and_parsed():
    text = f"{TEXT}\nsomething more\n"
    note = f"{text}\n{build_signature_line(SEED, text, key_id_of=NOTE)}"
    assert verify_checkpoint_note(note, [KEY]) == replace(HEAD, extensions=("something more",))
    assert sign_checkpoint_note(verify_checkpoint_note(note, [KEY]), SEED) == note


def test_a_note_has_at_most_16384_characters():
    longest = replace(HEAD, extensions=("x" * (MAX_NOTE_CHARACTERS - len(NOTE) - 1),))
    note = sign_checkpoint_note(longest, SEED)
    assert (len(note), parse(note).checkpoint) == (16_384, longest)
    too_long = replace(longest, extensions=(longest.extensions[0] + "x",))
    with pytest.raises(MalformedNote, match="longer than 16384 characters"):
        parse(sign_checkpoint_note(too_long, SEED))


def test_parsing_does_not_verify():
    note = parse(NOTE)
    assert (note.checkpoint, note.text) == (HEAD, TEXT + "\n")
    assert [(s.name, len(s.signature)) for s in note.signatures] == [(HEAD.origin, 64)]


@pytest.mark.parametrize(
    "note",
    [
        *("", "\n", TEXT, TEXT + "\n", TEXT + "\n\n", NOTE[:-1], NOTE[:-1] + "x", NOTE + "\n", NOTE + "more\n"),
        *(NOTE.replace("\n", "\r\n"), NOTE.replace("\n\n", "\n"), NOTE.replace("— ", "- ")),
        *(NOTE.replace("atrium", "atr\tium"), NOTE.replace("atrium", "\ud800")),
        *(NOTE.replace("— atrium/", name) for name in ("— atrium+", "— atrium\u00a0")),
        *(f"origin\n{size}\n{ROOT}\n\n{SIGNATURES}" for size in ("07", "-7", "+7", "\u0667", 10**19)),
        *(f"origin\n7\n{root}\n\n{SIGNATURES}" for root in (ROOT[:-1], ROOT[:-4], to_base64(bytes(31)))),
        *(f"origin\n7\n{root}\n\n{SIGNATURES}" for root in (ROOT.replace("/", "_"), f"Über{ROOT[4:]}")),
        *(f"\n7\n{ROOT}\n\n{SIGNATURES}", f"origin\n7\n\n{SIGNATURES}"),
        f"origin\n7\n{ROOT}\n\nextension\n\n{SIGNATURES}",
        *(f"{TEXT}\n\n— name{end}\n" for end in ("", " AAAA=", f" {to_base64(bytes(4))}", f" {to_base64(bytes(68))} ")),
        f"{TEXT}\n{'x' * MAX_NOTE_CHARACTERS}\n\n{SIGNATURES}",
    ],
)
def test_a_note_in_another_format_is_malformed(note):
    with pytest.raises(MalformedNote):
        verify_checkpoint_note(note, [KEY])


@pytest.mark.parametrize("seed", [b"", bytes(31), bytes(33)])
def test_a_seed_has_32_bytes(seed):
    for use_seed in (lambda: sign_checkpoint_note(HEAD, seed), lambda: public_key(seed)):
        with pytest.raises(ValueError, match="32"):
            use_seed()
