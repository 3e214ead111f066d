"""Makes anew the seals that another key than the present SEAL_KEY has made: `python -m local renew-seals`.

That is a former SEAL_KEY, or a signing key, as before there was SEAL_KEY. A seal is made anew only of an entry that the
signed head of its log, and its newest anchor, vouch for, and of which the former seal is right as far as its key is
known. A log that does not verify keeps its seals as they are.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic import log_verification
from chalicelib.features.audit.log.logic.entry_verification import Fault, VerifiedPrefix
from chalicelib.kernel.audit_log import entry_macs, ledger
from chalicelib.kernel.core.clock import now_ms, timestamp_ms
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose
from chalicelib.kernel.crypto.merkle import CompactRange
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write
from infrastructure import configuration
from infrastructure.account import Refused, explained
from infrastructure.configuration import FORMER_SEALS
from infrastructure.names import Stage, first_of
from infrastructure.secrets import SECRETS, awaits_resealing, note_resealed, read
from local.tools.verify_logs import places

_AT_ONCE: Final = 8
_TRIES: Final = 5
_RUN_MS: Final = 900_000
"""How long a function may run on that began before SIGNING_KEY_SEALS_UNTIL, also one of the release before."""

_STATES: Final = ("seal", "leaf", "sequence", "tree_size")
"""What has to be as it was read when a seal is replaced."""

_AGAIN: Final = "Run it again: what is done is done."


class NotRenewed(Exception):
    """Seals of another key are left, or may be; says why, and what to do."""


class Renewed(NamedTuple):
    """What came of a log: how many seals were made anew, and what is wrong with it, if anything."""

    log: str
    seals: int
    fault: str = ""


class _Faulty(Exception):
    """A log is not as it was signed; says how, and from which sequence on."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.failure} at sequence {fault.sequence}" if fault.sequence else fault.failure)


def renew_seals(stage: str | None) -> None:
    """Make every former seal anew, say how many, and of a stage keep in mind that none is left.

    It may be repeated and interrupted: what is done is done. Raises NotRenewed.
    """
    _wait_for_the_ledger()
    try:
        with explained():
            place = configuration.deployed(first_of(stage)) if stage else None
            if place and read(place)[SECRETS[KeyPurpose.SEAL_KEY]] != settings().seal_key:
                raise NotRenewed(f"SEAL_KEY: .chalice/config.json has other keys. Run `make bootstrap STAGE={stage}`.")
            count, faulty = _renew_all()
            if not faulty and place:
                _end(place)
    except (Refused, Problem, ClientError, BotoCoreError) as error:
        raise NotRenewed(f"{error} {_AGAIN}") from error
    print(f"{count} seals were made anew.")
    if faulty:
        raise NotRenewed(
            f"{faulty} logs are not as they were signed, and keep their seals: see what has become of them. {_AGAIN}"
        )
    print("Nothing is left that another key has sealed.")
    if place and settings().signing_key_seals_until:
        print(f"Seals of the signing key are to count no more: now `make deploy STAGE={stage}`.")


def _wait_for_the_ledger() -> None:
    until = settings().signing_key_seals_until
    if until and now_ms() < timestamp_ms(until) + _RUN_MS:
        raise NotRenewed(f"The ledger seals with its signing key until {until}. Run it a quarter of an hour later.")


def _end(stage: Stage) -> None:
    """Let the former key be dropped, and seals of the signing key count no more with the next deployment."""
    if awaits_resealing(stage, KeyPurpose.SEAL_KEY.value):
        note_resealed(stage, KeyPurpose.SEAL_KEY.value)
    if configuration.variables(stage.name).get(FORMER_SEALS):
        configuration.write(stage.name, {FORMER_SEALS: ""})


def _renew_all() -> tuple[int, int]:
    """Return how many seals were made anew, and how many logs are not as they were signed; say which."""
    count, faulty, found = 0, 0, (place.log for place in places(""))
    while batch := list(islice(found, _AT_ONCE)):
        for renewed in table.gather(_renew, batch):
            count += renewed.seals
            if renewed.fault:
                faulty += 1
                print(f"{renewed.log}: {renewed.fault}", flush=True)
    return count, faulty


def _renew(log: str) -> Renewed:
    """Verify a whole log, then make its seals anew, part by part as it was verified."""
    reading = _Reading(log)
    try:
        for part in _parts(log):
            reading.verified = replace(reading.verified, chained_since_size=part.chained_since_size)
            reading.renew(part.tree)
    except _Faulty as fault:
        return Renewed(log, reading.renewed, str(fault))
    return Renewed(log, reading.renewed)


def _parts(log: str) -> list[VerifiedPrefix]:
    """Return how far a log was verified at the end of each part. Raises _Faulty."""
    outcome = log_verification.verify_next_window(log, None, None)
    parts = [outcome.progress.verified]
    while not outcome.is_complete:
        outcome = log_verification.verify_next_window(log, outcome.progress.to_cursor(), None)
        parts.append(outcome.progress.verified)
    if outcome.fault:
        raise _Faulty(outcome.fault)
    return parts


@dataclass
class _Reading:
    """A log as it is read once more: how far, where the last batch of the ledger ended, and what was made anew."""

    log: str
    verified: VerifiedPrefix = field(default_factory=VerifiedPrefix)
    batch_end: int = 0
    renewed: int = 0

    def renew(self, tree: CompactRange) -> None:
        """Make the seals of the next part anew, which ends with this tree. Raises _Faulty and NotRenewed."""
        begin = self.verified, self.batch_end
        for _ in range(_TRIES):
            self.verified, self.batch_end = begin
            writes = self._read(tree)
            if not writes:
                return
            for start in range(0, len(writes), ledger.BATCH_SIZE):
                with suppress(TransactionCancelled):  # An entry was erased meanwhile: the next look finds what is left.
                    table.write_transaction(batch := writes[start : start + ledger.BATCH_SIZE])
                    self.renewed += len(batch)
        raise NotRenewed(f"The log {self.log} keeps changing. {_AGAIN}")

    def _read(self, tree: CompactRange) -> list[Write]:
        """Return what is to be written of the next part, once it is seen to lead to this tree."""
        writes: list[Write] = []
        for entries in logs.iter_sequenced(self.log, self.verified.tree.size, tree.size, reread=True):
            begin = self.verified.tree.size + 1
            result = self.verified.extend(self.log, entries)
            if isinstance(result, Fault):
                raise _Faulty(result)
            self.verified = result
            for sequence, entry in enumerate(entries, begin):
                writes += self._of(sequence, entry.item)
        if self.verified.tree != tree:
            raise _Faulty(Fault("forked", None))
        return writes

    def _of(self, sequence: int, item: Item) -> list[Write]:
        """Return the write of an entry's new seal, unless it has the present key's, or none because it was erased."""
        size = item["tree_size"]
        # What the ledger appended at once has the size of the tree after it: no root would tell that it was altered.
        if not (size == self.batch_end if sequence <= self.batch_end else size >= sequence):
            raise _Faulty(Fault("modified", sequence))
        self.batch_end = size
        if "erased" in item or item["seal"][:KEY_ID_BYTES] == keyrings.current_key(KeyPurpose.SEAL_KEY).id:
            return []
        since = self.verified.chained_since_size
        chained = since is not None and size > since
        seal = entry_macs.renew_entry_mac(item["seal"], self.log, sequence, size, item["leaf"], chained=chained)
        if seal is None:
            raise _Faulty(Fault("modified", sequence))
        former = {name: item[name] for name in _STATES}
        condition = " AND ".join(f"#{name} = :{name}" for name in former)
        return [
            Write(
                "Update",
                (item["pk"], item["sk"]),
                update="SET #seal = :anew",
                condition=condition,
                names=_STATES,
                values={**former, "anew": seal},
            )
        ]
