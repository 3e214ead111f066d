"""A process starts with settings that are right, or says which are wrong and why."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.settings import Settings, SettingsError, settings, settings_model
from tests.harness.data_keys import public_halves

KEY, OTHER_KEY = to_base64(bytes(range(32))), to_base64(bytes(32))
KEYS = {"AUDIT_SIGNING_KEY": KEY, "SEAL_KEY": KEY, "ENTRY_KEY": KEY, "DATA_KEY": KEY, "TOKEN_KEY": KEY}
PUBLIC = {"AUDIT_PUBLIC_KEYS": public_halves(KEY)}
WRAPPED = f"kms:{to_base64(b'wrapped')}"
DEPLOYED = {
    "STAGE": "prod",
    "EVENTS_QUEUE_URL": "https://queue.example/events",
    "JOBS_QUEUE_URL": "https://queue.example/jobs",
    "DELIVERIES_QUEUE_URL": "https://queue.example/deliveries",
    "DELIVERIES_SLOW_QUEUE_URL": "https://queue.example/deliveries-slow",
    "EXPORTS_BUCKET": "exports",
    **dict.fromkeys(KEYS, WRAPPED),
    **PUBLIC,
    "AUTH_JWKS": "https://issuer.example/jwks",
    "AUTH_ISSUER": "https://issuer.example",
    "AUTH_AUDIENCE": "atrium",
    "PLATFORMS_DOMAIN": "atrium.example",
}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ["SETTINGS_FILE", *(field.upper() for field in settings_model().model_fields)]:
        monkeypatch.delenv(name, raising=False)
    settings.cache_clear()
    yield
    settings.cache_clear()


def read(monkeypatch: pytest.MonkeyPatch, **given: str) -> Settings:
    """Read settings that are given, with as many public keys as sign unless these are given too."""
    public = {"AUDIT_PUBLIC_KEYS": ",".join([*PUBLIC.values()] * (given.get("AUDIT_SIGNING_KEY", "").count(",") + 1))}
    for name, value in (KEYS | public | given).items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()
    return settings()


def test_keys_alone_are_enough_for_the_local_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch).stage == "local"


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("value", ["", "not base64!", "c2hvcnQ="])
def test_a_key_that_is_not_32_bytes_is_refused_by_its_name_and_not_shown(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match=name) as refusal:
        read(monkeypatch, **{name: value})
    assert value == "" or value not in str(refusal.value)


def test_everything_wrong_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError) as refusal:
        read(monkeypatch, STAGE="moon", LOG_LEVEL="loud", WEBHOOK_ALLOW_PRIVATE="perhaps")
    assert all(name in str(refusal.value) for name in ("STAGE", "LOG_LEVEL", "WEBHOOK_ALLOW_PRIVATE"))


@pytest.mark.parametrize("name", sorted(DEPLOYED.keys() - {"STAGE", *KEYS, *PUBLIC}))
def test_a_deployed_stage_needs_what_the_local_one_can_do_without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, **DEPLOYED).stage == "prod"
    with pytest.raises(SettingsError, match=f"{name}: must be set on a deployed stage"):
        read(monkeypatch, **(DEPLOYED | {name: ""}))


def test_links_begin_with_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, PUBLIC_URL="http://127.0.0.1:9000").public_url == "http://127.0.0.1:9000"
    assert (
        read(monkeypatch, **DEPLOYED, PUBLIC_URL="https://api.example/prod/").public_url == "https://api.example/prod"
    )
    here = "http://127.0.0.1:9000/restapis/id/dev"
    assert read(monkeypatch, **DEPLOYED, PUBLIC_URL=here).public_url == here
    for wrong in ("api.example", "http://api.example", "http://127.0.0.1.example", "http://127.0.0.1@api.example", ""):
        with pytest.raises(SettingsError, match="PUBLIC_URL: must be an https URL"):
            read(monkeypatch, **DEPLOYED, PUBLIC_URL=wrong)


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("keys", ["", KEY, "kms:", "kms:not base64!", f"{WRAPPED},", f"{WRAPPED},{KEY}"])
def test_a_deployed_stage_takes_wrapped_keys_only(name: str, keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert getattr(read(monkeypatch, **DEPLOYED), name.lower()) == WRAPPED
    for stage in ("dev", "prod"):
        with pytest.raises(SettingsError, match=f"{name}: (must be wrapped by AWS KMS|not base64)") as refusal:
            read(monkeypatch, **(DEPLOYED | {"STAGE": stage, name: keys}))
        assert KEY not in str(refusal.value)


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_listed_one_after_the_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for keys in (KEY, WRAPPED, f"{KEY},{OTHER_KEY}", f"{KEY},{WRAPPED}"):
        for written in (keys, keys.replace(",", " , ")):
            assert getattr(read(monkeypatch, **{name: written}), name.lower()) == keys
    for wrong in (f"{KEY},", f"{KEY},c2hvcnQ="):
        with pytest.raises(SettingsError, match=f"{name}: must be 32 bytes in base64"):
            read(monkeypatch, **{name: wrong})


def test_there_are_as_many_public_keys_as_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    public, other = PUBLIC["AUDIT_PUBLIC_KEYS"], public_halves(OTHER_KEY)
    both = {"AUDIT_SIGNING_KEY": f"{KEY},{OTHER_KEY}"}
    assert read(monkeypatch, **both, AUDIT_PUBLIC_KEYS=f"{public} , {other}").audit_public_keys == f"{public},{other}"
    for wrong in ({"AUDIT_PUBLIC_KEYS": f"{public},{other}"}, both | PUBLIC):
        with pytest.raises(SettingsError, match="AUDIT_PUBLIC_KEYS: must be as many as AUDIT_SIGNING_KEY lists"):
            read(monkeypatch, **wrong)
    for wrong in ({"AUDIT_PUBLIC_KEYS": ""}, {"AUDIT_PUBLIC_KEYS": "AAAA"}):
        with pytest.raises(SettingsError, match="AUDIT_PUBLIC_KEYS: must be 32 bytes"):
            read(monkeypatch, **wrong)


def test_a_deployed_stage_fetches_its_issuers_keys_over_https_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="AUTH_JWKS: must be an https URL"):
        read(monkeypatch, **(DEPLOYED | {"AUTH_JWKS": "http://issuer.example/jwks"}))
    assert read(monkeypatch, AUTH_JWKS="http://127.0.0.1:1/jwks", STAGE="local").auth_jwks == "http://127.0.0.1:1/jwks"


@pytest.mark.parametrize("place", ["missing.json", ".", "ftp://issuer.example/jwks", "https://", "issuer.example/jwks"])
@pytest.mark.parametrize("stage", ["local", "prod"])
def test_an_issuers_keys_must_be_somewhere(
    stage: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = r"AUTH_JWKS: must be an https URL or an existing file.*docs/reference/settings\.md"
    with pytest.raises(SettingsError, match=told):
        read(monkeypatch, **(DEPLOYED | {"STAGE": stage, "AUTH_JWKS": place}))
    (tmp_path / "jwks.json").touch()
    assert read(monkeypatch, **(DEPLOYED | {"STAGE": stage, "AUTH_JWKS": "jwks.json"})).auth_jwks == "jwks.json"


def test_the_environment_speaks_louder_than_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"table_name": "filed", "mail_from": "filed@example.com"}))
    known = read(monkeypatch, SETTINGS_FILE=str(file), MAIL_FROM="said@example.com")
    assert (known.table_name, known.mail_from) == ("filed", "said@example.com")


@pytest.mark.parametrize("sender", ["Atrium", "mail@", "@example.com", "Atrium <mail>", "a@b.example, c@d.example"])
def test_mail_comes_from_an_address(sender: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="MAIL_FROM: must be an e-mail address"):
        read(monkeypatch, MAIL_FROM=sender)
    for right in ("mail@example.com", "Atrium <mail@example.com>", '"Atrium, Inc." <mail@example.com>', ""):
        assert read(monkeypatch, MAIL_FROM=right).mail_from == right


def test_names_are_asked_of_servers_that_have_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="DNS_NAMESERVERS: must be addresses, such as"):
        read(monkeypatch, DNS_NAMESERVERS="dns.example")
    for right in ("", "192.0.2.7", "127.0.0.1:5353, [2001:db8::7]:53"):
        assert read(monkeypatch, DNS_NAMESERVERS=right).dns_nameservers == right


def test_platforms_have_a_domain_of_the_services_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch).platforms_domain == "atrium.localhost"
    assert read(monkeypatch, PLATFORMS_DOMAIN="Atrium.Example.").platforms_domain == "atrium.example"
    for wrong in ("", "atrium", "https://atrium.example", "atrium.example:80", "192.0.2.7", f"{'a' * 180}.example"):
        with pytest.raises(SettingsError, match="PLATFORMS_DOMAIN: must be a domain name such as"):
            read(monkeypatch, PLATFORMS_DOMAIN=wrong)
    with pytest.raises(SettingsError, match="PLATFORMS_DOMAIN: must be set on a deployed stage"):
        read(monkeypatch, **(DEPLOYED | {"PLATFORMS_DOMAIN": "atrium.localhost"}))


def test_custom_domains_lead_to_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, known in (("", ""), ("192.0.2.7", "192.0.2.7"), ("192.0.2.7, 2001:DB8:0::7", "192.0.2.7,2001:db8::7")):
        assert read(monkeypatch, PLATFORMS_ADDRESSES=given).platforms_addresses == known
    for wrong in ("atrium.example", "192.0.2.7/32", "192.0.2.7,", "192.0.2"):
        with pytest.raises(SettingsError, match="PLATFORMS_ADDRESSES: must be addresses separated by commas"):
            read(monkeypatch, PLATFORMS_ADDRESSES=wrong)
