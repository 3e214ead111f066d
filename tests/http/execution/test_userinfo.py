"""AUTH_USERINFO: the issuer's userinfo endpoint fills in what a token lacks, for requests that need it."""

import time
from typing import Any

import pytest

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.problems import unavailable
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity import userinfo
from chalicelib.kernel.identity.jwt import verify_token
from chalicelib.kernel.storage import table
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.invitations import ACCEPTANCE_PATH, create_invitation, open_invitation
from tests.harness.organizations import create_organization
from tests.harness.receiver import NO_REPLY, Reply
from tests.harness.userinfo import JSON_HEADERS, UserinfoIssuer, json_reply

ADDRESS = "zoe@example.com"
PROFILE = {"preferred_username": "zoe", "name": "Zoë", "email": ADDRESS, "email_verified": True}


@pytest.fixture
def provider(issuer, receiver, configure):
    """An issuer with a userinfo endpoint, which the service trusts and asks."""
    provider = UserinfoIssuer(issuer, receiver)
    configure(auth_issuer=provider.url, auth_userinfo="1", webhook_allow_private="1")
    return provider


@pytest.fixture
def zoe(provider):
    """A caller whose token has only `sub`, and whom the userinfo endpoint describes."""
    zoe = provider.create_caller()
    provider.set_claims(zoe, **PROFILE)
    return zoe


@pytest.fixture
def invitation(api, organization):
    """An invitation to Zoë's address, by an owner who is created before the issuer is exchanged."""
    return create_invitation(api, organization, ADDRESS)


@pytest.fixture
def accept(invitation, provider, api):
    """A function that accepts the invitation for a caller."""
    return lambda caller: api.post(ACCEPTANCE_PATH, caller=caller, json={"token": invitation.token})


def profile_of_owner(api, organization):
    (member,) = api.get(f"{organization.path}/members", caller=organization.owner).json["items"]
    return member["username"], member["name"], member["email"]


def test_names_and_address_of_records_and_log_entries_come_from_the_endpoint(api, provider, zoe):
    organization = create_organization(api, zoe)
    assert profile_of_owner(api, organization) == ("zoe", "Zoë", ADDRESS)
    (entry,) = list_entries(api, organization)
    assert entry["actor"] == {"type": "user", "id": zoe.id, "name": "Zoë"}
    (request,) = provider.userinfo_requests
    assert request.headers["Authorization"] == f"Bearer {zoe.credential}"


def test_a_verified_address_of_the_endpoint_accepts_an_invitation(api, accept, provider, zoe, invitation):
    assert open_invitation(api, invitation, zoe).json["canAccept"]
    assert accept(zoe).expect(200).json["membership"]["email"] == ADDRESS


def test_the_endpoint_is_asked_once_for_a_token_across_processes_and_not_after_an_hour_or_expiry(
    api, provider, zoe, clock
):
    clock.freeze()
    for _ in range(2):
        create_organization(api, zoe)
        userinfo.reset_userinfo()  # Another process.
    assert len(provider.userinfo_requests) == 1
    (item,) = [item for item in memory_aws.all_items() if item["pk"].startswith("USERINFO#")]
    assert item["ttl"] == time.time() // 1 + 3600
    assert not any(text in str(item).lower() for text in ("zo\\xc3", "zoe", "example.com", zoe.credential.lower()))
    clock.shift(seconds=3599)
    create_organization(api, zoe)
    assert len(provider.userinfo_requests) == 1
    clock.shift(seconds=1)
    create_organization(api, zoe)
    assert len(provider.userinfo_requests) == 2
    brief = provider.create_caller(sub=zoe.id, exp=int(time.time()) + 90)
    create_organization(api, brief)
    assert len(provider.userinfo_requests) == 3
    assert {item["ttl"] - int(time.time()) for item in memory_aws.all_items() if "sealed" in item} >= {90}


def test_changed_names_of_claims_apply_at_once(provider, zoe, configure):
    assert verify_token(zoe.credential).name == "Zoë"
    configure(auth_claim_name="preferred_username")
    assert verify_token(zoe.credential).name == "zoe"


def test_a_response_that_a_removed_key_encrypted_is_requested_again(api, provider, zoe, configure):
    create_organization(api, zoe)
    userinfo.reset_userinfo()
    configure(data_key=to_base64(bytes(32)))
    create_organization(api, zoe)
    assert len(provider.userinfo_requests) == 2


def test_reads_and_complete_tokens_ask_nothing(api, provider, zoe):
    complete = provider.create_caller(**PROFILE)
    create_organization(api, complete)
    for path in ("/organizations", "/platforms"):
        api.get(path, caller=zoe).expect(200)
    api.get(f"/organizations/{zoe.id}", caller=zoe).expect(404)
    api.post("/organizations", caller=zoe, json={}).expect(422)
    assert provider.receiver.requests == []


def test_the_endpoint_makes_nobody_an_operator(api, provider, zoe):
    provider.set_claims(zoe, **PROFILE, groups=["operators"], is_operator=True)
    create_organization(api, zoe)
    assert not verify_token(zoe.credential).is_operator
    api.get("/system/audit-log", caller=zoe).expect_problem("403 forbidden")


@pytest.mark.parametrize(
    ("in_token", "added", "verified"),
    [
        ({}, {"email": ADDRESS, "email_verified": True}, True),
        ({}, {"email": ADDRESS, "email_verified": "true"}, True),
        ({}, {"email": ADDRESS}, False),
        ({}, {"email": ADDRESS, "email_verified": False}, False),
        ({"email_verified": True}, {"email": ADDRESS}, False),
        ({"email": ADDRESS}, {"email": ADDRESS, "email_verified": True}, True),
        ({"email": ADDRESS}, {"email": "other@example.com", "email_verified": True}, False),
        ({"email": ADDRESS}, {"email_verified": True}, False),
        ({"email": ADDRESS, "email_verified": False}, {"email": ADDRESS, "email_verified": True}, False),
    ],
)
def test_an_address_is_verified_only_by_the_source_that_has_it(provider, in_token, added, verified):
    caller = provider.create_caller(**in_token)
    provider.set_claims(caller, **added)
    user = verify_token(caller.credential)
    assert (user.email, user.email_verified, user.verified_email_or_none) == (
        ADDRESS,
        verified,
        ADDRESS if verified else None,
    )


FAILURES: dict[str, tuple[Reply, str]] = {
    "error": (json_reply({}, 500), "status 500"),
    "busy": (json_reply({}, 429), "status 429"),
    "redirect": (json_reply({}, 302, Location="/elsewhere"), "redirects"),
    "signed": (Reply(headers={"Content-Type": "application/jwt"}, body=b"e30.e30.e30"), "application/jwt"),
    "page": (Reply(headers={"Content-Type": "text/html"}, body=b"{}"), "content type"),
    "untyped": (Reply(body=b"{}"), "content type"),
    "list": (json_reply([]), "no JSON object"),
    "invalid": (Reply(headers=JSON_HEADERS, body=b"{"), "no JSON object"),
    "nested": (Reply(headers=JSON_HEADERS, body=b"[" * 60_000), "no JSON object"),
    "long": (Reply(headers=JSON_HEADERS, body=b" " * 70_000 + b"{}"), "longer than"),
    "no HTTP": (Reply(raw_response=b"hello\r\n\r\n"), "not HTTP"),
    "slow": (NO_REPLY, "did not respond"),
    "trickling": (Reply(headers=JSON_HEADERS, body=b" " * 100, byte_delay_seconds=0.1), "did not respond"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_costs_names_but_no_request_that_needs_only_names(api, accept, provider, zoe, failure, monkeypatch):
    monkeypatch.setattr(userinfo, "USERINFO_SECONDS", 0.3)
    reply, reason = FAILURES[failure]
    provider.set_reply(reply)
    started_at = time.monotonic()
    organization = create_organization(api, zoe)
    assert profile_of_owner(api, organization) == (None, None, None)
    accept(zoe).expect_problem("503 unavailable", "AUTH_USERINFO", reason)
    assert time.monotonic() - started_at < 5
    provider.set_claims(zoe, **PROFILE)
    accept(zoe).expect(200)


def test_a_request_on_a_dead_pooled_connection_is_repeated_on_a_new_one(provider, zoe):
    assert verify_token(zoe.credential).name == "Zoë"
    again = provider.create_caller(sub=zoe.id)
    replies = iter([Reply(raw_response=b"", closes_connection=True), json_reply({"sub": zoe.id, **PROFILE})])
    provider.set_reply(lambda _: next(replies))
    assert verify_token(again.credential).name == "Zoë"


@pytest.mark.parametrize(
    ("discovery", "reason"),
    [
        ({"issuer": "https://elsewhere.example"}, "names the issuer 'https://elsewhere.example' instead of"),
        ({"userinfo_endpoint": None}, "`userinfo_endpoint`"),
        *(
            ({"userinfo_endpoint": url}, "not an https URL")
            for url in (
                *(
                    "ftp://elsewhere.example",
                    "https://[::1",
                    "https://a.example:99999",
                    "https://a.example/ü",
                    "https://",
                ),
                *("https://a b.example", "https://a.example/ b", "https://a:b@a.example", "https://xn--.example", 7),
            )
        ),
    ],
)
def test_the_discovery_document_must_name_the_issuer_and_the_endpoint(accept, provider, zoe, discovery, reason):
    provider.set_discovery(**discovery)
    accept(zoe).expect_problem("503 unavailable", reason)


def test_a_deployed_stage_sends_tokens_only_over_tls_and_only_to_public_addresses(
    provider, zoe, configure, monkeypatch
):
    configure(webhook_allow_private="0")
    user = verify_token(zoe.credential)
    assert (user.name, provider.receiver.requests) == (None, [])
    configure(webhook_allow_private="1")
    monkeypatch.setattr(settings(), "__dict__", settings().__dict__ | {"stage": "prod"})
    userinfo.reset_userinfo()
    assert (verify_token(zoe.credential).name, provider.receiver.requests) == (None, [])


def test_a_response_about_another_subject_is_not_used_and_logged(accept, provider, zoe, caplog):
    provider.set_reply(json_reply({"sub": f"{zoe.id}0", **PROFILE}))
    user = verify_token(zoe.credential)
    assert (user.name, user.email, user.email_verified) == (None, None, False)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "another `sub`" in caplog.text
    accept(zoe).expect_problem("403 email_mismatch", "another `sub`")


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_token_that_the_endpoint_rejects_is_explained_and_is_no_failure_of_the_endpoint(
    accept, provider, zoe, status
):
    provider.set_reply(Reply(status))
    for _ in range(5):
        accept(provider.create_caller()).expect_problem("403 email_mismatch", f"status {status}", "scopes openid")
    provider.set_claims(zoe, **PROFILE)
    accept(zoe).expect(200)


@pytest.mark.parametrize("reply", [Reply(403), json_reply({"sub": "another", **PROFILE})])
def test_a_response_without_a_profile_is_used_for_a_minute_by_its_process_only(provider, zoe, clock, reply):
    clock.freeze()
    provider.set_reply(reply)
    for _ in range(2):
        assert verify_token(zoe.credential).name is None
    assert len(provider.userinfo_requests) == 1
    assert not any(item["pk"].startswith("USERINFO#") for item in memory_aws.all_items())
    clock.shift(seconds=60)
    provider.set_claims(zoe, **PROFILE)
    assert verify_token(zoe.credential).name == "Zoë"


def test_a_response_that_cannot_be_stored_is_logged_with_the_reason(provider, zoe, monkeypatch, caplog):
    def fail(*_: Any) -> None:
        raise unavailable("The table does not respond.")

    monkeypatch.setattr(table, "write_transaction", fail)
    assert verify_token(zoe.credential).name == "Zoë"
    assert "requested again: unavailable: The table does not respond." in caplog.text


def test_after_three_failures_the_endpoint_is_left_alone_for_half_a_minute(accept, provider, zoe, clock):
    clock.freeze()
    provider.set_reply(Reply(500))

    def requests_after(caller: Any, attempts: int) -> int:
        for _ in range(attempts):
            accept(caller).expect_problem("503 unavailable")
        return len(provider.userinfo_requests)

    assert requests_after(zoe, 5) == 3
    accept(zoe).expect_problem("503 unavailable", "latest requests failed")
    clock.shift(seconds=30)
    assert requests_after(zoe, 3) == 4  # One attempt, whose failure extends the pause.
    clock.shift(seconds=30)
    provider.set_claims(zoe, **PROFILE)
    accept(zoe).expect(200)
    provider.set_reply(Reply(500))
    assert requests_after(provider.create_caller(), 2) == 7


@pytest.mark.parametrize(
    ("in_token", "added", "texts"),
    [
        ({}, None, ("claim `email` (AUTH_CLAIM_EMAIL)", "AUTH_USERINFO=1")),
        ({"email": ADDRESS}, None, ("claim `email_verified` (AUTH_CLAIM_EMAIL_VERIFIED)", "AUTH_USERINFO=1")),
        ({"email": ADDRESS, "email_verified": False}, None, ("not true", "Verify the address where you sign in")),
        ({}, {}, ("userinfo response", "`email` (AUTH_CLAIM_EMAIL)")),
        ({}, {"email": ADDRESS}, ("userinfo response", "`email_verified` (AUTH_CLAIM_EMAIL_VERIFIED)")),
    ],
)
def test_an_error_names_the_missing_claim_and_the_setting(accept, provider, in_token, added, texts, configure):
    configure(auth_userinfo="0" if added is None else "1")
    caller = provider.create_caller(**in_token)
    provider.set_claims(caller, **(added or {}))
    detail = (
        accept(caller).expect_problem("403 email_mismatch", "has no verified e-mail address", *texts).json["detail"]
    )
    assert ("AUTH_USERINFO" in detail) == (added is None and "not true" not in detail)
    assert bool(provider.userinfo_requests) == (added is not None)


def test_joining_by_invitation_decides_on_the_address(api, organization, provider, zoe):
    platforms = api.get("/platforms", caller=zoe).json["items"]
    assert platforms == []
    provider.set_reply(Reply(500))
    api.post(f"/platforms/{zoe.id}/join", caller=zoe).expect_problem("503 unavailable")
