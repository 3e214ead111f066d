"""Rotations of the issuer's keys and failures of the issuer do not affect users with valid tokens."""

import json
from collections.abc import Iterator
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
from tests.harness.clock import Clock
from tests.harness.key_servers import KeyServer, TricklingKeyServer
from tests.harness.waiting import wait_until


def build_jwk(kid: str | None, key: Any = None, algorithm: str = "ES256", **members: Any) -> dict[str, Any]:
    """Return the public half of a key, or of a new key, as a JWK."""
    private_key = key or ec.generate_private_key(ec.SECP256R1())
    public_jwk = jwt.get_algorithm_by_name(algorithm).to_jwk(private_key.public_key(), as_dict=True)
    return {**public_jwk, **({} if kid is None else {"kid": kid}), **members}


@pytest.fixture
def issuer() -> Iterator[KeyServer]:
    with KeyServer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.publish(build_jwk("first"))
        yield server
        server.may_respond.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def keys(issuer: KeyServer, clock: Clock) -> IssuerKeys:
    clock.freeze()
    return IssuerKeys(issuer.url)


def has_key(keys: IssuerKeys, kid: str | None, algorithm: str = "ES256") -> bool:
    """Return whether there is a key with this ID for this algorithm."""
    return keys.find(kid, algorithm) is not None


def is_unavailable(keys: IssuerKeys) -> bool:
    """Return whether the keys are unavailable, with the advice to try again after a second."""
    with pytest.raises(Problem) as raised:
        keys.find("first", "ES256")
    return (raised.value.status, raised.value.headers) == (503, {"Retry-After": "1"})


# When the keys are fetched


def test_the_keys_are_fetched_once(keys, issuer):
    assert all(has_key(keys, "first") for _ in range(10))
    assert issuer.requested_paths == ["/keys?of=users"]


def test_the_keys_are_fetched_again_after_ten_minutes(keys, issuer, clock):
    assert has_key(keys, "first")
    issuer.publish(build_jwk("second"))
    clock.shift(seconds=599)
    assert has_key(keys, "first")
    clock.shift(seconds=1)
    assert not has_key(keys, "first")
    assert has_key(keys, "second")


def test_an_unknown_key_id_causes_an_immediate_fetch(keys, issuer):
    assert has_key(keys, "first")
    issuer.publish(build_jwk("first"), build_jwk("second"))
    assert has_key(keys, "second")
    assert len(issuer.requested_paths) == 2


def test_several_rotations_within_a_minute_are_all_noticed(keys, issuer):
    for kid in ("first", "second", "third", "fourth", "fifth", "sixth"):
        issuer.publish(build_jwk(kid))
        assert has_key(keys, kid)
    assert len(issuer.requested_paths) == 6


def test_unknown_key_ids_cause_at_most_five_fetches_in_five_minutes(keys, issuer, clock):
    assert has_key(keys, "first")
    assert not any(has_key(keys, f"unknown-{n}") for n in range(20))
    clock.shift(seconds=299)
    assert not has_key(keys, "unknown")
    assert len(issuer.requested_paths) == 6
    clock.shift(seconds=1)
    assert not any(has_key(keys, f"unknown-{n}") for n in range(20))
    assert len(issuer.requested_paths) == 11


def test_forged_key_ids_never_make_the_service_unavailable(keys, issuer):
    assert has_key(keys, "first")
    issuer.status = 500
    assert not any(has_key(keys, f"unknown-{n}") for n in range(20))
    assert len(issuer.requested_paths) == 6
    assert has_key(keys, "first")


def test_concurrent_lookups_of_unknown_keys_share_one_fetch(keys, issuer):
    assert has_key(keys, "first")
    issuer.may_respond.clear()
    with ThreadPoolExecutor(8) as threads:
        lookups = [threads.submit(has_key, keys, f"unknown-{n}") for n in range(8)]
        wait_until(lambda: len(issuer.requested_paths) == 2)
        sleep(0.1)
        issuer.may_respond.set()
        assert not any(lookup.result() for lookup in lookups)
    assert len(issuer.requested_paths) == 2


def test_a_known_key_for_another_algorithm_causes_no_fetch(keys, issuer):
    assert not has_key(keys, "first", "RS256")
    assert not has_key(keys, None, "RS256")
    assert len(issuer.requested_paths) == 1


def test_concurrent_first_lookups_share_one_fetch(keys, issuer):
    issuer.may_respond.clear()
    with ThreadPoolExecutor(8) as threads:
        lookups = [threads.submit(has_key, keys, "first") for _ in range(8)]
        issuer.may_respond.set()
        assert all(lookup.result() for lookup in lookups)
    assert len(issuer.requested_paths) == 1


def test_a_lookup_of_an_unknown_key_does_not_block_others(keys, issuer):
    assert has_key(keys, "first")
    issuer.may_respond.clear()
    with ThreadPoolExecutor(1) as thread:
        search = thread.submit(has_key, keys, "unknown")
        assert has_key(keys, "first")
        assert not search.done()
        issuer.may_respond.set()
        assert not search.result()


# Failures of the issuer


def test_without_any_keys_the_service_is_unavailable(keys, issuer, clock):
    issuer.status = 500
    assert is_unavailable(keys)
    assert is_unavailable(keys)
    assert len(issuer.requested_paths) == 1
    issuer.status = 200
    clock.shift(seconds=1)
    assert has_key(keys, "first")


def test_cached_keys_stay_valid(keys, issuer, clock):
    assert has_key(keys, "first")
    issuer.status = 503
    clock.shift(seconds=600)
    assert all(has_key(keys, "first") for _ in range(10))
    clock.shift(seconds=59)
    assert has_key(keys, "first")
    assert len(issuer.requested_paths) == 2
    clock.shift(seconds=1)
    assert has_key(keys, "first")
    assert len(issuer.requested_paths) == 3


def test_a_failed_fetch_keeps_the_cached_keys(keys, issuer):
    assert has_key(keys, "first")
    issuer.status = 503
    assert not has_key(keys, "second")
    assert has_key(keys, "first")


def test_a_refused_connection_is_unavailable():
    with KeyServer() as server:
        url = server.url
    assert is_unavailable(IssuerKeys(url))


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


def test_an_unresponsive_issuer_does_not_block_callers_with_cached_keys(keys, issuer, clock):
    assert has_key(keys, "first")
    clock.shift(seconds=600)
    issuer.may_respond.clear()
    with ThreadPoolExecutor(1) as thread:
        refresh = thread.submit(has_key, keys, "first")
        wait_until(lambda: len(issuer.requested_paths) == 2)
        assert has_key(keys, "first")
        assert not refresh.done()
        issuer.may_respond.set()
        assert refresh.result()


def test_an_endless_response_is_cut_off(keys, issuer):
    issuer.content += b" " * MAX_KEY_SET_BYTES
    assert is_unavailable(keys)


def test_a_truncated_response_is_a_failure(keys, issuer):
    issuer.headers["Content-Length"] = str(len(issuer.content))
    issuer.content = issuer.content[:-1]
    assert is_unavailable(keys)


def test_redirects_are_not_followed(keys, issuer):
    location = issuer.url
    issuer.status, issuer.headers = 302, {"Location": location}
    assert is_unavailable(keys)
    assert len(issuer.requested_paths) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"\xff",
        b"[]",
        b"7",
        b"null",
        b"{}",
        b'{"keys": []}',
        b'{"keys": {}}',
        b'{"keys": "first"}',
        b'{"keys": [7, null, [], {}]}',
        b"[" * 100_000,
    ],
)
def test_an_invalid_key_set_is_a_failure(content, keys, issuer):
    issuer.content = content
    assert is_unavailable(keys)


# Usable keys


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (rsa.generate_private_key(65537, 2048), "RS256"),
        (ec.generate_private_key(ec.SECP256R1()), "ES256"),
        (ed25519.Ed25519PrivateKey.generate(), "EdDSA"),
    ],
)
def test_a_key_without_an_algorithm_has_that_of_its_type(key, algorithm, keys, issuer):
    issuer.publish(build_jwk("bare", key, algorithm))
    assert [a for a in ("RS256", "ES256", "EdDSA") if has_key(keys, "bare", a)] == [algorithm]


@pytest.mark.parametrize("alg", ["EdDSA", "Ed25519", None])
def test_an_ed25519_key_has_both_names_of_its_algorithm(alg, keys, issuer):
    issuer.publish(build_jwk("ed", ed25519.Ed25519PrivateKey.generate(), "EdDSA", **({"alg": alg} if alg else {})))
    assert [a for a in jwks.ALGORITHMS if has_key(keys, "ed", a)] == ["EdDSA", "Ed25519"]


def test_a_private_key_in_the_key_set_becomes_a_public_key(keys, issuer):
    private_key = rsa.generate_private_key(65537, 2048)
    issuer.publish({**jwt.get_algorithm_by_name("RS256").to_jwk(private_key, as_dict=True), "kid": "first"})
    key = keys.find("first", "RS256")
    assert key is not None
    assert isinstance(key.key, rsa.RSAPublicKey)


UNUSABLE_KEYS = [
    build_jwk("useless", use="enc"),
    build_jwk("useless", alg="ES384"),
    build_jwk("useless", alg="RS256"),
    build_jwk("useless", alg="HS256"),
    build_jwk("useless", alg="none"),
    build_jwk("useless", crv="P-384"),
    build_jwk("useless", x="AAAA"),
    build_jwk("useless", x=7),
    build_jwk("useless", x="Über"),
    build_jwk("useless", x="\ud800"),
    {"kty": "EC", "crv": "P-256", "kid": "useless"},
    {"kty": "RSA", "e": "AQAB", "kid": "useless"},
    {"kty": "RSA", "e": "AQAB", "n": "", "kid": "useless"},
    {"kty": "OKP", "crv": "Ed25519", "kid": "useless"},
    {"kty": "OKP", "crv": "X25519", "x": "A" * 43, "kid": "useless"},
    build_jwk("useless", kty="oct", k="c2VjcmV0"),
    build_jwk("useless", kty=["EC"]),
    build_jwk("useless", ec.generate_private_key(ec.SECP384R1()), "ES384"),
    build_jwk("useless", ed448.Ed448PrivateKey.generate(), "EdDSA"),
    build_jwk("useless", ed448.Ed448PrivateKey.generate(), "EdDSA", alg="EdDSA"),
    build_jwk("useless", ed448.Ed448PrivateKey.generate(), "EdDSA", alg="Ed25519"),
    build_jwk("useless", rsa.generate_private_key(65537, 1024), "RS256"),  # noqa: S505 - a weak key must be rejected
    {"kty": "oct", "k": "c2VjcmV0", "kid": "useless"},
    "useless",
]


@pytest.mark.parametrize("unusable_key", UNUSABLE_KEYS)
def test_an_unusable_key_does_not_affect_the_others(unusable_key, keys, issuer):
    issuer.publish(unusable_key, build_jwk("first"))
    assert has_key(keys, "first")
    assert not any(has_key(keys, "useless", algorithm) for algorithm in ("RS256", "ES256", "EdDSA"))


def test_a_key_set_of_unusable_keys_is_a_failure(keys, issuer):
    issuer.publish(*UNUSABLE_KEYS)
    assert is_unavailable(keys)


def test_a_token_without_a_key_id_requires_a_single_key(keys, issuer, clock):
    issuer.publish(build_jwk(None), build_jwk("okp", ed25519.Ed25519PrivateKey.generate(), "EdDSA"))
    assert has_key(keys, None)
    assert has_key(keys, None, "EdDSA")
    issuer.publish(build_jwk("first"), build_jwk("second"))
    clock.shift(seconds=600)
    assert not has_key(keys, None)


# Sources of the keys


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


@pytest.mark.parametrize(
    "source", ["http://user:password@host/", "http://127.0.0.1:port/", "http://[/", "/no/such/file"]
)
def test_an_invalid_source_is_a_failure(source):
    assert is_unavailable(IssuerKeys(source))


def test_a_process_has_one_set_of_keys_per_source():
    assert jwks.get_issuer_keys("somewhere") is jwks.get_issuer_keys("somewhere")
    jwks.get_issuer_keys.cache_clear()
