"""Settings of witnesses."""

from dataclasses import dataclass
from typing import Final

from pydantic import Field, ValidationInfo, field_validator

from chalicelib.kernel.core.settings import SettingsSection, split_list
from chalicelib.kernel.crypto.cosignatures import COSIGNATURE, VerifierKey, parse_verifier_key

MAX_WITNESSES: Final = 8
"""Witnesses of a stage."""

_DEFAULT_ORIGIN: Final = "atrium/anchors"
_LOCAL_HOSTS: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class WitnessEndpoint:
    """A witness: the prefix of its URLs, without a slash at the end, and its key."""

    url: str
    key: VerifierKey


class WitnessSettings(SettingsSection):
    """The witnesses, and the name under which they know the log of anchors."""

    witnessed_log_origin: str = Field(
        _DEFAULT_ORIGIN,
        description=(
            "Origin of the log of all anchors, by which witnesses identify it, such as `atrium.example.com/anchors`. It"
            " must be unique, and stays the same as long as the log exists."
        ),
    )
    witnesses: str = Field(
        "",
        description=(
            "Witnesses (C2SP tlog-witness) of the log of all anchors, separated by commas. Each is the https URL of its"
            " submission prefix, a space and its verifier key: `https://witness.example witness.example+<id>+<key>`."
            " Empty: the log has no witnesses."
        ),
    )

    @field_validator("witnessed_log_origin")
    @classmethod
    def _require_origin(cls, value: str) -> str:
        if not value or any(character.isspace() or character in "+," for character in value):
            raise ValueError("must be a name such as atrium.example.com/anchors, without spaces, commas and +")
        return value

    @field_validator("witnesses")
    @classmethod
    def _require_valid_witnesses(cls, value: str, info: ValidationInfo) -> str:
        is_local = info.data.get("stage") == "local"
        endpoints = [_parse_witness(text, is_local=is_local) for text in split_list(value)] if value else []
        if len(endpoints) > MAX_WITNESSES:
            raise ValueError(f"must be at most {MAX_WITNESSES} witnesses")
        if len({endpoint.key.public_key for endpoint in endpoints}) < len(endpoints):
            raise ValueError("must not list the key of a witness twice, because it would count twice")
        if endpoints and not is_local and info.data.get("witnessed_log_origin") == _DEFAULT_ORIGIN:
            raise ValueError(
                "needs WITNESSED_LOG_ORIGIN, a unique name of this stage's log such as atrium.example.com/anchors"
            )
        return value

    @property
    def witness_endpoints(self) -> tuple[WitnessEndpoint, ...]:
        """Return the configured witnesses."""
        return tuple(_parse_witness(text, is_local=True) for text in split_list(self.witnesses) if text)


def _parse_witness(text: str, *, is_local: bool) -> WitnessEndpoint:
    """Return the witness that a text describes. Raises ValueError with the reason."""
    from chalicelib.kernel.outbound.http_urls import parse_http_url

    url, _, key_text = text.partition(" ")
    try:
        parsed, key = parse_http_url(url), parse_verifier_key(key_text.strip())
    except ValueError as error:
        raise ValueError(f"{text!r} is not the URL of a witness, a space and its verifier key: {error}") from None
    if parsed.scheme != "https" and not (is_local and parsed.host in _LOCAL_HOSTS):
        raise ValueError(f"{url} must be an https URL")
    if "?" in parsed.target:
        raise ValueError(f"{url} must not have a query")
    if key.signature_type != COSIGNATURE:
        raise ValueError(f"{key.name}: the verifier key is that of a log; a witness has one of type 04")
    return WitnessEndpoint(str(parsed).rstrip("/"), key)
