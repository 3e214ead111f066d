"""Seals anew what a former DATA_KEY has sealed, so that it can be dropped: `python -m local reseal`.

That is the secrets of webhooks, the addresses of channels and the key that hashes addresses. Stored answers of an
`Idempotency-Key` end by themselves.
"""

from collections.abc import Iterator
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.features.notifications.channels.entities import IntegrationChannel, encrypted_url_fields
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.notifications.webhooks.logic import webhook_secrets
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.encryption import DecryptionError
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose
from chalicelib.kernel.identity import email_hashes
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import organization_id_from_log
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from infrastructure.account import Refused, explained
from infrastructure.configuration import deployed
from infrastructure.names import first_of
from infrastructure.secrets import SECRETS, note_resealed, read
from local.tools.verify_logs import places

_TRIES: Final = 5


class NotResealed(Exception):
    """Something is left that another key has sealed; says why, and what to do."""


def reseal(stage: str | None) -> None:
    """Seal anew what is not sealed by the present key, until nothing is left, and say so; of a stage also to `rotate`.

    It may be repeated and interrupted: what is done is done. Raises NotResealed.
    """
    secret = SECRETS[KeyPurpose.DATA_KEY]
    try:
        with explained():
            place = deployed(first_of(stage)) if stage else None
            if place and read(place)[secret] != settings().data_key:
                raise NotResealed(f"{secret}: .chalice/config.json has other keys. Run `make bootstrap STAGE={stage}`.")
            renewed = 0
            again = ", and the key of addresses" if email_hashes.reencrypt_key() else ""
            while changed := sum(map(_renewed, _sealing())):
                renewed += changed  # Whoever rotates a webhook's secret meanwhile may have kept one as it was.
            if place:
                note_resealed(place)
    except (Refused, Problem, ConcurrentModification, ClientError, BotoCoreError, DecryptionError) as error:
        raise NotResealed(f"{error} Run it again: what is done is done.") from error
    print(f"{renewed} webhooks and channels{again} were sealed anew; nothing is left that another key has sealed.")


def _sealing() -> Iterator[Webhook | IntegrationChannel]:
    """Yield all that keeps something sealed, organization by organization."""
    for place in places(""):
        if organization_id := organization_id_from_log(place.log):
            pk, _ = Organization.make_item_key(id=organization_id)
            for kind in (Webhook, IntegrationChannel):
                begins = kind.sk.partition("{")[0]
                for items in table.iter_pages(pk, prefix=begins):
                    yield from map(kind.from_item, items)


def _renewed(record: Webhook | IntegrationChannel) -> bool:
    """Seal a record anew, unless the present key has, or it was removed meanwhile; return whether that was done."""
    found: Webhook | IntegrationChannel | None = record
    for _ in range(_TRIES):
        if found is None or not (fields := _anew(found)):
            return False
        changes = UnitOfWork(now())
        changes.update_untracked(found, **fields)
        try:
            changes.commit()
        except ConcurrentModification:
            item = table.get(record.item_key)
            found = type(record).from_item(item) if item else None
        else:
            return True
    raise NotResealed(f"{record.kind} {record.id} keeps changing.")


def _anew(record: Webhook | IntegrationChannel) -> dict[str, Any]:
    """Return the fields of a record that have to be sealed anew, sealed by the present key."""
    try:
        if isinstance(record, IntegrationChannel):
            return {} if _is_present(record.sealed_url) else encrypted_url_fields(record.id, record.url)
        if all(_is_present(one["sealed"]) for one in record.secrets):
            return {}
        return {
            "secrets": [
                webhook_secrets.reencrypt_secret(record, one) for one in webhook_secrets.active_secrets(record, now())
            ]
        }
    except DecryptionError as broken:
        raise NotResealed(
            f"{record.kind} {record.id}: {broken}. List the key that sealed it behind the others."
        ) from None


def _is_present(sealed: bytes) -> bool:
    return sealed[:KEY_ID_BYTES] == keyrings.current_key(KeyPurpose.DATA_KEY).id
