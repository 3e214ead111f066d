"""The base class of jobs that send a mail."""

from collections.abc import Mapping
from typing import ClassVar

from chalicelib.kernel.work.jobs import Job


class MailJob(Job):
    """A mail to one person that is sent once.

    `recipient_hash` is the keyed hash of the address. `is_counted` is whether the mail counts towards the limits of the
    recipient already. Otherwise it is counted before it is sent.
    """

    pk, sk = "O#{organization_id}", "L#{id}"
    attribute_names: ClassVar[Mapping[str, str]] = {"recipient_hash": "recipient"}

    organization_id: str
    recipient_hash: str | None = None
    is_counted: bool = False
