"""The issuer's keys come and go, and so does the issuer: users with a good key in hand notice nothing."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.identity import jwks
from chalicelib.kernel.identity.jwks import MAX_BYTES, IssuerKeys
from tests.harness.clock import Clock
from tests.harness.key_servers import Issuer, Trickle


def jwk(kid: str | None, key: Any = None, algorithm: str = "ES256", **members: Any) -> dict[str, Any]:
    """Return the public half of a key, a new one if none is given, as an issuer publishes it."""
    private = key or ec.generate_private_key(ec.SECP256R1())
    public = jwt.get_algorithm_by_name(algorithm).to_jwk(private.public_key(), as_dict=True)
    return {**public, **({} if kid is None else {"kid": kid}), **members}


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, for some seconds at most."""
    until = monotonic() + 5
    while not holds():
        assert monotonic() < until
        sleep(0.01)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server.publish(jwk("first"))
        yield server
        server.go_on.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def keys(issuer: Issuer, clock: Clock) -> IssuerKeys:
    clock.freeze()
    return IssuerKeys(issuer.url)


def found(keys: IssuerKeys, kid: str | None, algorithm: str = "ES256") -> bool:
    """Tell whether there is a key of that id for that algorithm."""
    return keys.find(kid, algorithm) is not None


def is_unavailable(keys: IssuerKeys) -> bool:
    """Tell whether the answer is to try again in a moment."""
    with pytest.raises(Problem) as raised:
        keys.find("first", "ES256")
    return (raised.value.status, raised.value.headers) == (503, {"Retry-After": "1"})


# When they are read


def test_they_are_read_once_however_often_they_are_used(keys: IssuerKeys, issuer: Issuer) -> None:
    assert all(found(keys, "first") for _ in range(10))
    assert issuer.asked == ["/keys?of=users"]


def test_they_are_read_again_after_ten_minutes(keys: IssuerKeys, issuer: Issuer, clock: Clock) -> None:
    assert found(keys, "first")
    issuer.publish(jwk("second"))
    clock.shift(seconds=599)
    assert found(keys, "first")
    clock.shift(seconds=1)
    assert not found(keys, "first")
    assert found(keys, "second")


def test_a_new_key_is_looked_for_at_once(keys: IssuerKeys, issuer: Issuer) -> None:
    assert found(keys, "first")
    issuer.publish(jwk("first"), jwk("second"))
    assert found(keys, "second")
    assert len(issuer.asked) == 2


def test_several_rotations_within_a_minute_are_all_noticed(keys: IssuerKeys, issuer: Issuer) -> None:
    for kid in ("first", "second", "third", "fourth", "fifth", "sixth"):
        issuer.publish(jwk(kid))
        assert found(keys, kid)
    assert len(issuer.asked) == 6


def test_unknown_keys_cause_five_fetches_in_five_minutes(keys: IssuerKeys, issuer: Issuer, clock: Clock) -> None:
    assert found(keys, "first")
    assert not any(found(keys, f"unknown-{n}") for n in range(20))
    clock.shift(seconds=299)
    assert not found(keys, "unknown")
    assert len(issuer.asked) == 6
    clock.shift(seconds=1)
    assert not any(found(keys, f"unknown-{n}") for n in range(20))
    assert len(issuer.asked) == 11


def test_forged_key_ids_never_make_the_service_unavailable(keys: IssuerKeys, issuer: Issuer) -> None:
    assert found(keys, "first")
    issuer.status = 500
    assert not any(found(keys, f"unknown-{n}") for n in range(20))
    assert len(issuer.asked) == 6
    assert found(keys, "first")


def test_threads_that_search_at_once_share_one_fetch(keys: IssuerKeys, issuer: Issuer) -> None:
    assert found(keys, "first")
    issuer.go_on.clear()
    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(found, keys, f"unknown-{n}") for n in range(8)]
        wait_until(lambda: len(issuer.asked) == 2)
        sleep(0.1)
        issuer.go_on.set()
        assert not any(answer.result() for answer in answers)
    assert len(issuer.asked) == 2


def test_a_known_key_for_another_algorithm_is_not_looked_for(keys: IssuerKeys, issuer: Issuer) -> None:
    assert not found(keys, "first", "RS256")
    assert not found(keys, None, "RS256")
    assert len(issuer.asked) == 1


def test_threads_that_need_them_at_once_read_them_once(keys: IssuerKeys, issuer: Issuer) -> None:
    issuer.go_on.clear()
    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(found, keys, "first") for _ in range(8)]
        issuer.go_on.set()
        assert all(answer.result() for answer in answers)
    assert len(issuer.asked) == 1


def test_a_search_for_an_unknown_key_keeps_nobody_else_waiting(keys: IssuerKeys, issuer: Issuer) -> None:
    assert found(keys, "first")
    issuer.go_on.clear()
    with ThreadPoolExecutor(1) as thread:
        search = thread.submit(found, keys, "unknown")
        assert found(keys, "first")
        assert not search.done()
        issuer.go_on.set()
        assert not search.result()


# When the issuer is down


def test_without_any_keys_the_service_is_unavailable(keys: IssuerKeys, issuer: Issuer, clock: Clock) -> None:
    issuer.status = 500
    assert is_unavailable(keys)
    assert is_unavailable(keys)
    assert len(issuer.asked) == 1
    issuer.status = 200
    clock.shift(seconds=1)
    assert found(keys, "first")


def test_the_keys_in_hand_stay_good(keys: IssuerKeys, issuer: Issuer, clock: Clock) -> None:
    assert found(keys, "first")
    issuer.status = 503
    clock.shift(seconds=600)
    assert all(found(keys, "first") for _ in range(10))
    clock.shift(seconds=59)
    assert found(keys, "first")
    assert len(issuer.asked) == 2
    clock.shift(seconds=1)
    assert found(keys, "first")
    assert len(issuer.asked) == 3


def test_a_search_that_fails_keeps_the_keys(keys: IssuerKeys, issuer: Issuer) -> None:
    assert found(keys, "first")
    issuer.status = 503
    assert not found(keys, "second")
    assert found(keys, "first")


def test_nobody_listening_is_no_more_than_a_failure() -> None:
    with Issuer() as server:
        url = server.url
    assert is_unavailable(IssuerKeys(url))


def test_an_issuer_that_hangs_is_left_waiting(
    keys: IssuerKeys, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jwks, "TIMEOUT_SECONDS", 0.1)
    issuer.go_on.clear()
    began = monotonic()
    assert is_unavailable(keys)
    assert monotonic() - began < 2


@pytest.mark.parametrize("part", ["status", "headers", "body"])
def test_an_issuer_that_trickles_is_left_waiting(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwks, "TIMEOUT_SECONDS", 0.4)
    with Trickle(part) as server:
        began = monotonic()
        assert is_unavailable(IssuerKeys(server.url))
        assert monotonic() - began < 2
        # The thread that was reading has ended too.
        assert server.was_left.wait(2)


def test_an_issuer_that_hangs_keeps_nobody_waiting_who_has_keys(keys: IssuerKeys, issuer: Issuer, clock: Clock) -> None:
    assert found(keys, "first")
    clock.shift(seconds=600)
    issuer.go_on.clear()
    with ThreadPoolExecutor(1) as thread:
        refresh = thread.submit(found, keys, "first")
        wait_until(lambda: len(issuer.asked) == 2)
        assert found(keys, "first")
        assert not refresh.done()
        issuer.go_on.set()
        assert refresh.result()


def test_an_issuer_that_never_ends_is_cut_off(keys: IssuerKeys, issuer: Issuer) -> None:
    issuer.content += b" " * MAX_BYTES
    assert is_unavailable(keys)


def test_an_answer_cut_short_is_a_failure(keys: IssuerKeys, issuer: Issuer) -> None:
    issuer.headers["Content-Length"] = str(len(issuer.content))
    issuer.content = issuer.content[:-1]
    assert is_unavailable(keys)


def test_a_redirect_leads_nowhere(keys: IssuerKeys, issuer: Issuer) -> None:
    with_keys = issuer.url
    issuer.status, issuer.headers = 302, {"Location": with_keys}
    assert is_unavailable(keys)
    assert len(issuer.asked) == 1


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
def test_what_is_no_key_set_is_a_failure(content: bytes, keys: IssuerKeys, issuer: Issuer) -> None:
    issuer.content = content
    assert is_unavailable(keys)


# Which keys count


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (rsa.generate_private_key(65537, 2048), "RS256"),
        (ec.generate_private_key(ec.SECP256R1()), "ES256"),
        (ed25519.Ed25519PrivateKey.generate(), "EdDSA"),
    ],
)
def test_a_key_that_names_no_algorithm_has_that_of_its_type(
    key: Any, algorithm: str, keys: IssuerKeys, issuer: Issuer
) -> None:
    issuer.publish(jwk("bare", key, algorithm))
    assert [a for a in ("RS256", "ES256", "EdDSA") if found(keys, "bare", a)] == [algorithm]


@pytest.mark.parametrize("alg", ["EdDSA", "Ed25519", None])
def test_an_ed25519_key_goes_by_both_of_its_algorithms_names(alg: str | None, keys: IssuerKeys, issuer: Issuer) -> None:
    issuer.publish(jwk("ed", ed25519.Ed25519PrivateKey.generate(), "EdDSA", **({"alg": alg} if alg else {})))
    assert [a for a in jwks.ALGORITHMS if found(keys, "ed", a)] == ["EdDSA", "Ed25519"]


def test_a_private_key_published_by_mistake_serves_as_a_public_one(keys: IssuerKeys, issuer: Issuer) -> None:
    private = rsa.generate_private_key(65537, 2048)
    issuer.publish({**jwt.get_algorithm_by_name("RS256").to_jwk(private, as_dict=True), "kid": "first"})
    key = keys.find("first", "RS256")
    assert key is not None
    assert isinstance(key.key, rsa.RSAPublicKey)


USELESS = [
    jwk("useless", use="enc"),
    jwk("useless", alg="ES384"),
    jwk("useless", alg="RS256"),
    jwk("useless", alg="HS256"),
    jwk("useless", alg="none"),
    jwk("useless", crv="P-384"),
    jwk("useless", x="AAAA"),
    jwk("useless", x=7),
    jwk("useless", x="Über"),
    jwk("useless", x="\ud800"),
    {"kty": "EC", "crv": "P-256", "kid": "useless"},
    {"kty": "RSA", "e": "AQAB", "kid": "useless"},
    {"kty": "RSA", "e": "AQAB", "n": "", "kid": "useless"},
    {"kty": "OKP", "crv": "Ed25519", "kid": "useless"},
    {"kty": "OKP", "crv": "X25519", "x": "A" * 43, "kid": "useless"},
    jwk("useless", kty="oct", k="c2VjcmV0"),
    jwk("useless", kty=["EC"]),
    jwk("useless", ec.generate_private_key(ec.SECP384R1()), "ES384"),
    jwk("useless", ed448.Ed448PrivateKey.generate(), "EdDSA"),
    jwk("useless", ed448.Ed448PrivateKey.generate(), "EdDSA", alg="EdDSA"),
    jwk("useless", ed448.Ed448PrivateKey.generate(), "EdDSA", alg="Ed25519"),
    jwk("useless", rsa.generate_private_key(65537, 1024), "RS256"),  # noqa: S505 - that it is weak is the point
    {"kty": "oct", "k": "c2VjcmV0", "kid": "useless"},
    "useless",
]


@pytest.mark.parametrize("useless", USELESS)
def test_a_useless_key_harms_no_other(useless: object, keys: IssuerKeys, issuer: Issuer) -> None:
    issuer.publish(useless, jwk("first"))
    assert found(keys, "first")
    assert not any(found(keys, "useless", algorithm) for algorithm in ("RS256", "ES256", "EdDSA"))


def test_useless_keys_alone_are_a_failure(keys: IssuerKeys, issuer: Issuer) -> None:
    issuer.publish(*USELESS)
    assert is_unavailable(keys)


def test_without_an_id_only_a_single_key_is_meant(keys: IssuerKeys, issuer: Issuer, clock: Clock) -> None:
    issuer.publish(jwk(None), jwk("okp", ed25519.Ed25519PrivateKey.generate(), "EdDSA"))
    assert found(keys, None)
    assert found(keys, None, "EdDSA")
    issuer.publish(jwk("first"), jwk("second"))
    clock.shift(seconds=600)
    assert not found(keys, None)


# Where they come from


def test_a_file_is_a_source_too(tmp_path: Path, clock: Clock) -> None:
    clock.freeze()
    file = tmp_path / "jwks.json"
    keys = IssuerKeys(str(file))
    assert is_unavailable(keys)
    file.write_text(json.dumps({"keys": [jwk("first")]}))
    clock.shift(seconds=1)
    assert found(keys, "first")
    file.unlink()
    clock.shift(seconds=600)
    assert found(keys, "first")


@pytest.mark.parametrize(
    "source", ["http://user:password@host/", "http://127.0.0.1:port/", "http://[/", "/no/such/file"]
)
def test_a_source_that_can_not_be_is_a_failure(source: str) -> None:
    assert is_unavailable(IssuerKeys(source))


def test_a_process_has_one_set_of_keys() -> None:
    assert jwks.issuer_keys("somewhere") is jwks.issuer_keys("somewhere")
    jwks.issuer_keys.cache_clear()
