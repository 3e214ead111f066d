"""Invalid settings are reported by name and reason when a process starts."""

import json

import pytest

from chalicelib.features.audit.witnesses.models.settings import WitnessSettings
from chalicelib.features.platforms.models.settings import PlatformSettings
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.settings import Settings, SettingsError, section, settings, settings_model
from chalicelib.kernel.crypto.checkpoints import ED25519
from chalicelib.kernel.crypto.cosignatures import VerifierKey
from tests.harness.data_keys import public_keys_of
from tests.harness.witnesses import FakeWitness
from tests.kernel.deployed_settings import DEPLOYED, KEY, KEY_SETTINGS, WRAPPED

OTHER_KEY = to_base64(bytes(32))
PUBLIC_KEY, OTHER_PUBLIC_KEY = public_keys_of(KEY), public_keys_of(OTHER_KEY)


@pytest.fixture(autouse=True)
def without_settings(monkeypatch):
    for name in ["SETTINGS_FILE", *(field.upper() for field in settings_model().model_fields)]:
        monkeypatch.delenv(name, raising=False)
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture
def load(monkeypatch):
    """Return a function that loads settings from variables, with signing keys and as many public keys by default."""

    def load_settings(**variables: str) -> Settings:
        public_keys = [PUBLIC_KEY] * (variables.get("AUDIT_SIGNING_KEY", "").count(",") + 1)
        defaults = {**dict.fromkeys(KEY_SETTINGS, KEY), "AUDIT_PUBLIC_KEYS": ",".join(public_keys)}
        for name, value in (defaults | variables).items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()
        return settings()

    return load_settings


@pytest.mark.parametrize("name", KEY_SETTINGS)
def test_a_key_must_be_32_bytes_in_base64_and_is_not_shown(name, load):
    assert load().stage == "local"
    for keys in (KEY, WRAPPED, f"{KEY},{OTHER_KEY}", f"{KEY},{WRAPPED}"):
        for spelling in (keys, keys.replace(",", " , ")):
            assert getattr(load(**{name: spelling}), name.lower()) == keys
    for value in ("", "not base64!", "c2hvcnQ=", f"{KEY},", f"{KEY},c2hvcnQ="):
        with pytest.raises(SettingsError, match=f"{name}: ") as raised:
            load(**{name: value})
        assert value == "" or value not in str(raised.value)
        assert "," not in value or f"{name}: must be 32 bytes in base64" in str(raised.value)


@pytest.mark.parametrize("name", KEY_SETTINGS)
@pytest.mark.parametrize("keys", ["", KEY, "kms:", "kms:not base64!", f"{WRAPPED},", f"{WRAPPED},{KEY}"])
def test_a_deployed_stage_accepts_only_wrapped_keys(name, keys, load):
    assert getattr(load(**DEPLOYED), name.lower()) == WRAPPED
    for stage in ("dev", "prod"):
        with pytest.raises(SettingsError, match=f"{name}: (must be wrapped by AWS KMS|not base64)") as raised:
            load(**(DEPLOYED | {"STAGE": stage, name: keys}))
        assert KEY not in str(raised.value)


@pytest.mark.parametrize("name", sorted(DEPLOYED.keys() - {"STAGE", "AUDIT_PUBLIC_KEYS", *KEY_SETTINGS}))
def test_a_deployed_stage_requires_settings_that_are_optional_locally(name, load):
    assert load(**DEPLOYED).stage == "prod"
    with pytest.raises(SettingsError, match=f"{name}: must be set on a deployed stage"):
        load(**(DEPLOYED | {name: ""}))


def test_all_invalid_settings_are_reported_together(load):
    with pytest.raises(SettingsError) as raised:
        load(STAGE="moon", LOG_LEVEL="loud", WEBHOOK_ALLOW_PRIVATE="perhaps")
    assert all(name in str(raised.value) for name in ("STAGE", "LOG_LEVEL", "WEBHOOK_ALLOW_PRIVATE"))


def test_the_number_of_public_keys_is_that_of_the_signing_keys(load):
    both_public_keys, both_keys = f"{PUBLIC_KEY},{OTHER_PUBLIC_KEY}", {"AUDIT_SIGNING_KEY": f"{KEY},{OTHER_KEY}"}
    loaded = load(**both_keys, AUDIT_PUBLIC_KEYS=both_public_keys.replace(",", " , "))
    assert loaded.audit_public_keys == both_public_keys
    for public_keys, message, signing_keys in (
        (both_public_keys, "must be as many as AUDIT_SIGNING_KEY lists", {}),
        (PUBLIC_KEY, "must be as many as AUDIT_SIGNING_KEY lists", both_keys),
        ("", "must be 32 bytes", {}),
        ("AAAA", "must be 32 bytes", {}),
    ):
        with pytest.raises(SettingsError, match=f"AUDIT_PUBLIC_KEYS: {message}"):
            load(**signing_keys, AUDIT_PUBLIC_KEYS=public_keys)


LOOPBACK_URL = "http://127.0.0.1:9000/restapis/id/dev"


@pytest.mark.parametrize(
    ("stage_settings", "name", "value", "loaded"),
    [
        ({}, "PUBLIC_URL", "http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        (DEPLOYED, "PUBLIC_URL", "https://api.example/prod/", "https://api.example/prod"),
        (DEPLOYED, "PUBLIC_URL", LOOPBACK_URL, LOOPBACK_URL),
        ({}, "AUTH_JWKS", "http://127.0.0.1:1/jwks", "http://127.0.0.1:1/jwks"),
        *(
            ({}, "MAIL_FROM", sender, sender)
            for sender in ("mail@example.com", "Atrium <mail@example.com>", '"Atrium, Inc." <mail@example.com>', "")
        ),
        *(
            ({}, "DNS_NAMESERVERS", servers, servers)
            for servers in ("", "192.0.2.7", "127.0.0.1:5353, [2001:db8::7]:53")
        ),
        ({}, "AUTH_AUDIENCE", "web , https://api.example", "web,https://api.example"),
        ({}, "AUTH_CLAIM_EMAIL", "https://x.example/email , email", "https://x.example/email,email"),
        ({}, "PLATFORMS_DOMAIN", "Atrium.Example.", "atrium.example"),
        ({}, "PLATFORMS_ADDRESSES", "", ""),
        ({}, "PLATFORMS_ADDRESSES", "192.0.2.7", "192.0.2.7"),
        ({}, "PLATFORMS_ADDRESSES", "192.0.2.7, 2001:DB8:0::7", "192.0.2.7,2001:db8::7"),
    ],
)
def test_a_valid_value_is_loaded_in_its_normal_form(stage_settings, name, value, loaded, load):
    assert getattr(load(**(stage_settings | {name: value})), name.lower()) == loaded


HTTPS = "must be an https URL"
E_MAIL = "must be an e-mail address"
DNS = "must be addresses, such as"
DOMAIN = "must be a domain name such as"
ADDRESSES = "must be addresses separated by commas"


@pytest.mark.parametrize(
    ("stage_settings", "name", "message", "values"),
    [
        (DEPLOYED, "PUBLIC_URL", HTTPS, ["api.example", "http://api.example", "http://127.0.0.1.example", ""]),
        (DEPLOYED, "PUBLIC_URL", HTTPS, ["http://127.0.0.1@api.example"]),
        (DEPLOYED, "AUTH_JWKS", HTTPS, ["http://issuer.example/jwks"]),
        ({}, "MAIL_FROM", E_MAIL, ["Atrium", "mail@", "@example.com", "Atrium <mail>", "a@b.example, c@d.example"]),
        ({}, "DNS_NAMESERVERS", DNS, ["dns.example"]),
        ({}, "AUTH_AUDIENCE", "must be one or more names", ["web,", ",", "web,,api"]),
        ({}, "AUTH_CLAIM_NAME", "must be one or more names", ["", " ", "name,"]),
        ({"AUTH_CLAIM_EMAIL": "a,b"}, "AUTH_CLAIM_EMAIL_VERIFIED", "must not list more names than", ["a,b,c"]),
        ({}, "PLATFORMS_DOMAIN", DOMAIN, ["", "atrium", "https://atrium.example", "atrium.example:80", "192.0.2.7"]),
        ({}, "PLATFORMS_DOMAIN", DOMAIN, [f"{'a' * 180}.example"]),
        (DEPLOYED, "PLATFORMS_DOMAIN", "must be set on a deployed stage", ["atrium.localhost"]),
        ({}, "PLATFORMS_ADDRESSES", ADDRESSES, ["atrium.example", "192.0.2.7/32", "192.0.2.7,", "192.0.2"]),
    ],
)
def test_an_invalid_value_is_rejected_with_the_reason(stage_settings, name, message, values, load):
    for value in values:
        with pytest.raises(SettingsError, match=f"{name}: {message}"):
            load(**(stage_settings | {name: value}))


def test_the_default_domain_of_platforms_is_local(load):
    load()
    assert section(PlatformSettings).platforms_domain == "atrium.localhost"


@pytest.mark.parametrize(
    "location", ["missing.json", ".", "ftp://issuer.example/jwks", "https://", "issuer.example/jwks"]
)
@pytest.mark.parametrize("stage", ["local", "prod"])
def test_the_issuers_keys_must_be_an_https_url_or_a_file(stage, location, load, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = r"AUTH_JWKS: must be an https URL or an existing file.*docs/reference/settings\.md"
    with pytest.raises(SettingsError, match=message):
        load(**(DEPLOYED | {"STAGE": stage, "AUTH_JWKS": location}))
    (tmp_path / "jwks.json").touch()
    assert load(**(DEPLOYED | {"STAGE": stage, "AUTH_JWKS": "jwks.json"})).auth_jwks == "jwks.json"


def test_environment_variables_override_the_settings_file(load, tmp_path):
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"table_name": "filed", "mail_from": "filed@example.com"}))
    loaded = load(SETTINGS_FILE=str(file), MAIL_FROM="said@example.com")
    assert (loaded.table_name, loaded.mail_from) == ("filed", "said@example.com")


@pytest.fixture
def witness_setting():
    return FakeWitness("w1.example", {}).setting


class TestWitnesses:
    def test_each_is_a_url_and_a_verifier_key(self, load, witness_setting):
        other = FakeWitness("w2.example", {}).setting
        other = other.replace("https://w2.example", "https://w2.example:8443/log/")
        loaded = load(WITNESSES=f" {witness_setting} ,{other}")
        assert isinstance(loaded, WitnessSettings)
        urls_and_names = [(each.url, each.key.name) for each in loaded.witness_endpoints]
        assert urls_and_names == [("https://w1.example", "w1.example"), ("https://w2.example:8443/log", "w2.example")]
        assert load(WITNESSES="").witness_endpoints == ()

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda setting: setting.partition(" ")[0], "is not the URL of a witness, a space and its verifier key"),
            (lambda setting: setting.partition(" ")[2], "must be a URL"),
            (lambda setting: setting[:-2], "verifier key"),
            (lambda setting: setting.replace("https", "http"), "must be an https URL"),
            (lambda setting: setting.replace("https", "ftp"), "must be a URL"),
            (lambda setting: setting.replace(".example ", ".example/?a ", 1), "must not have a query"),
            (lambda setting: f"{setting},{setting}", "must not list the key of a witness twice"),
            (lambda setting: f"{setting},", "verifier key"),
            (lambda _: f"https://log.example {VerifierKey('log.example', bytes(32), ED25519)}", "that of a log"),
            (
                lambda _: ",".join(FakeWitness(f"w{number}.example", {}).setting for number in range(9)),
                "at most 8 witnesses",
            ),
        ],
    )
    def test_another_is_reported_with_the_reason(self, load, witness_setting, change, reason):
        with pytest.raises(SettingsError, match="WITNESSES: ") as raised:
            load(WITNESSES=change(witness_setting))
        assert reason in str(raised.value)

    def test_a_local_stage_accepts_a_witness_on_this_machine(self, load, witness_setting):
        local = witness_setting.replace("https://w1.example", "http://127.0.0.1:8080")
        assert load(WITNESSES=local).witness_endpoints[0].url == "http://127.0.0.1:8080"
        with pytest.raises(SettingsError, match="must be an https URL"):
            load(**DEPLOYED, WITNESSES=local, WITNESSED_LOG_ORIGIN="atrium.example/anchors")

    def test_a_deployed_stage_with_witnesses_needs_a_unique_origin(self, load, witness_setting):
        with pytest.raises(SettingsError, match="WITNESSES: needs WITNESSED_LOG_ORIGIN"):
            load(**DEPLOYED, WITNESSES=witness_setting)
        loaded = load(**DEPLOYED, WITNESSES=witness_setting, WITNESSED_LOG_ORIGIN="atrium.example/anchors")
        assert loaded.stage == "prod"

    @pytest.mark.parametrize("origin", ["", "a b", "a+b", "a\nb", "a,b"])
    def test_an_origin_is_the_name_of_a_key(self, load, origin):
        with pytest.raises(SettingsError, match="WITNESSED_LOG_ORIGIN: must be a name"):
            load(WITNESSED_LOG_ORIGIN=origin)
