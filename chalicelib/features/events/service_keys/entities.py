"""The stored records of service keys. A secret is stored only as its SHA-256."""

from typing import Final

from chalicelib.features.events.service_keys.models import ServiceKeyOut
from chalicelib.kernel.identity.auth import build_secret_pointers
from chalicelib.kernel.permissions.grants import ServiceCredential
from chalicelib.kernel.storage.entity import Collection, Item
from chalicelib.kernel.storage.log_rules import OUTSIDE_ORGANIZATIONS
from chalicelib.kernel.storage.quotas import Quota

MAX_LIVE_SERVICE_KEYS: Final = 100


class ServiceKey(ServiceCredential):
    """A service key of the deployment.

    Each has a partition of its own, because every request with the key reads its record.
    """

    kind, parameter = "system.service_key", "service_key_id"
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    expiry_task = "service_keys.expire"
    all_service_keys = Collection("SERVICE-KEYS", "{id}", index="index1")
    quota = Quota("service keys", "SERVICE-KEYS", MAX_LIVE_SERVICE_KEYS, lambda key: key.is_live)
    output_model = ServiceKeyOut

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Return the items that find the key by its secrets' SHA-256."""
        return build_secret_pointers(self)
