"""The offline verifier accepts an erased entry only if the service has signed its erasure."""

import base64
from collections.abc import Iterable
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.harness.exported_logs import (
    KEY,
    LOG_ID,
    SAMPLE_LINES,
    SAMPLE_LOG,
    build_exported_log,
    build_line,
    sign_checkpoint,
    sign_erasure,
    verification_result,
)

UNTRUSTED_KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(32))
NEW_KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
LOG_WITH_ERASURES: Final = build_exported_log([2, 3, 7], erased_sequences=[4, 5])
HASHES: Final = LOG_WITH_ERASURES.leaf_hashes
SIGNATURE: Final = LOG_WITH_ERASURES.erasure_signatures[4]
UNSIGNED_ERROR: Final = (
    "The entry with sequence 4 was altered: it calls itself erased, and no --public-key signed it: pass all "
    "auditPublicKeys of /status."
)

CHECKPOINT_OF_NEW_KEY: Final = sign_checkpoint(
    7, base64.b64decode(LOG_WITH_ERASURES.checkpoint.split()[2]), key=NEW_KEY
)


def verdict(lines: Iterable[bytes], **options: Any) -> str:
    """Return what the verifier proves about lines of the log with two erased entries, or the message of its error."""
    return verification_result(LOG_WITH_ERASURES, lines, **options)


def verdict_on_fourth(fourth: bytes) -> str:
    """Return the same about that log with another fourth line."""
    assert fourth != LOG_WITH_ERASURES.lines[3]
    return verdict([*LOG_WITH_ERASURES.lines[:3], fourth, *LOG_WITH_ERASURES.lines[4:]])


class TestValidErasure:
    def test_erased_entries_are_counted(self):
        part = [1, 4, 7]
        lines, evidence = LOG_WITH_ERASURES.lines_of(part), LOG_WITH_ERASURES.evidence_for(part)
        assert verdict(LOG_WITH_ERASURES.lines).endswith("sequence 1 to 7: 5 unaltered, 2 erased.")
        assert verdict(lines, evidence=evidence).endswith("sequence 1 to 7: 2 unaltered, 1 erased.")
        log = build_exported_log([2, 3, 7], erased_sequences=range(1, 8))
        assert verdict(log.lines).endswith("sequence 1 to 7: 0 unaltered, 7 erased.")

    def test_an_erased_entry_of_the_system_log_is_proven(self):
        log = build_exported_log([1], erased_sequences=[1], log_id="system-7")
        checkpoint = sign_checkpoint(1, log.leaf_hashes[0], "atrium/system-7")
        assert "0 unaltered, 1 erased" in verdict(log.lines, checkpoint=checkpoint)
        for other_log in ({}, {"log_id": "system-8"}):
            other = build_exported_log([1], erased_sequences=[1], **other_log)
            assert "was altered" in verdict(other.lines, checkpoint=checkpoint)

    def test_the_original_text_of_an_erased_entry_is_unaltered(self):
        assert verdict_on_fourth(SAMPLE_LINES[3]).endswith("6 unaltered, 1 erased.")


class TestInvalidErasure:
    @pytest.mark.parametrize("sequence", range(1, 8))
    def test_an_unsigned_erasure_is_reported_with_its_sequence(self, sequence):
        text = build_exported_log([7], erased_sequences=[sequence]).entry_texts[sequence - 1]
        forged = build_line(text, sequence, SAMPLE_LOG.leaf_hashes[sequence - 1], 7)
        message = verdict([*SAMPLE_LINES[: sequence - 1], forged, *SAMPLE_LINES[sequence:]])
        assert message == UNSIGNED_ERROR.replace("sequence 4", f"sequence {sequence}")

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b'"organization.updated"', b'"organization.created"'),
            (b"T09:30:00.000Z", b"T09:30:00.001Z"),
            (b'7000-8000-000000000004"', b'7000-8000-000000000005"'),
            (b'"treeSize":7', b'"treeSize":5'),
            (HASHES[3].hex().encode(), HASHES[4].hex().encode()),
        ],
        ids=["type", "time", "id", "tree size", "hash"],
    )
    def test_an_altered_field_is_reported(self, old, new):
        assert verdict_on_fourth(LOG_WITH_ERASURES.lines[3].replace(old, new)) == UNSIGNED_ERROR

    @pytest.mark.parametrize(
        "signature",
        [
            None,
            "",
            "AA==",
            "=" * 88,
            base64.b64encode(bytes(64)).decode(),
            LOG_WITH_ERASURES.erasure_signatures[5],
            sign_erasure(4, 7, HASHES[4]),
            sign_erasure(4, 8, HASHES[3]),
            sign_erasure(4, 7, HASHES[3], LOG_ID.replace("a", "b")),
            sign_erasure(4, 7, HASHES[3], key=UNTRUSTED_KEY),
            base64.b64encode(base64.b64decode(LOG_WITH_ERASURES.checkpoint.split()[-1])[4:]).decode(),
            f"{SIGNATURE[:-3]}{chr(ord(SIGNATURE[-3]) + 1)}==",  # the same bytes in another encoding
        ],
    )
    def test_any_other_signature_is_reported(self, signature):
        assert SIGNATURE[-3] in "AQgw"  # The four bits after the last byte are zero.
        line = build_line(LOG_WITH_ERASURES.entry_texts[3], 4, HASHES[3], 7, signature)
        assert verdict_on_fourth(line) == UNSIGNED_ERROR

    def test_an_entry_that_was_altered_before_its_erasure_is_reported(self):
        assert verdict_on_fourth(LOG_WITH_ERASURES.lines[3].replace(f'"{SIGNATURE}"'.encode(), b"null")) == (
            "The entry with sequence 4 was altered: it says that the service found it so when it was erased."
        )

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (f'"organizationId":"{LOG_ID}"'.encode(), b'"organizationId":"01939d3c-0000-7000-8000-00000000000b"'),
            (f'"organizationId":"{LOG_ID}"'.encode(), b'"organizationId":null'),
            (b'"actor":null', b'"actor":{"type":"user","id":null,"name":"Mallory"}'),
            (b'"changes":[]', b'"changes":[{"field":"name","from":"a","to":"b"}]'),
            (b'"erased":true', b'"erased":false'),
            (b'"data":null,', b""),
            (b'"2026-11-20T', b'"yesterday T'),
        ],
    )
    def test_an_erased_entry_with_other_data_is_reported(self, old, new):
        assert verdict_on_fourth(LOG_WITH_ERASURES.lines[3].replace(old, new)) == (
            "The entry with sequence 4 was altered: it is signed as erased, and says more than is left then."
        )

    @pytest.mark.parametrize("signature", [SIGNATURE, LOG_WITH_ERASURES.erasure_signatures[5], "="])
    def test_an_erasure_signature_on_an_entry_that_is_not_erased_is_reported(self, signature):
        signed = build_line(SAMPLE_LOG.entry_texts[3], 4, SAMPLE_LOG.leaf_hashes[3], 7, signature)
        assert verdict_on_fourth(signed).startswith("The entry with sequence 4 was altered: it is signed as")


@pytest.mark.parametrize(
    ("keys", "is_proven"),
    [
        ([NEW_KEY, KEY], True),
        ([KEY, NEW_KEY], True),
        ([UNTRUSTED_KEY, KEY, NEW_KEY], True),
        ([NEW_KEY], False),
        ([NEW_KEY, UNTRUSTED_KEY], False),
    ],
)
def test_erasures_are_proven_with_the_former_and_the_new_key(keys, is_proven):
    message = verdict(LOG_WITH_ERASURES.lines, checkpoint=CHECKPOINT_OF_NEW_KEY, keys=keys)
    assert message.endswith("5 unaltered, 2 erased.") if is_proven else message == UNSIGNED_ERROR
    assert "7 unaltered" in verdict(SAMPLE_LINES, checkpoint=CHECKPOINT_OF_NEW_KEY, keys=keys)
