"""The offline verifier accepts an erased entry only if the service has signed its erasure."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chalicelib.features.audit.exports.logic.verify import main
from tests.harness import audit_logs
from tests.harness.api import ApiClient
from tests.harness.clock import Clock
from tests.harness.erasures import complete_erasure
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
from tests.harness.organizations import CreatedOrganization
from tests.harness.workers import Workers

UNTRUSTED_KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(32))
NEW_KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
LOG_WITH_ERASURES: Final = build_exported_log([2, 3, 7], erased_sequences=[4, 5])
UNSIGNED_ERROR: Final = (
    "The entry with sequence 4 was altered: it calls itself erased, and no key that was given signed this. If the "
    "service had another key when it was erased, name that too, by one more --public-key; GET /status lists former "
    "ones as auditPublicKeys."
)

EditLine = Callable[[bytes], bytes]
CaptureFixture = pytest.CaptureFixture[str]


def replace_fourth_line(fourth: bytes) -> list[bytes]:
    """Return the lines of the log with two erased entries, with another fourth line."""
    assert fourth != LOG_WITH_ERASURES.lines[3]
    return [*LOG_WITH_ERASURES.lines[:3], fourth, *LOG_WITH_ERASURES.lines[4:]]


def fourth_line_signed_by(signature: str | None) -> bytes:
    """Return the line of the fourth entry with another signature, or with none."""
    return build_line(LOG_WITH_ERASURES.entry_texts[3], 4, LOG_WITH_ERASURES.leaf_hashes[3], 7, signature)


class TestValidErasure:
    def test_erased_entries_are_counted(self):
        assert verification_result(LOG_WITH_ERASURES, LOG_WITH_ERASURES.lines).endswith(
            "sequence 1 to 7: 5 unaltered, 2 erased."
        )

    def test_erased_entries_of_a_filtered_export_are_counted(self):
        part = [1, 4, 7]
        assert verification_result(
            LOG_WITH_ERASURES, LOG_WITH_ERASURES.lines_of(part), LOG_WITH_ERASURES.evidence_for(part)
        ).endswith("sequence 1 to 7: 2 unaltered, 1 erased.")

    def test_a_log_of_erased_entries_is_proven(self):
        log = build_exported_log([2, 3, 7], erased_sequences=range(1, 8))
        assert verification_result(SAMPLE_LOG, log.lines).endswith("sequence 1 to 7: 0 unaltered, 7 erased.")

    def test_an_erased_entry_of_the_system_log_is_proven(self):
        log = build_exported_log([1], erased_sequences=[1], log_id="system-7")
        assert "0 unaltered, 1 erased" in verification_result(
            log, log.lines, checkpoint=sign_checkpoint(1, log.leaf_hashes[0], "atrium/system-7")
        )
        other_logs = [
            build_exported_log([1], erased_sequences=[1]),
            build_exported_log([1], erased_sequences=[1], log_id="system-8"),
        ]
        for other in other_logs:
            assert "was altered" in verification_result(
                log, other.lines, checkpoint=sign_checkpoint(1, log.leaf_hashes[0], "atrium/system-7")
            )


class TestInvalidErasure:
    @pytest.mark.parametrize("sequence", range(1, 8))
    def test_an_unsigned_erasure_is_reported_with_its_sequence(self, sequence):
        forged = build_line(
            build_exported_log([7], erased_sequences=[sequence]).entry_texts[sequence - 1],
            sequence,
            SAMPLE_LOG.leaf_hashes[sequence - 1],
            7,
        )
        message = verification_result(SAMPLE_LOG, [*SAMPLE_LINES[: sequence - 1], forged, *SAMPLE_LINES[sequence:]])
        assert message == UNSIGNED_ERROR.replace("sequence 4", f"sequence {sequence}")

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            pytest.param(b'"organization.updated"', b'"organization.created"', id="type"),
            pytest.param(b"T09:30:00.000Z", b"T09:30:00.001Z", id="time"),
            pytest.param(b'7000-8000-000000000004"', b'7000-8000-000000000005"', id="id"),
            pytest.param(b'"treeSize":7', b'"treeSize":5', id="tree size"),
            pytest.param(
                LOG_WITH_ERASURES.leaf_hashes[3].hex().encode(),
                LOG_WITH_ERASURES.leaf_hashes[4].hex().encode(),
                id="hash",
            ),
        ],
    )
    def test_an_altered_field_is_reported(self, old, new):
        altered = LOG_WITH_ERASURES.lines[3].replace(old, new)
        assert verification_result(LOG_WITH_ERASURES, replace_fourth_line(altered)) == UNSIGNED_ERROR

    @pytest.mark.parametrize(
        "signature",
        [
            pytest.param(None, id="none"),
            pytest.param("", id="empty"),
            pytest.param("AA==", id="too short"),
            pytest.param("=" * 88, id="not base64"),
            pytest.param(base64.b64encode(bytes(64)).decode(), id="zeros"),
            pytest.param(LOG_WITH_ERASURES.erasure_signatures[5], id="another entry"),
            pytest.param(sign_erasure(4, 7, LOG_WITH_ERASURES.leaf_hashes[4]), id="another hash"),
            pytest.param(sign_erasure(4, 8, LOG_WITH_ERASURES.leaf_hashes[3]), id="another tree size"),
            pytest.param(
                sign_erasure(4, 7, LOG_WITH_ERASURES.leaf_hashes[3], LOG_ID.replace("a", "b")), id="another log"
            ),
            pytest.param(sign_erasure(4, 7, LOG_WITH_ERASURES.leaf_hashes[3], key=UNTRUSTED_KEY), id="another key"),
            pytest.param(
                base64.b64encode(base64.b64decode(LOG_WITH_ERASURES.checkpoint.split()[-1])[4:]).decode(),
                id="checkpoint",
            ),
        ],
    )
    def test_any_other_signature_is_reported(self, signature):
        assert (
            verification_result(LOG_WITH_ERASURES, replace_fourth_line(fourth_line_signed_by(signature)))
            == UNSIGNED_ERROR
        )

    def test_a_signature_with_another_encoding_is_reported(self):
        signature = LOG_WITH_ERASURES.erasure_signatures[4]
        assert signature[-3] in "AQgw"  # The four bits after the last byte are zero.
        assert (
            verification_result(
                LOG_WITH_ERASURES,
                replace_fourth_line(fourth_line_signed_by(f"{signature[:-3]}{chr(ord(signature[-3]) + 1)}==")),
            )
            == UNSIGNED_ERROR
        )

    def test_an_entry_that_was_altered_before_its_erasure_is_reported(self):
        unsigned = LOG_WITH_ERASURES.lines[3].replace(f'"{LOG_WITH_ERASURES.erasure_signatures[4]}"'.encode(), b"null")
        assert verification_result(LOG_WITH_ERASURES, replace_fourth_line(unsigned)) == (
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
        altered = LOG_WITH_ERASURES.lines[3].replace(old, new)
        assert verification_result(LOG_WITH_ERASURES, replace_fourth_line(altered)) == (
            "The entry with sequence 4 was altered: it is signed as erased, and says more than is left then."
        )

    @pytest.mark.parametrize(
        "signature", [LOG_WITH_ERASURES.erasure_signatures[4], LOG_WITH_ERASURES.erasure_signatures[5], ""]
    )
    def test_an_erasure_signature_on_an_entry_that_is_not_erased_is_reported(self, signature):
        signed = build_line(SAMPLE_LOG.entry_texts[3], 4, SAMPLE_LOG.leaf_hashes[3], 7, signature or "=")
        assert verification_result(LOG_WITH_ERASURES, replace_fourth_line(signed)).startswith(
            "The entry with sequence 4 was altered: it is signed as"
        )

    def test_the_original_text_of_an_erased_entry_is_unaltered(self):
        assert verification_result(LOG_WITH_ERASURES, replace_fourth_line(SAMPLE_LINES[3])).endswith(
            "6 unaltered, 1 erased."
        )


class TestFormerKey:
    CHECKPOINT: Final = sign_checkpoint(7, base64.b64decode(LOG_WITH_ERASURES.checkpoint.split()[2]), key=NEW_KEY)

    @pytest.mark.parametrize("keys", [[NEW_KEY, KEY], [KEY, NEW_KEY], [UNTRUSTED_KEY, KEY, NEW_KEY]])
    def test_erasures_are_proven_with_both_keys(self, keys):
        assert verification_result(
            LOG_WITH_ERASURES, LOG_WITH_ERASURES.lines, checkpoint=self.CHECKPOINT, keys=keys
        ).endswith("5 unaltered, 2 erased.")

    @pytest.mark.parametrize("keys", [[NEW_KEY], [NEW_KEY, UNTRUSTED_KEY]])
    def test_an_erasure_without_its_key_is_reported(self, keys):
        assert (
            verification_result(LOG_WITH_ERASURES, LOG_WITH_ERASURES.lines, checkpoint=self.CHECKPOINT, keys=keys)
            == UNSIGNED_ERROR
        )

    def test_other_entries_do_not_need_the_former_key(self):
        assert "7 unaltered" in verification_result(
            SAMPLE_LOG, SAMPLE_LINES, checkpoint=self.CHECKPOINT, keys=[NEW_KEY]
        )


class TestLogsOfTheService:
    @pytest.fixture
    def export_for_verification(
        self, api: ApiClient, organization: CreatedOrganization, workers: Workers, tmp_path: Path
    ) -> Callable[[], list[str]]:
        """A function that exports the log with its checkpoint, and returns the arguments that verify the export."""

        def export() -> list[str]:
            workers.run_until_idle()
            response = api.get(f"{organization.path}/audit-log/export", caller=organization.owner)
            (tmp_path / "export").write_text(response.text, encoding="utf-8", newline="")
            (tmp_path / "checkpoint").write_text(audit_logs.verify_integrity(api, organization)["checkpoint"])
            keys = api.get("/status").json["auditPublicKeys"]
            key_arguments = [argument for key in keys for argument in ("--public-key", key)]
            return [str(tmp_path / "export"), "--checkpoint", str(tmp_path / "checkpoint"), *key_arguments]

        return export

    @pytest.fixture
    def erased_count(self, api: ApiClient, organization: CreatedOrganization, workers: Workers, clock: Clock) -> int:
        """The number of entries that the erasure of a member has erased."""
        workers.run_until_idle()
        *_, member = api.get_items(f"{organization.path}/members", caller=organization.owner)
        return int(complete_erasure(api, workers, clock, organization, userId=member["userId"])["erasedEntries"])

    def test_only_erased_entries_have_an_erasure_signature(self, api, organization, erased_count):
        entries = audit_logs.list_entries(api, organization)
        signed_entries = [entry for entry in entries if "erasureSignature" in (entry["integrity"] or {})]
        assert [entry["sequence"] for entry in signed_entries] == [e["sequence"] for e in entries if "erased" in e]
        assert len(signed_entries) == erased_count > 0
        assert all(
            re.fullmatch("[A-Za-z0-9+/]{91}=", entry["integrity"]["erasureSignature"]) for entry in signed_entries
        )

    def test_csv_contains_no_erasure_signatures(self, api, organization, erased_count):
        csv = api.get(f"{organization.path}/audit-log/export", caller=organization.owner, query={"format": "csv"}).text
        assert csv.count(',"true"\r\n') == erased_count
        signatures = [
            entry["integrity"].get("erasureSignature") for entry in audit_logs.list_entries(api, organization)
        ]
        assert not any(signature in csv for signature in signatures if signature)

    def test_no_entry_can_be_presented_as_erased(self, export_for_verification, erased_count, capsys):
        arguments = export_for_verification()
        assert main(arguments) == 0
        assert f" {erased_count} erased" in capsys.readouterr().out
        lines = Path(arguments[0]).read_bytes().splitlines(keepends=True)
        for number, line_text in enumerate(lines):
            entry = json.loads(line_text)
            position_fields = f',"sequence":{entry["sequence"]},"integrity":'
            forged_fields = dict.fromkeys(entry) | {
                **{name: entry[name] for name in ("id", "type", "occurredAt", "organizationId")},
                "changes": [],
                "erased": True,
            }
            forged_fields = {
                name: value for name, value in sorted(forged_fields.items()) if name not in ("sequence", "integrity")
            }
            forged = (
                json.dumps(forged_fields, separators=(",", ":"))[:-1].encode()
                + line_text[line_text.rindex(position_fields.encode()) :]
            )
            Path(arguments[0]).write_bytes(b"".join([*lines[:number], forged, *lines[number + 1 :]]))
            if "erased" in entry:
                assert forged == line_text
                continue
            assert main(arguments) == 1
            assert f"sequence {number + 1} was altered: it calls itself erased" in capsys.readouterr().out

    @pytest.mark.usefixtures("erased_count")
    def test_a_log_is_proven_with_the_former_and_the_current_key(
        self, api, organization, export_for_verification, configure, capsys
    ):
        former = api.get("/status").json["auditPublicKey"]
        configure(
            audit_signing_key=base64.b64encode(NEW_KEY.private_bytes_raw()).decode(), audit_former_public_keys=former
        )
        api.patch(organization.path, caller=organization.owner, json={"name": "Newer"})
        arguments = export_for_verification()
        assert main(arguments) == 0
        assert main(arguments[:-2]) == 1
        assert "name that too, by one more --public-key" in capsys.readouterr().out

    def test_an_entry_altered_before_its_erasure_is_reported(
        self, api, organization, workers, clock, export_for_verification, capsys
    ):
        workers.run_until_idle()
        *_, member = api.get_items(f"{organization.path}/members", caller=organization.owner)
        entry = next(e for e in audit_logs.list_entries(api, organization)[::-1] if member["userId"] in json.dumps(e))
        stored = audit_logs.entry_item(organization, entry["sequence"])
        audit_logs.alter_item(stored, body=stored["body"].replace(b'"type":"organization', b'"type":"organisation'))
        complete_erasure(api, workers, clock, organization, userId=member["userId"])
        erased_entry = next(e for e in audit_logs.list_entries(api, organization) if e["id"] == entry["id"])
        assert (erased_entry["erased"], erased_entry["integrity"]["erasureSignature"]) == (True, None)
        arguments = export_for_verification()
        capsys.readouterr()
        assert main(arguments) == 1
        assert capsys.readouterr().out == (
            f"The entry with sequence {entry['sequence']} was altered: it says that the service found it so when it "
            "was erased.\n"
        )
