"""Checks a token with the functions of the service, step by step, as a part of `make doctor`.

Neither the token nor a part of it is printed, but the claims that matter are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity import api_key_format, jwt
from chalicelib.kernel.identity.claims import groups_from_claims
from chalicelib.kernel.identity.jwt import (
    CLAIM_CHECKS,
    SKEW_SECONDS,
    User,
    describe_unverified_other_issuer,
    quote_names,
)
from chalicelib.kernel.identity.token_claims import TokenClaims, VerifiedClaims
from chalicelib.kernel.identity.userinfo import Userinfo, UserinfoResponse, request_userinfo
from local.tools.findings import Finding, Outcome

T = TypeVar("T")

_REMEDIES: Final[Mapping[str, str]] = {
    "format": (
        "Send the JSON Web Token in three parts, without `Bearer`. An issuer that sends opaque tokens has to be asked"
        " for tokens of this API, by its audience or resource. It has to sign with one of the algorithms."
    ),
    "key": "AUTH_JWKS must be the key set of the token's issuer. `jwks_uri` of its discovery document names it.",
    "signature": "Send the token exactly as the issuer issued it. AUTH_JWKS must be the key set of its issuer.",
    "issuer": "AUTH_ISSUER must equal the `iss` of the token exactly, including a slash at the end.",
    "other issuer": (
        "Send a token of the trusted issuer. If the token's issuer is the right one, set AUTH_ISSUER to its `iss`,"
        " including a slash at the end, and AUTH_JWKS to the `jwks_uri` of its discovery document."
    ),
    "claims": "Let the issuer add or correct these claims. `iss`, `sub` and `exp` are required.",
    "time": (
        f"Get a new token. If it is new, compare the clocks of the issuer and of this machine: they may differ by"
        f" {SKEW_SECONDS} s."
    ),
    "audience": (
        "If this value is the id of a client (the application that people sign in to), the token is probably an ID"
        " token: do not add the id to AUTH_AUDIENCE, but send the access token for this API. The client requests it"
        " from the issuer with this API's audience; some issuers add the audience by a mapper or a template. Add the"
        " value to AUTH_AUDIENCE only if it identifies this API, as the id of the API's app registration does at Entra"
        " ID."
    ),
    "client": (
        "The token has no `aud`, so its `client_id` counts, as in access tokens of Amazon Cognito. Add the id of the"
        " client to AUTH_AUDIENCE if its users may use this API. If the issuer can set an `aud`, let it set this API's."
    ),
    "bearer token": "Let the issuer issue bearer tokens to this client, without DPoP or certificates.",
    "person": "Send the token of a person who signed in. Programs use an API key of an organization.",
    "access token": "Send the access token, or set AUTH_ACCEPT_ID_TOKENS=1 if access tokens of the issuer lack claims.",
}
_EXPECTED_INPUT: Final = (
    "Pass the access token of a person who signed in: `make doctor < token.txt`, with the token as the only text of the"
    " file. docs/guides/issuers/README.md says how to get one."
)
_NOT_REQUESTED: Final = UserinfoResponse(obstacle="It was not requested, because the token is rejected.")
_SIGNED_TOKEN_PARTS: Final = 3
_ENCRYPTED_TOKEN_PARTS: Final = 5
"""Numbers of parts of a JSON Web Token, which dots separate (RFC 7515, section 3.1; RFC 7516, section 3.1)."""

_ACCEPTED_TEXTS: Final[Mapping[str, str]] = {
    "signature": "The key of the issuer signed the token.",
    "claims": "The claims that decide whether the token is accepted are valid.",
    "time": f"The token is valid now. `exp` and `nbf` are compared with a tolerance of {SKEW_SECONDS} s.",
    "bearer token": "The token is not bound to a key.",
    "person": "The token is a person's, not a program's.",
    "access token": "The token has no mark of an ID token or another type.",
}


def check_token(token: str | None) -> Iterator[Finding]:
    """Yield findings about the token, if there is one. The steps after invalid claims are omitted."""
    if token is None:
        yield Finding("token", Outcome.MISSING, "No token was passed.", _EXPECTED_INPUT)
        return
    if text := _describe_other_input_or_none(token):
        yield Finding("token", Outcome.REJECTED, text, _EXPECTED_INPUT)
        return
    try:
        _, algorithm = _call("format", lambda: jwt.parse_key_id_and_algorithm(token))
        yield Finding("format", Outcome.ACCEPTED, f"The token is a JSON Web Token, signed with {algorithm}.")
        key = _call("key", lambda: jwt.find_signing_key(token), token)
        yield Finding("key", Outcome.ACCEPTED, "The key set has the key of the token.")
        signed = _call("signature", lambda: jwt.decode_signed_claims(token, key), token)
        yield Finding("signature", Outcome.ACCEPTED, _ACCEPTED_TEXTS["signature"])
        _call("issuer", lambda: jwt.require_claims_of_issuer(signed, settings().auth_issuer))
        yield Finding("issuer", Outcome.ACCEPTED, f"The token is from {settings().auth_issuer}.")
        claims = _call("claims", lambda: jwt.parse_claims(signed))
        yield Finding("claims", Outcome.ACCEPTED, _ACCEPTED_TEXTS["claims"])
    except _Rejected as rejected:
        yield rejected.finding
        return
    findings = [_check_claims(step, check, claims.token) for step, check in CLAIM_CHECKS.items()]
    yield from findings
    is_accepted = all(finding.outcome is Outcome.ACCEPTED for finding in findings)
    yield from _check_user(token, claims, asks_userinfo=is_accepted)


def _describe_other_input_or_none(text: str) -> str | None:
    """Return what the text is if it is no JSON Web Token, or None. The text itself is not shown: it may be a secret."""
    part_count = len(text.split("."))
    if text.startswith(api_key_format.PREFIX):
        return (
            "This is an API key of an organization, no token. Programs send it to the API as it is, without an issuer."
        )
    if text.startswith(("{", "[")):
        return "This is JSON. The token is the value of `access_token` in it."
    if " " in text:
        return "This is more than one word."
    if part_count == _ENCRYPTED_TOKEN_PARTS:
        return "This token is encrypted (five parts). Only its issuer can read it."
    if part_count != _SIGNED_TOKEN_PARTS:
        return (
            "This is no JSON Web Token, which has three parts, separated by dots. It may be an opaque token, or a part"
            " of it was not copied."
        )
    return None


class _Rejected(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.text)
        self.finding = finding


def _call(step: str, function: Callable[[], T], unverified_token: str | None = None) -> T:
    """Return the result of a step. Raises _Rejected.

    `unverified_token`: passed for the steps that come before `iss` is compared. If the token names another issuer,
    that is the cause of their rejection.
    """
    try:
        return function()
    except Problem as problem:
        is_of_other_issuer = unverified_token is not None and describe_unverified_other_issuer(unverified_token)
        remedy = _REMEDIES["other issuer" if is_of_other_issuer else step]
        raise _Rejected(Finding(step, Outcome.REJECTED, problem.detail, remedy)) from None


def _check_claims(step: str, check: Callable[[TokenClaims], None], claims: TokenClaims) -> Finding:
    try:
        _call(step, lambda: check(claims))
    except _Rejected as rejected:
        is_client = step == "audience" and claims.aud is None
        return replace(rejected.finding, remedy=_REMEDIES["client"]) if is_client else rejected.finding
    return Finding(
        step, Outcome.ACCEPTED, _ACCEPTED_TEXTS.get(step) or f"The token is for {', '.join(claims.audiences)}."
    )


def _check_user(token: str, claims: VerifiedClaims, *, asks_userinfo: bool) -> Iterator[Finding]:
    """Yield what the service knows about the person. The endpoint is not asked about a token that is not accepted."""
    user = jwt.user_from_claims(token, claims)
    if user.userinfo:
        load = request_userinfo if asks_userinfo else lambda _: _NOT_REQUESTED
        user = replace(user, userinfo=Userinfo(user.userinfo.owner, load))
    is_subject = user.id == ascii_lower(claims.token.sub)
    origin = "the `sub` itself" if is_subject else f"derived from `sub` {claims.token.sub!r}"
    yield Finding("user id", Outcome.ACCEPTED, f"{user.id}, {origin}.")
    yield from _check_userinfo(user)
    for step, value, names, setting in (
        ("username", user.username, settings().auth_claim_username, "AUTH_CLAIM_USERNAME"),
        ("name", user.name, settings().auth_claim_name, "AUTH_CLAIM_NAME"),
        ("e-mail address", user.email, settings().auth_claim_email, "AUTH_CLAIM_EMAIL"),
    ):
        yield _finding_of_value(user, step, value, names, setting)
    yield _check_verified_email(user)
    yield _check_operator(user, claims)


def _check_userinfo(user: User) -> Iterator[Finding]:
    if user.userinfo is None:
        return
    step = "userinfo response"
    try:
        response = user.userinfo.response()
    except Problem as problem:
        remedy = "Until it succeeds, names stay unknown and invitations cannot be accepted."
        yield Finding(step, Outcome.REJECTED, str(problem.__cause__), remedy)
        return
    if response.obstacle:
        remedy = "Otherwise let the issuer add the claims to access tokens. Then AUTH_USERINFO is not needed."
        yield Finding(step, Outcome.MISSING, response.obstacle, "" if response is _NOT_REQUESTED else remedy)
    else:
        yield Finding(step, Outcome.ACCEPTED, "The endpoint describes the person of the token.")


def _finding_of_value(user: User, step: str, value: str | None, names: str, setting: str) -> Finding:
    if value:
        return Finding(step, Outcome.ACCEPTED, value)
    sources = "Neither the token nor the userinfo response has" if user.userinfo else "The token does not have"
    remedy = f"Let the issuer add it to the token, or name another claim in {setting}"
    return Finding(
        step,
        Outcome.MISSING,
        f"{sources} the claim {quote_names(names)} ({setting}).",
        f"{remedy}." if user.userinfo else f"{remedy}, or set AUTH_USERINFO=1.",
    )


def _check_verified_email(user: User) -> Finding:
    step = "verified e-mail address"
    try:
        if user.verified_email_or_none:
            return Finding(step, Outcome.ACCEPTED, "The issuer says that the address is verified.")
        return Finding(step, Outcome.MISSING, user.explain_unverified_email(), "Invitations need a verified address.")
    except Problem:
        return Finding(step, Outcome.MISSING, "It is unknown, because the userinfo endpoint failed.")


def _check_operator(user: User, claims: VerifiedClaims) -> Finding:
    if user.is_operator:
        return Finding("operator", Outcome.ACCEPTED, "The user is an operator of the service.")
    groups = groups_from_claims(claims.all)
    found = f"The token has {groups!r}" if groups else "The token has no groups"
    text = f"The user is not an operator: {found} in {quote_names(settings().auth_claim_groups)} (AUTH_CLAIM_GROUPS)."
    remedy = f"Operators are in the group {settings().auth_operator_group!r} (AUTH_OPERATOR_GROUP)."
    return Finding("operator", Outcome.ACCEPTED, text, remedy)
