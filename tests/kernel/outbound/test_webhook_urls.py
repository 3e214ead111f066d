"""A webhook URL is an https URL that all parsers read alike. Other URLs are rejected with a reason."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from chalicelib.kernel.outbound.ip_addresses import is_public
from chalicelib.kernel.outbound.webhook_urls import ALLOWED_PORTS, MAX_URL_CHARACTERS, target_url_host
from tests.harness.fresh_process import run_in_fresh_process
from tests.kernel.outbound.webhook_url_validation import PUBLIC_IPV4, deployed_stage, rejection_message, validate


@pytest.fixture(scope="module", autouse=True)
def _deployed_stage() -> Iterator[None]:
    with deployed_stage():
        yield


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
def test_valid_urls_are_unchanged(url):
    assert validate(url) == url


@pytest.mark.parametrize("url", ["http://example.com/", "HTTP://example.com/"])
def test_http_is_rejected(url):
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
def test_other_schemes_are_rejected(url):
    assert rejection_message(url).startswith("Value error, must ")


@pytest.mark.parametrize("port", ["80", "22", "25", "8080", "444", "6379", "65535"])
def test_other_ports_are_rejected(port):
    assert "must have port 443 or 8443, or none" in rejection_message(f"https://example.com:{port}/")


@pytest.mark.parametrize(
    "port", ["0", "65536", "99999", "443x", "-1", "+443", "", " 443", "0443", "4 43", "٤٤٣", "443:443"]
)
def test_invalid_ports_are_rejected(port):
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
def test_users_and_passwords_are_rejected(url):
    message = rejection_message(url)
    assert "must not contain a user name or password" in message
    assert "secret" not in message


@pytest.mark.parametrize("url", ["https://example.com/#", "https://example.com/#x", "https://example.com#@10.0.0.7/"])
def test_fragments_are_rejected(url):
    assert "must not have a fragment" in rejection_message(url)


@pytest.mark.parametrize(
    "character",
    ["\\", "\t", "\n", "\r", "\x00", "\x7f", " ", "\u2028", "\u00a0", "<", ">", '"', "{", "}", "|", "^", "`"],
)
@pytest.mark.parametrize(
    "url", ["https:/{}/example.com/", "https://exam{}ple.com/", "https://example.com/a{}b", "https://example.com{}@a/"]
)
def test_characters_that_parsers_read_differently_are_rejected(url, character):
    assert "must not contain spaces, control characters or any of" in rejection_message(url.replace("{}", character))


def test_the_length_of_a_url_is_limited():
    longest_url = "https://example.com/".ljust(MAX_URL_CHARACTERS, "a")
    assert validate(longest_url) == longest_url
    assert f"at most {MAX_URL_CHARACTERS} characters" in rejection_message(longest_url + "a")


def test_the_path_is_ascii():
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


def test_validation_of_an_ascii_url_does_not_import_unicode_tables():
    program = """
import json, sys
from pydantic import TypeAdapter
from chalicelib.kernel.outbound.webhook_urls import TargetUrl
TypeAdapter(TargetUrl).validate_python("https://example.com/hooks")
print(json.dumps([name for name in ("idna", "dns", "httpcore") if name in sys.modules]))
"""
    assert run_in_fresh_process(program) == []
