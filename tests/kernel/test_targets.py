"""A webhook URL is an https URL that all parsers read alike. Other URLs are rejected with a reason."""

from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Final
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.ip_addresses import is_public
from chalicelib.kernel.outbound.webhook_urls import MAX_URL_CHARACTERS, PORTS, TargetUrl, url_host
from tests.harness.fresh_process import fresh

TARGET: Final = TypeAdapter(TargetUrl)
DEPLOYED: Final = {
    "STAGE": "prod",
    "EVENTS_QUEUE_URL": "https://queue.example/events",
    "JOBS_QUEUE_URL": "https://queue.example/jobs",
    "DELIVERIES_QUEUE_URL": "https://queue.example/deliveries",
    "DELIVERIES_SLOW_QUEUE_URL": "https://queue.example/deliveries-slow",
    "EXPORTS_BUCKET": "exports",
    "AUTH_JWKS": "https://issuer.example/jwks",
    "AUTH_ISSUER": "https://issuer.example",
    "AUTH_AUDIENCE": "atrium",
    "AUDIT_SIGNING_KEY": "kms:AAAA",
    "AUDIT_PUBLIC_KEYS": "A" * 43 + "=",
    "SEAL_KEY": "kms:AAAA",
    "ENTRY_KEY": "kms:AAAA",
    "DATA_KEY": "kms:AAAA",
    "TOKEN_KEY": "kms:AAAA",
}
PUBLIC_IPV4: Final = "93.184.216.34"


@pytest.fixture(scope="module", autouse=True)
def _deployed_stage() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in DEPLOYED.items():
            environment.setenv(name, value)
        settings.cache_clear()
        yield
    settings.cache_clear()


@pytest.fixture
def local_stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("STAGE", "local")
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture
def allow_private_addresses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WEBHOOK_ALLOW_PRIVATE", "1")
    settings.cache_clear()
    yield
    settings.cache_clear()


def to_full_width(text: str) -> str:
    """Return ASCII text in full-width characters, which IDNA maps to ASCII."""
    return "".join(chr(ord(character) + 0xFEE0) for character in text)


def validate(url: str) -> str:
    return TARGET.validate_python(url)


def rejection_message(url: str) -> str:
    with pytest.raises(ValidationError) as raised:
        validate(url)
    [error] = raised.value.errors()
    return error["msg"]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com/",
        "https://example.com/hooks?a=b&c=%20d",
        "https://example.com?a=b",
        "https://example.com:443/hooks",
        "https://example.com:8443/hooks",
        "https://a-b.c_d.example.co.uk/~x/;y=[1]",
        f"https://{PUBLIC_IPV4}/hooks",
        "https://[2606:4700::1111]/hooks",
        "https://[2606:4700::1111]:8443/hooks",
        "https://1.2.3.example/",
        "https://0x7f.example/",
        "https://xn--mnchen-3ya.example/",
        "https://example.com/@x:y//",
    ],
)
def test_valid_urls_are_unchanged(url: str) -> None:
    assert validate(url) == url


@pytest.mark.parametrize(
    ("url", "normalized"),
    [
        ("HTTPS://Example.COM/Hooks?A=B", "https://example.com/Hooks?A=B"),
        ("https://example.com./hooks", "https://example.com/hooks"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
        ("https://MÜNCHEN。example", "https://xn--mnchen-3ya.example"),
        (f"https://{to_full_width('example')}.com/", "https://example.com/"),
        ("https://XN--MNCHEN-3YA.example/", "https://xn--mnchen-3ya.example/"),
        ("https://[2606:4700:0:0:0:0:0:1111]/", "https://[2606:4700::1111]/"),
        (f"https://{PUBLIC_IPV4}./", f"https://{PUBLIC_IPV4}/"),
    ],
)
def test_hosts_are_normalized(url: str, normalized: str) -> None:
    assert validate(url) == normalized
    assert validate(normalized) == normalized


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com:8443/x", "example.com"),
        ("https://[2606:4700::1111]:8443/", "2606:4700::1111"),
        ("https://münchen.example/", "xn--mnchen-3ya.example"),
    ],
)
def test_the_host_of_a_url_is_returned(url: str, host: str) -> None:
    assert url_host(validate(url)) == host


@pytest.mark.parametrize("url", ["http://example.com/", "HTTP://example.com/"])
def test_http_is_rejected(url: str) -> None:
    assert "must begin with https://" in rejection_message(url)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "//example.com/",
        "example.com",
        "https:",
        "https:example.com",
        "https:/example.com",
        "javascript:alert(1)",
        "https",
        "://",
        "data:,x",
        " ",
        "x",
    ],
)
def test_other_schemes_are_rejected(url: str) -> None:
    assert rejection_message(url).startswith("Value error, must ")


@pytest.mark.parametrize("port", ["80", "22", "25", "8080", "444", "6379", "65535"])
def test_other_ports_are_rejected(port: str) -> None:
    assert "must have port 443 or 8443, or none" in rejection_message(f"https://example.com:{port}/")


@pytest.mark.parametrize(
    "port", ["0", "65536", "99999", "443x", "-1", "+443", "", " 443", "0443", "4 43", "٤٤٣", "443:443"]
)
def test_invalid_ports_are_rejected(port: str) -> None:
    assert rejection_message(f"https://example.com:{port}/").startswith("Value error, must ")


@pytest.mark.parametrize(
    "url",
    [
        "https://ada@example.com/",
        "https://ada:secret@example.com/",
        "https://@example.com/",
        "https://:@example.com/",
        "https://example.com@10.0.0.7/",
        "https://example.com:443@10.0.0.7/",
    ],
)
def test_users_and_passwords_are_rejected(url: str) -> None:
    message = rejection_message(url)
    assert "must not contain a user name or password" in message
    assert "secret" not in message


@pytest.mark.parametrize("url", ["https://example.com/#", "https://example.com/#x", "https://example.com#@10.0.0.7/"])
def test_fragments_are_rejected(url: str) -> None:
    assert "must not have a fragment" in rejection_message(url)


@pytest.mark.parametrize(
    "character",
    ["\\", "\t", "\n", "\r", "\x00", "\x7f", " ", "\u2028", "\u00a0", "<", ">", '"', "{", "}", "|", "^", "`"],
)
@pytest.mark.parametrize(
    "url", ["https:/{}/example.com/", "https://exam{}ple.com/", "https://example.com/a{}b", "https://example.com{}@a/"]
)
def test_characters_that_parsers_read_differently_are_rejected(url: str, character: str) -> None:
    assert "must not contain spaces, control characters or any of" in rejection_message(url.replace("{}", character))


@pytest.mark.parametrize(
    "host",
    [
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "127.1",
        "127.0.1",
        "017700000001",
        "0177.0.0.1",
        "127.0.0.01",
        "0",
        "1.2.3.4.5",
        "256.1.1.1",
        "example.1",
        "example.0x1",
        "0x",
        "example.0x",
        "127.0.0.0x1",
        to_full_width("127") + ".1",
        "1.1.1.1..",
    ],
)
def test_ambiguous_notations_of_addresses_are_rejected(host: str) -> None:
    assert "must have " in rejection_message(f"https://{host}/")


@pytest.mark.parametrize(
    "host",
    [
        "",
        ".",
        "..",
        "a..example",
        ".example.com",
        "-a.example",
        "a-.example",
        "a." * 127 + "example",
        "a" * 64 + ".example",
        "ex%61mple.com",
        "%31%30.0.0.7",
        "exa$mple.com",
        "exa,mple.com",
        "*.example.com",
        "example.com&x",
        "[",
        "]",
        "[]",
        "[1.2.3.4]",
        "[::1",
        "::1]",
        "2606:4700::1111",
        "[2606:4700::1111]x",
        "x[2606:4700::1111]",
        "[2606:4700::1111%25eth0]",
        "[v1.a]",
        "xn--a.example",
        "xn--.example",
        "a\u0301\u200d.example",
        "☃.example",
        f"a{to_full_width('@')}b.example",
        f"a{to_full_width('/')}b.example",
        "ex℀mple.example",
        "\u0080.example",
    ],
)
def test_invalid_hosts_are_rejected(host: str) -> None:
    assert rejection_message(f"https://{host}/").startswith("Value error, must ")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "10.0.0.7",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::a00:7]",
        "[fd00:ec2::254]",
        "[2002:a00:7::1]",
        "localhost",
        "LocalHost",
        "localhost.",
        "api.localhost",
        "intranet",
        to_full_width("10.0.0.7"),
        "10.0.0.7.",
        to_full_width("localhost"),
    ],
)
def test_nonpublic_hosts_are_rejected(host: str) -> None:
    assert "must have a public address" in rejection_message(f"https://{host}/hooks")


@pytest.mark.usefixtures("allow_private_addresses")
@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.7", "[::1]", "localhost", "api.localhost", "intranet"])
def test_nonpublic_hosts_can_be_allowed(host: str) -> None:
    assert validate(f"https://{host}/hooks") == f"https://{host}/hooks"


@pytest.mark.usefixtures("local_stage", "allow_private_addresses")
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9000/", "http://localhost:1/", "https://[::1]:65535/", "http://a.example"]
)
def test_the_local_stage_accepts_http_and_any_port(url: str) -> None:
    assert validate(url) == url


@pytest.mark.usefixtures("local_stage")
@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/", "http://localhost:9000/"])
def test_the_local_stage_alone_does_not_allow_private_addresses(url: str) -> None:
    assert "must have a public address" in rejection_message(url)


def test_the_length_of_a_url_is_limited() -> None:
    longest_url = "https://example.com/".ljust(MAX_URL_CHARACTERS, "a")
    assert validate(longest_url) == longest_url
    assert f"at most {MAX_URL_CHARACTERS} characters" in rejection_message(longest_url + "a")


def test_the_path_is_ascii() -> None:
    assert "in ASCII except for its host" in rejection_message("https://example.com/höoks")


URL_LIKE_TEXTS: Final = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            [
                "https://",
                "http://",
                "//",
                "/",
                "\\",
                "@",
                ":",
                "#",
                "?",
                "[",
                "]",
                "%",
                ".",
                "。",
                "127.0.0.1",
                "::1",
                "example.com",
                "localhost",
                "8443",
                "0x7f",
                "xn--",
                "münchen",
                "\t",
                "a",
                "1",
                "169.254.169.254",
                "::ffff:",
            ]
        ),
        max_size=8,
    ).map(lambda parts: "https://" + "".join(parts)),
)


@given(URL_LIKE_TEXTS)
def test_an_accepted_url_is_unambiguous_and_has_no_private_address(text: str) -> None:
    try:
        url = validate(text)
    except ValidationError:
        return
    parts = urlsplit(url)
    assert url.isascii()
    assert validate(url) == url
    assert (parts.scheme, parts.username, parts.password, parts.fragment) == ("https", None, None, "")
    assert parts.port in (None, *PORTS)
    assert parts.hostname == url_host(url)
    if ":" in url_host(url) or url_host(url).rpartition(".")[2].isdigit():
        assert is_public(url_host(url))


@given(st.ip_addresses(v=4))
def test_an_address_is_accepted_exactly_if_it_is_public(address: IPv4Address) -> None:
    try:
        validate(f"https://{address}/")
    except ValidationError:
        assert not is_public(str(address))
    else:
        assert is_public(str(address))


def test_validation_of_an_ascii_url_does_not_import_unicode_tables() -> None:
    program = """
import json, sys
from pydantic import TypeAdapter
from chalicelib.kernel.outbound.webhook_urls import TargetUrl
TypeAdapter(TargetUrl).validate_python("https://example.com/hooks")
print(json.dumps([name for name in ("idna", "dns", "httpcore") if name in sys.modules]))
"""
    assert fresh(program) == []
