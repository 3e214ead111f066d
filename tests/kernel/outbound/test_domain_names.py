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
    assert callable(spell)
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


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("192.0.2.7", "not an IP address"),
        ("2001:db8::7", "not an IP address"),
        ("[2001:db8::7]", "not an IP address"),
        ("0x7f.1", "none ends in a number"),
        ("shop.example.42", "none ends in a number"),
        ("https://shop.example.com/", "without https://"),
        ("shop.example.com:443", "port"),
        ("*.example.com", "wildcard"),
        ("ada@example.com", "must be only a name"),
        ("shop example.com", "spaces"),
        ("shop.example.com/path", "path"),
        ("shop_1.example.com", "must be a valid domain name"),
        ("-shop.example.com", "must be a valid domain name"),
        ("shop..example.com", "must be a valid domain name"),
        (".", "must be a valid domain name"),
        ("shop.\u200bexample.com", "must be a valid domain name"),
        ("\uff53hop.de", "must be a valid domain name"),
        ("☃.example", "must be a valid domain name"),
        (f"{'a' * 64}.example", "must be a valid domain name"),
        ("xn--zzzzzz99999.example", "must be a valid domain name"),
        (".".join(["a" * 60] * 4), "must have 235 characters or fewer"),
        ("com", "must be a name below com, such as shop.com"),
        ("localhost", "must be a name in the public DNS"),
        ("shop.localhost", "must be a name in the public DNS"),
        ("co.uk", "is a public suffix"),
        ("github.io", "is a public suffix"),
        ("香港", "must be a name below xn--j6w193g"),
    ],
)
def test_a_name_that_nobody_can_own_is_rejected_with_advice(text, advice):
    with pytest.raises(ValueError, match=advice):
        normalize_domain_name(text)


@pytest.mark.parametrize(
    "name",
    [
        "db.prod.internal",
        "nas.home.arpa",
        "printer.corp.local",
        "router.lan",
        "wiki.corp",
        "shop.example",
        "shop.test",
        "shop.invalid",
        "shop.onion",
        "shop.alt",
        "7.2.0.192.in-addr.arpa",
        "shop.xn--unknown-tld",
    ],
)
def test_a_name_outside_the_public_dns_is_rejected(name):
    with pytest.raises(ValueError, match=r"public DNS|valid domain name"):
        normalize_domain_name(name)


@pytest.mark.parametrize(
    "reserved", ["atrium.example", "engines.atrium.example", "a.b.atrium.example", "api.example.net"]
)
def test_the_services_own_names_are_rejected(reserved, configure):
    configure(platforms_domain="Atrium.Example.", public_url="https://api.example.net:8443/v1")
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
