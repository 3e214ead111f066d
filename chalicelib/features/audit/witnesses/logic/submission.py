"""The submission of a checkpoint to a witness, and what its response means."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from chalicelib.features.audit.witnesses.logic import witness_client
from chalicelib.features.audit.witnesses.logic.witness_client import WitnessResponse, WitnessUnreachable
from chalicelib.kernel.core.clock import now_ms
from chalicelib.kernel.crypto import checkpoints, cosignatures
from chalicelib.kernel.crypto.checkpoints import NoteError
from chalicelib.kernel.crypto.cosignatures import Cosignature, VerifierKey
from chalicelib.kernel.crypto.tree_tiles import MissingHash

ConsistencyPath = Callable[[int, int], Sequence[bytes]]
"""Returns the proof that a tree of the second size begins with the tree of the first size, which is not 0."""

_SIZE: Final = re.compile(r"(0|[1-9][0-9]{0,18})\n")
_MAX_FUTURE_SECONDS: Final = 600
"""How far the clock of a witness may be ahead."""

_FAILURES: Final[dict[int, str]] = {
    HTTPStatus.FORBIDDEN: "The witness does not trust the key of the log: it needs the current verifier key.",
    HTTPStatus.NOT_FOUND: "The witness does not know the log: its operator has to add the log's verifier key.",
    HTTPStatus.TOO_MANY_REQUESTS: "The witness limits requests.",
}


class SubmissionFailed(Exception):
    """There is no cosignature now, for the reason in the message. It is tried again."""


class CheckpointRefused(Exception):
    """The witness has cosigned a checkpoint that contradicts the submitted one. The message says which."""


@dataclass(frozen=True)
class Submission:
    """A checkpoint to submit: its note, and how to prove its consistency with an earlier one."""

    note: str
    load_consistency_path: ConsistencyPath

    @property
    def size(self) -> int:
        """Return the tree size of the checkpoint."""
        return checkpoints.parse(self.note).checkpoint.size

    def submit(self, url: str, key: VerifierKey, cosigned_size: int) -> Cosignature:
        """Return the verified cosignature of a witness.

        `cosigned_size`: the size that the witness is believed to have cosigned last. If it states another one, that one
        is used. Raises SubmissionFailed and CheckpointRefused.
        """
        response = self._send(url, cosigned_size)
        stated_size = _stated_size_or_none(response)
        if stated_size is not None and stated_size != cosigned_size:
            if stated_size > self.size:
                raise CheckpointRefused(f"The witness has cosigned {stated_size} anchors, and the log has {self.size}.")
            cosigned_size = stated_size
            response = self._send(url, cosigned_size)
        return self._cosignature_in_response(response, key, cosigned_size)

    def _send(self, url: str, cosigned_size: int) -> WitnessResponse:
        is_extension = 0 < cosigned_size < self.size
        try:
            path = self.load_consistency_path(cosigned_size, self.size) if is_extension else ()
            return witness_client.add_checkpoint(url, witness_client.build_body(cosigned_size, path, self.note))
        except (MissingHash, WitnessUnreachable) as error:
            raise SubmissionFailed(str(error)) from error

    def _cosignature_in_response(self, response: WitnessResponse, key: VerifierKey, cosigned_size: int) -> Cosignature:
        is_other_root = response.status == HTTPStatus.CONFLICT and cosigned_size == self.size
        if response.status == HTTPStatus.UNPROCESSABLE_ENTITY or is_other_root:
            raise CheckpointRefused(
                f"The log does not extend the {cosigned_size} anchors that the witness has cosigned."
            )
        if response.status != HTTPStatus.OK:
            reason = _FAILURES.get(response.status, f"The witness responded with status {response.status}.")
            raise SubmissionFailed(reason)
        try:
            note_text = checkpoints.parse(self.note).text
            cosignature = cosignatures.verify_cosignature(note_text, response.body, key)
        except NoteError as error:
            raise SubmissionFailed(f"The response has no valid cosignature: {error}.") from error
        if cosignature.time > now_ms() / 1000 + _MAX_FUTURE_SECONDS:
            raise SubmissionFailed("The response has no valid cosignature: its time is in the future.")
        return cosignature


def _stated_size_or_none(response: WitnessResponse) -> int | None:
    """Return the size of the checkpoint that a witness says it has cosigned last, or None if it does not say one."""
    if response.status != HTTPStatus.CONFLICT or response.media_type != witness_client.SIZE_MEDIA_TYPE:
        return None
    match = _SIZE.fullmatch(response.body)
    return int(match[1]) if match else None
