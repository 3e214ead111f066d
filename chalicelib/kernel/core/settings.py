"""All settings of the service: name, type, default and meaning.

A setting is read from the environment variable with its name in upper case. On the local stage, the JSON file in
`SETTINGS_FILE` supplies the others.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from email.utils import getaddresses
from functools import lru_cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, Literal, TypeVar, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
)

from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.core.encoding import from_base64, require_base64_of_32_bytes
from chalicelib.kernel.core.ip_networks import parse_dns_server_endpoints

_REQUIRED_WHEN_DEPLOYED: Final = (
    "events_queue_url",
    "jobs_queue_url",
    "deliveries_queue_url",
    "deliveries_slow_queue_url",
    "exports_bucket",
    "auth_jwks",
    "auth_issuer",
    "auth_audience",
)
_KEY_SETTINGS: Final = ("audit_signing_key", "seal_key", "entry_key", "data_key", "token_key")
_CLAIM_SETTINGS: Final = (
    "auth_claim_email",
    "auth_claim_email_verified",
    "auth_claim_username",
    "auth_claim_name",
    "auth_claim_groups",
)
URL_PREFIX: Final = re.compile(r"https?://[^/?#]+")
"""Beginning of an http or https URL with a host."""

_SHA256_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LOOPBACK_URL: Final = re.compile(r"http://(?:127\.0\.0\.1|\[::1\]|localhost)(?:[:/]|$)")
EMAIL_PATTERN: Final = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")
"""Pattern of an operator's e-mail address."""

WRAPPED_KEY_PREFIX: Final = "kms:"
"""Prefix of a key that AWS KMS has encrypted, followed by the ciphertext in base64."""


class SettingsError(Exception):
    """The service cannot start. The message names the invalid settings and the reasons."""


def split_list(text: str) -> tuple[str, ...]:
    """Return the elements of a setting that lists several, separated by commas."""
    return tuple(element.strip() for element in text.split(","))


class SettingsSection(BaseModel):
    """Settings that one feature declares. Its fields become fields of the process's settings."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True, hide_input_in_errors=True, validate_default=True)


S = TypeVar("S", bound=SettingsSection)

_sections: Final[list[str]] = []


def register_sections(targets: Iterable[str]) -> None:
    """Register the sections that features declare, each as `module:Class`."""
    _sections.extend(targets)
    settings_model.cache_clear()


class Settings(SettingsSection):
    """Settings of the kernel.

    Keys are 32 bytes in base64. On a deployed stage they are encrypted by AWS KMS: `kms:<ciphertext>`. A setting can
    list several keys, separated by commas. The first is used, and the others are accepted.
    """

    stage: Literal["local", "dev", "prod"] = Field("local", description="Where the service runs.")
    capacity: Literal["", "small", "full"] = Field(
        "",
        description=(
            "Concurrent executions of a deployed stage: `full` reserves 875, `small` none. Empty: `small` for `dev`,"
            " `full` for `prod`. `make bootstrap CAPACITY=…` sets it."
        ),
    )
    public_url: str = Field("http://127.0.0.1:8000", description="Base URL of the service, also in links.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Minimum level of log records.")
    requests_per_minute: int = Field(
        600, ge=0, le=1_000_000, description="Requests per minute of each user and API key. 0: unlimited."
    )
    network_requests_per_minute: int = Field(
        3000,
        ge=0,
        le=1_000_000,
        description=(
            "Requests per minute without a valid credential from each client network (an IPv4 address or a 64-bit IPv6"
            " network). 0: unlimited."
        ),
    )
    edge_secret_digests: str = Field(
        "",
        description=(
            "SHA-256 digests, in hexadecimal and separated by commas, of the secrets with which an edge such as"
            " CloudFront proves that it may state the visitor's address. Empty: no edge may."
        ),
    )
    cors_origins: str = Field("*", description="Origins of browser clients, separated by commas. *: any.")

    console_client_id: str = Field(
        "", description="The client that is registered at the issuer for the console. Empty: nobody can sign in there."
    )
    console_discovery_url: str = Field(
        "", description="The discovery document of the issuer at which people sign in. Empty: that of `AUTH_ISSUER`."
    )
    console_issuer_origins: str = Field(
        "",
        description=(
            "Origins of that issuer's endpoints, which the console may call, separated by commas. `make bootstrap`"
            " finds them by discovery. Empty: the origin of the discovery document."
        ),
    )
    console_scope: str = Field("openid profile email", description="Scopes that the console requests.")
    console_audience: str = Field(
        "", description="The parameter `audience` of the console's requests, which Auth0 needs. Empty: none."
    )

    table_name: str = Field("atrium", description="The DynamoDB table.")
    events_queue_url: str = Field("", description="The FIFO queue that triggers appending to a log.")
    jobs_queue_url: str = Field(
        "", description="The queue of background tasks: exports, erasures, mail, anchors, scheduled tasks."
    )
    deliveries_queue_url: str = Field("", description="The FIFO queue of deliveries to webhooks and channels.")
    deliveries_slow_queue_url: str = Field("", description="The queue of deliveries to webhooks that time out.")
    exports_bucket: str = Field("", description="The S3 bucket of audit exports.")
    anchors_bucket: str = Field(
        "", description="The S3 bucket of the logs' anchors, preferably with object lock. Empty: no anchors."
    )
    aws_endpoint_url: str | None = Field(None, description="URL of an emulator. Empty on AWS.")

    auth_jwks: str = Field("", description="JSON Web Key Set of the token issuer: an https URL or a file.")
    auth_issuer: str = Field("", description="Required `iss` of users' tokens.")
    auth_audience: str = Field(
        "",
        description=(
            "Required `aud` of users' tokens, or `client_id` of tokens without `aud`. Several are separated by commas."
        ),
    )
    auth_accept_id_tokens: bool = Field(
        default=False,
        description=(
            "Accept ID tokens in addition to access tokens. For issuers whose access tokens lack claims, such as the"
            " e-mail address in Cognito's."
        ),
    )
    auth_claim_email: str = Field(
        "email",
        description=(
            "Name of the claim with the user's e-mail address. The names of claims are plain, or URLs such as"
            " `https://example.com/email`. Of several, separated by commas, the first with a usable value counts."
        ),
    )
    auth_claim_email_verified: str = Field(
        "email_verified",
        description=(
            "Name of the claim that says whether the address is verified. Without it, no address is verified. Entra"
            " ID: `xms_edov`. If `AUTH_CLAIM_EMAIL` lists several names, each name verifies only the address in the"
            " claim at the same position."
        ),
    )
    auth_claim_username: str = Field(
        "preferred_username,cognito:username", description="Name of the claim with the username."
    )
    auth_claim_name: str = Field("name", description="Name of the claim with the full name.")
    auth_claim_groups: str = Field(
        "groups,cognito:groups",
        description="Name of the claim with the user's groups or roles. Of several, the groups in all of them count.",
    )
    auth_operator_group: str = Field(
        "operators", description="The group whose members are operators of the service. Empty: nobody is an operator."
    )
    auth_userinfo: bool = Field(
        default=False,
        description=(
            "Request names and e-mail address from the issuer's userinfo endpoint if a request needs them and the"
            " access token lacks them."
        ),
    )

    audit_signing_key: str = Field(..., description="Seed of the Ed25519 key that signs checkpoints and erasures.")
    audit_public_keys: str = Field(
        ...,
        description=(
            "Public keys of `AUDIT_SIGNING_KEY`, in base64 and in the same order, for functions that only verify."
        ),
    )
    audit_former_public_keys: str = Field(
        "", description="Retired public keys in base64, separated by commas, whose signatures stay valid."
    )
    seal_key: str = Field(..., description="Key of the MACs that bind log entries to their position in the tree.")
    signing_key_seals_until: str = Field(
        "",
        description=(
            "Time (RFC 3339) until which entry MACs are made with the signing key, as in releases before `SEAL_KEY`."
            " While it is set, such MACs are valid. Empty: never."
        ),
    )
    entry_key: str = Field(..., description="Key that authenticates pending log entries.")
    unauthenticated_entries_until: str = Field(
        "",
        description=(
            "Time (RFC 3339) until which unauthenticated log entries are appended, as releases before `ENTRY_KEY`"
            " commit them during an upgrade. Empty: never."
        ),
    )
    unauthenticated_records_until: str = Field(
        "",
        description=(
            "Time (RFC 3339) until which stored records need no valid MAC, because releases before record MACs wrote"
            " them. Run `make audit-records` with `RENEW=1` before that time. Empty: never."
        ),
    )
    data_key: str = Field(..., description="AES-256 key that encrypts stored secrets.")
    token_key: str = Field(..., description="Key that authenticates cursors and signed tokens.")

    mail_from: str = Field("", description="Sender of mail. Empty: no mail.")
    webhook_allow_private: bool = Field(default=False, description="Allow deliveries to private addresses.")
    dns_nameservers: str = Field(
        "",
        description=(
            "DNS servers for webhook hosts and custom domains, separated by commas. Empty: those of the machine."
        ),
    )

    @field_validator("public_url")
    @classmethod
    def _require_https_unless_local(cls, value: str, info: ValidationInfo) -> str:
        # Links contain tokens, so they need TLS, except for this machine: such requests do not pass through a network.
        safe = value.startswith("https:") or info.data.get("stage") == "local" or _LOOPBACK_URL.match(value)
        if not (URL_PREFIX.match(value) and safe):
            raise ValueError("must be an https URL such as https://api.example.com")
        return value.rstrip("/")

    @field_validator("edge_secret_digests")
    @classmethod
    def _require_sha256_digests(cls, value: str) -> str:
        digests = [digest.strip() for digest in value.split(",") if value]
        if not all(_SHA256_DIGEST.fullmatch(digest) for digest in digests):
            raise ValueError("must be SHA-256 digests of 64 hexadecimal digits in lower case, separated by commas")
        return ",".join(digests)

    @field_validator(*_REQUIRED_WHEN_DEPLOYED)
    @classmethod
    def _require_when_deployed(cls, value: str, info: ValidationInfo) -> str:
        if not value and info.data.get("stage") != "local":
            raise ValueError("must be set on a deployed stage")
        return value

    @field_validator(*_KEY_SETTINGS)
    @classmethod
    def _require_kms_wrapped_keys_when_deployed(cls, value: str, info: ValidationInfo) -> str:
        keys = split_list(value)
        for key in keys:
            if key.startswith(WRAPPED_KEY_PREFIX) and from_base64(key.removeprefix(WRAPPED_KEY_PREFIX)):
                continue
            if info.data.get("stage") != "local":
                raise ValueError("must be wrapped by AWS KMS on a deployed stage: `kms:` and the ciphertext in base64")
            require_base64_of_32_bytes(key)
        return ",".join(keys)

    @field_validator("audit_public_keys")
    @classmethod
    def _require_as_many_public_as_signing_keys(cls, value: str, info: ValidationInfo) -> str:
        keys = [require_base64_of_32_bytes(key) for key in split_list(value)]
        if len(keys) != len(info.data.get("audit_signing_key", value).split(",")):
            raise ValueError("must be as many as AUDIT_SIGNING_KEY lists, in their order")
        return ",".join(keys)

    @field_validator("signing_key_seals_until", "unauthenticated_entries_until", "unauthenticated_records_until")
    @classmethod
    def _normalize_timestamp(cls, value: str) -> str:
        return timestamp(timestamp_ms(value)) if value else ""

    @field_validator("mail_from")
    @classmethod
    def _validate_sender(cls, value: str) -> str:
        addresses = [address for _, address in getaddresses([value])]
        if value and not (len(addresses) == 1 and EMAIL_PATTERN.fullmatch(addresses[0])):
            raise ValueError("must be an e-mail address, alone or as in Atrium <mail@example.com>")
        return value

    @field_validator("dns_nameservers")
    @classmethod
    def _validate_dns_servers(cls, value: str) -> str:
        parse_dns_server_endpoints(value)
        return value

    @field_validator("auth_audience", *_CLAIM_SETTINGS)
    @classmethod
    def _normalize_list(cls, value: str, info: ValidationInfo) -> str:
        names = split_list(value)
        if not all(names) and (value or info.field_name in _CLAIM_SETTINGS):
            raise ValueError("must be one or more names, separated by commas")
        return ",".join(names)

    @field_validator("auth_claim_email_verified")
    @classmethod
    def _require_an_email_claim_for_each(cls, value: str, info: ValidationInfo) -> str:
        email_claims = split_list(info.data.get("auth_claim_email", ""))
        if 1 < len(email_claims) < len(split_list(value)):
            raise ValueError(
                "must not list more names than AUTH_CLAIM_EMAIL, because each verifies the address in the claim at the"
                " same position"
            )
        return value

    @field_validator("auth_jwks")
    @classmethod
    def _require_https_jwks_url_or_file(cls, value: str, info: ValidationInfo) -> str:
        if value.startswith("http:") and info.data.get("stage") != "local":
            raise ValueError("must be an https URL or a file, because its keys decide who is authenticated")
        if value and not URL_PREFIX.match(value) and not Path(value).is_file():
            raise ValueError("must be an https URL or an existing file")
        return value


@lru_cache(maxsize=1)
def settings_model() -> type[Settings]:
    """Return the model of all settings: those of the kernel and of every feature."""
    bases: tuple[Any, ...] = (*map(resolve_name, _sections), Settings)
    return cast("type[Settings]", create_model("ServiceSettings", __base__=bases))


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return this process's settings.

    Raises SettingsError with the name of each setting that is missing or invalid.
    """
    file = os.environ.get("SETTINGS_FILE")
    values = json.loads(Path(file).read_text()) if file and Path(file).exists() else {}
    values |= {name: os.environ[name.upper()] for name in settings_model().model_fields if name.upper() in os.environ}
    return parse_settings(values)


def section(section_type: type[S]) -> S:
    """Return this process's settings as a section that a feature declares.

    Raises SettingsError as `settings` does, and TypeError if the section is not registered.
    """
    current = settings()
    if not isinstance(current, section_type):
        raise TypeError(f"{section_type.__name__} is not registered; run `make generate`")
    return current


def parse_settings(values: Mapping[str, object]) -> Settings:
    """Return validated settings. Raises SettingsError as `settings` does."""
    try:
        return settings_model().model_validate(values)
    except ValidationError as error:
        reasons = "; ".join(
            f"{str(e['loc'][0]).upper()}: {e['msg'].removeprefix('Value error, ')}" for e in error.errors()
        )
        raise SettingsError(f"Invalid settings. {reasons}. docs/reference/settings.md lists each.") from None
