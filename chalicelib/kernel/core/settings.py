"""Every setting of the service: name, type, default and meaning, in one place.

A setting is read from the environment variable of its name in capitals. On the local stage the JSON file that
`SETTINGS_FILE` names supplies what the environment does not say; a deployed stage has no such file.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from email.utils import getaddresses
from functools import lru_cache
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
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

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.core.encoding import from_base64, key_of_32_bytes
from chalicelib.kernel.core.ip_networks import dns_servers

_NEEDED_IN_THE_CLOUD: Final = (
    "events_queue_url",
    "jobs_queue_url",
    "deliveries_queue_url",
    "deliveries_slow_queue_url",
    "exports_bucket",
    "auth_jwks",
    "auth_issuer",
    "auth_audience",
)
_KEYS: Final = ("audit_signing_key", "seal_key", "entry_key", "data_key", "token_key")
URL: Final = re.compile(r"https?://[^/?#]+")
"""Beginning of an http or https URL with a host."""

_HERE: Final = re.compile(r"http://(?:127\.0\.0\.1|\[::1\]|localhost)(?:[:/]|$)")
_DOMAIN: Final = re.compile(
    r"(?=.{1,200}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
)

ADDRESS: Final = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")
"""What an operator's e-mail address looks like."""

WRAPPED: Final = "kms:"
"""What a key begins with that is wrapped by AWS KMS; its ciphertext in base64 follows."""


class SettingsError(Exception):
    """The service can't start: says which settings are wrong, and why."""


class SettingsSection(BaseModel):
    """Settings that one feature declares. Its fields become fields of the process's settings."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True, hide_input_in_errors=True, validate_default=True)


S = TypeVar("S", bound=SettingsSection)

_sections: Final[list[str]] = []


def register_sections(targets: Iterable[str]) -> None:
    """Register the sections that features declare: `module:Class` of each."""
    _sections.extend(targets)
    settings_model.cache_clear()


class Settings(SettingsSection):
    """The settings that the kernel needs.

    Keys are 32 bytes in base64, on a deployed stage wrapped by AWS KMS: `kms:<ciphertext>`. Of several, separated by
    commas, the first is used and the others are accepted.
    """

    stage: Literal["local", "dev", "prod"] = Field("local", description="Where the service runs.")
    public_url: str = Field(
        "http://127.0.0.1:8000", description="Where callers reach the service; links begin with it."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least level that is logged.")
    requests_per_minute: int = Field(
        600, ge=0, le=1_000_000, description="Requests a minute that each user and API key may make; 0 counts none."
    )
    webhook_requests_per_second: int = Field(
        200, ge=1, le=100_000, description="Requests a second to one host by an organization's webhooks; others wait."
    )
    network_requests_per_minute: int = Field(
        3000,
        ge=0,
        le=1_000_000,
        description=(
            "Requests a minute that each client's network, an address of IPv4 or 64 bits of IPv6, may make without a"
            " valid credential; 0 counts none."
        ),
    )
    cors_origins: str = Field("*", description="Origins of browser clients, separated by commas; * for any.")

    table_name: str = Field("atrium", description="The DynamoDB table.")
    events_queue_url: str = Field("", description="The FIFO queue that wakes an organization's ledger.")
    jobs_queue_url: str = Field(
        "", description="The queue of the work after the answer: exports, erasures, mail, anchors, all that falls due."
    )
    deliveries_queue_url: str = Field("", description="The FIFO queue of what webhooks and channels are sent.")
    deliveries_slow_queue_url: str = Field("", description="The queue of attempts at webhooks that gave no answer.")
    exports_bucket: str = Field("", description="The S3 bucket of audit exports.")
    anchors_bucket: str = Field(
        "", description="The S3 bucket of the logs' anchors, best with object lock; empty makes none."
    )
    aws_endpoint_url: str | None = Field(None, description="The emulator; left out in the cloud.")

    auth_jwks: str = Field("", description="The issuer's JSON Web Key Set: an https URL or a file.")
    auth_issuer: str = Field("", description="The `iss` a user's token must carry.")
    auth_audience: str = Field(
        "", description="The `aud` a user's token must carry, or the `client_id` of one without `aud`."
    )
    auth_accept_id_tokens: bool = Field(
        default=False,
        description=(
            "Accept ID tokens beside access tokens, for issuers whose access tokens lack what is needed, such as"
            " Cognito's, which have no e-mail address."
        ),
    )

    audit_signing_key: str = Field(..., description="Seed of the Ed25519 key that signs checkpoints and erasures.")
    audit_public_keys: str = Field(
        ...,
        description=(
            "Public halves of the keys in `AUDIT_SIGNING_KEY`, in base64 and in their order, for functions that verify"
            " and don't sign."
        ),
    )
    audit_former_public_keys: str = Field(
        "", description="Public keys in base64, separated by commas, whose checkpoints and erasures still count."
    )
    seal_key: str = Field(..., description="Key that seals log entries at their place in the tree.")
    signing_key_seals_until: str = Field(
        "",
        description=(
            "Until when (RFC 3339) the ledger seals with the signing key, as releases before `SEAL_KEY` do. As long as"
            " it is set, such seals count; empty: none."
        ),
    )
    entry_key: str = Field(..., description="Key that authenticates log entries until they are in their log's tree.")
    unauthenticated_entries_until: str = Field(
        "",
        description=(
            "Until when (RFC 3339) the ledger also takes entries that nobody has authenticated, as releases before"
            " `ENTRY_KEY` commit them while they are replaced; empty: none."
        ),
    )
    data_key: str = Field(..., description="AES-256 key of stored secrets.")
    token_key: str = Field(..., description="Key that authenticates cursors and signed tokens.")

    mail_from: str = Field("", description="Sender of mail; empty sends none.")
    webhook_allow_private: bool = Field(default=False, description="Deliver to addresses that are not public.")
    dns_nameservers: str = Field(
        "",
        description=(
            "DNS servers that are asked where webhooks are and what custom domains hold, separated by commas; empty:"
            " the machine's own."
        ),
    )
    platforms_domain: str = Field(
        "atrium.localhost",
        description=(
            "The service's own domain: each platform has its subdomain below it, and custom domains lead to `cname.`"
            " below it."
        ),
    )
    platforms_addresses: str = Field(
        "",
        description=(
            "Addresses that a custom domain without a subdomain may lead to by A and AAAA, separated by commas; empty:"
            " only those of `cname.`, by ALIAS."
        ),
    )

    @field_validator("public_url")
    @classmethod
    def _is_reached_there(cls, value: str, info: ValidationInfo) -> str:
        # Links carry tokens. What leads to this machine, as the default, passes through no network.
        safe = value.startswith("https:") or info.data.get("stage") == "local" or _HERE.match(value)
        if not (URL.match(value) and safe):
            raise ValueError("must be an https URL such as https://api.example.com")
        return value.rstrip("/")

    @field_validator(*_NEEDED_IN_THE_CLOUD)
    @classmethod
    def _is_there(cls, value: str, info: ValidationInfo) -> str:
        if not value and info.data.get("stage") != "local":
            raise ValueError("must be set on a deployed stage")
        return value

    @field_validator(*_KEYS)
    @classmethod
    def _are_keys(cls, value: str, info: ValidationInfo) -> str:
        keys = [key.strip() for key in value.split(",")]
        for key in keys:
            if key.startswith(WRAPPED) and from_base64(key.removeprefix(WRAPPED)):
                continue
            if info.data.get("stage") != "local":
                raise ValueError("must be wrapped by AWS KMS on a deployed stage: `kms:` and the ciphertext in base64")
            key_of_32_bytes(key)
        return ",".join(keys)

    @field_validator("audit_public_keys")
    @classmethod
    def _are_as_many_as_sign(cls, value: str, info: ValidationInfo) -> str:
        keys = [key_of_32_bytes(key.strip()) for key in value.split(",")]
        if len(keys) != len(info.data.get("audit_signing_key", value).split(",")):
            raise ValueError("must be as many as AUDIT_SIGNING_KEY lists, in their order")
        return ",".join(keys)

    @field_validator("signing_key_seals_until", "unauthenticated_entries_until")
    @classmethod
    def _is_a_moment(cls, value: str) -> str:
        return timestamp(timestamp_ms(value)) if value else ""

    @field_validator("mail_from")
    @classmethod
    def _is_a_sender(cls, value: str) -> str:
        found = [address for _, address in getaddresses([value])]
        if value and not (len(found) == 1 and ADDRESS.fullmatch(found[0])):
            raise ValueError("must be an e-mail address, alone or as in Atrium <mail@example.com>")
        return value

    @field_validator("dns_nameservers")
    @classmethod
    def _are_servers(cls, value: str) -> str:
        dns_servers(value)
        return value

    @field_validator("platforms_domain")
    @classmethod
    def _is_a_domain(cls, value: str, info: ValidationInfo) -> str:
        name = ascii_lower(value).removesuffix(".")
        if (not name or name.endswith(".localhost")) and info.data.get("stage") != "local":
            raise ValueError("must be set on a deployed stage, to a domain of yours")
        if not _DOMAIN.fullmatch(name):
            raise ValueError("must be a domain name such as atrium.example.com")
        return name

    @field_validator("platforms_addresses")
    @classmethod
    def _are_ip_addresses(cls, value: str) -> str:
        try:
            return ",".join(str(ip_address(address.strip())) for address in value.split(",") if value)
        except ValueError:
            raise ValueError("must be addresses separated by commas, such as 192.0.2.7,2001:db8::7") from None

    @field_validator("auth_jwks")
    @classmethod
    def _is_a_key_sets_place(cls, value: str, info: ValidationInfo) -> str:
        if value.startswith("http:") and info.data.get("stage") != "local":
            raise ValueError("must be an https URL or a file: who can change it can be anyone")
        if value and not URL.match(value) and not Path(value).is_file():
            raise ValueError("must be an https URL or a file that is there")
        return value


@lru_cache(maxsize=1)
def settings_model() -> type[Settings]:
    """Return the model of all settings: those of the kernel and of every feature."""
    bases: tuple[Any, ...] = (*map(_load_section, _sections), Settings)
    return cast("type[Settings]", create_model("ServiceSettings", __base__=bases))


def _load_section(target: str) -> type[SettingsSection]:
    module, _, class_name = target.partition(":")
    section: type[SettingsSection] = getattr(import_module(module), class_name)
    return section


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return this process's settings.

    Raises SettingsError with the name of each setting that is missing or wrong.
    """
    file = os.environ.get("SETTINGS_FILE")
    given = json.loads(Path(file).read_text()) if file and Path(file).exists() else {}
    given |= {name: os.environ[name.upper()] for name in settings_model().model_fields if name.upper() in os.environ}
    return checked(given)


def section(declared: type[S]) -> S:
    """Return this process's settings as a section that a feature declares.

    Raises SettingsError as `settings` does, and TypeError if the section is not registered.
    """
    found = settings()
    if not isinstance(found, declared):
        raise TypeError(f"{declared.__name__} is not registered; run `make generate`")
    return found


def checked(given: Mapping[str, object]) -> Settings:
    """Return the settings that are given by their names. Raises SettingsError as `settings` does."""
    try:
        return settings_model().model_validate(given)
    except ValidationError as error:
        wrong = "; ".join(
            f"{str(e['loc'][0]).upper()}: {e['msg'].removeprefix('Value error, ')}" for e in error.errors()
        )
        raise SettingsError(f"Wrong settings. {wrong}. docs/reference/settings.md lists each.") from None
