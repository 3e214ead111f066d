"""Encrypts with the current DATA_KEY what a former one encrypted, so that it can be removed: `python -m local reseal`.

This concerns the secrets of webhooks and log streams, the URLs of channels and the key that hashes e-mail addresses.
Stored responses of an `Idempotency-Key` and of the userinfo endpoint expire by themselves.
"""

from collections.abc import Iterator
from typing import Any, Final

from chalicelib.features.notifications.channels.entities import IntegrationChannel, encrypted_url_fields
from chalicelib.features.notifications.log_streams.entities import LogStream
from chalicelib.features.notifications.logic import signing_secrets
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.logic import email_hashes
from chalicelib.kernel.core.aws import AWS_ERRORS
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto import keyrings
from chalicelib.kernel.crypto.keyrings import KEY_ID_BYTES, KeyPurpose
from chalicelib.kernel.crypto.symmetric import DecryptionError
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.log_ids import organization_id_from_log
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from infrastructure.account import CommandError, translate_errors
from infrastructure.configuration import load_stage
from infrastructure.names import primary_stage_name
from infrastructure.secrets import SECRETS, read_settings, record_data_replaced
from local.tools.verify_logs import iter_log_positions

_EncryptedRecord = Webhook | IntegrationChannel | LogStream

_MAX_ATTEMPTS: Final = 5


class ReencryptionFailed(Exception):
    """Some values are still encrypted with another key. The message says why and what to do."""


def reencrypt_secrets(stage: str | None) -> None:
    """Encrypt every value with the current key, and print how many records changed. Repeat until none changes.

    For a deployed stage, also record the completion for `rotate`. The command can be interrupted and repeated: it keeps
    what it has encrypted. Raises ReencryptionFailed.
    """
    secret = SECRETS[KeyPurpose.DATA_KEY]
    try:
        with translate_errors():
            deployed_stage = load_stage(primary_stage_name(stage)) if stage else None
            if deployed_stage and read_settings(deployed_stage)[secret] != settings().data_key:
                raise ReencryptionFailed(
                    f"{secret}: .chalice/config.json has other keys. Run `make bootstrap STAGE={stage}`."
                )
            record_count = 0
            hash_key = ", with the key that hashes e-mail addresses" if email_hashes.reencrypt_key_if_outdated() else ""
            # A concurrent rotation of a webhook's secret may store a value that an old key encrypted. So scan again.
            while changed_count := sum(map(_reencrypt, _encrypted_records())):
                record_count += changed_count
            if deployed_stage:
                record_data_replaced(deployed_stage)
    except (*AWS_ERRORS, CommandError, ConcurrentModification, DecryptionError) as error:
        raise ReencryptionFailed(f"{error} Run the command again: it continues with the rest.") from error
    count = f"{record_count}{hash_key}"
    print(f"Webhooks, log streams and channels encrypted again: {count}. All values use the current DATA_KEY.")


def _encrypted_records() -> Iterator[_EncryptedRecord]:
    """Yield the records with encrypted fields of all organizations."""
    for position in iter_log_positions(""):
        if organization_id := organization_id_from_log(position.log):
            pk, _ = Organization.make_item_key(id=organization_id)
            for kind in (Webhook, IntegrationChannel, LogStream):
                prefix = kind.sk.partition("{")[0]
                for items in table.iter_item_pages(pk, prefix=prefix):
                    yield from map(kind.from_item, items)


def _reencrypt(record: _EncryptedRecord) -> bool:
    """Encrypt a record with the current key. Return False if it already is, or if the record was removed."""
    stored: _EncryptedRecord | None = record
    for _ in range(_MAX_ATTEMPTS):
        if stored is None or not (fields := _reencrypted_fields(stored)):
            return False
        changes = UnitOfWork(now())
        changes.update_untracked(stored, **fields)
        try:
            changes.commit()
        except ConcurrentModification:
            item = table.get(record.item_key)
            stored = type(record).from_item(item) if item else None
        else:
            return True
    raise ReencryptionFailed(f"Requests keep changing {record.kind} {record.id}.")


def _reencrypted_fields(record: _EncryptedRecord) -> dict[str, Any]:
    """Return the fields that another key has encrypted, encrypted with the current key."""
    try:
        if isinstance(record, IntegrationChannel):
            return {} if _uses_current_key(record.sealed_url) else encrypted_url_fields(record.id, record.decrypted_url)
        if all(_uses_current_key(secret["sealed"]) for secret in record.secrets):
            return {}
        return {
            "secrets": [
                signing_secrets.reencrypt_secret(record, secret)
                for secret in signing_secrets.active_stored_secrets(record, now())
            ]
        }
    except DecryptionError as error:
        raise ReencryptionFailed(
            f"{record.kind} {record.id}: {error}. Add the key that encrypted it to the end of the list."
        ) from None


def _uses_current_key(ciphertext: bytes) -> bool:
    return ciphertext[:KEY_ID_BYTES] == keyrings.current_key(KeyPurpose.DATA_KEY).id
