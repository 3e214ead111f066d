"""Programs that use the seeded service with the Python client in `clients/python`."""

import json
from collections import Counter
from itertools import islice
from typing import Any

import httpx
import pytest

from atrium_client import (
    AsyncAtrium,
    Atrium,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    Unauthenticated,
    ValidationFailed,
)
from local.paths import ROOT
from local.seed.organization import person_by_username
from tests.clients.faulty_server import FAULT_HEADER
from tests.clients.recorded_requests import python_blocks
from tests.harness.coroutines import run_coroutine
from tests.harness.seeded_service import InMemoryTransport

README = ROOT / "clients" / "python" / "README.md"
# In the process of the other clients, for which the service is seeded, too.
pytestmark = pytest.mark.xdist_group("clients")

BASE_URL = "http://127.0.0.1:8000/api"
UNKNOWN_ID = "01939d3c-5f2e-7c4e-9d3a-0242ac120002"


@pytest.fixture
def transport(api, seeded_service):
    assert seeded_service.http.is_closed is False
    return InMemoryTransport(api)


@pytest.fixture
def client_of(transport, seed_issuer):
    """A function that returns the client of a person of the sample company, or of nobody."""

    def create(username: str | None = None, **settings: Any) -> Atrium:
        if username:
            settings["token"] = seed_issuer.create_token(person_by_username(username))
        return Atrium(BASE_URL, http_client=httpx.Client(transport=transport), **settings)

    return create


@pytest.fixture
def maud(client_of):
    """The owner of the sample company."""
    return client_of("maud")


@pytest.fixture
def company(maud):
    return next(iter(maud.organizations.list())).id


def test_an_owner_invites_somebody_who_accepts(maud, client_of):
    hattie = client_of("hattie")
    organization = maud.organizations.create(name="Weir Lane")
    invitation = maud.organizations.invitations.create(organization.id, email="hattie@example.com", role="member")
    token = httpx.URL(invitation.accept_url).params["token"]
    assert hattie.organizations.invitations.describe(token=token).can_accept is True
    assert hattie.organizations.invitations.respond(token=token).status == "accepted"
    assert maud.organizations.members.get(organization.id, hattie.me.get().id).role == "member"


def test_an_asynchronous_program_does_the_same(transport, seed_issuer):
    tokens = {name: seed_issuer.create_token(person_by_username(name)) for name in ("maud", "hattie")}

    def client_of(username: str) -> AsyncAtrium:
        async def get_token(_: bool) -> str:  # noqa: FBT001 - the client gives one argument
            return tokens[username]

        http_client = httpx.AsyncClient(transport=httpx.MockTransport(transport.handle_request))
        return AsyncAtrium(BASE_URL, http_client=http_client, get_token=get_token)

    async def program() -> list[str]:
        async with client_of("maud") as maud, client_of("hattie") as hattie:
            organization = await maud.organizations.create(name="Weir Lane")
            invitations = maud.organizations.invitations
            invitation = await invitations.create(organization.id, email="hattie@example.com", role="editor")
            token = httpx.URL(invitation.accept_url or "").params["token"]
            await hattie.organizations.invitations.respond(token=token)
            members = maud.organizations.members.list(organization.id, limit=1)
            return [member.role async for member in members]

    assert run_coroutine(program()) == ["owner", "editor"]


def test_an_iterator_returns_the_members_of_all_pages_once(maud, company):
    ids = [member.user_id for member in maud.organizations.members.list(company, limit=2)]
    page = maud.organizations.members.list(company, limit=100).first_page()
    assert page.next_cursor is None
    assert len(ids) > 4
    assert ids == [member.user_id for member in page.items]
    assert len(list(islice(maud.organizations.members.list(company, limit=2).pages(), 2))) == 2


def test_a_change_of_a_record_that_has_changed_since_it_was_read_fails(maud):
    organization = maud.organizations.create(name="Two editors")
    organization = maud.organizations.get(organization.id)
    changed = maud.organizations.update(organization.id, name="One editor", if_match=organization.etag)
    assert changed.name == "One editor"
    with pytest.raises(PreconditionFailed) as raised:
        maud.organizations.update(organization.id, name="Another editor", if_match=organization.etag)
    assert raised.value.code == "precondition_failed"
    again = maud.organizations.update(organization.id, name="Another editor", if_match=changed.etag)
    assert again.version == changed.version + 1


def test_problems_are_typed(maud, client_of, company):
    with pytest.raises(NotFound):
        maud.organizations.get(UNKNOWN_ID)
    with pytest.raises(Forbidden):
        client_of("hattie").organizations.update(company, name="Mine")
    with pytest.raises(Unauthenticated):
        client_of().me.get()
    with pytest.raises(Conflict):
        maud.organizations.create(name="Copy", slug=maud.organizations.get(company).slug)
    with pytest.raises(ValidationFailed) as invalid:
        maud.organizations.invitations.create(company, email="nobody", role="member")
    assert [error.pointer for error in invalid.value.errors] == ["/email"]
    assert invalid.value.request_id
    with pytest.raises(InvalidRequest) as malformed:
        maud.organizations.list(cursor="no").first_page()
    assert malformed.value.code == "invalid_cursor"


def test_a_post_whose_answer_is_lost_is_repeated_and_has_its_effect_once(server, seed_issuer, seeded_service):
    token = seed_issuer.create_token(person_by_username("maud"))
    with Atrium(server.url, token=token, headers={FAULT_HEADER: "lose-answer 1 creation"}) as client:
        assert client.organizations.create(name="Lost and found").name == "Lost and found"
    owner = seeded_service.caller_for(person_by_username("maud"))
    assert Counter(each["name"] for each in owner.list_all("/organizations"))["Lost and found"] == 1
    keys = [key for method, path, key in server.requests if (method, path) == ("POST", "/organizations")]
    assert len(keys) == 2
    assert len(set(keys)) == 1


@pytest.mark.parametrize("fault", ["unavailable 2 read", "rate-limited 3 read"])
def test_requests_are_repeated_while_the_service_fails(server, seed_issuer, fault):
    token = seed_issuer.create_token(person_by_username("maud"))
    with Atrium(server.url, token=token, headers={FAULT_HEADER: fault}) as client:
        assert client.me.get().id
    assert len(server.requests) == int(fault.split()[1]) + 1


def test_an_api_key_calls_the_service_and_an_export_is_a_text(maud, client_of, company):
    key = maud.organizations.api_keys.create(company, name="Export", scopes=["audit-log:read"]).key
    text = client_of(api_key=key).organizations.audit_log.export(company, format="ndjson")
    first, *others = map(json.loads, text.splitlines())
    assert first["type"] == "organization.created"
    assert len(others) > 10


def test_the_blocks_of_a_page_are_models_that_can_be_sent_back(maud, company):
    site = next(iter(maud.organizations.sites.list(company)))
    page = next(maud.sites.pages.get(site.id, each.id) for each in maud.sites.pages.list(site.id))
    assert {type(block).__name__ for block in page.blocks} >= {"ButtonBlock", "TextBlock"}
    changed = maud.sites.pages.update(site.id, page.id, blocks=page.blocks, title="Changed", if_match=page.etag)
    assert changed.blocks == page.blocks


def test_the_examples_of_the_readme_run(maud, transport, seed_issuer, company, monkeypatch, capsys):
    """The examples name a service that does not exist, so the service in memory answers in its place."""
    handle = transport.handle_request
    monkeypatch.setattr("httpx.HTTPTransport.handle_request", lambda _, request: handle(_below_stage(request)))
    monkeypatch.setattr(
        "httpx.AsyncHTTPTransport.handle_async_request", lambda _, request: httpx.MockTransport(
            lambda each: handle(_below_stage(each))
        ).handle_async_request(request),
    )  # fmt: skip
    organization = maud.organizations.create(name="Looms", slug="looms")
    token = seed_issuer.create_token(person_by_username("maud"))
    names = {"get_access_token": lambda _: token, "organization_id": organization.id, "__name__": "readme"}
    *blocks, receiver = python_blocks(README)
    for block in blocks:
        exec(block, names)  # noqa: S102 - the project's own document
    run_coroutine(names["invite"]())
    exec(receiver, names)  # noqa: S102 - the project's own document
    printed = capsys.readouterr().out
    assert f"{company}" not in printed
    assert "token=" in printed
    assert "Maud" in printed
    assert maud.organizations.get(organization.id).name == "Looms Ltd."


def _below_stage(request: httpx.Request) -> httpx.Request:
    url = request.url.copy_with(raw_path=b"/api" + request.url.raw_path)
    return httpx.Request(request.method, url, headers=request.headers, content=request.read())
