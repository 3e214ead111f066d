"""Checks that the issuer's documents and keys fit the settings, as a part of `make doctor`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.core.settings import URL_PREFIX, settings
from chalicelib.kernel.identity.discovery import discovery_url, fetch_discovery_document
from chalicelib.kernel.identity.jwks import ALGORITHMS, KEY_SET_ERRORS, list_token_algorithms, load_issuer_keys
from chalicelib.kernel.identity.jwt import require_issuer_settings
from chalicelib.kernel.identity.userinfo import find_userinfo_endpoint
from chalicelib.kernel.outbound.egress import NO_PUBLIC_ADDRESS
from chalicelib.kernel.outbound.json_client import JsonNotReceived
from local.server.issuer import ISSUER, Issuer
from local.tools.findings import Finding, Outcome

_FETCH_SECONDS: Final = 10.0


def check_issuer(_: str | None) -> Iterator[Finding]:
    """Yield findings about the settings, the discovery document, the key set and the userinfo endpoint."""
    try:
        require_issuer_settings()
    except Problem as problem:
        yield Finding("settings", Outcome.REJECTED, problem.detail, "docs/guides/issuers/README.md lists the settings.")
        return
    yield Finding(
        "settings",
        Outcome.ACCEPTED,
        f"AUTH_ISSUER is {settings().auth_issuer}, AUTH_AUDIENCE is {settings().auth_audience}.",
    )
    yield _check_keys()
    if URL_PREFIX.match(settings().auth_jwks) or settings().auth_userinfo:
        yield _check_discovery_document()
    if settings().auth_userinfo:
        yield _check_userinfo_endpoint()


def _check_keys() -> Finding:
    source, issuer = settings().auth_jwks, settings().auth_issuer
    if source == str(Issuer().key_set_file) and issuer != ISSUER:
        text = f"AUTH_JWKS was not set, so the key set is that of the local development issuer {ISSUER}."
        remedy = f"AUTH_ISSUER is {issuer}: set AUTH_JWKS to the `jwks_uri` in {discovery_url(issuer)}."
        return Finding("keys", Outcome.REJECTED, text, remedy)
    try:
        keys = load_issuer_keys(source)
    except KEY_SET_ERRORS as error:
        remedy = f"AUTH_JWKS must be the `jwks_uri` in {discovery_url(issuer)}."
        return Finding("keys", Outcome.REJECTED, f"The key set {source} cannot be used: {error}.", remedy)
    algorithms = sorted({algorithm for key in keys for algorithm in list_token_algorithms(key)})
    place = source if URL_PREFIX.match(source) else Path(source).name
    usable_keys = describe_count(len(keys), "usable key")
    return Finding("keys", Outcome.ACCEPTED, f"{place} has {usable_keys}, for {', '.join(algorithms)}.")


def _check_discovery_document() -> Finding:
    try:
        document = fetch_discovery_document(settings().auth_issuer, _FETCH_SECONDS)
    except JsonNotReceived as error:
        outcome = Outcome.REJECTED if settings().auth_userinfo else Outcome.MISSING
        text = f"{discovery_url(settings().auth_issuer)}: {error}"
        return Finding("discovery", outcome, text, f"Check AUTH_ISSUER.{_advice_for_private_address(error)}")
    return _compare_with_settings(document)


def _compare_with_settings(document: dict[str, Any]) -> Finding:
    if URL_PREFIX.match(settings().auth_jwks) and document.get("jwks_uri") != settings().auth_jwks:
        text = f"`jwks_uri` is {document.get('jwks_uri')}, and AUTH_JWKS is {settings().auth_jwks}."
        return Finding(
            "discovery", Outcome.MISSING, text, "Set AUTH_JWKS to `jwks_uri`, unless they have the same keys."
        )
    offered = document.get("id_token_signing_alg_values_supported")
    if isinstance(offered, list) and not {*offered} & {*ALGORITHMS}:
        text = f"The issuer signs with {', '.join(map(str, offered))}."
        return Finding("discovery", Outcome.REJECTED, text, f"Let it sign with one of {', '.join(ALGORITHMS)}.")
    return Finding("discovery", Outcome.ACCEPTED, "The document names the issuer and the key set of the settings.")


def _check_userinfo_endpoint() -> Finding:
    try:
        return Finding("userinfo", Outcome.ACCEPTED, find_userinfo_endpoint(settings().auth_issuer))
    except JsonNotReceived as error:
        remedy = "The issuer needs a userinfo endpoint; otherwise unset AUTH_USERINFO."
        return Finding("userinfo", Outcome.REJECTED, str(error), f"{remedy}{_advice_for_private_address(error)}")


def _advice_for_private_address(error: JsonNotReceived) -> str:
    is_private = NO_PUBLIC_ADDRESS in str(error)
    return " An issuer with a private address needs WEBHOOK_ALLOW_PRIVATE=1." if is_private else ""
