"""The offline verifier believes neither the service nor whoever kept the export, and says what it found."""

import base64
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chalicelib.features.audit.exports.logic import verify
from chalicelib.features.audit.exports.logic.entry_formats import file_header
from chalicelib.features.audit.exports.logic.verify import (
    Broken,
    MerkleTree,
    read_checkpoint,
    read_evidence,
    read_record,
)
from tests.harness import rfc6962
from tests.harness.exported_logs import (
    KEY,
    ORIGIN,
    PUBLIC_KEY,
    SAMPLE_LINES,
    SAMPLE_LOG,
    build_exported_log,
    build_leaf_data,
    build_line,
    build_pending_line,
    build_signature_line,
    sign_checkpoint,
    verification_result,
)

STRANGER: Final = Ed25519PrivateKey.from_private_bytes(bytes(32))

# The roots of the trees over the first leaves of Certificate Transparency's own test data (RFC 6962).
CT_LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
CT_ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


@pytest.mark.parametrize("size", CT_ROOTS)
def test_roots_are_those_of_certificate_transparency(size: int) -> None:
    tree = MerkleTree()
    for leaf in CT_LEAVES[:size]:
        tree.append(sha256(b"\0" + bytes.fromhex(leaf)).digest())
    assert tree.root().hex() == CT_ROOTS[size]


class TestWhatIsProven:
    def test_all_of_a_log(self) -> None:
        assert verification_result(SAMPLE_LOG, SAMPLE_LINES) == (
            f"{ORIGIN}: 7 of 7 entries are proven to be in the signed tree, sequence 1 to 7: 7 unaltered, 0 erased."
        )

    def test_a_part_of_a_log(self) -> None:
        part = [3, 6]
        assert verification_result(SAMPLE_LOG, SAMPLE_LOG.lines_of(part), SAMPLE_LOG.evidence_for(part)) == (
            f"{ORIGIN}: 2 of 7 entries are proven to be in the signed tree, sequence 3 to 6: 2 unaltered, 0 erased."
        )

    def test_that_no_entry_is_in_a_part(self) -> None:
        nothing = f"{ORIGIN}: 0 of 7 entries are proven to be in the signed tree: 0 unaltered, 0 erased."
        assert verification_result(SAMPLE_LOG, [], SAMPLE_LOG.evidence_for([])) == nothing

    def test_that_a_log_is_empty(self) -> None:
        empty = build_exported_log([1])
        assert ": 0 of 0 entries" in verification_result(empty, [], checkpoint=sign_checkpoint(0, MerkleTree().root()))

    def test_nothing_of_what_came_after_the_checkpoint(self) -> None:
        longer = build_exported_log([2, 3, 7, 9])
        export = [*longer.lines, build_pending_line(build_leaf_data(10))]
        assert verification_result(SAMPLE_LOG, export).endswith(
            "sequence 1 to 7: 7 unaltered, 0 erased; 3 younger than the checkpoint, not proven."
        )
        part = [*range(1, 9)]
        assert "7 unaltered, 0 erased; 1 younger" in verification_result(
            SAMPLE_LOG, longer.lines_of(part), longer.evidence_for(part)
        )

    def test_a_file_without_a_newline_at_its_end(self) -> None:
        assert "7 unaltered" in verification_result(
            SAMPLE_LOG, [*SAMPLE_LINES[:-1], SAMPLE_LINES[-1].removesuffix(b"\n")]
        )


class TestWhatIsWrongWithAnExport:
    @pytest.mark.parametrize(
        ("edited", "complaint"),
        [
            pytest.param(lambda lines: lines[1:], "The entry with sequence 1 is missing", id="first removed"),
            pytest.param(lambda lines: lines[:-1], "The entry with sequence 7 is missing", id="last removed"),
            pytest.param(lambda _: [], "The entry with sequence 1 is missing", id="all removed"),
            pytest.param(
                lambda lines: lines[::-1],
                "The entry with sequence 1 is out of order. Line 1 has sequence 7.",
                id="newest first",
            ),
            pytest.param(
                lambda lines: lines * 2,
                "The entry with sequence 1 is out of order. Line 8 has sequence 1.",
                id="all twice",
            ),
            pytest.param(
                lambda lines: [lines[0], *lines],
                "The entry with sequence 1 is there twice. Line 2 has sequence 1.",
                id="one twice",
            ),
            pytest.param(
                lambda lines: [*lines[:3], b"\n", *lines[3:]], "Line 4 is no line of an export: it is empty", id="blank"
            ),
            pytest.param(
                lambda lines: [build_pending_line(build_leaf_data(8)), *lines],
                "The entry with sequence 1 is out of order. Line 1 has no sequence.",
                id="youngest first",
            ),
            pytest.param(
                lambda lines: [line.replace(b"\n", b"\r\n") for line in lines],
                "Line 1 is no line of an export: it ends in CR LF",
                id="CR LF",
            ),
            pytest.param(lambda lines: [b"\xef\xbb\xbf" + lines[0]], "Line 1 is no line", id="byte order mark"),
            pytest.param(lambda lines: [b"[" + lines[0]], "Line 1 is no line", id="array"),
            pytest.param(lambda _: [b"id,sequence,type\r\n"], "Line 1 is no line", id="a table"),
            pytest.param(
                lambda lines: [file_header("csv"), *lines], "This is an export in CSV, which can't be", id="CSV"
            ),
            pytest.param(
                lambda _: [b"\xef\xbb\xbf" + file_header("csv")], "This is an export in CSV", id="CSV of Excel"
            ),
            pytest.param(lambda lines: [*lines, file_header("csv")], "Line 8 is no line", id="CSV behind"),
            pytest.param(lambda lines: [*lines[:6], lines[6][:99]], "Line 7 is no line", id="cut off"),
            pytest.param(lambda _: [b',"sequence":null,"integrity":null}'], "Line 1 is no line", id="no object"),
            pytest.param(lambda _: [b"{" + b" " * verify.MAX_LINE_BYTES], "Line 1 is no line", id="too long"),
        ],
    )
    def test_it_says_which_line(self, edited: Callable[[list[bytes]], list[bytes]], complaint: str) -> None:
        assert verification_result(SAMPLE_LOG, edited(SAMPLE_LINES)).startswith(complaint)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            pytest.param(b"Engine 4", b"Engine 5", id="changed"),
            pytest.param(b'{"actor"', b'{"type":"page.created","actor"', id="a name twice, the first of all"),
            pytest.param(b',"sequence":4,"int', b',"type":"page.created","sequence":4,"int', id="a name twice"),
            pytest.param(b',"sequence":4,"int', b',"sequence":5,"sequence":4,"int', id="a sequence twice"),
            pytest.param(b',"sequence":4,"int', b',"erased":true,"sequence":4,"int', id="said to be erased"),
            pytest.param(b'{"actor"', b'{ "actor"', id="written in another way"),
            pytest.param(b'"treeSize":7', b'"treeSize":3', id="in a tree before it was there"),
            pytest.param(b'"treeSize":7', b'"treeSize":8', id="in a tree after the checkpoint"),
            pytest.param(b'"treeSize":7', b'"treeSize":6', id="in a smaller tree than what came with it"),
        ],
    )
    def test_it_says_which_entry_was_altered(self, old: bytes, new: bytes) -> None:
        altered = SAMPLE_LINES[3].replace(old, new)
        assert altered != SAMPLE_LINES[3]
        fourth_or_next = "The entry with sequence 5" if new == b'"treeSize":6' else "The entry with sequence 4"
        assert verification_result(SAMPLE_LOG, [*SAMPLE_LINES[:3], altered, *SAMPLE_LINES[4:]]).startswith(
            f"{fourth_or_next} was altered: "
        )

    @pytest.mark.parametrize(
        ("sequence", "fault"),
        [
            (3, "3 is out of order."),
            (4, "4 is there twice."),
            *((n, "5 is missing, and no evidence says that it was left out.") for n in (6, 7, 8, 99)),
        ],
    )
    def test_a_wrong_sequence_is_told_by_its_line(self, sequence: int, fault: str) -> None:
        altered = SAMPLE_LINES[4].replace(b',"sequence":5,"int', b',"sequence":%d,"int' % sequence)
        found = verification_result(SAMPLE_LOG, [*SAMPLE_LINES[:4], altered, *SAMPLE_LINES[5:]])
        assert found == f"The entry with sequence {fault} Line 5 has sequence {sequence}."

    @pytest.mark.parametrize(("sequence", "named"), [(1, 1), (2, 2), (3, 3), (5, 4), (6, 4), (7, 4), (99, 4)])
    def test_a_wrong_sequence_in_a_part_is_told_by_its_line(self, sequence: int, named: int) -> None:
        part = [1, 4, 7]
        altered = SAMPLE_LINES[3].replace(b',"sequence":4,"int', b',"sequence":%d,"int' % sequence)
        found = verification_result(
            SAMPLE_LOG, [SAMPLE_LINES[0], altered, SAMPLE_LINES[6]], SAMPLE_LOG.evidence_for(part)
        )
        assert found.startswith(f"The entry with sequence {named} ")
        assert found.endswith(f" Line 2 has sequence {sequence}.")

    def test_an_altered_hash_is_held_against_the_text(self) -> None:
        altered = build_line(build_leaf_data(4), 4, SAMPLE_LOG.leaf_hashes[4], 7)
        assert verification_result(SAMPLE_LOG, [*SAMPLE_LINES[:3], altered, *SAMPLE_LINES[4:]]).startswith(
            "The entry with sequence 4 was altered: its"
        )

    def test_an_altered_entry_with_its_own_hash_is_not_what_was_signed(self) -> None:
        other = build_exported_log([8])
        assert "another root" in verification_result(
            SAMPLE_LOG, [*SAMPLE_LINES[:6], build_line(build_leaf_data(8), 7, other.leaf_hashes[7], 7)]
        )

    def test_the_first_fault_is_the_one_that_is_told(self) -> None:
        altered = SAMPLE_LINES[5].replace(b"Engine", b"engine")
        assert "sequence 2 is missing" in verification_result(
            SAMPLE_LOG, [SAMPLE_LINES[0], *SAMPLE_LINES[2:5], altered, SAMPLE_LINES[6]]
        )


class TestWhatIsWrongWithEvidence:
    PART: Final = (1, 4, 7)

    @pytest.mark.parametrize(
        ("evidence", "complaint"),
        [
            pytest.param([], "The entry with sequence 2 is missing", id="none"),
            pytest.param(SAMPLE_LOG.evidence_for(PART)[:1], "The entry with sequence 5 is missing", id="too little"),
            pytest.param(SAMPLE_LOG.evidence_for([1, 2, 4, 7]), "The entry with sequence 2 is missing", id="too late"),
            pytest.param(
                SAMPLE_LOG.evidence_for([4, 7]), "The entry with sequence 1 is there, and", id="over the one before"
            ),
            pytest.param(
                SAMPLE_LOG.evidence_for([1, 7]), "The entry with sequence 4 is there, and", id="over the next one"
            ),
            pytest.param(
                SAMPLE_LOG.evidence_for([1, 4]), "The entry with sequence 7 is there, and", id="over the last one"
            ),
            pytest.param(SAMPLE_LOG.evidence_for([]), "The entry with sequence 1 is there, and", id="over all"),
            pytest.param(SAMPLE_LOG.evidence_for(PART)[::-1], "The evidence says twice, or too late", id="backwards"),
            pytest.param(SAMPLE_LOG.evidence_for(PART) * 2, "The evidence says twice, or too late", id="doubled"),
        ],
    )
    def test_it_says_where_it_does_not_fit(self, evidence: Any, complaint: str) -> None:
        assert verification_result(SAMPLE_LOG, SAMPLE_LOG.lines_of(self.PART), evidence).startswith(complaint)

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
    def test_hashes_that_are_not_those_of_the_subtrees_are_refused(self, run: Any) -> None:
        assert verification_result(SAMPLE_LOG, SAMPLE_LINES, [run]).startswith("This is no evidence")

    @pytest.mark.parametrize(
        "text", ["", "[", '{"evidence": [], "evidence": []}', "[" * 100_000, "\\", '"evidence"', "7"]
    )
    def test_what_is_no_evidence_is_refused(self, text: str) -> None:
        with pytest.raises(Broken, match="evidence"):
            read_evidence(text.encode())

    def test_evidence_beyond_the_checkpoint_proves_nothing(self) -> None:
        longer = build_exported_log([7, 9])
        assert "longer log" in verification_result(SAMPLE_LOG, longer.lines_of([1]), longer.evidence_for([1]))


class TestWhatIsWrongWithACheckpoint:
    def test_one_that_another_key_signed(self) -> None:
        anothers = sign_checkpoint(7, rfc6962.tree_root(SAMPLE_LOG.leaf_hashes), key=STRANGER)
        assert (
            verification_result(SAMPLE_LOG, SAMPLE_LINES, checkpoint=anothers)
            == "The checkpoint is not signed with a key that was given."
        )

    def test_one_whose_key_has_signed_another(self) -> None:
        altered = SAMPLE_LOG.checkpoint.replace("\n7\n", "\n6\n")
        assert (
            verification_result(SAMPLE_LOG, SAMPLE_LINES, checkpoint=altered)
            == "The checkpoint was altered: its signature is wrong."
        )

    def test_one_that_is_signed_as_another_log(self) -> None:
        text = SAMPLE_LOG.checkpoint.partition("\n\n")[0] + "\n"
        other = f"{text}\n{build_signature_line(text, 'atrium/other')}"
        assert (
            verification_result(SAMPLE_LOG, SAMPLE_LINES, checkpoint=other)
            == "The checkpoint is not signed with a key that was given."
        )

    def test_one_that_any_of_the_keys_given_has_signed_counts(self) -> None:
        for keys in ([KEY, STRANGER], [STRANGER, KEY], [KEY, KEY]):
            assert "7 unaltered" in verification_result(SAMPLE_LOG, SAMPLE_LINES, keys=keys)

    def test_one_that_two_of_the_keys_have_signed_is_altered_if_one_of_them_signed_another(self) -> None:
        by_both = SAMPLE_LOG.checkpoint + build_signature_line(
            SAMPLE_LOG.checkpoint.partition("\n\n")[0] + "\n", key=STRANGER
        )
        by_one = SAMPLE_LOG.checkpoint + build_signature_line("another", key=STRANGER)
        assert "7 unaltered" in verification_result(SAMPLE_LOG, SAMPLE_LINES, checkpoint=by_both, keys=[KEY, STRANGER])
        assert "its signature is wrong" in verification_result(
            SAMPLE_LOG, SAMPLE_LINES, checkpoint=by_one, keys=[KEY, STRANGER]
        )

    def test_a_good_one_of_other_entries(self) -> None:
        assert "another root" in verification_result(SAMPLE_LOG, SAMPLE_LINES, checkpoint=sign_checkpoint(7, bytes(32)))

    def test_signatures_of_others_count_neither_for_nor_against_it(self) -> None:
        witnessed = SAMPLE_LOG.checkpoint + build_signature_line("anything", "witness.example", STRANGER)
        assert "7 unaltered" in verification_result(SAMPLE_LOG, SAMPLE_LINES, checkpoint=witnessed)

    def test_one_in_a_record_is_read_as_it_was_signed(self) -> None:
        record = {"checkpoint": SAMPLE_LOG.checkpoint, "evidence": SAMPLE_LOG.evidence_for([1])}
        for text in (json.dumps(record), "\n " + json.dumps(record, indent=2, ensure_ascii=False)):
            assert read_record(text.encode()) == (
                SAMPLE_LOG.checkpoint.encode(),
                read_evidence(json.dumps(record["evidence"]).encode()),
            )

    @pytest.mark.parametrize("evidence", [{}, {"evidence": None}])
    def test_a_record_without_evidence_has_a_checkpoint_still(self, evidence: dict[str, None]) -> None:
        assert read_record(json.dumps({"checkpoint": "a", **evidence}).encode()) == (b"a", None)

    @pytest.mark.parametrize(
        "text", [b"{", b'{"checkpoint": "a", "checkpoint": "b"}', b'{"checkpoint": "a", "evidence": 1}', b"{\xff"]
    )
    def test_a_record_that_is_none_is_refused(self, text: bytes) -> None:
        with pytest.raises(Broken, match=r"no JSON|no evidence"):
            read_record(text)

    def test_a_text_that_is_no_unicode_is_refused(self) -> None:
        with pytest.raises(Broken, match="This is no checkpoint"):
            read_checkpoint(read_record(b'{"checkpoint": "\\ud800"}')[0], base64.b64decode(PUBLIC_KEY))

    def test_newlines_that_a_shell_added_do_no_harm(self) -> None:
        assert "7 unaltered" in verification_result(SAMPLE_LOG, SAMPLE_LINES, checkpoint=SAMPLE_LOG.checkpoint + "\n")

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
        ],
    )
    def test_what_is_no_checkpoint_is_refused(self, text: bytes) -> None:
        with pytest.raises(Broken, match="checkpoint"):
            read_checkpoint(text, base64.b64decode(PUBLIC_KEY))
