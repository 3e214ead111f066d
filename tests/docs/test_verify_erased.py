"""The offline verifier believes that an entry was erased if the service has signed it, and for no other reason."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from chalicelib.features.audit.exports.logic.verify import main
from tests.conftest import SettingsOverride
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

STRANGER: Final = Ed25519PrivateKey.from_private_bytes(bytes(32))
NEWER: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
ERASED: Final = build_exported_log([2, 3, 7], erased_sequences=[4, 5])
UNSIGNED: Final = (
    "The entry with sequence 4 was altered: it calls itself erased, and no key that was given signed this. If the "
    "service had another key when it was erased, name that too, by one more --public-key; GET /status lists former "
    "ones as auditPublicKeys."
)

Edit = Callable[[bytes], bytes]
Captured = pytest.CaptureFixture[str]


def with_fourth(fourth: bytes) -> list[bytes]:
    """The lines of the log in which two are erased, with another one in the place of the fourth."""
    assert fourth != ERASED.lines[3]
    return [*ERASED.lines[:3], fourth, *ERASED.lines[4:]]


def signed_by(signature: str | None) -> bytes:
    """The line of the fourth entry with another signature, or without."""
    return build_line(ERASED.entry_texts[3], 4, ERASED.leaf_hashes[3], 7, signature)


class TestWhatIsProven:
    def test_where_erased_entries_were(self) -> None:
        assert verification_result(ERASED, ERASED.lines).endswith("sequence 1 to 7: 5 unaltered, 2 erased.")

    def test_that_they_are_in_a_part(self) -> None:
        part = [1, 4, 7]
        assert verification_result(ERASED, ERASED.lines_of(part), ERASED.evidence_for(part)).endswith(
            "sequence 1 to 7: 2 unaltered, 1 erased."
        )

    def test_of_a_log_of_which_all_was_erased_nothing_else(self) -> None:
        log = build_exported_log([2, 3, 7], erased_sequences=range(1, 8))
        assert verification_result(SAMPLE_LOG, log.lines).endswith("sequence 1 to 7: 0 unaltered, 7 erased.")

    def test_where_one_was_in_the_services_own_log(self) -> None:
        log = build_exported_log([1], erased_sequences=[1], log_id="system-7")
        assert "0 unaltered, 1 erased" in verification_result(
            log, log.lines, checkpoint=sign_checkpoint(1, log.leaf_hashes[0], "atrium/system-7")
        )
        others = [
            build_exported_log([1], erased_sequences=[1]),
            build_exported_log([1], erased_sequences=[1], log_id="system-8"),
        ]
        for other in others:
            assert "was altered" in verification_result(
                log, other.lines, checkpoint=sign_checkpoint(1, log.leaf_hashes[0], "atrium/system-7")
            )


class TestWhatIsWrong:
    @pytest.mark.parametrize("sequence", range(1, 8))
    def test_whatever_only_calls_itself_erased_is_found_at_its_sequence(self, sequence: int) -> None:
        forged = build_line(
            build_exported_log([7], erased_sequences=[sequence]).entry_texts[sequence - 1],
            sequence,
            SAMPLE_LOG.leaf_hashes[sequence - 1],
            7,
        )
        found = verification_result(SAMPLE_LOG, [*SAMPLE_LINES[: sequence - 1], forged, *SAMPLE_LINES[sequence:]])
        assert found == UNSIGNED.replace("sequence 4", f"sequence {sequence}")

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            pytest.param(b'"organization.updated"', b'"organization.created"', id="type"),
            pytest.param(b"T09:30:00.000Z", b"T09:30:00.001Z", id="time"),
            pytest.param(b'7000-8000-000000000004"', b'7000-8000-000000000005"', id="id"),
            pytest.param(b'"treeSize":7', b'"treeSize":5', id="tree size"),
            pytest.param(ERASED.leaf_hashes[3].hex().encode(), ERASED.leaf_hashes[4].hex().encode(), id="hash"),
        ],
    )
    def test_whatever_else_is_said_of_one_is_found(self, old: bytes, new: bytes) -> None:
        altered = ERASED.lines[3].replace(old, new)
        assert verification_result(ERASED, with_fourth(altered)) == UNSIGNED

    @pytest.mark.parametrize(
        "signature",
        [
            pytest.param(None, id="none"),
            pytest.param("", id="empty"),
            pytest.param("AA==", id="too short"),
            pytest.param("=" * 88, id="no base64"),
            pytest.param(base64.b64encode(bytes(64)).decode(), id="zeros"),
            pytest.param(ERASED.erasure_signatures[5], id="another entry's"),
            pytest.param(sign_erasure(4, 7, ERASED.leaf_hashes[4]), id="that of another hash"),
            pytest.param(sign_erasure(4, 8, ERASED.leaf_hashes[3]), id="that of another tree size"),
            pytest.param(sign_erasure(4, 7, ERASED.leaf_hashes[3], LOG_ID.replace("a", "b")), id="that of another log"),
            pytest.param(sign_erasure(4, 7, ERASED.leaf_hashes[3], key=STRANGER), id="that of another key"),
            pytest.param(
                base64.b64encode(base64.b64decode(ERASED.checkpoint.split()[-1])[4:]).decode(), id="the checkpoint's"
            ),
        ],
    )
    def test_any_other_signature_is_found(self, signature: str | None) -> None:
        assert verification_result(ERASED, with_fourth(signed_by(signature))) == UNSIGNED

    def test_a_signature_that_is_written_in_another_way_is_found(self) -> None:
        written = ERASED.erasure_signatures[4]
        assert written[-3] in "AQgw"  # The four bits behind the last byte are zero.
        assert (
            verification_result(ERASED, with_fourth(signed_by(f"{written[:-3]}{chr(ord(written[-3]) + 1)}==")))
            == UNSIGNED
        )

    def test_one_that_was_altered_before_says_so(self) -> None:
        unsigned = ERASED.lines[3].replace(f'"{ERASED.erasure_signatures[4]}"'.encode(), b"null")
        assert verification_result(ERASED, with_fourth(unsigned)) == (
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
    def test_one_says_nothing_else(self, old: bytes, new: bytes) -> None:
        altered = ERASED.lines[3].replace(old, new)
        assert verification_result(ERASED, with_fourth(altered)) == (
            "The entry with sequence 4 was altered: it is signed as erased, and says more than is left then."
        )

    @pytest.mark.parametrize("signature", [ERASED.erasure_signatures[4], ERASED.erasure_signatures[5], ""])
    def test_one_that_was_not_erased_has_no_such_signature(self, signature: str) -> None:
        signed = build_line(SAMPLE_LOG.entry_texts[3], 4, SAMPLE_LOG.leaf_hashes[3], 7, signature or "=")
        assert verification_result(ERASED, with_fourth(signed)).startswith(
            "The entry with sequence 4 was altered: it is signed as"
        )

    def test_one_whose_text_was_kept_is_unaltered_where_it_was(self) -> None:
        assert verification_result(ERASED, with_fourth(SAMPLE_LINES[3])).endswith("6 unaltered, 1 erased.")


class TestAKeyThatWasReplaced:
    CHECKPOINT: Final = sign_checkpoint(7, base64.b64decode(ERASED.checkpoint.split()[2]), key=NEWER)

    @pytest.mark.parametrize("keys", [[NEWER, KEY], [KEY, NEWER], [STRANGER, KEY, NEWER]])
    def test_has_to_be_given_too(self, keys: list[Ed25519PrivateKey]) -> None:
        assert verification_result(ERASED, ERASED.lines, checkpoint=self.CHECKPOINT, keys=keys).endswith(
            "5 unaltered, 2 erased."
        )

    @pytest.mark.parametrize("keys", [[NEWER], [NEWER, STRANGER]])
    def test_is_asked_for_at_the_first_entry_that_was_erased_under_it(self, keys: list[Ed25519PrivateKey]) -> None:
        assert verification_result(ERASED, ERASED.lines, checkpoint=self.CHECKPOINT, keys=keys) == UNSIGNED

    def test_is_needed_for_no_others(self) -> None:
        assert "7 unaltered" in verification_result(SAMPLE_LOG, SAMPLE_LINES, checkpoint=self.CHECKPOINT, keys=[NEWER])


class TestTheServicesOwnLog:
    @pytest.fixture
    def words(
        self, api: ApiClient, organization: CreatedOrganization, workers: Workers, tmp_path: Path
    ) -> Callable[[], list[str]]:
        """Export the log and keep its checkpoint and all keys of the service; return the words that verify them."""

        def exported_now() -> list[str]:
            workers.run_until_idle()
            export = api.get(f"{organization.path}/audit-log/export", caller=organization.owner)
            (tmp_path / "export").write_text(export.text, encoding="utf-8", newline="")
            (tmp_path / "checkpoint").write_text(audit_logs.verify_integrity(api, organization)["checkpoint"])
            keys = api.get("/status").json["auditPublicKeys"]
            given = [word for key in keys for word in ("--public-key", key)]
            return [str(tmp_path / "export"), "--checkpoint", str(tmp_path / "checkpoint"), *given]

        return exported_now

    @pytest.fixture
    def gone(self, api: ApiClient, organization: CreatedOrganization, workers: Workers, clock: Clock) -> int:
        """How many entries were erased with a member."""
        workers.run_until_idle()
        *_, member = api.get_items(f"{organization.path}/members", caller=organization.owner)
        return int(complete_erasure(api, workers, clock, organization, userId=member["userId"])["erasedEntries"])

    def test_signs_what_is_left_and_shows_it_nowhere_else(
        self, api: ApiClient, organization: CreatedOrganization, gone: int
    ) -> None:
        entries = audit_logs.list_entries(api, organization)
        signed = [entry for entry in entries if "erasureSignature" in (entry["integrity"] or {})]
        assert [entry["sequence"] for entry in signed] == [e["sequence"] for e in entries if "erased" in e]
        assert len(signed) == gone > 0
        assert all(re.fullmatch("[A-Za-z0-9+/]{91}=", entry["integrity"]["erasureSignature"]) for entry in signed)

    def test_shows_the_signature_in_no_csv(self, api: ApiClient, organization: CreatedOrganization, gone: int) -> None:
        table = api.get(
            f"{organization.path}/audit-log/export", caller=organization.owner, query={"format": "csv"}
        ).text
        assert table.count(',"true"\r\n') == gone
        signed = [entry["integrity"].get("erasureSignature") for entry in audit_logs.list_entries(api, organization)]
        assert not any(signature in table for signature in signed if signature)

    def test_can_not_be_passed_off_as_erased(self, words: Callable[[], list[str]], gone: int, capsys: Captured) -> None:
        given = words()
        assert main(given) == 0
        assert f" {gone} erased" in capsys.readouterr().out
        lines = Path(given[0]).read_bytes().splitlines(keepends=True)
        for number, kept in enumerate(lines):
            entry = json.loads(kept)
            place = f',"sequence":{entry["sequence"]},"integrity":'
            left = dict.fromkeys(entry) | {
                **{name: entry[name] for name in ("id", "type", "occurredAt", "organizationId")},
                "changes": [],
                "erased": True,
            }
            left = {name: value for name, value in sorted(left.items()) if name not in ("sequence", "integrity")}
            forged = json.dumps(left, separators=(",", ":"))[:-1].encode() + kept[kept.rindex(place.encode()) :]
            Path(given[0]).write_bytes(b"".join([*lines[:number], forged, *lines[number + 1 :]]))
            if "erased" in entry:
                assert forged == kept
                continue
            assert main(given) == 1
            assert f"sequence {number + 1} was altered: it calls itself erased" in capsys.readouterr().out

    @pytest.mark.usefixtures("gone")
    def test_is_proven_with_the_key_it_had_and_the_key_it_has(
        self,
        api: ApiClient,
        organization: CreatedOrganization,
        words: Callable[[], list[str]],
        configure: SettingsOverride,
        capsys: Captured,
    ) -> None:
        former = api.get("/status").json["auditPublicKey"]
        configure(
            audit_signing_key=base64.b64encode(NEWER.private_bytes_raw()).decode(), audit_former_public_keys=former
        )
        api.patch(organization.path, caller=organization.owner, json={"name": "Newer"})
        given = words()
        assert main(given) == 0
        assert main(given[:-2]) == 1
        assert "name that too, by one more --public-key" in capsys.readouterr().out

    def test_says_of_what_was_altered_before_that_it_was(
        self,
        api: ApiClient,
        organization: CreatedOrganization,
        workers: Workers,
        clock: Clock,
        words: Callable[[], list[str]],
        capsys: Captured,
    ) -> None:
        workers.run_until_idle()
        *_, member = api.get_items(f"{organization.path}/members", caller=organization.owner)
        named = next(e for e in audit_logs.list_entries(api, organization)[::-1] if member["userId"] in json.dumps(e))
        stored = audit_logs.entry_item(organization, named["sequence"])
        audit_logs.alter_item(stored, body=stored["body"].replace(b'"type":"organization', b'"type":"organisation'))
        complete_erasure(api, workers, clock, organization, userId=member["userId"])
        shown = next(e for e in audit_logs.list_entries(api, organization) if e["id"] == named["id"])
        assert (shown["erased"], shown["integrity"]["erasureSignature"]) == (True, None)
        given = words()
        capsys.readouterr()
        assert main(given) == 1
        assert capsys.readouterr().out == (
            f"The entry with sequence {named['sequence']} was altered: it says that the service found it so when it "
            "was erased.\n"
        )
