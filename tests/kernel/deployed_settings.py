"""Settings of a deployed stage."""

from typing import Final

from chalicelib.kernel.core.encoding import to_base64
from tests.harness.data_keys import public_keys_of

KEY: Final = to_base64(bytes(range(32)))
WRAPPED: Final = f"kms:{to_base64(b'wrapped')}"
KEY_SETTINGS: Final = ("AUDIT_SIGNING_KEY", "SEAL_KEY", "ENTRY_KEY", "DATA_KEY", "TOKEN_KEY")
DEPLOYED: Final = {
    "STAGE": "prod",
    "EVENTS_QUEUE_URL": "https://queue.example/events",
    "JOBS_QUEUE_URL": "https://queue.example/jobs",
    "DELIVERIES_QUEUE_URL": "https://queue.example/deliveries",
    "DELIVERIES_SLOW_QUEUE_URL": "https://queue.example/deliveries-slow",
    "EXPORTS_BUCKET": "exports",
    "AUTH_JWKS": "https://issuer.example/jwks",
    "AUTH_ISSUER": "https://issuer.example",
    "AUTH_AUDIENCE": "atrium",
    "PLATFORMS_DOMAIN": "atrium.example",
    "AUDIT_PUBLIC_KEYS": public_keys_of(KEY),
    **dict.fromkeys(KEY_SETTINGS, WRAPPED),
}
