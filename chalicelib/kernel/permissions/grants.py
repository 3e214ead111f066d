"""Records that give rights: what a user is at a place, and what an API key may do, as the pipeline sees them."""

from dataclasses import field

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage.entity import Entity


class Membership(Entity):
    """A user's role at a place."""

    gives_access = True

    user_id: str
    role: str


class Credential(Entity):
    """An API key as the pipeline sees it. `digests` maps the SHA-256 of each live secret to when it ends, or null."""

    gives_access = True

    organization_id: str
    name: str
    scopes: list[str]
    digests: dict[str, str | None]
    revoked_at: str | None = None
    expires_at: str | None = None
    allowed_ips: list[str] = field(default_factory=list)
    last_used_at: str | None = None

    @property
    def status(self) -> str:
        """`active`, `revoked` or, by the clock, `expired`."""
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= now() else "active"
