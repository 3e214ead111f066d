"""The claims about a person, in a token or in a userinfo response, under the names that the settings give them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from pydantic_core import PydanticKnownError

from chalicelib.kernel.core.case_folding import email_from_claim
from chalicelib.kernel.core.settings import settings, split_list
from chalicelib.kernel.http.fields import require_visible_character

MAX_LABEL_CHARACTERS: Final = 255
"""Maximum length of a stored name. Longer names are truncated."""

_MAX_EMAIL_CHARACTERS: Final = 254
"""Length of an e-mail address in a token. A longer one is ignored."""

_TRUE_VALUES: Final = (True, "true")
"""Values of a claim that mean true. Amazon Cognito and others send text."""

_FURTHER_TRUE_VALUES: Final[Mapping[str, str]] = {"xms_edov": "1"}
"""Text that also means true in one claim. Entra ID documents `xms_edov` as a Boolean, but also sends `"1"`."""


@dataclass(frozen=True)
class Profile:
    """What an issuer says about a person. `email` is in the form for comparisons.

    `email_verified`: whether the issuer has verified the address, or None if no claim says so.
    """

    username: str | None = None
    name: str | None = None
    email: str | None = None
    email_verified: bool | None = None

    @property
    def has_verified_email(self) -> bool:
        """Return whether there is an address that the issuer has verified."""
        return bool(self.email and self.email_verified)


def profile_from_claims(claims: Mapping[str, Any]) -> Profile:
    """Return the profile in the claims that AUTH_CLAIM_USERNAME, _NAME, _EMAIL and _EMAIL_VERIFIED name.

    A claim with an invalid value is ignored, because an optional claim cannot make a token invalid.
    """
    email, email_verified = _email_and_verification(claims)
    return Profile(
        username=next(_labels(claims, split_list(settings().auth_claim_username)), None),
        name=next(_labels(claims, split_list(settings().auth_claim_name)), None),
        email=email,
        email_verified=email_verified,
    )


def claim_names() -> tuple[str, ...]:
    """Return the settings on which `profile_from_claims` depends."""
    names = settings()
    return names.auth_claim_username, names.auth_claim_name, names.auth_claim_email, names.auth_claim_email_verified


def is_operator_by_claims(claims: Mapping[str, Any]) -> bool:
    """Return whether any claim of AUTH_CLAIM_GROUPS contains AUTH_OPERATOR_GROUP."""
    group = settings().auth_operator_group
    return bool(group) and group in groups_from_claims(claims)


def groups_from_claims(claims: Mapping[str, Any]) -> list[Any]:
    """Return the groups in all claims of AUTH_CLAIM_GROUPS: the elements of lists, and texts, which are one group."""
    groups: list[Any] = []
    for _, value in _present(claims, split_list(settings().auth_claim_groups)):
        if isinstance(value, str | list):
            groups += [value] if isinstance(value, str) else value
    return groups


def _present(claims: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    return ((name, claims[name]) for name in names if claims.get(name) is not None)


def _labels(claims: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    for _, value in _present(claims, names):
        if isinstance(value, str) and _is_storable(label := value[:MAX_LABEL_CHARACTERS]):
            yield label


def _email_and_verification(claims: Mapping[str, Any]) -> tuple[str | None, bool | None]:
    """Return the first valid address, and whether a claim that belongs to the address's claim says it is verified."""
    for name, verifying_names in _email_claims():
        if email := _email_or_none(claims.get(name)):
            return email, next(_verifications(claims, verifying_names), None)
    return None, None


def _email_claims() -> Iterator[tuple[str, Iterable[str]]]:
    """Yield each claim of AUTH_CLAIM_EMAIL with the claims that verify its address.

    A claim never verifies the address of another claim than its own, which users may be able to change.
    """
    names = split_list(settings().auth_claim_email)
    verifying_names = split_list(settings().auth_claim_email_verified)
    if len(names) == 1:
        yield names[0], verifying_names
    else:
        for name, verifying_name in zip_longest(names, verifying_names):
            yield name, [verifying_name] if verifying_name else []


def _email_or_none(value: Any) -> str | None:
    is_text = isinstance(value, str) and len(value) <= _MAX_EMAIL_CHARACTERS and _is_storable(value)
    return email_from_claim(value) if is_text else None


def _verifications(claims: Mapping[str, Any], names: Iterable[str]) -> Iterator[bool]:
    for name, value in _present(claims, names):
        is_boolean = isinstance(value, bool | str)
        yield is_boolean and (value in _TRUE_VALUES or value == _FURTHER_TRUE_VALUES.get(name))


def _is_storable(text: str) -> bool:
    """Return whether a text has a visible character and no lone surrogates, which cannot be encoded."""
    try:
        require_visible_character(text).encode()
    except (PydanticKnownError, UnicodeEncodeError):
        return False
    return True
