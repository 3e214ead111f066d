"""What is stored of an API key: never the secret, only its SHA-256."""

from collections.abc import Mapping
from typing import Any

from chalicelib.features.api_keys.models import ApiKeyOut
from chalicelib.kernel.auth import key_pointer
from chalicelib.kernel.entity import Collection, Credential, Due, Item, Limit
from chalicelib.kernel.person import Person

MOST_LIVE_KEYS = 100
MOST_SECRETS = 5
"""Secrets of one key that work at the same time: each is an action of the transaction that ends them."""


class ApiKey(Credential):
    """An API key of an organization. `live`: it counts towards how many there may be."""

    kind, parameter = "organization.api_key", "api_key_id"
    pk, sk = "O#{organization_id}", "K#{id}"
    in_organization = Collection("O#{organization_id}", "K#{id}")
    limit = Limit("API keys", "O#{organization_id}", MOST_LIVE_KEYS, lambda key: key.live)
    public = ApiKeyOut
    guarded_by = ("version", "live")

    hint: str
    created_by: str | None = None
    live: bool = True

    @property
    def due(self) -> Due | None:
        """The moment it expires, when it stops counting."""
        return Due("api_keys.expire", self.expires_at) if self.live and self.expires_at else None

    @property
    def companions(self) -> tuple[Item, ...]:
        """The pointers from its secrets' SHA-256 to it."""
        return tuple(key_pointer(digest, self.stored_at) for digest in self.digests)

    def without(self, person: Person) -> Mapping[str, Any] | None:
        """Return what lets the key no longer name the person, as its creator or in its name."""
        named = person.out_of_all({"name": self.name})
        return {**named, "created_by": None} if self.created_by in person.user_ids else named
