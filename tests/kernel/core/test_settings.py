"""Invalid settings are reported by name and reason when a process starts."""

import json
from collections.abc import Iterator

import pytest

from chalicelib.features.platforms.models.settings import PlatformSettings
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.settings import Settings, SettingsError, section, settings, settings_model
from tests.harness.data_keys import public_keys_of

KEY, OTHER_KEY = to_base64(bytes(range(32))), to_base64(bytes(32))
KEYS = {"AUDIT_SIGNING_KEY": KEY, "SEAL_KEY": KEY, "ENTRY_KEY": KEY, "DATA_KEY": KEY, "TOKEN_KEY": KEY}
PUBLIC = {"AUDIT_PUBLIC_KEYS": public_keys_of(KEY)}
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
def _without_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ["SETTINGS_FILE", *(field.upper() for field in settings_model().model_fields)]:
        monkeypatch.delenv(name, raising=False)
    settings.cache_clear()
    yield
    settings.cache_clear()


def load_settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    """Load settings from these environment variables. Public keys for the signing keys are added unless given."""
    public_keys = {
        "AUDIT_PUBLIC_KEYS": ",".join([*PUBLIC.values()] * (variables.get("AUDIT_SIGNING_KEY", "").count(",") + 1))
    }
    for name, value in (KEYS | public_keys | variables).items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()
    return settings()


def load_platform_settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> PlatformSettings:
    """Load settings, and return those that the platforms declare."""
    load_settings(monkeypatch, **variables)
    return section(PlatformSettings)


def test_keys_are_sufficient_for_the_local_stage(monkeypatch):
    assert load_settings(monkeypatch).stage == "local"


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("value", ["", "not base64!", "c2hvcnQ="])
def test_an_invalid_key_is_rejected_by_name_without_its_value(name, value, monkeypatch):
    with pytest.raises(SettingsError, match=name) as raised:
        load_settings(monkeypatch, **{name: value})
    assert value == "" or value not in str(raised.value)


def test_all_invalid_settings_are_reported_together(monkeypatch):
    with pytest.raises(SettingsError) as raised:
        load_settings(monkeypatch, STAGE="moon", LOG_LEVEL="loud", WEBHOOK_ALLOW_PRIVATE="perhaps")
    assert all(name in str(raised.value) for name in ("STAGE", "LOG_LEVEL", "WEBHOOK_ALLOW_PRIVATE"))


@pytest.mark.parametrize("name", sorted(DEPLOYED.keys() - {"STAGE", *KEYS, *PUBLIC}))
def test_a_deployed_stage_requires_settings_that_are_optional_locally(name, monkeypatch):
    assert load_settings(monkeypatch, **DEPLOYED).stage == "prod"
    with pytest.raises(SettingsError, match=f"{name}: must be set on a deployed stage"):
        load_settings(monkeypatch, **(DEPLOYED | {name: ""}))


def test_the_public_url_must_be_an_https_url(monkeypatch):
    assert load_settings(monkeypatch, PUBLIC_URL="http://127.0.0.1:9000").public_url == "http://127.0.0.1:9000"
    assert (
        load_settings(monkeypatch, **DEPLOYED, PUBLIC_URL="https://api.example/prod/").public_url
        == "https://api.example/prod"
    )
    local_url = "http://127.0.0.1:9000/restapis/id/dev"
    assert load_settings(monkeypatch, **DEPLOYED, PUBLIC_URL=local_url).public_url == local_url
    for invalid_value in (
        "api.example",
        "http://api.example",
        "http://127.0.0.1.example",
        "http://127.0.0.1@api.example",
        "",
    ):
        with pytest.raises(SettingsError, match="PUBLIC_URL: must be an https URL"):
            load_settings(monkeypatch, **DEPLOYED, PUBLIC_URL=invalid_value)


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("keys", ["", KEY, "kms:", "kms:not base64!", f"{WRAPPED},", f"{WRAPPED},{KEY}"])
def test_a_deployed_stage_accepts_only_wrapped_keys(name, keys, monkeypatch):
    assert getattr(load_settings(monkeypatch, **DEPLOYED), name.lower()) == WRAPPED
    for stage in ("dev", "prod"):
        with pytest.raises(SettingsError, match=f"{name}: (must be wrapped by AWS KMS|not base64)") as raised:
            load_settings(monkeypatch, **(DEPLOYED | {"STAGE": stage, name: keys}))
        assert KEY not in str(raised.value)


@pytest.mark.parametrize("name", KEYS)
def test_several_keys_are_separated_by_commas(name, monkeypatch):
    for keys in (KEY, WRAPPED, f"{KEY},{OTHER_KEY}", f"{KEY},{WRAPPED}"):
        for spelling in (keys, keys.replace(",", " , ")):
            assert getattr(load_settings(monkeypatch, **{name: spelling}), name.lower()) == keys
    for invalid_value in (f"{KEY},", f"{KEY},c2hvcnQ="):
        with pytest.raises(SettingsError, match=f"{name}: must be 32 bytes in base64"):
            load_settings(monkeypatch, **{name: invalid_value})


def test_the_number_of_public_keys_is_that_of_the_signing_keys(monkeypatch):
    public_keys, other_public_key = PUBLIC["AUDIT_PUBLIC_KEYS"], public_keys_of(OTHER_KEY)
    signing_keys = {"AUDIT_SIGNING_KEY": f"{KEY},{OTHER_KEY}"}
    assert (
        load_settings(
            monkeypatch, **signing_keys, AUDIT_PUBLIC_KEYS=f"{public_keys} , {other_public_key}"
        ).audit_public_keys
        == f"{public_keys},{other_public_key}"
    )
    for invalid_value in ({"AUDIT_PUBLIC_KEYS": f"{public_keys},{other_public_key}"}, signing_keys | PUBLIC):
        with pytest.raises(SettingsError, match="AUDIT_PUBLIC_KEYS: must be as many as AUDIT_SIGNING_KEY lists"):
            load_settings(monkeypatch, **invalid_value)
    for invalid_value in ({"AUDIT_PUBLIC_KEYS": ""}, {"AUDIT_PUBLIC_KEYS": "AAAA"}):
        with pytest.raises(SettingsError, match="AUDIT_PUBLIC_KEYS: must be 32 bytes"):
            load_settings(monkeypatch, **invalid_value)


def test_a_deployed_stage_fetches_the_issuers_keys_only_over_https(monkeypatch):
    with pytest.raises(SettingsError, match="AUTH_JWKS: must be an https URL"):
        load_settings(monkeypatch, **(DEPLOYED | {"AUTH_JWKS": "http://issuer.example/jwks"}))
    assert (
        load_settings(monkeypatch, AUTH_JWKS="http://127.0.0.1:1/jwks", STAGE="local").auth_jwks
        == "http://127.0.0.1:1/jwks"
    )


@pytest.mark.parametrize(
    "location", ["missing.json", ".", "ftp://issuer.example/jwks", "https://", "issuer.example/jwks"]
)
@pytest.mark.parametrize("stage", ["local", "prod"])
def test_the_issuers_keys_must_be_an_https_url_or_a_file(stage, location, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = r"AUTH_JWKS: must be an https URL or an existing file.*docs/reference/settings\.md"
    with pytest.raises(SettingsError, match=message):
        load_settings(monkeypatch, **(DEPLOYED | {"STAGE": stage, "AUTH_JWKS": location}))
    (tmp_path / "jwks.json").touch()
    assert (
        load_settings(monkeypatch, **(DEPLOYED | {"STAGE": stage, "AUTH_JWKS": "jwks.json"})).auth_jwks == "jwks.json"
    )


def test_environment_variables_override_the_settings_file(tmp_path, monkeypatch):
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"table_name": "filed", "mail_from": "filed@example.com"}))
    loaded = load_settings(monkeypatch, SETTINGS_FILE=str(file), MAIL_FROM="said@example.com")
    assert (loaded.table_name, loaded.mail_from) == ("filed", "said@example.com")


@pytest.mark.parametrize("sender", ["Atrium", "mail@", "@example.com", "Atrium <mail>", "a@b.example, c@d.example"])
def test_the_sender_must_be_an_email_address(sender, monkeypatch):
    with pytest.raises(SettingsError, match="MAIL_FROM: must be an e-mail address"):
        load_settings(monkeypatch, MAIL_FROM=sender)
    for valid_value in ("mail@example.com", "Atrium <mail@example.com>", '"Atrium, Inc." <mail@example.com>', ""):
        assert load_settings(monkeypatch, MAIL_FROM=valid_value).mail_from == valid_value


def test_dns_servers_must_be_addresses(monkeypatch):
    with pytest.raises(SettingsError, match="DNS_NAMESERVERS: must be addresses, such as"):
        load_settings(monkeypatch, DNS_NAMESERVERS="dns.example")
    for valid_value in ("", "192.0.2.7", "127.0.0.1:5353, [2001:db8::7]:53"):
        assert load_settings(monkeypatch, DNS_NAMESERVERS=valid_value).dns_nameservers == valid_value


def test_the_platform_base_domain_must_be_a_domain_name(monkeypatch):
    assert load_platform_settings(monkeypatch).platforms_domain == "atrium.localhost"
    assert load_platform_settings(monkeypatch, PLATFORMS_DOMAIN="Atrium.Example.").platforms_domain == "atrium.example"
    for invalid_value in (
        "",
        "atrium",
        "https://atrium.example",
        "atrium.example:80",
        "192.0.2.7",
        f"{'a' * 180}.example",
    ):
        with pytest.raises(SettingsError, match="PLATFORMS_DOMAIN: must be a domain name such as"):
            load_settings(monkeypatch, PLATFORMS_DOMAIN=invalid_value)
    with pytest.raises(SettingsError, match="PLATFORMS_DOMAIN: must be set on a deployed stage"):
        load_settings(monkeypatch, **(DEPLOYED | {"PLATFORMS_DOMAIN": "atrium.localhost"}))


def test_the_platform_apex_addresses_must_be_ip_addresses(monkeypatch):
    for variables, loaded in (
        ("", ""),
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7, 2001:DB8:0::7", "192.0.2.7,2001:db8::7"),
    ):
        assert load_platform_settings(monkeypatch, PLATFORMS_ADDRESSES=variables).platforms_addresses == loaded
    for invalid_value in ("atrium.example", "192.0.2.7/32", "192.0.2.7,", "192.0.2"):
        with pytest.raises(SettingsError, match="PLATFORMS_ADDRESSES: must be addresses separated by commas"):
            load_settings(monkeypatch, PLATFORMS_ADDRESSES=invalid_value)
