"""The guides of issuers: tokens of the documented shapes are sent with the settings and the code of each guide.

The sources of the shapes are the pages that the guides cite.
"""

import json
import os
import re
import shlex
import subprocess
import time
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qs
from uuid import NAMESPACE_URL, uuid5

import pytest

from chalicelib.kernel.core.settings import parse_settings, settings
from chalicelib.kernel.identity import userinfo
from chalicelib.kernel.identity.claims import Profile, profile_from_claims
from chalicelib.kernel.identity.jwks import get_issuer_keys
from chalicelib.kernel.identity.jwt import verify_token
from infrastructure.__main__ import _parser
from infrastructure.bootstrap import ARGUMENTS, requested_settings
from local.paths import ROOT
from local.tools.node import find_node
from tests.kernel.deployed_settings import DEPLOYED
from tests.kernel.identity.conftest import KEY_SET, PRIVATE_KEYS, rejection, sign_token

FOLDER: Final = ROOT / "docs/guides/issuers"
GUIDES: Final = {path.stem: path.read_text() for path in FOLDER.glob("*.md")}
COMMAND: Final = re.compile(r"^    make bootstrap (STAGE=prod DOMAIN=(?:.+\\\n)*.+)$", re.MULTILINE)
EMAIL: Final = "zoe@example.com"
NAMED: Final = Profile("zoe", "Zoë Example", EMAIL, email_verified=True)
UUID: Final = "4c1a2b5e-0000-4000-8000-00000000000a"
HEADER: Final = {"alg": "RS256", "kid": "RS256", "typ": "JWT"}

OIDC_CLAIMS: Final = {"preferred_username": "zoe", "name": "Zoë Example", "email": EMAIL, "email_verified": True}


@cache
def settings_of(guide: str, number: int = 0) -> dict[str, str]:
    """Return the settings that a `make bootstrap` command of a guide stores, without DOMAIN, by a dry run of make."""
    command = f"make --dry-run --old-file .venv/installed bootstrap {COMMAND.findall(GUIDES[guide])[number]}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    dry_run = ["bash", "-c", command]
    output = subprocess.run(dry_run, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    arguments = shlex.split(output.replace("\\\n", " ").partition("-m infrastructure ")[2])
    chosen = _parser().parse_args(arguments)
    given = {name: value for name in ARGUMENTS if name != "domain" and (value := getattr(chosen, name))}
    return requested_settings(given, chosen.set)


@cache
def run_code(guide: str, event: str, export: str) -> Any:
    """Return what the function in a guide's JavaScript sets, for an event in JSON."""
    code = re.findall(r"```js\n(.+?)```", GUIDES[guide], re.DOTALL)[0]
    script = f"""
        const claims = {{}}, event = {event};
        const api = {{accessToken: {{setCustomClaim: (name, value) => {{ claims[name] = value; }}}}}};
        {code.replace("export const", "const").replace("exports.onExecutePostLogin", "const onExecutePostLogin")}
        {export}(event, api).then((result) => console.log(JSON.stringify({{claims, result}})));
    """
    command = [find_node().program, "-e", script]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@cache
def json_block(guide: str) -> Any:
    return json.loads(re.findall(r"```json\n(.+?)```", GUIDES[guide], re.DOTALL)[0])


def auth0_token(**changes: Any) -> dict[str, Any]:
    return {
        "sub": "auth0|123456",
        "aud": ["https://api.atrium.example.com", "https://example.eu.auth0.com/userinfo"],
        "azp": "my_client_id",
        "scope": "openid profile email",
    } | changes


def auth0_action(roles: list[str], *, verified: bool = True) -> dict[str, Any]:
    user = {"email": EMAIL, "email_verified": verified, "name": "Zoë Example", "nickname": "zoe"}
    event = json.dumps({"user": user, "authorization": {"roles": roles}})
    claims: dict[str, Any] = run_code("auth0", event, "onExecutePostLogin")["claims"]
    return claims


def cognito_token(**changes: Any) -> dict[str, Any]:
    return {
        "sub": UUID,
        "cognito:groups": ["operators"],
        "client_id": "1example23456789",
        "origin_jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
        "event_id": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef",
        "token_use": "access",
        "scope": "openid profile email",
        "username": UUID,
        "version": 2,
    } | changes


def cognito_trigger() -> dict[str, Any]:
    attributes = {
        "sub": UUID,
        "email": EMAIL,
        "email_verified": "true",
        "name": "Zoë Example",
        "preferred_username": "zoe",
    }
    event = json.dumps({"version": "2", "request": {"userAttributes": attributes}, "response": {}})
    details = run_code("cognito", event, "handler")["result"]["response"]["claimsAndScopeOverrideDetails"]
    claims: dict[str, Any] = details["accessTokenGeneration"]["claimsToAddOrOverride"]
    return claims


def keycloak_token(*groups: str, **changes: Any) -> dict[str, Any]:
    mappers = {m["protocolMapper"]: m["config"] for m in json_block("keycloak")["protocolMappers"]}
    membership = mappers["oidc-group-membership-mapper"]
    path = "/" if membership["full.path"] == "true" else ""
    return {
        "sub": UUID,
        "typ": "Bearer",
        "azp": "web",
        "sid": "2a88c258-f73a-4103-b862-e1fbd8f4e04e",
        "acr": "1",
        "realm_access": {"roles": ["offline_access", "default-roles-example"]},
        "scope": "openid email profile",
        "aud": [mappers["oidc-audience-mapper"]["included.custom.audience"], "account"],
        membership["claim.name"]: [path + group for group in groups],
        **OIDC_CLAIMS,
    } | changes


def entra_token(**changes: Any) -> dict[str, Any]:
    manifest = json_block("entra-id")
    assert manifest["api"]["requestedAccessTokenVersion"] == 2
    available = {"email": EMAIL, "xms_edov": True, "idtyp": ...}
    optional = {each["name"]: available[each["name"]] for each in manifest["optionalClaims"]["accessToken"]}
    return {
        "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
        "aud": "00001111-aaaa-2222-bbbb-3333cccc4444",
        "azp": "11112222-bbbb-3333-cccc-4444dddd5555",
        "azpacr": "0",
        "oid": UUID,
        "tid": "aaaabbbb-0000-cccc-1111-dddd2222eeee",
        "preferred_username": "zoe",
        "name": "Zoë Example",
        "scp": "access",
        "ver": "2.0",
        **optional,
    } | changes


def clerk_token(**changes: Any) -> dict[str, Any]:
    values = {
        "{{user.primary_email_address}}": EMAIL,
        "{{user.email_verified}}": True,
        "{{user.full_name}}": "Zoë Example",
        "{{user.username}}": "zoe",
        "{{user.public_metadata.groups}}": None,
    }
    template = {name: values.get(value, value) for name, value in json_block("clerk").items()}
    default = {"azp": "http://localhost:3000", "jti": "10db7f531a90cb2faea4", "sub": "user_1deJLArSTiWiF1YdsEWysnhJLLY"}
    return {**default, **template, **changes}


def openid_token(**changes: Any) -> dict[str, Any]:
    return {
        "sub": "zoe",
        "aud": "https://api.atrium.example",
        "client_id": "web",
        "jti": "x",
        "scope": "openid",
    } | changes


ACCEPTED: Final[dict[str, tuple[tuple[str, int], dict[str, Any], Profile, bool]]] = {
    "Auth0": (("auth0", 0), auth0_token(**auth0_action(["operators"])), NAMED, True),
    "Auth0, unverified": (
        ("auth0", 0),
        auth0_token(**auth0_action([], verified=False)),
        Profile("zoe", "Zoë Example", EMAIL, email_verified=False),
        False,
    ),
    "Auth0, RFC 9068": (
        ("auth0", 0),
        auth0_token(azp=..., client_id="my_client_id", jti="x", **auth0_action([])),
        NAMED,
        False,
    ),
    "Auth0 without the Action": (("auth0", 0), auth0_token(), Profile(), False),
    "Auth0, userinfo": (("auth0", 1), auth0_token(), Profile(), False),
    "Cognito": (("cognito", 0), cognito_token(**cognito_trigger()), NAMED, True),
    "Cognito without the trigger": (("cognito", 0), cognito_token(**{"cognito:groups": ...}), Profile(), False),
    "Cognito, userinfo": (("cognito", 1), cognito_token(), Profile(), True),
    "Cognito, ID token": (
        ("cognito", 2),
        {
            "sub": UUID,
            "aud": "1example23456789",
            "token_use": "id",
            "at_hash": "x",
            "cognito:username": "zoe",
            "email": EMAIL,
            "email_verified": True,
        },
        Profile("zoe", None, EMAIL, email_verified=True),
        False,
    ),
    "Keycloak": (("keycloak", 0), keycloak_token("operators"), NAMED, True),
    "Keycloak, other group": (("keycloak", 0), keycloak_token("staff"), NAMED, False),
    "Keycloak, one audience": (("keycloak", 0), keycloak_token(aud="atrium"), NAMED, False),
    "Entra ID": (("entra-id", 0), entra_token(roles=["Atrium.Operator"]), NAMED, True),
    "Entra ID, text": (("entra-id", 0), entra_token(xms_edov="1"), NAMED, False),
    "Entra ID, unverified": (
        ("entra-id", 0),
        entra_token(xms_edov=..., email_verified=True, groups=["Atrium.Operator"]),
        Profile("zoe", "Zoë Example", EMAIL),
        False,
    ),
    "Clerk": (("clerk", 0), clerk_token(), NAMED, False),
    "Clerk, operator": (("clerk", 0), clerk_token(groups=["operators"]), NAMED, True),
    "OpenID provider": (("openid-provider", 0), openid_token(**OIDC_CLAIMS, groups=["operators"]), NAMED, True),
    "OpenID provider, userinfo": (("openid-provider", 1), openid_token(), Profile(), False),
}
"""Tokens of people: the guide and the number of its command, the claims, the profile, and whether it is an operator."""

REJECTED: Final[dict[str, tuple[tuple[str, int], dict[str, Any], str]]] = {
    "Auth0, program": (
        ("auth0", 0),
        auth0_token(sub="my_client_id@clients", gty="client-credentials"),
        "client credentials",
    ),
    "Auth0, ID token": (("auth0", 0), {"sub": "auth0|123456", "aud": "my_client_id", **OIDC_CLAIMS}, "AUTH_AUDIENCE"),
    "Cognito, program": (("cognito", 0), cognito_token(sub="1example23456789", username=...), "client credentials"),
    "Cognito, ID token": (("cognito", 0), {"sub": UUID, "aud": "1example23456789", "token_use": "id"}, "ID token"),
    "Cognito, other client": (("cognito", 0), cognito_token(client_id="2example"), "AUTH_AUDIENCE"),
    "Keycloak, program": (
        ("keycloak", 0),
        keycloak_token(preferred_username="service-account-reports", azp="reports", client_id="reports"),
        "client credentials",
    ),
    "Keycloak, ID token": (("keycloak", 0), keycloak_token(typ="ID", aud="web"), "AUTH_AUDIENCE"),
    "Keycloak without the scope": (("keycloak", 0), keycloak_token(aud="account"), "AUTH_AUDIENCE"),
    "Entra ID, program": (("entra-id", 0), entra_token(idtyp="app", scp=..., sub=UUID), "client credentials"),
    "Entra ID, program without idtyp": (("entra-id", 0), entra_token(scp=..., sub=UUID), "client credentials"),
    "Entra ID, version 1": (("entra-id", 0), entra_token(iss="https://sts.windows.net/aaaabbbb/"), "AUTH_ISSUER"),
    "Clerk, session token": (("clerk", 0), clerk_token(aud=..., sid="sess_123", v=2), "it has no `aud`"),
    "Clerk, machine": (("clerk", 0), clerk_token(sub="mch_2vYVtestTESTtestTESTtest"), "client credentials"),
    "OpenID provider, program": (("openid-provider", 0), openid_token(sub="web"), "client credentials"),
    "OpenID provider, ID token": (("openid-provider", 0), openid_token(scope=..., nonce="x"), "ID token"),
}
"""Tokens that are rejected: the guide and the number of its command, the claims, and a part of the reason."""

USERINFO: Final[dict[str, dict[str, Any]]] = {
    "Auth0, userinfo": {"nickname": "zoe", "name": "Zoë Example", "email": EMAIL, "email_verified": True},
    "Cognito, userinfo": {"username": UUID, "name": "Zoë Example", "email": EMAIL, "email_verified": "true"},
    "OpenID provider, userinfo": OIDC_CLAIMS,
}
"""The claims of the userinfo responses of issuers whose guide uses the endpoint."""


@pytest.fixture
def use_guide(monkeypatch, tmp_path):
    """A function that applies the settings of a command, with the keys of the tests, and returns a token."""
    (tmp_path / "jwks.json").write_text(json.dumps(KEY_SET))
    get_issuer_keys.cache_clear()

    def apply(command: tuple[str, int], claims: dict[str, Any]) -> str:
        applied = settings_of(*command) | {"AUTH_JWKS": str(tmp_path / "jwks.json")}
        for name, value in applied.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()
        now = int(time.time())
        payload = {"iss": applied["AUTH_ISSUER"], "iat": now, "exp": now + 300} | claims
        present = {name: value for name, value in payload.items() if value is not ...}
        return sign_token(HEADER, present, PRIVATE_KEYS["RS256"], "RS256")

    yield apply
    settings.cache_clear()
    get_issuer_keys.cache_clear()


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_persons_token_of_the_documented_shape_is_accepted_with_the_settings_of_the_guide(case, use_guide):
    command, claims, profile, is_operator = ACCEPTED[case]
    user = verify_token(use_guide(command, claims))
    is_uuid = claims["sub"] == UUID
    assert user.id == (UUID if is_uuid else str(uuid5(uuid5(NAMESPACE_URL, settings().auth_issuer), claims["sub"])))
    assert (user.token_profile, user.is_operator) == (profile, is_operator)
    assert (user.userinfo is not None) == (case in USERINFO)


@pytest.mark.parametrize("case", USERINFO)
def test_the_documented_userinfo_response_verifies_the_address(case, use_guide, monkeypatch):
    command, claims, _, is_operator = ACCEPTED[case]
    token = use_guide(command, claims)
    response = userinfo.UserinfoResponse(profile_from_claims(USERINFO[case]))
    monkeypatch.setattr(userinfo, "_load_or_request", lambda _: response)
    user = verify_token(token)
    assert (user.verified_email_or_none, user.name, user.is_operator) == (EMAIL, "Zoë Example", is_operator)


@pytest.mark.parametrize("case", REJECTED)
def test_other_tokens_of_the_issuer_are_rejected_with_the_reason(case, use_guide):
    command, claims, reason = REJECTED[case]
    assert reason in rejection(use_guide(command, claims)).detail


def test_every_guide_is_listed_and_every_command_is_valid_on_a_deployed_stage_and_replayed():
    others = GUIDES.keys() - {"README"}
    assert sorted(re.findall(r"^- \[.+\]\(([\w-]+)\.md\)$", GUIDES["README"], re.MULTILINE)) == sorted(others)
    commands = {(guide, number) for guide in others for number in range(len(COMMAND.findall(GUIDES[guide])))}
    assert {command for command, *_ in ACCEPTED.values()} == commands
    for command in commands:
        values = {name.lower(): value for name, value in (DEPLOYED | settings_of(*command)).items()}
        assert parse_settings(values).auth_issuer.startswith("https://")


@pytest.mark.parametrize("guide", sorted(GUIDES.keys() - {"README"}))
def test_every_guide_says_how_to_get_a_token_for_the_audience_and_how_to_check_it(guide):
    chapter = GUIDES[guide].split("## Get a token\n")[1]
    assert "    make doctor STAGE=prod < token.txt" in chapter
    audience = settings_of(guide)["AUTH_AUDIENCE"]
    if requests := re.findall(r"^    REQUEST='(.+)'$", chapter, re.MULTILINE):
        assert "[Get a token](README.md#get-a-token)" in chapter
        parameters = parse_qs(requests[0], strict_parsing=True)
        assert "openid" in parameters["scope"][0].split()
        # Amazon Cognito and Keycloak derive the audience from the client.
        named = parameters.get("audience") or parameters.get("resource") or parameters["scope"][0].split()
        assert guide in ("cognito", "keycloak") or named[-1].removeprefix("api://").removesuffix("/access") == audience
    else:
        (template,) = re.findall(r'getToken\(\{ template: "(\w+)" \}\)\)', chapter)
        assert template == audience
