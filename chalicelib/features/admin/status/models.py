"""What the operations on the service itself answer."""

from typing import Literal

from pydantic import Field

from chalicelib.kernel.http.fields import Timestamp
from chalicelib.kernel.http.models import Output


class Check(Output):
    """One thing the service needs, and whether it answers."""

    name: str = Field(examples=["table"])
    status: Literal["ok", "degraded"] = Field(examples=["ok"])
    detail: str | None = Field(examples=[None])


class ServiceStatus(Output):
    """How the service is."""

    status: Literal["ok", "degraded"] = Field(examples=["ok"])
    version: str = Field(examples=["0.1.0"])
    api_version: str = Field(examples=["2026-11-20"])
    time: Timestamp
    checks: list[Check]
    audit_public_key: str = Field(description="Ed25519, 32 bytes in base64: verifies checkpoints.")
    audit_public_keys: list[str] = Field(description="This key, the one that follows it, and former ones.")
