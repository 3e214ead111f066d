"""Replaces seals (entry MACs) of other keys by seals of the current SEAL_KEY: `python -m local renew-seals`.

The other keys are former SEAL_KEYs and, from releases without SEAL_KEY, signing keys. The command replaces a seal only
if the log verifies against its signed head and its newest anchor, and if the old seal is valid as far as its key is
known. A log that fails verification keeps its seals.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, NamedTuple

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic import log_verification
from chalicelib.features.audit.log.logic.entry_verification import Fault, VerifiedPrefix
from chalicelib.kernel.audit_log import entry_macs, ledger
from chalicelib.kernel.core.aws import AWS_ERRORS
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import ItemUpdate, Write
from infrastructure import configuration
from infrastructure.account import CommandError, translate_errors
from infrastructure.configuration import FORMER_SEALS_SETTING
from infrastructure.names import Stage, primary_stage_name
from infrastructure.secrets import SECRETS, awaits_data_replacement, read_settings, record_data_replaced
from local.tools.record_macs import RecordsKeepChanging, renew_record_macs
from local.tools.verify_logs import iter_log_positions

_CONCURRENT_LOGS: Final = 8
_MAX_ATTEMPTS: Final = 5
_MAX_INVOCATION_MS: Final = 900_000
"""How long an invocation that began before SIGNING_KEY_SEALS_UNTIL may last, also one of the previous release."""

_CONDITION_ATTRIBUTES: Final = ("seal", "leaf", "sequence", "tree_size")
"""Attributes of an entry that must be unchanged when its seal is replaced."""

_RESUME_HINT: Final = "Run the command again: it continues with the rest."


class RenewalFailed(Exception):
    """Seals of another key remain, or may remain. The message says why and what to do."""


class LogResult(NamedTuple):
    """The result for a log: the number of replaced seals, and why the log failed verification, or an empty text."""

    log: str
    seal_count: int
    failure_text: str = ""


class _VerificationFailed(Exception):
    """A log failed verification. The message contains the failure and the sequence."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.failure} at sequence {fault.sequence}" if fault.sequence else fault.failure)


def renew_entry_macs(stage: str | None) -> None:
    """Replace all seals of other keys, and print how many. For a deployed stage, record the completion for `rotate`.

    The command can be interrupted and repeated: it keeps the seals that it has replaced. Raises RenewalFailed.
    """
    _check_signing_key_period()
    try:
        with translate_errors():
            deployed_stage = configuration.load_stage(primary_stage_name(stage)) if stage else None
            if deployed_stage and read_settings(deployed_stage)[SECRETS[KeyPurpose.SEAL_KEY]] != settings().seal_key:
                raise RenewalFailed(
                    f"SEAL_KEY: .chalice/config.json has other keys. Run `make bootstrap STAGE={stage}`."
                )
            seal_count, failed_count = _renew_all()
            mac_count, invalid_count = renew_record_macs()
            if not failed_count and deployed_stage:
                _record_completion(deployed_stage)
    except (*AWS_ERRORS, CommandError, RecordsKeepChanging) as error:
        raise RenewalFailed(f"{error} {_RESUME_HINT}") from error
    if mac_count or invalid_count:
        print(
            f"Replaced the MACs of {describe_count(mac_count, 'record')}. Records without a valid MAC: {invalid_count}."
        )
    print(f"Replaced {describe_count(seal_count, 'seal')}.")
    if failed_count:
        raise RenewalFailed(
            f"{describe_count(failed_count, 'log')} failed verification, with seals as before. Find out what"
            f" happened to them. {_RESUME_HINT}"
        )
    print("All seals use the current SEAL_KEY.")
    if deployed_stage and settings().signing_key_seals_until:
        print(f"To stop accepting seals of the signing key, run `make deploy STAGE={stage}`.")


def _check_signing_key_period() -> None:
    until = settings().signing_key_seals_until
    if until and now_ms() < timestamp_ms(until) + _MAX_INVOCATION_MS:
        raise RenewalFailed(
            f"The ledger makes seals with its signing key until {until}. Run the command 15 minutes after that time."
        )


def _record_completion(stage: Stage) -> None:
    """Allow `rotate` to remove the former key, and empty the setting that accepts seals of the signing key."""
    if awaits_data_replacement(stage, KeyPurpose.SEAL_KEY.value):
        record_data_replaced(stage, KeyPurpose.SEAL_KEY.value)
    if configuration.environment_variables(stage.name).get(FORMER_SEALS_SETTING):
        configuration.update_variables(stage.name, {FORMER_SEALS_SETTING: ""})


def _renew_all() -> tuple[int, int]:
    """Return the numbers of replaced seals and of logs that failed verification. Print each of these logs."""
    seal_count, failed_count, remaining_logs = 0, 0, (position.log for position in iter_log_positions(""))
    while batch := list(islice(remaining_logs, _CONCURRENT_LOGS)):
        for renewed in table.gather(_renew, batch):
            seal_count += renewed.seal_count
            if renewed.failure_text:
                failed_count += 1
                print(f"{renewed.log}: {renewed.failure_text}", flush=True)
    return seal_count, failed_count


def _renew(log: str) -> LogResult:
    """Verify a whole log, then replace its seals, in the same windows in which it was verified."""
    renewal = _LogRenewal(log)
    try:
        for window in _verify_in_windows(log):
            renewal.verified = replace(renewal.verified, chained_since_size=window.chained_since_size)
            renewal.renew(window.tree)
    except _VerificationFailed as error:
        return LogResult(log, renewal.renewed_count, str(error))
    return LogResult(log, renewal.renewed_count)


def _verify_in_windows(log: str) -> list[VerifiedPrefix]:
    """Verify a log in windows, and return the verified prefix at the end of each. Raises _VerificationFailed."""
    result = log_verification.verify_next_window(log, None, None)
    prefixes = [result.progress.verified]
    while not result.is_complete:
        result = log_verification.verify_next_window(log, result.progress.to_cursor_position(), None)
        prefixes.append(result.progress.verified)
    if result.fault:
        raise _VerificationFailed(result.fault)
    return prefixes


@dataclass
class _LogRenewal:
    """The progress of a log's renewal: the prefix that was read again, the end of its last batch, a count of seals."""

    log: str
    verified: VerifiedPrefix = field(default_factory=VerifiedPrefix)
    batch_end: int = 0
    renewed_count: int = 0

    def renew(self, tree: CompactRange) -> None:
        """Replace the seals of the next window, up to a tree. Raises _VerificationFailed and RenewalFailed."""
        start_state = self.verified, self.batch_end
        for _ in range(_MAX_ATTEMPTS):
            self.verified, self.batch_end = start_state
            writes = self._read_window(tree)
            if not writes:
                return
            for start in range(0, len(writes), ledger.BATCH_SIZE):
                with suppress(TransactionCancelled):  # An entry was erased. The next attempt reads again.
                    table.write_transaction(batch := writes[start : start + ledger.BATCH_SIZE])
                    self.renewed_count += len(batch)
        raise RenewalFailed(f"Requests keep changing the log {self.log}. {_RESUME_HINT}")

    def _read_window(self, tree: CompactRange) -> list[Write]:
        """Return the writes for the next window, after checking that its entries lead to this tree."""
        writes: list[Write] = []
        for entries in logs.iter_sequenced_entry_chunks(
            self.log, self.verified.tree.size, tree.size, reread_from_table=True
        ):
            first_sequence = self.verified.tree.size + 1
            result = self.verified.with_verified_entries_or_fault(self.log, entries)
            if isinstance(result, Fault):
                raise _VerificationFailed(result)
            self.verified = result
            for sequence, entry in enumerate(entries, first_sequence):
                writes += self._seal_writes(sequence, entry.item)
        if self.verified.tree != tree:
            raise _VerificationFailed(Fault("forked", None))
        return writes

    def _seal_writes(self, sequence: int, item: Item) -> list[Write]:
        """Return the write of an entry's new seal, or none if the entry was erased or has a seal of the current key."""
        size = item["tree_size"]
        # All entries of a batch have the tree size after the batch. Roots do not cover this size, so check it here.
        if not (size == self.batch_end if sequence <= self.batch_end else size >= sequence):
            raise _VerificationFailed(Fault("modified", sequence))
        self.batch_end = size
        if "erased" in item or item["seal"][:KEY_ID_BYTES] == keyrings.current_key(KeyPurpose.SEAL_KEY).id:
            return []
        since = self.verified.chained_since_size
        chained = since is not None and size > since
        seal = entry_macs.renewed_valid_mac_or_none(
            item["seal"], self.log, sequence, size, item["leaf"], chained=chained
        )
        if seal is None:
            raise _VerificationFailed(Fault("modified", sequence))
        old_values = {name: item[name] for name in _CONDITION_ATTRIBUTES}
        condition = " AND ".join(f"#{name} = :{name}" for name in old_values)
        return [ItemUpdate((item["pk"], item["sk"]), set={"seal": seal}).to_write(condition, **old_values)]
