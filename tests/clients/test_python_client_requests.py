"""Requests of the Python client in `clients/python`, synchronous and asynchronous, at its HTTP boundary."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from atrium_client import (
    API_VERSION,
    ApiProblem,
    Atrium,
    AtriumError,
    Conflict,
    ConnectionFailed,
    Forbidden,
    Gone,
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    RateLimited,
    ServiceUnavailable,
    Unauthenticated,
    UnexpectedAnswer,
    ValidationFailed,
    models,
)
from tests.clients.recorded_requests import BlockingAtrium, RecordingService, example_of, json_answer, problem


@pytest.fixture(params=["synchronous", "asynchronous"])
def create_client(request):
    """A function that creates a client of a recording service."""
    if request.param == "synchronous":
        return lambda service, **settings: service.client(**settings)
    return lambda service, **settings: BlockingAtrium(service.async_client(**settings))


@pytest.fixture
def slept(monkeypatch):
    """The seconds that clients wait before they repeat a request. No time passes."""
    seconds = []

    async def sleep_async(delay: float) -> None:
        seconds.append(delay)

    monkeypatch.setattr("tenacity.nap.time.sleep", seconds.append)
    monkeypatch.setattr("asyncio.sleep", sleep_async)
    return seconds


def page(*ids: str, cursor: str | None = None) -> httpx.Response:
    items = [example_of("OrganizationListItem", id=each) for each in ids]
    return json_answer({"items": items, "nextCursor": cursor})


def test_a_request_has_the_headers_of_the_client(create_client):
    service = RecordingService(json_answer(example_of("Organization")))
    client = create_client(service, token="t", headers={"User-Agent": "loom/1"}, link_token="l")
    client.organizations.create(name="Loom")
    (request,) = service.requests
    assert (request.method, str(request.url)) == ("POST", "https://api.example.com/organizations")
    assert json.loads(request.read()) == {"name": "Loom"}
    assert request.headers["API-Version"] == API_VERSION
    assert request.headers["Prefer"] == "handling=strict"
    assert request.headers["Authorization"] == "Bearer t"
    assert request.headers["Link-Token"] == "l"
    assert request.headers["User-Agent"] == "loom/1"
    assert request.headers["Accept"] == "application/json"
    assert len(request.headers["Idempotency-Key"]) == 36


def test_a_lenient_client_asks_for_no_strict_handling_and_an_anonymous_one_sends_no_credential(create_client):
    service = RecordingService(json_answer(example_of("Me")))
    create_client(service, strict=False).me.get()
    for name in ("Prefer", "Authorization", "Idempotency-Key"):
        assert service.headers(name) == [None]


def test_omitted_fields_are_not_sent_and_none_is_null(create_client):
    service = RecordingService(*[json_answer(example_of("Organization"))] * 2)
    client = create_client(service)
    client.organizations.update("o1", name="Loom", if_match='"2"')
    client.organizations.update("o1", slug=None, name="Loom")
    assert [json.loads(each.read()) for each in service.requests] == [{"name": "Loom"}, {"slug": None, "name": "Loom"}]
    assert service.headers("If-Match") == ['"2"', None]


def test_nested_models_are_sent_with_the_names_of_the_api(create_client):
    service = RecordingService(json_answer(example_of("CreatedEvents"), 201))
    event = models.EventIn(type="invoice.approved", occurred_at="2026-11-20T09:30:00Z", data={"totalCents": 3})
    create_client(service).organizations.events.create_batch("o1", events=[event])
    (sent,) = json.loads(service.requests[0].read())["events"]
    assert sent == {"type": "invoice.approved", "occurredAt": "2026-11-20T09:30:00Z", "data": {"totalCents": 3}}


def test_parameters_have_the_names_of_the_api_and_keywords_an_underscore(create_client):
    service = RecordingService(json_answer({"items": [], "nextCursor": None}))
    log = create_client(service).organizations.audit_log
    log.list("o 1/", from_="2026-11-20T09:30:00Z", actor_id="ä&b", limit=5).first_page()
    assert service.requests[0].url.raw_path.startswith(b"/organizations/o%201%2F/audit-log?")
    assert dict(service.requests[0].url.params) == {"from": "2026-11-20T09:30:00Z", "actorId": "ä&b", "limit": "5"}


def test_booleans_in_the_query_are_those_of_json(create_client):
    service = RecordingService(httpx.Response(200, text="{}\n"))
    assert create_client(service).organizations.audit_log.export("o1", evidence=True, format="ndjson") == "{}\n"
    assert service.requests[0].url.params["evidence"] == "true"
    assert service.headers("Accept") == ["*/*"]


@pytest.mark.parametrize("value", ["", ".", "..", None, 3])
def test_a_value_that_would_lead_to_another_path_is_not_sent(create_client, value):
    service = RecordingService()
    with pytest.raises(ValueError, match="organization_id must be a text"):
        create_client(service).organizations.get(value)
    assert service.requests == []


def test_a_record_has_its_etag(create_client):
    service = RecordingService(json_answer(example_of("Organization", name="Loom"), etag='"7"'))
    record = create_client(service).organizations.get("o1")
    assert (type(record), record.name, record.etag) == (models.Organization, "Loom", '"7"')


def test_an_answer_without_content_is_none(create_client):
    service = RecordingService(httpx.Response(204))
    assert create_client(service).organizations.delete("o1") is None


def test_a_list_requests_each_page_when_its_items_are_needed(create_client):
    service = RecordingService(page("a", "b", cursor="c2"), page("c", cursor="c3"), page())
    listed = create_client(service).organizations.list(limit=2)
    assert service.requests == []
    assert [each.id for each in listed] == ["a", "b", "c"]
    assert [dict(each.url.params) for each in service.requests] == [
        {"limit": "2"},
        {"limit": "2", "cursor": "c2"},
        {"limit": "2", "cursor": "c3"},
    ]


def test_a_loop_that_ends_early_requests_no_further_page():
    service = RecordingService(page("a", "b", cursor="c2"))
    assert next(iter(service.client().organizations.list())).id == "a"
    assert len(service.requests) == 1


def test_pages_and_the_first_page_are_available(create_client):
    service = RecordingService(page("a", cursor="c2"), page("b"), page("a", cursor="c2"))
    listed = create_client(service).organizations.list()
    assert [each.next_cursor for each in listed.pages()] == ["c2", None]
    assert listed.first_page().next_cursor == "c2"
    assert len(service.requests) == 3


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("the answer was lost"),
        problem(500, "internal_error"),
        problem(503, "unavailable"),
        httpx.Response(502, text="<html>"),
        problem(409, "idempotency_in_progress"),
    ],
)
def test_a_failure_that_may_pass_is_repeated_with_the_same_key(create_client, slept, failure):
    service = RecordingService(failure, failure, json_answer(example_of("Organization"), 201))
    create_client(service).organizations.create(name="Loom")
    assert len(service.requests) == 3
    assert len(set(service.headers("Idempotency-Key"))) == 1
    first, second = slept
    assert 0.25 <= first <= 0.5
    assert 0.5 <= second <= 0.75


def test_different_calls_have_different_keys_and_callers_can_give_one(create_client):
    service = RecordingService(*[json_answer(example_of("Organization"), 201)] * 3)
    client = create_client(service)
    client.organizations.create(name="Loom")
    client.organizations.create(name="Loom")
    client.organizations.create(name="Loom", idempotency_key="import-7")
    first, second, third = service.headers("Idempotency-Key")
    assert first != second
    assert third == "import-7"


def test_retry_after_is_waited_for_as_seconds_and_as_a_date(create_client, slept):
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    too_many = [httpx.Response(429, headers={"Retry-After": each}) for each in ("7", soon)]
    create_client(RecordingService(*too_many, json_answer(example_of("Me")))).me.get()
    assert slept[0] == 7
    assert 27 <= slept[1] <= 30


@pytest.mark.parametrize(("retry_after", "settings"), [(61, {}), (6, {"max_retry_after": 5})])
def test_a_long_retry_after_is_for_the_caller(create_client, slept, retry_after, settings):
    service = RecordingService(problem(429, "rate_limited", retry_after=str(retry_after)))
    with pytest.raises(RateLimited) as raised:
        create_client(service, **settings).me.get()
    assert raised.value.retry_after == retry_after
    assert slept == []


def test_the_fourth_failure_is_raised(create_client, slept):
    service = RecordingService(*[problem(503, "unavailable", retry_after="0")] * 4)
    with pytest.raises(ServiceUnavailable):
        create_client(service).me.get()
    assert slept == [0, 0, 0]
    service = RecordingService(httpx.ConnectError("refused"))
    with pytest.raises(ConnectionFailed, match=r"^GET /organizations/\{organization_id\} failed: ConnectError$"):
        create_client(service, max_retries=0).organizations.get("secret")


def test_the_timeout_is_that_of_the_call_or_of_the_client(create_client):
    service = RecordingService(*[json_answer(example_of("Me"))] * 3)
    create_client(service).me.get()
    client = create_client(service, timeout=5)
    client.me.get()
    client.me.get(timeout=2)
    assert [each.extensions["timeout"]["read"] for each in service.requests] == [30, 5, 2]


def test_a_timeout_is_a_failure_of_the_connection(create_client):
    with pytest.raises(ConnectionFailed, match="no answer in time"):
        create_client(RecordingService(httpx.ReadTimeout("slow")), max_retries=0).me.get()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_refused_token_is_renewed_once(create_client, is_async):
    calls = []

    def get_token(refresh: bool) -> str:  # noqa: FBT001 - the client gives one argument
        calls.append(refresh)
        return "new" if refresh else "old"

    async def get_token_async(refresh: bool) -> str:  # noqa: FBT001 - the client gives one argument
        return get_token(refresh)

    service = RecordingService(problem(401, "token_expired"), json_answer(example_of("Organization"), 201))
    client = create_client(service, get_token=get_token)
    if is_async:
        client = BlockingAtrium(service.async_client(get_token=get_token_async))
    client.organizations.create(name="Loom")
    assert calls == [False, True]
    assert service.headers("Authorization") == ["Bearer old", "Bearer new"]
    assert len(set(service.headers("Idempotency-Key"))) == 1


def test_a_token_that_is_refused_again_is_an_error(create_client):
    service = RecordingService(problem(401, "token_expired"), problem(401, "unauthenticated"))
    with pytest.raises(Unauthenticated):
        create_client(service, get_token=lambda refresh: "new" if refresh else "old").me.get()
    assert len(service.requests) == 2


@pytest.mark.parametrize("token", ["same", None])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_refused_request_is_sent_again_only_with_another_token(create_client, is_async, token):
    calls = []

    def get_token(refresh: bool) -> str | None:  # noqa: FBT001 - the client gives one argument
        calls.append(refresh)
        return token

    service = RecordingService(problem(401, "token_expired"))
    client = create_client(service, get_token=get_token)
    if is_async:
        client = BlockingAtrium(service.async_client(get_token=get_token))
    with pytest.raises(Unauthenticated):
        client.me.get()
    assert calls == [False, True]
    assert len(service.requests) == 1


def test_a_token_that_does_not_change_is_sent_once(create_client):
    service = RecordingService(problem(401, "token_expired"))
    with pytest.raises(Unauthenticated):
        create_client(service, token="old").me.get()
    assert len(service.requests) == 1


def test_the_token_is_asked_for_at_each_attempt_and_may_be_missing(create_client):
    tokens = iter(["first", None])
    service = RecordingService(problem(503, "unavailable", retry_after="0"), json_answer(example_of("Me")))
    create_client(service, get_token=lambda _: next(tokens)).me.get()
    assert service.headers("Authorization") == ["Bearer first", None]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, InvalidRequest),
        (401, Unauthenticated),
        (403, Forbidden),
        (404, NotFound),
        (405, InvalidRequest),
        (409, Conflict),
        (410, Gone),
        (412, PreconditionFailed),
        (413, InvalidRequest),
        (422, ValidationFailed),
        (429, RateLimited),
        (500, ServiceUnavailable),
        (503, ServiceUnavailable),
    ],
)
def test_the_class_of_a_problem_is_that_of_its_status(create_client, status, expected):
    with pytest.raises(ApiProblem) as raised:
        create_client(RecordingService(problem(status, "some_code")), max_retries=0).me.get()
    assert type(raised.value) is expected
    assert (raised.value.status, raised.value.code) == (status, "some_code")


def test_a_problem_has_the_errors_of_its_fields(create_client):
    errors = [{"pointer": "/email", "detail": "It is no address.", "code": "invalid"}]
    answer = problem(422, "validation_failed", {"errors": errors, "requestId": "r1", "existingId": "o2"})
    with pytest.raises(ValidationFailed) as raised:
        create_client(RecordingService(answer)).organizations.create(name="")
    assert [(each.pointer, each.detail) for each in raised.value.errors] == [("/email", "It is no address.")]
    assert str(raised.value) == "422 validation_failed: It is validation_failed.\n  /email: It is no address."
    assert (raised.value.request_id, raised.value.existing_id) == ("r1", "o2")


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(404, text="<html>"),
        json_answer({"message": "Forbidden"}, 403),
        httpx.Response(200, text="<html>"),
        json_answer(["a list"]),
        json_answer({}),
    ],
)
def test_an_answer_that_is_not_from_atrium_is_unexpected(create_client, answer):
    service = RecordingService(answer)
    with pytest.raises(UnexpectedAnswer) as raised:
        create_client(service).organizations.get("o1")
    assert raised.value.status == answer.status_code
    assert "o1" not in str(raised.value)
    assert isinstance(raised.value, AtriumError)
    assert len(service.requests) == 1


def test_a_gateway_answers_without_a_problem(create_client):
    with pytest.raises(RateLimited) as raised:
        create_client(RecordingService(json_answer({"message": "no"}, 429)), max_retries=0).me.get()
    assert (raised.value.code, raised.value.title) == ("rate_limited", "Too Many Requests")


def test_unexpected_values_and_new_fields_are_kept(create_client):
    member = example_of("Member", role="juggler", newField={"a": 1}, version="many", userId="u1")
    service = RecordingService(json_answer({"items": [member], "nextCursor": None}))
    (record,) = create_client(service).organizations.members.list("o1")
    assert (record.role, record.version, record.user_id) == ("juggler", "many", "u1")
    assert record.newField == {"a": 1}


def test_a_record_without_a_required_field_is_unexpected(create_client):
    member = example_of("Member")
    del member["role"]
    service = RecordingService(json_answer({"items": [example_of("Member"), member], "nextCursor": None}))
    with pytest.raises(UnexpectedAnswer, match="the answer is not a MemberList"):
        create_client(service).organizations.members.list("o1").first_page()


def test_an_unknown_block_leaves_the_others_as_they_are(create_client):
    blocks = [{"id": "a", "type": "heading", "level": 2, "text": "Looms"}, {"id": "b", "type": "hologram"}]
    service = RecordingService(*[json_answer(example_of("Page", blocks=blocks))] * 2)
    client = create_client(service)
    heading, unknown = client.sites.pages.get("s1", "p1").blocks
    assert isinstance(heading, models.HeadingBlock)
    assert unknown == blocks[1]
    client.sites.pages.update("s1", "p1", blocks=[heading, unknown])
    assert json.loads(service.requests[1].read()) == {"blocks": blocks}


def test_unexpected_values_can_be_sent_back(create_client):
    blocks = [{"id": "a", "type": "heading", "level": "huge", "text": "Looms", "newField": 1}]
    service = RecordingService(*[json_answer(example_of("Page", blocks=blocks))] * 2)
    client = create_client(service)
    client.sites.pages.update("s1", "p1", blocks=client.sites.pages.get("s1", "p1").blocks)
    assert json.loads(service.requests[1].read()) == {"blocks": blocks}


def test_clients_close_their_connections():
    service = RecordingService()
    http_client = httpx.Client(transport=httpx.MockTransport(service.handle))
    with Atrium("https://api.example.com", http_client=http_client):
        assert not http_client.is_closed
    assert http_client.is_closed
