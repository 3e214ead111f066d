"""Rotations of the issuer's keys and failures of the issuer do not affect users with valid tokens."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from time import monotonic, sleep
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.identity import jwks
from chalicelib.kernel.identity.jwks import MAX_KEY_SET_BYTES, IssuerKeys
from tests.harness.key_servers import KeyServer, TricklingKeyServer
from tests.harness.waiting import wait_until

EC_KEY = ec.generate_private_key(ec.SECP256R1())
RSA_KEY = rsa.generate_private_key(65537, 2048)
ED25519_KEY = ed25519.Ed25519PrivateKey.generate()


def build_jwk(kid: str | None, key: Any = EC_KEY, algorithm: str = "ES256", **members: Any) -> dict[str, Any]:
    """Return the public half of a key as a JWK."""
    jwk = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return {**jwk, **({} if kid is None else {"kid": kid}), **members}


@pytest.fixture
def issuer():
    with KeyServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.publish(build_jwk("first"))
        yield server
        server.may_respond.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def keys(issuer, clock):
    clock.freeze()
    return IssuerKeys(issuer.url)


def has_key(keys, kid, algorithm="ES256"):
    return keys.find(kid, algorithm) is not None


def has_unknown_key(keys):
    """Return whether any of twenty unknown key IDs is found."""
    return any(has_key(keys, f"unknown-{n}") for n in range(20))


def wait_for_fetches(issuer, number):
    wait_until(lambda: len(issuer.requested_paths) == number)


def is_unavailable(keys):
    """Return whether the keys are unavailable, with the advice to try again after a second."""
    with pytest.raises(Problem) as raised:
        keys.find("first", "ES256")
    return (raised.value.status, raised.value.headers) == (503, {"Retry-After": "1"})


def test_the_keys_are_fetched_once_in_ten_minutes(keys, issuer, clock):
    assert all(has_key(keys, "first") for _ in range(10))
    assert not has_key(keys, "first", "RS256")
    assert not has_key(keys, None, "RS256")
    assert issuer.requested_paths == ["/keys?of=users"]
    issuer.publish(build_jwk("second"))
    clock.shift(seconds=599)
    assert has_key(keys, "first")
    clock.shift(seconds=1)
    assert not has_key(keys, "first")
    assert has_key(keys, "second")


def test_an_unknown_key_id_causes_an_immediate_fetch_after_each_rotation(keys, issuer):
    for kid in ("first", "second", "third", "fourth", "fifth", "sixth"):
        issuer.publish(build_jwk(kid))
        assert has_key(keys, kid)
    assert len(issuer.requested_paths) == 6


def test_unknown_key_ids_cause_at_most_five_fetches_in_five_minutes_and_never_make_the_service_unavailable(
    keys, issuer, clock
):
    assert has_key(keys, "first")
    assert not has_unknown_key(keys)
    clock.shift(seconds=299)
    assert not has_key(keys, "unknown")
    assert len(issuer.requested_paths) == 6
    clock.shift(seconds=1)
    issuer.status = 500
    assert not has_unknown_key(keys)
    assert len(issuer.requested_paths) == 11
    assert has_key(keys, "first")


def test_concurrent_lookups_share_one_fetch(keys, issuer):
    issuer.may_respond.clear()
    with ThreadPoolExecutor(8) as threads:
        lookups = [threads.submit(has_key, keys, "first") for _ in range(8)]
        issuer.may_respond.set()
        assert all(lookup.result() for lookup in lookups)
        assert len(issuer.requested_paths) == 1
        issuer.may_respond.clear()
        lookups = [threads.submit(has_key, keys, f"unknown-{n}") for n in range(8)]
        wait_for_fetches(issuer, 2)
        sleep(0.1)
        issuer.may_respond.set()
        assert not any(lookup.result() for lookup in lookups)
    assert len(issuer.requested_paths) == 2


def test_a_fetch_does_not_block_callers_with_cached_keys(keys, issuer, clock):
    assert has_key(keys, "first")
    for seconds, kid in ((0, "unknown"), (600, "first")):
        clock.shift(seconds=seconds)
        fetches = len(issuer.requested_paths)
        issuer.may_respond.clear()
        with ThreadPoolExecutor(1) as thread:
            lookup = thread.submit(has_key, keys, kid)
            wait_for_fetches(issuer, fetches + 1)
            assert has_key(keys, "first")
            assert not lookup.done()
            issuer.may_respond.set()
            assert lookup.result() == (kid == "first")


def test_without_any_keys_the_service_is_unavailable(keys, issuer, clock):
    issuer.status = 500
    assert is_unavailable(keys)
    assert is_unavailable(keys)
    assert len(issuer.requested_paths) == 1
    issuer.status = 200
    clock.shift(seconds=1)
    assert has_key(keys, "first")


def test_cached_keys_stay_valid_while_the_issuer_fails(keys, issuer, clock):
    assert has_key(keys, "first")
    issuer.status = 503
    assert not has_key(keys, "second")
    assert has_key(keys, "first")
    clock.shift(seconds=600)
    assert all(has_key(keys, "first") for _ in range(10))
    clock.shift(seconds=59)
    assert has_key(keys, "first")
    assert len(issuer.requested_paths) == 3
    clock.shift(seconds=1)
    assert has_key(keys, "first")
    assert len(issuer.requested_paths) == 4


def test_an_unresponsive_issuer_is_unavailable_after_the_timeout(keys, issuer, monkeypatch):
    monkeypatch.setattr(jwks, "TIMEOUT_SECONDS", 0.1)
    issuer.may_respond.clear()
    started_at = monotonic()
    assert is_unavailable(keys)
    assert monotonic() - started_at < 2


@pytest.mark.parametrize("part", ["status", "headers", "body"])
def test_a_slow_issuer_is_unavailable_after_the_timeout(part, monkeypatch):
    monkeypatch.setattr(jwks, "TIMEOUT_SECONDS", 0.4)
    with TricklingKeyServer(part) as server:
        started_at = monotonic()
        assert is_unavailable(IssuerKeys(server.url))
        assert monotonic() - started_at < 2
        # The thread that read the response has also ended.
        assert server.client_disconnected.wait(60)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"not json", b"\xff", b"[]", b"7", b"null", b"{}", b'{"keys": []}', b'{"keys": {}}'),
        *(b'{"keys": "first"}', b'{"keys": [7, null, [], {}]}', b"[" * 100_000),
        json.dumps({"keys": [build_jwk("first")]}).encode() + b" " * MAX_KEY_SET_BYTES,
    ],
    ids=lambda content: repr(content[:20]),
)
def test_an_invalid_or_endless_key_set_is_a_failure(content, keys, issuer):
    issuer.content = content
    assert is_unavailable(keys)


def test_a_truncated_response_is_a_failure_and_redirects_are_not_followed(keys, issuer, clock):
    issuer.headers["Content-Length"] = str(len(issuer.content))
    issuer.content = issuer.content[:-1]
    assert is_unavailable(keys)
    issuer.publish(build_jwk("first"))
    issuer.status, issuer.headers = 302, {"Location": issuer.url}
    clock.shift(seconds=1)
    assert is_unavailable(keys)
    assert len(issuer.requested_paths) == 2


@pytest.mark.parametrize(
    "source", ["http://user:password@host/", "http://127.0.0.1:port/", "http://[/", "http://127.0.0.1:1/", "/no/file"]
)
def test_a_source_that_is_invalid_or_not_there_is_a_failure(source):
    assert is_unavailable(IssuerKeys(source))


def test_the_keys_can_come_from_a_file(tmp_path, clock):
    clock.freeze()
    file = tmp_path / "jwks.json"
    keys = IssuerKeys(str(file))
    assert is_unavailable(keys)
    file.write_text(json.dumps({"keys": [build_jwk("first")]}))
    clock.shift(seconds=1)
    assert has_key(keys, "first")
    file.unlink()
    clock.shift(seconds=600)
    assert has_key(keys, "first")


def test_a_process_has_one_set_of_keys_per_source():
    assert jwks.get_issuer_keys("somewhere") is jwks.get_issuer_keys("somewhere")
    jwks.get_issuer_keys.cache_clear()


@pytest.mark.parametrize(
    ("jwk", "algorithms"),
    [
        (build_jwk("bare", RSA_KEY, "RS256"), ["RS256"]),
        (build_jwk("bare"), ["ES256"]),
        (build_jwk("bare", ED25519_KEY, "EdDSA"), ["EdDSA", "Ed25519"]),
        (build_jwk("bare", ED25519_KEY, "EdDSA", alg="EdDSA"), ["EdDSA", "Ed25519"]),
        (build_jwk("bare", ED25519_KEY, "EdDSA", alg="Ed25519"), ["EdDSA", "Ed25519"]),
    ],
)
def test_a_key_has_the_algorithms_of_its_type(jwk, algorithms, keys, issuer):
    issuer.publish(jwk)
    assert [algorithm for algorithm in jwks.ALGORITHMS if has_key(keys, "bare", algorithm)] == algorithms


def test_a_private_key_in_the_key_set_becomes_a_public_key(keys, issuer):
    issuer.publish({**jwt.get_algorithm_by_name("RS256").to_jwk(RSA_KEY, as_dict=True), "kid": "first"})
    assert isinstance(keys.find("first", "RS256").key, rsa.RSAPublicKey)


ED448_KEY = ed448.Ed448PrivateKey.generate()
UNUSABLE_KEYS = [
    *(build_jwk("useless", alg=algorithm) for algorithm in ("ES384", "RS256", "HS256", "none")),
    *(build_jwk("useless", x=number) for number in ("AAAA", 7, "Über", "\ud800")),
    build_jwk("useless", use="enc"),
    build_jwk("useless", crv="P-384"),
    build_jwk("useless", kty="oct", k="c2VjcmV0"),
    build_jwk("useless", kty=["EC"]),
    build_jwk("useless", ec.generate_private_key(ec.SECP384R1()), "ES384"),
    build_jwk("useless", rsa.generate_private_key(65537, 1024), "RS256"),  # noqa: S505 - a weak key must be rejected
    *(build_jwk("useless", ED448_KEY, "EdDSA", **alg) for alg in ({}, {"alg": "EdDSA"}, {"alg": "Ed25519"})),
    {"kty": "EC", "crv": "P-256", "kid": "useless"},
    {"kty": "RSA", "e": "AQAB", "kid": "useless"},
    {"kty": "RSA", "e": "AQAB", "n": "", "kid": "useless"},
    {"kty": "OKP", "crv": "Ed25519", "kid": "useless"},
    {"kty": "OKP", "crv": "X25519", "x": "A" * 43, "kid": "useless"},
    {"kty": "oct", "k": "c2VjcmV0", "kid": "useless"},
    "useless",
]


@pytest.mark.parametrize("unusable_key", UNUSABLE_KEYS)
def test_an_unusable_key_does_not_affect_the_others(unusable_key, keys, issuer):
    issuer.publish(unusable_key, build_jwk("first"))
    assert has_key(keys, "first")
    assert not any(has_key(keys, "useless", algorithm) for algorithm in jwks.ALGORITHMS)


def test_a_key_set_of_unusable_keys_is_a_failure(keys, issuer):
    issuer.publish(*UNUSABLE_KEYS)
    assert is_unavailable(keys)


def test_a_token_without_a_key_id_requires_a_single_key(keys, issuer, clock):
    issuer.publish(build_jwk(None), build_jwk("okp", ED25519_KEY, "EdDSA"))
    assert has_key(keys, None)
    assert has_key(keys, None, "EdDSA")
    issuer.publish(build_jwk("first"), build_jwk("second"))
    clock.shift(seconds=600)
    assert not has_key(keys, None)
