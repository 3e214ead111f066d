"""`make doctor` says step by step what is accepted, what is missing and why, and never prints the token."""

import io
import json
import logging
import os
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity import userinfo
from chalicelib.kernel.identity.jwks import get_issuer_keys
from chalicelib.kernel.identity.jwt import verify_token
from infrastructure import configuration
from local.__main__ import main
from local.server.issuer import ISSUER, Issuer, Person
from local.tools import doctor, issuer_checks
from tests.conftest import SettingsOverride
from tests.harness.configured_stages import configure_stage
from tests.harness.receiver import Reply
from tests.harness.userinfo import DISCOVERY_PATH, UserinfoIssuer, json_reply
from tests.local.conftest import write_settings

PROFILE = {"preferred_username": "zoe", "name": "Zoë", "email": "zoe@example.com", "email_verified": True}
STEPS = ["format", "key", "signature", "issuer", "claims", "time", "audience", "bearer token", "person", "access token"]


@pytest.fixture
def configure(issuer, monkeypatch):
    """A function that changes settings. The issuer is trusted."""
    monkeypatch.setenv("AUTH_ACCEPT_ID_TOKENS", "0")
    get_issuer_keys.cache_clear()
    userinfo.reset_userinfo()
    override = SettingsOverride(monkeypatch)
    override(**{name.lower(): value for name, value in issuer.settings().items()})
    yield override
    settings.cache_clear()
    get_issuer_keys.cache_clear()


@pytest.fixture
def provider(issuer, receiver, configure):
    """An issuer on the loopback interface, with discovery and a userinfo endpoint."""
    configure(auth_issuer=receiver.url.rstrip("/"), webhook_allow_private="1")
    return UserinfoIssuer(issuer, receiver)


@pytest.fixture
def diagnose(configure, capsys):
    """A function that checks a token and returns the exit code and the output, in which the token must not be."""

    def run(token: str | None) -> tuple[int, str]:
        code, output = doctor.diagnose(token), capsys.readouterr().out
        assert not any(part in output for part in (token or "").split(".") if len(part) > 20)
        return code, output

    return run


def steps(output, outcome):
    return [line[10:].partition(":")[0] for line in output.splitlines() if line.startswith(outcome.ljust(10))]


def test_every_step_of_a_complete_token_is_accepted(diagnose, issuer):
    code, output = diagnose(issuer.issue_token(sub="zoe", groups=["operators"], **PROFILE))
    assert (code, steps(output, "missing"), steps(output, "REJECTED")) == (0, [], [])
    told = ["user id", "username", "name", "e-mail address", "verified e-mail address", "operator"]
    assert steps(output, "ok") == ["settings", "keys", *STEPS, *told]
    assert all(text in output for text in ("1 usable key,", "'zoe'", "Zoë", "zoe@example.com", "is an operator"))


@pytest.mark.parametrize(
    ("claims", "step", "texts"),
    [
        ({"iss": "https://elsewhere.example"}, "issuer", ("https://elsewhere.example", "AUTH_ISSUER must equal")),
        ({"sub": ""}, "claims", ("not valid: sub", "Let the issuer add or correct")),
        ({"exp": 1}, "time", ("expired", "new token", "60 s")),
        ({"nbf": time.time() + 86_400}, "time", ("not valid yet", "clocks")),
        (
            {"aud": "web"},
            "audience",
            ("['web']", "is the id of a client", "do not add", "only if it identifies this API"),
        ),
        ({"aud": None, "client_id": "web"}, "audience", ("['web']", "Add the id of the client to AUTH_AUDIENCE")),
        ({"cnf": {"jkt": "x"}}, "bearer token", ("`cnf`", "DPoP")),
        ({"sub": "web@clients", "azp": "web"}, "person", ("client credentials", "API key")),
        ({"token_use": "id"}, "access token", ("ID token", "AUTH_ACCEPT_ID_TOKENS=1")),
        ({"events": {}}, "access token", ("security event", "Send the access token")),
    ],
)
def test_a_rejected_step_names_the_reason_and_the_remedy_and_others_are_checked_too(
    claims, step, texts, diagnose, issuer
):
    code, output = diagnose(issuer.issue_token(**{"sub": "zoe", **claims}))
    assert (code, steps(output, "REJECTED")) == (1, [step])
    assert all(text in output for text in texts)
    assert steps(output, "ok")[-1] == {"issuer": "signature", "claims": "issuer"}.get(step, "operator")


def test_an_altered_token_is_rejected_with_a_remedy_for_its_signature(diagnose, issuer):
    header, _, signature = issuer.issue_token(sub="zoe").split(".")
    code, output = diagnose(f"{header}.e30.{signature}")
    assert (code, steps(output, "REJECTED"), steps(output, "ok")[-1]) == (1, ["signature"], "key")
    assert "exactly as the issuer issued it" in output
    assert "AUTH_ISSUER must" not in output


@pytest.mark.parametrize("has_other_key_id", [True, False])
def test_a_token_of_another_issuer_is_rejected_with_both_issuers_instead_of_its_key(
    has_other_key_id, diagnose, issuer, tmp_path
):
    folder = tmp_path / "other"
    other = Issuer(folder)
    other.settings()
    if not has_other_key_id:
        copy_key_id(Path(issuer.settings()["AUTH_JWKS"]), folder / "jwks.json")
    code, output = diagnose(other.create_token(Person("zoe")))
    assert (code, steps(output, "REJECTED")) == (1, ["key" if has_other_key_id else "signature"])
    assert f"names the issuer '{ISSUER}', and AUTH_ISSUER is '{settings().auth_issuer}'" in output
    assert "set AUTH_ISSUER to its `iss`" in output


def copy_key_id(source: Path, target: Path) -> None:
    key_set = json.loads(target.read_text())
    key_set["keys"][0]["kid"] = json.loads(source.read_text())["keys"][0]["kid"]
    target.write_text(json.dumps(key_set))


def test_the_key_set_of_the_development_issuer_is_rejected_for_another_issuer(
    diagnose, configure, tmp_path, monkeypatch
):
    monkeypatch.setattr("local.server.issuer.STATE", tmp_path)
    configure(auth_jwks=Issuer().settings()["auth_jwks"], auth_issuer="https://login.example.com")
    code, output = diagnose(None)
    assert (code, steps(output, "REJECTED")) == (1, ["keys"])
    for text in ("AUTH_JWKS was not set", ISSUER, "https://login.example.com/.well-known/openid-configuration"):
        assert text in output
    configure(auth_issuer=ISSUER)
    assert steps(diagnose(None)[1], "ok") == ["settings", "keys"]


def test_keys_that_cannot_be_read_are_reported_without_the_log_of_the_service(
    diagnose, issuer, configure, tmp_path, caplog
):
    (tmp_path / "jwks.json").write_text("{}")
    configure(auth_jwks=str(tmp_path / "jwks.json"))
    code, output = diagnose(issuer.issue_token(sub="zoe"))
    assert (code, steps(output, "REJECTED")) == (1, ["keys", "key"])
    assert caplog.records == []
    assert logging.root.manager.disable == logging.NOTSET


def test_the_setting_for_private_addresses_is_named_only_for_an_issuer_with_a_private_address(
    diagnose, provider, configure
):
    configure(auth_jwks=f"{provider.url}/keys", auth_issuer=f"{provider.url}/", webhook_allow_private="0")
    assert "needs WEBHOOK_ALLOW_PRIVATE=1" in diagnose(None)[1]
    configure(webhook_allow_private="1")
    output = diagnose(None)[1]
    assert "instead of" in output
    assert "WEBHOOK_ALLOW_PRIVATE" not in output


@pytest.mark.parametrize(
    ("subject", "origin"),
    [("01890A5D-AC96-774B-BCCE-B302099A8057", "the `sub` itself"), ("zoe", "derived from `sub` 'zoe'")],
)
def test_the_origin_of_the_user_id_is_told(subject, origin, diagnose, issuer):
    output = diagnose(issuer.issue_token(sub=subject))[1]
    assert f"{verify_token(issuer.issue_token(sub=subject)).id}, {origin}." in output


@pytest.mark.parametrize(
    ("text", "step", "reason"),
    [
        ("unreadable", "token", "no JSON Web Token, which has three parts"),
        ("eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ6b2", "token", "a part of it was not copied"),
        ("atr_0123456789abcdefghijklmnopqrstuvwxyz01", "token", "an API key of an organization"),
        ('{"access_token": "x"}', "token", "the value of `access_token`"),
        ("token: a.b.c", "token", "more than one word"),
        ("a..b.c.d", "token", "encrypted"),
        ("a.b.c", "format", "header is not valid"),
    ],
)
def test_other_input_is_named_first_with_what_is_expected_instead(text, step, reason, diagnose):
    code, output = diagnose(text)
    assert (code, steps(output, "REJECTED")) == (1, [step])
    assert reason in output
    assert step == "format" or "make doctor < token.txt" in output
    assert text not in output


def test_a_token_without_names_is_accepted_and_each_missing_claim_is_named_with_its_setting(
    diagnose, issuer, configure
):
    configure(auth_claim_email="https://x.example/email,email")
    code, output = diagnose(issuer.issue_token(sub="auth0|zoe", groups=["staff"]))
    assert (code, steps(output, "missing")) == (0, ["username", "name", "e-mail address", "verified e-mail address"])
    for text in (
        "`https://x.example/email` or `email` (AUTH_CLAIM_EMAIL)",
        "AUTH_USERINFO=1",
        "['staff']",
        "'operators'",
    ):
        assert text in output
    code, output = diagnose(issuer.issue_token(sub="auth0|zoe", email="zoe@example.com"))
    assert "`email_verified` (AUTH_CLAIM_EMAIL_VERIFIED)" in output


def test_the_userinfo_endpoint_fills_in_what_is_missing_or_its_failure_is_explained(diagnose, provider, configure):
    configure(auth_userinfo="1", auth_jwks=provider.issuer.settings()["AUTH_JWKS"])
    zoe = provider.create_caller()
    provider.set_claims(zoe, **PROFILE)
    code, output = diagnose(zoe.credential)
    assert (code, steps(output, "missing")) == (0, [])
    assert "Zoë" in output
    provider.set_reply(Reply(403))
    code, output = diagnose(zoe.credential)
    assert (code, steps(output, "missing")[0]) == (0, "userinfo response")
    assert "scopes openid" in output
    code, output = diagnose(provider.issuer.issue_token(iss=provider.url, sub=zoe.id, scope="openid email"))
    assert (code, steps(output, "missing")[0]) == (0, "userinfo response")
    assert "with this `aud`" in output
    assert "scopes openid" not in output
    requests = len(provider.userinfo_requests)
    code, output = diagnose(provider.issuer.issue_token(iss=provider.url, sub=zoe.id, aud="web"))
    assert (code, steps(output, "REJECTED")) == (1, ["audience"])
    assert "It was not requested, because the token is rejected." in output
    assert len(provider.userinfo_requests) == requests
    provider.set_reply(Reply(500))
    code, output = diagnose(zoe.credential)
    assert (code, steps(output, "REJECTED")) == (1, ["userinfo response"])
    assert "status 500" in output


def test_without_a_token_the_settings_and_the_documents_of_the_issuer_are_checked(
    diagnose, provider, configure, tmp_path
):
    key_set = json.loads((tmp_path / provider.issuer.settings()["AUTH_JWKS"]).read_text())
    provider.receiver.replies_by_path["/keys"] = json_reply(key_set)
    configure(auth_jwks=f"{provider.url}/keys", auth_userinfo="1")
    provider.set_discovery(jwks_uri=f"{provider.url}/keys")
    code, output = diagnose(None)
    assert (code, steps(output, "ok"), steps(output, "missing")) == (
        *(0, ["settings", "keys", "discovery", "userinfo"]),
        ["token"],
    )
    provider.set_discovery(jwks_uri=f"{provider.url}/others")
    assert steps(diagnose(None)[1], "missing") == ["discovery", "token"]
    provider.set_discovery(jwks_uri=f"{provider.url}/keys", id_token_signing_alg_values_supported=["HS256", "PS256"])
    assert steps(diagnose(None)[1], "REJECTED") == ["discovery"]
    for malformed in ("https://[::1", "https://a.example:99999", "https://a.example/ü"):
        userinfo.reset_userinfo()
        provider.set_discovery(jwks_uri=f"{provider.url}/keys", userinfo_endpoint=malformed)
        assert steps(diagnose(None)[1], "REJECTED") == ["userinfo"]
        configure(auth_issuer=malformed)
        assert steps(diagnose(None)[1], "REJECTED") == ["discovery", "userinfo"]
        configure(auth_issuer=provider.url)
    userinfo.reset_userinfo()
    provider.receiver.replies_by_path[DISCOVERY_PATH] = Reply(404)
    code, output = diagnose(None)
    assert (code, steps(output, "REJECTED")) == (1, ["discovery", "userinfo"])
    configure(auth_userinfo="0", auth_jwks=f"{provider.url}/gone")
    assert steps(diagnose(None)[1], "REJECTED") == ["keys"]
    configure(auth_issuer="")
    code, output = diagnose(None)
    assert (code, steps(output, "REJECTED")) == (1, ["settings"])


@pytest.mark.usefixtures("configure")
def test_the_command_reads_the_token_from_stdin_or_a_variable_and_uses_a_run(local_state, issuer, monkeypatch, capsys):
    keys = dict.fromkeys(("audit_signing_key", "audit_public_keys", "seal_key", "entry_key", "data_key", "token_key"))
    values = {name.lower(): value for name, value in issuer.settings().items()}
    write_settings(local_state, **values, **dict.fromkeys(keys, "A" * 43 + "="))
    token = issuer.issue_token(sub="zoe", **PROFILE)
    texts = (f"Bearer {token}\n", f"authorization: bearer {token}", f'"{token}"\n', f"'Bearer {token}'")
    for text, variable in (*((text, None) for text in texts), ("", token)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        if variable:
            monkeypatch.setenv("TOKEN", variable)
        assert main(["doctor"]) == 0
        assert "zoe@example.com" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.StringIO(issuer.issue_token(sub="zoe", aud="web")))
    assert main(["doctor"]) == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert all(text in output for text in ("No token was passed", "make doctor < token.txt"))


@pytest.mark.usefixtures("configure", "local_state")
def test_the_command_checks_the_settings_of_a_stage_as_bootstrap_stored_them(tmp_path, monkeypatch, capsys):
    config = tmp_path / "project/.chalice/config.json"
    config.parent.mkdir(parents=True)
    config.write_text(configuration.CONFIG_FILE.read_text())
    configure_stage(tmp_path / "project")
    monkeypatch.setattr(configuration, "CONFIG_FILE", config)
    monkeypatch.setattr(issuer_checks, "load_issuer_keys", lambda _: ())
    monkeypatch.setattr(
        issuer_checks, "fetch_discovery_document", lambda *_: {"jwks_uri": "https://login.example.com/keys.json"}
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with patch.dict(os.environ):
        assert main(["doctor", "--stage", "dev"]) == 0
        assert "AUTH_ISSUER is https://login.example.com, AUTH_AUDIENCE is atrium." in capsys.readouterr().out
        assert main(["doctor", "--stage", "prod"]) == 1
        assert "make bootstrap STAGE=prod" in capsys.readouterr().err
