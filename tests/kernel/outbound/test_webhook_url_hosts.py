"""Hosts of webhook URLs are normalized, and must be public and unambiguous."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound.ip_addresses import is_public
from chalicelib.kernel.outbound.webhook_urls import target_url_host
from tests.kernel.outbound.webhook_url_validation import PUBLIC_IPV4, deployed_stage, rejection_message, validate


@pytest.fixture(scope="module", autouse=True)
def _deployed_stage() -> Iterator[None]:
    with deployed_stage():
        yield


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
def test_hosts_are_normalized(url, normalized):
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
def test_the_host_of_a_url_is_returned(url, host):
    assert target_url_host(validate(url)) == host


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
def test_ambiguous_notations_of_addresses_are_rejected(host):
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
def test_invalid_hosts_are_rejected(host):
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
def test_nonpublic_hosts_are_rejected(host):
    assert "must have a public address" in rejection_message(f"https://{host}/hooks")


@pytest.mark.usefixtures("allow_private_addresses")
@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.7", "[::1]", "localhost", "api.localhost", "intranet"])
def test_nonpublic_hosts_can_be_allowed(host):
    assert validate(f"https://{host}/hooks") == f"https://{host}/hooks"


@pytest.mark.usefixtures("local_stage", "allow_private_addresses")
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9000/", "http://localhost:1/", "https://[::1]:65535/", "http://a.example"]
)
def test_the_local_stage_accepts_http_and_any_port(url):
    assert validate(url) == url


@pytest.mark.usefixtures("local_stage")
@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/", "http://localhost:9000/"])
def test_the_local_stage_alone_does_not_allow_private_addresses(url):
    assert "must have a public address" in rejection_message(url)


@given(st.ip_addresses(v=4))
def test_an_address_is_accepted_exactly_if_it_is_public(address):
    try:
        validate(f"https://{address}/")
    except ValidationError:
        assert not is_public(str(address))
    else:
        assert is_public(str(address))
