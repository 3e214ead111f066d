"""The stored records of witnesses: the submission to each of them, and the checkpoints that they have cosigned."""

from dataclasses import field
from typing import Final, TypedDict

from chalicelib.features.audit.witnesses.models.settings import MAX_WITNESSES
from chalicelib.kernel.crypto import checkpoints
from chalicelib.kernel.storage.entity import Collection, Entity
from chalicelib.kernel.storage.log_rules import OUTSIDE_ORGANIZATIONS
from chalicelib.kernel.work.jobs import Job

PARTITION: Final = "WITNESSES"
MAX_COSIGNED_CHECKPOINTS: Final = 2 * MAX_WITNESSES
"""Checkpoints with cosignatures that are stored. Usually it is one for each number of witnesses that respond."""


class CosignedCheckpoint(TypedDict):
    """A signed checkpoint of the log of anchors. `cosignatures`: the lines by the verifier keys of the witnesses."""

    note: str
    cosignatures: dict[str, str]


class Witness(Job):
    """The submission of the published checkpoint to a witness.

    `verifier_key` and `url` are those of the setting. `cosigned_size` is the size of the largest checkpoint that the
    witness has cosigned. `waiting_since` is when the first checkpoint was published that it has not cosigned, and
    `refusal` says why it refuses to.
    """

    kind, task = "witness", "witnesses.submit"
    pk, sk = PARTITION, "W#{id}"
    all = Collection(PARTITION, "W#{id}")

    verifier_key: str
    url: str
    cosigned_size: int = 0
    waiting_since: str | None = None
    refusal: str | None = None

    @property
    def name(self) -> str:
        """Return the name of the witness's key."""
        return _key_name(self.verifier_key)


class WitnessedLog(Entity):
    """The published checkpoint of the log of anchors, which is submitted to the witnesses, and the cosigned ones."""

    kind, pk, sk = "witnessed_log", PARTITION, "#"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, "Whoever relies on cosignatures verifies them."
    json_fields = frozenset({"cosigned"})

    published_note: str
    published_size: int
    cosigned: list[CosignedCheckpoint] = field(default_factory=list)

    def with_cosignature(self, note: str, verifier_key: str, line: str) -> list[CosignedCheckpoint]:
        """Return the cosigned checkpoints after a witness has cosigned a note.

        A checkpoint is dropped if a larger one has cosignatures by the same witnesses.
        """
        others = [each for each in self.cosigned if each["note"] != note]
        former_lines = next((each["cosignatures"] for each in self.cosigned if each["note"] == note), {})
        changed = CosignedCheckpoint(note=note, cosignatures={**former_lines, verifier_key: line})
        newest_first = sorted([changed, *others], key=checkpoint_size, reverse=True)
        useful = [
            each
            for position, each in enumerate(newest_first)
            if not any(cosigners(each) <= cosigners(larger) for larger in newest_first[:position])
        ]
        return useful[:MAX_COSIGNED_CHECKPOINTS]

    def find_best_checkpoint_beyond(self, leaf_index: int) -> CosignedCheckpoint | None:
        """Return the checkpoint with most cosignatures among those of trees that contain a leaf, the largest of them.

        `leaf_index` is counted from 0.
        """
        containing = [each for each in self.cosigned if checkpoint_size(each) > leaf_index]
        return max(containing, key=lambda each: (len(cosigners(each)), checkpoint_size(each)), default=None)


def checkpoint_size(checkpoint: CosignedCheckpoint) -> int:
    """Return the tree size of a checkpoint."""
    return checkpoints.parse(checkpoint["note"]).checkpoint.size


def cosigners(checkpoint: CosignedCheckpoint) -> set[str]:
    """Return the verifier keys of the witnesses that have cosigned a checkpoint."""
    return {*checkpoint["cosignatures"]}


def cosigner_names(checkpoint: CosignedCheckpoint) -> list[str]:
    """Return the names of the witnesses that have cosigned a checkpoint, in alphabetical order."""
    return sorted(map(_key_name, cosigners(checkpoint)))


def cosigned_note(checkpoint: CosignedCheckpoint) -> str:
    """Return a checkpoint as a note with the signature of the log and all cosignatures."""
    return "".join([checkpoint["note"], *(f"{line}\n" for line in checkpoint["cosignatures"].values())])


def _key_name(verifier_key: str) -> str:
    return verifier_key.partition("+")[0]
