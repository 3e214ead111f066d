"""Responses of the operations on the service itself."""

from typing import Annotated, Literal

from pydantic import Field

from chalicelib.features.audit.exports.models import ExportQuery
from chalicelib.kernel.core.version import VERSION
from chalicelib.kernel.http.fields import Timestamp, pattern_validator_and_schema
from chalicelib.kernel.http.models import Output

SystemLogId = Annotated[
    str, *pattern_validator_and_schema(r"^system-(?:[0-9]|1[0-5])$", "must be one of system-0 to system-15")
]


class SystemExportQuery(ExportQuery):
    """Filters for the entries, the log that contains them, and the output format."""

    log_id: SystemLogId | None = Field(
        None,
        description="Only entries of this one of the 16 logs, in the order of its tree. An export with `evidence` "
        "needs it, unless `targetId` determines the log.",
        examples=[None],
    )


class Check(Output):
    """The health of a dependency of the service, such as its table.

    `detail` describes what is wrong if the status is `degraded`.
    """

    name: str = Field(examples=["table"])
    status: Literal["ok", "degraded"] = Field(examples=["ok"])
    detail: str | None = Field(examples=[None])


class ServiceStatus(Output):
    """The status of the service, its versions, and the public keys that verify its signatures.

    Former keys verify older checkpoints.
    """

    status: Literal["ok", "degraded"] = Field(examples=["ok"])
    version: str = Field(description="The release that responds.", examples=[VERSION])
    api_version: str = Field(examples=["2026-11-20"])
    time: Timestamp
    checks: list[Check]
    audit_public_key: str = Field(description="Ed25519 public key that verifies checkpoints: 32 bytes in base64.")
    audit_public_keys: list[str] = Field(description="This key, its successor, and former keys.")
