"""Domain names are normalized as in DNS, and names that nobody can own are rejected with advice."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from chalicelib.features.platforms.models.domain_names import (
    MAX_NAME_CHARACTERS,
    DomainName,
    is_same_or_subdomain,
    normalize_domain_name,
    registrable_domain,
)

LABELS = st.from_regex(r"[a-z]([a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
DOMAINS = st.lists(LABELS, min_size=1, max_size=4).map(lambda labels: ".".join([*labels, "example.com"]))
SPELLINGS = st.sampled_from([str, str.upper, str.title, "{}.".format, lambda name: name.replace(".", "\u3002")])


@given(DOMAINS, SPELLINGS)
@settings(max_examples=50)
def test_all_spellings_of_a_domain_have_one_normal_form(domain, spell):
    assert normalize_domain_name(spell(domain)) == domain


@given(st.text(max_size=40) | st.text("aäß字.-_0 \u200b*/:@", max_size=20))
@settings(max_examples=200)
def test_a_normalized_name_is_ascii_and_stays_as_it_is(text):
    with suppress(ValueError):
        name = normalize_domain_name(text)
        assert normalize_domain_name(name) == name == name.lower()
        assert name.isascii()
        assert len(name) <= MAX_NAME_CHARACTERS
        assert is_same_or_subdomain(name, registrable_domain(name) or "?")


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("Bücher.Example.com", "xn--bcher-kva.example.com"),
        ("XN--BCHER-KVA.example.com", "xn--bcher-kva.example.com"),
        ("faß.de", "xn--fa-hia.de"),
        ("例え.jp", "xn--r8jz45g.jp"),
        ("ΠΥΛΗ.gr", "xn--sxahou.gr"),
        ("a.b.c.example.co.uk", "a.b.c.example.co.uk"),
        ("me.github.io", "me.github.io"),
    ],
)
def test_internationalized_names_become_those_of_dns(text, normalized):
    assert normalize_domain_name(text) == normalized


INVALID = "must be a valid domain name"
NOT_PUBLIC = "must be a name in the public DNS"
LONG_LABEL = f"{'a' * 64}.example"


@pytest.mark.parametrize(
    ("advice", "names"),
    [
        ("not an IP address", ["192.0.2.7", "2001:db8::7", "[2001:db8::7]"]),
        ("none ends in a number", ["0x7f.1", "shop.example.42"]),
        ("without https://", ["https://shop.example.com/"]),
        ("port", ["shop.example.com:443"]),
        ("wildcard", ["*.example.com"]),
        ("must be only a name", ["ada@example.com"]),
        ("spaces", ["shop example.com"]),
        ("path", ["shop.example.com/path"]),
        (INVALID, ["shop_1.example.com", "-shop.example.com", "shop..example.com", ".", "shop.\u200bexample.com"]),
        (INVALID, ["\uff53hop.de", "☃.example", LONG_LABEL, "xn--zzzzzz99999.example"]),
        ("must have 235 characters or fewer", [".".join(["a" * 60] * 4)]),
        ("must be a name below com, such as shop.com", ["com"]),
        ("must be a name below xn--j6w193g", ["香港"]),
        ("is a public suffix", ["co.uk", "github.io"]),
        (NOT_PUBLIC, ["localhost", "shop.localhost"]),
        (f"{NOT_PUBLIC}|{INVALID}", ["db.prod.internal", "nas.home.arpa", "printer.corp.local", "router.lan"]),
        (f"{NOT_PUBLIC}|{INVALID}", ["wiki.corp", "shop.example", "shop.test", "shop.invalid", "shop.onion"]),
        (f"{NOT_PUBLIC}|{INVALID}", ["shop.alt", "7.2.0.192.in-addr.arpa", "shop.xn--unknown-tld"]),
    ],
)
def test_a_name_that_nobody_can_own_is_rejected_with_advice(advice, names):
    for name in names:
        with pytest.raises(ValueError, match=advice):
            normalize_domain_name(name)


def test_the_services_own_names_are_rejected(configure):
    configure(platforms_domain="Atrium.Example.", public_url="https://api.example.net:8443/v1")
    for reserved in ("atrium.example", "engines.atrium.example", "a.b.atrium.example", "api.example.net"):
        with pytest.raises(ValueError, match="belongs to the service"):
            normalize_domain_name(reserved)
    for other in ("myatrium.example.com", "example.net", "atrium.example.com"):
        assert normalize_domain_name(other) == other


def test_overlong_text_is_rejected_before_it_is_parsed():
    with pytest.raises(ValidationError, match="at most 1000"):
        TypeAdapter(DomainName).validate_python("a." * 600)


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("shop.example.com", "example.com"),
        ("example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("shop.me.github.io", "me.github.io"),
        ("shop.example", "shop.example"),
        ("co.uk", None),
        ("example", None),
    ],
)
def test_the_registrable_domain_follows_the_public_suffix_list(name, domain):
    assert registrable_domain(name) == domain
