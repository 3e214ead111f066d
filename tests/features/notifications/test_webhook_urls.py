"""A webhook URL is an https URL of a public host that all parsers read alike. Others are rejected with a reason."""

from typing import Final
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from chalicelib.features.notifications.models.webhook_urls import (
    ALLOWED_PORTS,
    MAX_URL_CHARACTERS,
    TargetUrl,
    target_url_host,
)
from chalicelib.kernel.outbound.ip_addresses import is_public
from tests.kernel.deployed_settings import DEPLOYED

TARGET: Final = TypeAdapter(TargetUrl)
PUBLIC_IPV4: Final = "93.184.216.34"


@pytest.fixture(autouse=True)
def deployed_stage(configure):
    configure(**{name.lower(): value for name, value in DEPLOYED.items()})


def validate(url: str) -> str:
    return TARGET.validate_python(url)


def rejection_message(url):
    with pytest.raises(ValidationError) as raised:
        validate(url)
    [error] = raised.value.errors()
    return error["msg"]


def to_full_width(text: str) -> str:
    """Return ASCII text in full-width characters, which IDNA maps to ASCII."""
    return "".join(chr(ord(character) + 0xFEE0) for character in text)


VALID_URLS: Final = [
    *("https://example.com", "https://example.com/", "https://example.com?a=b", "https://example.com:443/hooks"),
    *("https://example.com/hooks?a=b&c=%20d", "https://example.com:8443/hooks", "https://example.com/@x:y//"),
    *("https://a-b.c_d.example.co.uk/~x/;y=[1]", "https://xn--mnchen-3ya.example/", f"https://{PUBLIC_IPV4}/hooks"),
    *("https://[2606:4700::1111]/hooks", "https://[2606:4700::1111]:8443/hooks"),
    *("https://1.2.3.example/", "https://0x7f.example/", "https://example.com/".ljust(MAX_URL_CHARACTERS, "a")),
]


@pytest.mark.parametrize(
    ("url", "normalized"),
    [
        *((url, url) for url in VALID_URLS),
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
def test_valid_urls_are_unchanged_except_for_normalized_hosts(url, normalized):
    assert validate(url) == normalized
    assert validate(normalized) == normalized


MUST: Final = "Value error, must "
CREDENTIALS: Final = "must not contain a user name or password"
FRAGMENT: Final = "must not have a fragment"
PORT: Final = "must have port 443 or 8443, or none"


@pytest.mark.parametrize(
    ("message", "urls"),
    [
        ("must begin with https://", ["http://example.com/", "HTTP://example.com/"]),
        (MUST, ["ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "javascript:alert(1)", "data:,x"]),
        (MUST, ["//example.com/", "example.com", "https:", "https:example.com", "https:/example.com"]),
        (MUST, ["https", "://", " ", "x"]),
        (PORT, [f"https://example.com:{port}/" for port in (80, 22, 25, 8080, 444, 6379, 65535)]),
        (MUST, [f"https://example.com:{port}/" for port in ("0", "65536", "99999", "443x", "-1", "+443", "", " 443")]),
        (MUST, [f"https://example.com:{port}/" for port in ("0443", "4 43", "٤٤٣", "443:443")]),
        (CREDENTIALS, ["https://ada@example.com/", "https://ada:secret@example.com/", "https://@example.com/"]),
        (CREDENTIALS, ["https://:@example.com/", "https://a.example@10.0.0.7/", "https://a.example:443@10.0.0.7/"]),
        (FRAGMENT, ["https://example.com/#", "https://example.com/#x", "https://example.com#@10.0.0.7/"]),
        (f"at most {MAX_URL_CHARACTERS} characters", ["https://example.com/".ljust(MAX_URL_CHARACTERS + 1, "a")]),
        ("in ASCII except for its host", ["https://example.com/höoks"]),
    ],
)
def test_other_urls_are_rejected_with_a_reason(message, urls):
    for url in urls:
        rejection = rejection_message(url)
        assert message in rejection, url
        assert "secret" not in rejection


@pytest.mark.parametrize("character", [*'\\\t\n\r\x00\x7f \u2028\u00a0<>"{}|^`'])
def test_characters_that_parsers_read_differently_are_rejected(character):
    for url in ("https:/{}/a.example/", "https://exam{}ple.com/", "https://a.example/a{}b", "https://a.example{}@a/"):
        message = rejection_message(url.replace("{}", character))
        assert "must not contain spaces, control characters or any of" in message


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


AMBIGUOUS_ADDRESSES: Final = [
    *("0x7f.1", "0x7f000001", "2130706433", "127.1", "127.0.1", "017700000001", "0177.0.0.1", "127.0.0.01", "0"),
    *("1.2.3.4.5", "256.1.1.1", "example.1", "example.0x1", "0x", "example.0x", "127.0.0.0x1", "1.1.1.1.."),
    to_full_width("127") + ".1",
]
INVALID_HOSTS: Final = [
    *("", ".", "..", "a..example", ".example.com", "-a.example", "a-.example", "a." * 127 + "example"),
    *("a" * 64 + ".example", "ex%61mple.com", "%31%30.0.0.7", "exa$mple.com", "exa,mple.com", "*.example.com"),
    *("example.com&x", "[", "]", "[]", "[1.2.3.4]", "[::1", "::1]", "2606:4700::1111", "[2606:4700::1111]x"),
    *("x[2606:4700::1111]", "[2606:4700::1111%25eth0]", "[v1.a]", "xn--a.example", "xn--.example"),
    *("a\u0301\u200d.example", "☃.example", "ex℀mple.example", "\u0080.example"),
    *(f"a{to_full_width(separator)}b.example" for separator in "@/"),
]
NONPUBLIC_HOSTS: Final = [
    *("127.0.0.1", "10.0.0.7", "169.254.169.254", "100.64.0.1", "0.0.0.0", "255.255.255.255", "10.0.0.7."),  # noqa: S104
    *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::a00:7]", "[fd00:ec2::254]"),
    *("[2002:a00:7::1]", "localhost", "LocalHost", "localhost.", "api.localhost", "intranet"),
    *(to_full_width("10.0.0.7"), to_full_width("localhost")),
]


@pytest.mark.parametrize(
    ("message", "hosts"),
    [
        ("must have ", AMBIGUOUS_ADDRESSES),
        (MUST, INVALID_HOSTS),
        ("must have a public address", NONPUBLIC_HOSTS),
    ],
    ids=["ambiguous addresses", "invalid hosts", "nonpublic hosts"],
)
def test_hosts_that_are_not_public_and_unambiguous_are_rejected(message, hosts):
    for host in hosts:
        assert message in rejection_message(f"https://{host}/hooks"), host


def test_nonpublic_hosts_can_be_allowed(configure):
    configure(webhook_allow_private="1")
    for host in ("127.0.0.1", "10.0.0.7", "[::1]", "localhost", "api.localhost", "intranet"):
        assert validate(f"https://{host}/hooks") == f"https://{host}/hooks"


def test_the_local_stage_accepts_http_and_any_port_and_private_addresses_by_a_setting(configure):
    configure(stage="local")
    for url in ("http://127.0.0.1:9000/", "http://localhost:9000/"):
        assert "must have a public address" in rejection_message(url)
    configure(webhook_allow_private="1")
    for url in ("http://127.0.0.1:9000/", "http://localhost:1/", "https://[::1]:65535/", "http://a.example"):
        assert validate(url) == url


@given(st.ip_addresses(v=4))
def test_an_address_is_accepted_exactly_if_it_is_public(address):
    try:
        validate(f"https://{address}/")
    except ValidationError:
        assert not is_public(str(address))
    else:
        assert is_public(str(address))


URL_PARTS: Final = [
    *("https://", "http://", "//", "/", "\\", "@", ":", "#", "?", "[", "]", "%", ".", "。", "\t", "a", "1"),
    *("127.0.0.1", "::1", "169.254.169.254", "::ffff:", "0x7f", "example.com", "localhost", "8443", "xn--", "münchen"),
]


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(URL_PARTS), max_size=8).map(lambda parts: "https://" + "".join(parts))
)
def test_an_accepted_url_is_unambiguous_and_has_no_private_address(text):
    try:
        url = validate(text)
    except ValidationError:
        return
    parts = urlsplit(url)
    assert url.isascii()
    assert validate(url) == url
    assert (parts.scheme, parts.username, parts.password, parts.fragment) == ("https", None, None, "")
    assert parts.port in (None, *ALLOWED_PORTS)
    assert parts.hostname == target_url_host(url)
    if ":" in target_url_host(url) or target_url_host(url).rpartition(".")[2].isdigit():
        assert is_public(target_url_host(url))
