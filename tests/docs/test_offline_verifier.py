"""The offline verifier trusts neither the service nor the keeper of an export, and reports what is wrong."""

import base64
import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chalicelib.features.audit.exports.logic import verify
from chalicelib.features.audit.exports.logic.entry_formats import file_header_bytes
from chalicelib.features.audit.exports.logic.verify import (
    InvalidInput,
    MerkleTree,
    parse_note_or_record,
    parse_omitted_runs,
    verify_checkpoint_note,
)
from tests.harness import rfc6962
from tests.harness.exported_logs import (
    KEY,
    ORIGIN,
    PUBLIC_KEY,
    SAMPLE_LINES,
    SAMPLE_LOG,
    ExportedLog,
    build_exported_log,
    build_leaf_data,
    build_line,
    build_pending_line,
    build_signature_line,
    sign_checkpoint,
    verification_result,
)

UNTRUSTED_KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(32))

# The roots of the trees over the first leaves of Certificate Transparency's test data (RFC 6962).
CT_LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
CT_ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def verdict(lines: Iterable[bytes] = SAMPLE_LINES, evidence: Any = (), **options: Any) -> str:
    """Return what the verifier proves about lines of the sample log, or the message of its error."""
    return verification_result(SAMPLE_LOG, lines, evidence, **options)


def part_verdict(*sequences: int, log: ExportedLog = SAMPLE_LOG) -> str:
    """Return the same about a filtered export with these entries of a log."""
    return verdict(log.lines_of(sequences), log.evidence_for(sequences))


def with_line(number: int, line: bytes) -> list[bytes]:
    """Return the lines of the sample log, one of them altered."""
    assert line != SAMPLE_LINES[number - 1]
    return [*SAMPLE_LINES[: number - 1], line, *SAMPLE_LINES[number:]]


@pytest.mark.parametrize("size", CT_ROOTS)
def test_roots_are_those_of_certificate_transparency(size):
    tree = MerkleTree()
    for leaf in CT_LEAVES[:size]:
        tree.append(sha256(b"\0" + bytes.fromhex(leaf)).digest())
    assert tree.root().hex() == CT_ROOTS[size]


def test_valid_exports_are_proven():
    proven = "7 of 7 entries are proven to be in the signed tree, sequence 1 to 7: 7 unaltered, 0 erased"
    assert verdict() == f"{ORIGIN}: {proven}."
    assert verdict([*SAMPLE_LINES[:-1], SAMPLE_LINES[-1].removesuffix(b"\n")]) == f"{ORIGIN}: {proven}."
    assert part_verdict(3, 6) == (
        f"{ORIGIN}: 2 of 7 entries are proven to be in the signed tree, sequence 3 to 6: 2 unaltered, 0 erased."
    )
    assert part_verdict() == f"{ORIGIN}: 0 of 7 entries are proven to be in the signed tree: 0 unaltered, 0 erased."
    assert ": 0 of 0 entries" in verdict([], checkpoint=sign_checkpoint(0, MerkleTree().root()))


def test_entries_younger_than_the_checkpoint_are_not_proven():
    longer = build_exported_log([2, 3, 7, 9])
    assert verdict([*longer.lines, build_pending_line(build_leaf_data(10))]).endswith(
        "sequence 1 to 7: 7 unaltered, 0 erased; 3 younger than the checkpoint, not proven."
    )
    assert "7 unaltered, 0 erased; 1 younger" in part_verdict(*range(1, 9), log=longer)


class TestInvalidExport:
    @pytest.mark.parametrize(
        ("edit", "error"),
        [
            (lambda lines: lines[1:], "The entry with sequence 1 is missing"),
            (lambda lines: lines[:-1], "The entry with sequence 7 is missing"),
            (lambda _: [], "The entry with sequence 1 is missing"),
            (lambda lines: lines[::-1], "The entry with sequence 1 is out of order. Line 1 has sequence 7."),
            (lambda lines: lines * 2, "The entry with sequence 1 is out of order. Line 8 has sequence 1."),
            (lambda lines: [lines[0], *lines], "The entry with sequence 1 is there twice. Line 2 has sequence 1."),
            (lambda lines: [*lines[:3], b"\n", *lines[3:]], "Line 4 is no line of an export: it is empty"),
            (
                lambda lines: [build_pending_line(build_leaf_data(8)), *lines],
                "The entry with sequence 1 is out of order. Line 1 has no sequence.",
            ),
            (
                lambda lines: [line.replace(b"\n", b"\r\n") for line in lines],
                "Line 1 is no line of an export: it ends in CR LF",
            ),
            (lambda lines: [b"\xef\xbb\xbf" + lines[0]], "Line 1 is no line"),
            (lambda lines: [b"[" + lines[0]], "Line 1 is no line"),
            (lambda _: [b"id,sequence,type\r\n"], "Line 1 is no line"),
            (lambda lines: [file_header_bytes("csv"), *lines], "This is an export in CSV, which can't be"),
            (lambda _: [b"\xef\xbb\xbf" + file_header_bytes("csv")], "This is an export in CSV"),
            (lambda lines: [*lines, file_header_bytes("csv")], "Line 8 is no line"),
            (lambda lines: [*lines[:6], lines[6][:99]], "Line 7 is no line of an export: its end does not contain"),
            (lambda _: [b',"sequence":null,"integrity":null}'], "Line 1 is no line"),
            (lambda _: [b"{" * (verify.MAX_LINE_BYTES - 1)], "Line 1 is no line of an export: its end does not"),
            (lambda _: [b"{" * verify.MAX_LINE_BYTES], "Line 1 is no line of an export: it is too long"),
        ],
    )
    def test_the_wrong_line_is_reported(self, edit, error):
        assert verdict(edit(SAMPLE_LINES)).startswith(error)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"Engine 4", b"Engine 5"),
            (b'{"actor"', b'{"type":"page.created","actor"'),
            (b',"sequence":4,"int', b',"type":"page.created","sequence":4,"int'),
            (b',"sequence":4,"int', b',"sequence":5,"sequence":4,"int'),
            (b',"sequence":4,"int', b',"erased":true,"sequence":4,"int'),
            (b'{"actor"', b'{ "actor"'),
            (b'"treeSize":7', b'"treeSize":3'),  # before the entry
            (b'"treeSize":7', b'"treeSize":8'),  # after the checkpoint
            (b'"treeSize":7', b'"treeSize":6'),  # smaller than that of other entries of the batch
        ],
    )
    def test_the_altered_entry_is_reported(self, old, new):
        reported = 5 if new == b'"treeSize":6' else 4
        altered = with_line(4, SAMPLE_LINES[3].replace(old, new))
        assert verdict(altered).startswith(f"The entry with sequence {reported} was altered: ")

    @pytest.mark.parametrize(
        ("sequence", "error"),
        [
            (3, "3 is out of order."),
            (4, "4 is there twice."),
            *((n, "5 is missing, and no evidence says that it was left out.") for n in (6, 7, 8, 99)),
        ],
    )
    def test_a_wrong_sequence_is_reported_with_its_line(self, sequence, error):
        altered = SAMPLE_LINES[4].replace(b',"sequence":5,"int', b',"sequence":%d,"int' % sequence)
        assert verdict(with_line(5, altered)) == f"The entry with sequence {error} Line 5 has sequence {sequence}."

    @pytest.mark.parametrize(("sequence", "reported"), [(1, 1), (2, 2), (3, 3), (5, 4), (6, 4), (7, 4), (99, 4)])
    def test_a_wrong_sequence_in_a_filtered_export_is_reported_with_its_line(self, sequence, reported):
        altered = SAMPLE_LINES[3].replace(b',"sequence":4,"int', b',"sequence":%d,"int' % sequence)
        message = verdict([SAMPLE_LINES[0], altered, SAMPLE_LINES[6]], SAMPLE_LOG.evidence_for([1, 4, 7]))
        assert message.startswith(f"The entry with sequence {reported} ")
        assert message.endswith(f" Line 2 has sequence {sequence}.")

    def test_a_text_and_a_hash_that_do_not_match_are_reported(self):
        altered = build_line(build_leaf_data(4), 4, SAMPLE_LOG.leaf_hashes[4], 7)
        assert verdict(with_line(4, altered)).startswith("The entry with sequence 4 was altered: its")
        matching = build_line(build_leaf_data(8), 7, build_exported_log([8]).leaf_hashes[7], 7)
        assert "another root" in verdict(with_line(7, matching))

    def test_only_the_first_error_is_reported(self):
        altered = with_line(6, SAMPLE_LINES[5].replace(b"Engine", b"engine"))
        assert "sequence 2 is missing" in verdict([altered[0], *altered[2:]])


class TestInvalidEvidence:
    PART: Final = (1, 4, 7)

    @pytest.mark.parametrize(
        ("evidence", "error"),
        [
            ([], "The entry with sequence 2 is missing"),
            (SAMPLE_LOG.evidence_for(PART)[:1], "The entry with sequence 5 is missing"),
            (SAMPLE_LOG.evidence_for([1, 2, 4, 7]), "The entry with sequence 2 is missing"),
            (SAMPLE_LOG.evidence_for([4, 7]), "The entry with sequence 1 is there, and"),
            (SAMPLE_LOG.evidence_for([1, 7]), "The entry with sequence 4 is there, and"),
            (SAMPLE_LOG.evidence_for([1, 4]), "The entry with sequence 7 is there, and"),
            (SAMPLE_LOG.evidence_for([]), "The entry with sequence 1 is there, and"),
            (SAMPLE_LOG.evidence_for(PART)[::-1], "The evidence says twice, or too late"),
            (SAMPLE_LOG.evidence_for(PART) * 2, "The evidence says twice, or too late"),
        ],
    )
    def test_the_mismatch_is_reported(self, evidence, error):
        assert verdict(SAMPLE_LOG.lines_of(self.PART), evidence).startswith(error)

    @pytest.mark.parametrize(
        "run",
        [
            {"from": 2, "to": 3, "hashes": ["00" * 32]},
            {"from": 1, "to": 2, "hashes": ["00" * 32] * 2},
            {"from": 2, "to": 2, "hashes": ["00" * 31]},
            {"from": 2, "to": 2, "hashes": ["AA" * 32]},
            {"from": 2, "to": 2, "hashes": [0]},
            {"from": 0, "to": 2, "hashes": ["00" * 32] * 2},
            {"from": 3, "to": 2, "hashes": []},
            {"from": "2", "to": 2, "hashes": ["00" * 32]},
            {"from": 2, "to": 2, "hashes": "00" * 32},
            {"from": 2, "to": 2},
            [],
            None,
        ],
    )
    def test_hashes_that_do_not_match_the_subtrees_are_rejected(self, run):
        assert verdict(evidence=[run]).startswith("This is no evidence")

    @pytest.mark.parametrize(
        "text", ["", "[", '{"evidence": [], "evidence": []}', "[" * 100_000, "\\", '"evidence"', "7"]
    )
    def test_malformed_evidence_is_rejected(self, text):
        with pytest.raises(InvalidInput, match="evidence"):
            parse_omitted_runs(text.encode())

    def test_evidence_beyond_the_checkpoint_is_rejected(self):
        assert "longer log" in part_verdict(1, log=build_exported_log([7, 9]))


class TestCheckpoint:
    NOTE: Final = SAMPLE_LOG.checkpoint.partition("\n\n")[0] + "\n"

    @pytest.mark.parametrize(
        ("checkpoint", "error"),
        [
            (
                sign_checkpoint(7, rfc6962.tree_root(SAMPLE_LOG.leaf_hashes), key=UNTRUSTED_KEY),
                "No --public-key signed the checkpoint: pass each of auditPublicKeys of GET /status.",
            ),
            (
                f"{NOTE}\n{build_signature_line(NOTE, 'atrium/other')}",
                "No --public-key signed the checkpoint: pass each of auditPublicKeys of GET /status.",
            ),
            (
                SAMPLE_LOG.checkpoint.replace("\n7\n", "\n6\n"),
                "The checkpoint was altered: its signature is wrong.",
            ),
        ],
        ids=["another key", "another log", "altered"],
    )
    def test_a_checkpoint_that_is_not_signed_is_rejected(self, checkpoint, error):
        assert verdict(checkpoint=checkpoint) == error

    def test_a_valid_checkpoint_of_other_entries_is_reported(self):
        assert "another root" in verdict(checkpoint=sign_checkpoint(7, bytes(32)))

    def test_a_signature_with_any_of_the_keys_is_accepted(self):
        for keys in ([KEY, UNTRUSTED_KEY], [UNTRUSTED_KEY, KEY], [KEY, KEY]):
            assert "7 unaltered" in verdict(keys=keys)

    def test_all_signatures_with_the_keys_have_to_be_valid(self):
        keys = [KEY, UNTRUSTED_KEY]
        signatures = {text: build_signature_line(text, key=UNTRUSTED_KEY) for text in (self.NOTE, "another")}
        assert "7 unaltered" in verdict(checkpoint=SAMPLE_LOG.checkpoint + signatures[self.NOTE], keys=keys)
        invalid = SAMPLE_LOG.checkpoint + signatures["another"]
        assert "its signature is wrong" in verdict(checkpoint=invalid, keys=keys)

    def test_signatures_of_witnesses_and_additional_newlines_at_the_end_are_ignored(self):
        witness = build_signature_line("anything", "witness.example", UNTRUSTED_KEY)
        for end in (witness, "\n"):
            assert "7 unaltered" in verdict(checkpoint=SAMPLE_LOG.checkpoint + end)

    def test_a_checkpoint_in_an_export_record_is_read_unchanged(self):
        record = {"checkpoint": SAMPLE_LOG.checkpoint, "evidence": SAMPLE_LOG.evidence_for([1])}
        expected = (SAMPLE_LOG.checkpoint.encode(), parse_omitted_runs(json.dumps(record["evidence"]).encode()))
        for text in (json.dumps(record), "\n " + json.dumps(record, indent=2, ensure_ascii=False)):
            assert parse_note_or_record(text.encode()) == expected
        for text in ('{"checkpoint": "a"}', '{"checkpoint": "a", "evidence": null}'):
            assert parse_note_or_record(text.encode()) == (b"a", None)

    @pytest.mark.parametrize(
        "text", [b"{", b'{"checkpoint": "a", "checkpoint": "b"}', b'{"checkpoint": "a", "evidence": 1}', b"{\xff"]
    )
    def test_a_malformed_record_is_rejected(self, text):
        with pytest.raises(InvalidInput, match=r"no JSON|no evidence"):
            parse_note_or_record(text)

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"\n\n",
            b"\xff",
            SAMPLE_LOG.checkpoint.replace("\n", "\r\n").encode(),
            SAMPLE_LOG.checkpoint.replace("\n7\n", "\n07\n").encode(),
            SAMPLE_LOG.checkpoint.replace("— ", "- ").encode(),
            SAMPLE_LOG.checkpoint.partition("\n\n")[0].encode(),
            json.dumps(SAMPLE_LOG.checkpoint).encode(),
            parse_note_or_record(b'{"checkpoint": "\\ud800"}')[0],
        ],
    )
    def test_a_malformed_checkpoint_is_rejected(self, text):
        with pytest.raises(InvalidInput, match=r"^This is no checkpoint: "):
            verify_checkpoint_note(text, base64.b64decode(PUBLIC_KEY))
