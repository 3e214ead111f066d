"""A target is one https URL that everybody reads alike; every other is refused with what is wrong with it."""

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
def deployed() -> Iterator[None]:
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
def private_allowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("WEBHOOK_ALLOW_PRIVATE", "1")
    settings.cache_clear()
    yield
    settings.cache_clear()


def wide(text: str) -> str:
    """Return ASCII in letters of full width, which IDNA reads as ASCII."""
    return "".join(chr(ord(character) + 0xFEE0) for character in text)


def accepted(url: str) -> str:
    return TARGET.validate_python(url)


def refusal(url: str) -> str:
    with pytest.raises(ValidationError) as raised:
        accepted(url)
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
def test_targets_stay_as_they_are(url: str) -> None:
    assert accepted(url) == url


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("HTTPS://Example.COM/Hooks?A=B", "https://example.com/Hooks?A=B"),
        ("https://example.com./hooks", "https://example.com/hooks"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
        ("https://MÜNCHEN。example", "https://xn--mnchen-3ya.example"),
        (f"https://{wide('example')}.com/", "https://example.com/"),
        ("https://XN--MNCHEN-3YA.example/", "https://xn--mnchen-3ya.example/"),
        ("https://[2606:4700:0:0:0:0:0:1111]/", "https://[2606:4700::1111]/"),
        (f"https://{PUBLIC_IPV4}./", f"https://{PUBLIC_IPV4}/"),
    ],
)
def test_a_host_is_written_in_one_way(url: str, meant: str) -> None:
    assert accepted(url) == meant
    assert accepted(meant) == meant


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com:8443/x", "example.com"),
        ("https://[2606:4700::1111]:8443/", "2606:4700::1111"),
        ("https://münchen.example/", "xn--mnchen-3ya.example"),
    ],
)
def test_the_host_of_a_target(url: str, host: str) -> None:
    assert url_host(accepted(url)) == host


@pytest.mark.parametrize("url", ["http://example.com/", "HTTP://example.com/"])
def test_nothing_is_sent_in_the_clear(url: str) -> None:
    assert "must begin with https://" in refusal(url)


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
def test_what_is_no_url_of_the_web_is_refused(url: str) -> None:
    assert refusal(url).startswith("Value error, must ")


@pytest.mark.parametrize("port", ["80", "22", "25", "8080", "444", "6379", "65535"])
def test_other_ports_are_refused(port: str) -> None:
    assert "must have port 443 or 8443, or none" in refusal(f"https://example.com:{port}/")


@pytest.mark.parametrize(
    "port", ["0", "65536", "99999", "443x", "-1", "+443", "", " 443", "0443", "4 43", "٤٤٣", "443:443"]
)
def test_what_is_no_port_is_refused(port: str) -> None:
    assert refusal(f"https://example.com:{port}/").startswith("Value error, must ")


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
def test_users_and_passwords_are_refused(url: str) -> None:
    message = refusal(url)
    assert "must not contain a user name or password" in message
    assert "secret" not in message


@pytest.mark.parametrize("url", ["https://example.com/#", "https://example.com/#x", "https://example.com#@10.0.0.7/"])
def test_fragments_are_refused(url: str) -> None:
    assert "must not have a fragment" in refusal(url)


@pytest.mark.parametrize(
    "unseen", ["\\", "\t", "\n", "\r", "\x00", "\x7f", " ", "\u2028", "\u00a0", "<", ">", '"', "{", "}", "|", "^", "`"]
)
@pytest.mark.parametrize(
    "url", ["https:/{}/example.com/", "https://exam{}ple.com/", "https://example.com/a{}b", "https://example.com{}@a/"]
)
def test_what_is_read_in_different_ways_is_refused(url: str, unseen: str) -> None:
    assert "must not contain spaces, control characters or any of" in refusal(url.replace("{}", unseen))


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
        wide("127") + ".1",
        "1.1.1.1..",
    ],
)
def test_addresses_that_only_some_can_read_are_refused(host: str) -> None:
    assert "must have " in refusal(f"https://{host}/")


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
        f"a{wide('@')}b.example",
        f"a{wide('/')}b.example",
        "ex℀mple.example",
        "\u0080.example",
    ],
)
def test_what_is_no_host_is_refused(host: str) -> None:
    assert refusal(f"https://{host}/").startswith("Value error, must ")


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
        wide("10.0.0.7"),
        "10.0.0.7.",
        wide("localhost"),
    ],
)
def test_a_host_that_is_not_public_is_refused(host: str) -> None:
    assert "must have a public address" in refusal(f"https://{host}/hooks")


@pytest.mark.usefixtures("private_allowed")
@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.7", "[::1]", "localhost", "api.localhost", "intranet"])
def test_a_host_that_is_not_public_can_be_allowed(host: str) -> None:
    assert accepted(f"https://{host}/hooks") == f"https://{host}/hooks"


@pytest.mark.usefixtures("local_stage", "private_allowed")
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9000/", "http://localhost:1/", "https://[::1]:65535/", "http://a.example"]
)
def test_the_local_stage_takes_http_and_any_port(url: str) -> None:
    assert accepted(url) == url


@pytest.mark.usefixtures("local_stage")
@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/", "http://localhost:9000/"])
def test_the_local_stage_alone_allows_nothing_private(url: str) -> None:
    assert "must have a public address" in refusal(url)


def test_a_target_is_not_too_long() -> None:
    longest = "https://example.com/".ljust(MAX_URL_CHARACTERS, "a")
    assert accepted(longest) == longest
    assert f"at most {MAX_URL_CHARACTERS} characters" in refusal(longest + "a")


def test_the_path_is_ascii() -> None:
    assert "in ASCII except for its host" in refusal("https://example.com/höoks")


URLISH: Final = st.one_of(
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


@given(URLISH)
def test_what_is_accepted_is_read_alike_by_others_and_leads_to_no_private_address(text: str) -> None:
    try:
        url = accepted(text)
    except ValidationError:
        return
    parts = urlsplit(url)
    assert url.isascii()
    assert accepted(url) == url
    assert (parts.scheme, parts.username, parts.password, parts.fragment) == ("https", None, None, "")
    assert parts.port in (None, *PORTS)
    assert parts.hostname == url_host(url)
    if ":" in url_host(url) or url_host(url).rpartition(".")[2].isdigit():
        assert is_public(url_host(url))


@given(st.ip_addresses(v=4))
def test_an_address_is_a_target_exactly_if_it_is_public(address: IPv4Address) -> None:
    try:
        accepted(f"https://{address}/")
    except ValidationError:
        assert not is_public(str(address))
    else:
        assert is_public(str(address))


def test_an_ordinary_target_needs_no_tables_of_unicode() -> None:
    program = """
import json, sys
from pydantic import TypeAdapter
from chalicelib.kernel.outbound.webhook_urls import TargetUrl
TypeAdapter(TargetUrl).validate_python("https://example.com/hooks")
print(json.dumps([name for name in ("idna", "dns", "httpcore") if name in sys.modules]))
"""
    assert fresh(program) == []
