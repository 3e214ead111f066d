"""The limits of the volume of application events, and of the number of requests to write them that write nothing."""

from typing import Any, Final

import pytest

from chalicelib.features.events.types.logic import data_validation
from chalicelib.kernel.execution import attempts
from tests.harness import memory_aws
from tests.harness.clock import Clock
from tests.harness.event_types import EVENT
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.service_keys import create_service_key

INVALID: Final[dict[str, Any]] = {"type": "invoice.approved", "data": {"amount": 0}}
COMMIT: Final = "dynamodb:TransactWriteItems"
LIMIT: Final = 3
FAILED_REQUESTS: Final = f'"failed-requests";q={LIMIT};w=60'
KEY: Final = {"Idempotency-Key": "k-1"}

REQUESTS_THAT_WRITE_NOTHING: Final[dict[str, dict[str, Any]]] = {
    "400 malformed_json": {"body": b"{"},
    "400 invalid_header": {"headers": {"Idempotency-Key": "k" * 256}},
    "413 payload_too_large": {"body": b" " * ((1 << 20) + 1)},
    "415 unsupported_media_type": {"headers": {"Content-Type": "text/plain"}},
    "422 validation_failed": {"json": INVALID},
    "422 idempotency_key_reused": {"json": {**EVENT, "version": 1}, "headers": KEY},
    "201 replay": {"json": EVENT, "headers": KEY},
}
"""Options of requests, by the status and code of their responses."""


@pytest.fixture(autouse=True)
def _limited(declared_types: None, clock: Clock, configure: Any) -> None:
    clock.freeze()
    configure(events_per_second="1", requests_per_minute=str(LIMIT))


@pytest.fixture
def post(api, organization, ada):
    """A function that writes an event, with options of the request."""
    return lambda caller=ada, **options: api.post(
        f"{organization.path}/events", caller=caller, **({} if "body" in options else {"json": EVENT}) | options
    )


@pytest.fixture
def use_up_the_volume(post_batch):
    """A function that writes as many events as the organization can write in a minute."""

    def use_up() -> None:
        for count in (25, 25, 10):
            post_batch([EVENT] * count).expect(201)

    return use_up


@pytest.fixture(params=["user", "api_key", "service_key"])
def caller(request, api, organization, ada, operator):
    """A caller of each type that can write events."""
    if request.param == "user":
        return ada
    if request.param == "api_key":
        return create_api_key(api, organization, "events:write")
    return create_service_key(api, operator)


class TestTheNumberOfRequestsThatWriteNothing:
    @pytest.mark.parametrize("expected", REQUESTS_THAT_WRITE_NOTHING)
    def test_is_limited_and_further_ones_make_no_aws_call(self, post, caller, expected):
        post(caller, headers=KEY).expect(201)
        answers = [post(caller, **REQUESTS_THAT_WRITE_NOTHING[expected]) for _ in range(LIMIT)]
        assert {answer.status for answer in answers} == {int(expected.split()[0])}
        for options in (REQUESTS_THAT_WRITE_NOTHING[expected], {}):
            refused = post(caller, **options).expect_problem("429 rate_limited", "3 requests in 60 s wrote nothing")
            assert (refused.headers["RateLimit-Policy"], refused.calls.call_names) == (FAILED_REQUESTS, [])

    def test_includes_those_that_the_volume_limit_rejects(self, post, use_up_the_volume, clock):
        use_up_the_volume()
        policies = [post().headers["RateLimit-Policy"] for _ in range(LIMIT + 1)]
        assert policies == ['"events";q=60;w=60'] * LIMIT + [FAILED_REQUESTS]
        clock.shift(seconds=60)
        post().expect(201)

    @pytest.mark.parametrize(("writer", "status"), [("edith", 403), ("stranger", 404)])
    def test_includes_those_without_access(self, request, post, writer, status):
        person = request.getfixturevalue(writer)
        assert [post(person).status for _ in range(LIMIT + 1)] == [status] * LIMIT + [429]

    def test_does_not_include_failures_that_the_service_causes(self, post, monkeypatch):
        monkeypatch.setattr(attempts, "_MAX_ATTEMPTS", 1)
        for fault, expected in ((Fault.CONFLICT, "409 conflict"), (Fault.INTERNAL_ERROR, "503 unavailable")):
            with inject_fault(fault, call_name=COMMIT, times=None):
                assert {post().status_and_code for _ in range(LIMIT + 1)} == {expected}
        post().expect(201)

    def test_does_not_include_requests_that_write(self, post):
        assert [post().status for _ in range(LIMIT + 1)] == [201] * (LIMIT + 1)


class TestVolume:
    def test_is_limited_instead_of_the_number_of_requests(self, post, post_batch):
        for remaining in (59, 58, 57, 56):
            answer = post().expect(201)
            assert answer.headers["RateLimit"].startswith(f'"events";r={remaining};')
            assert '"requests"' not in answer.headers["RateLimit-Policy"]
        post_batch([EVENT] * 25).expect(201)
        post_batch([EVENT] * 25).expect(201)
        refused = post_batch([EVENT] * 7)
        assert refused.status_and_code == "429 rate_limited"
        assert refused.headers["RateLimit-Policy"] == '"events";q=60;w=60'
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        post_batch([EVENT] * 6).expect(201)

    def test_of_a_rejected_request_is_written_after_the_reset(self, post, use_up_the_volume, clock):
        use_up_the_volume()
        before = memory_aws.all_items()
        refused = post(headers=KEY)
        assert (refused.status, memory_aws.all_items()) == (429, before)
        clock.shift(seconds=int(refused.headers["Retry-After"]))
        post(headers=KEY).expect(201)

    def test_is_limited_in_bytes_too(self, post, configure):
        configure(events_per_second="0", event_bytes_per_second="100")
        post(json={**EVENT, "data": {"amount": 1, "note": "x" * 5000}}).expect(201)
        refused = post(json={**EVENT, "data": {"amount": 1, "note": "x" * 2000}}).expect_problem(
            "429 rate_limited", "100 bytes of events"
        )
        assert refused.headers["RateLimit-Policy"] == '"event-bytes";q=6000;w=60'

    def test_is_limited_for_each_organization(self, api, stranger, use_up_the_volume):
        use_up_the_volume()
        other = create_organization(api, stranger)
        api.post(f"{other.path}/events", caller=stranger, json=EVENT).expect(201)

    def test_is_checked_before_the_schema(self, post_batch, use_up_the_volume, monkeypatch):
        use_up_the_volume()
        monkeypatch.setattr(data_validation, "list_data_errors", None)
        assert post_batch([INVALID] * 25).headers["RateLimit-Policy"] == '"events";q=60;w=60'

    def test_is_not_used_up_by_requests_that_write_nothing(self, post, post_batch, configure, monkeypatch):
        configure(requests_per_minute="0")
        monkeypatch.setattr(attempts, "_MAX_ATTEMPTS", 1)
        post(headers=KEY).expect(201)
        for _ in range(10):
            assert post_batch([INVALID] * 25).status == 422
            assert post(headers=KEY).status == 201
            with inject_fault(Fault.CONFLICT, call_name=COMMIT, times=None):
                assert post_batch([EVENT] * 25).status == 409
        assert post().headers["RateLimit"].startswith('"events";r=58;')

    def test_of_a_request_that_may_have_been_written_counts(self, post):
        with inject_fault(Fault.RESPONSE_LOST, call_name=COMMIT, times=None):
            assert post().status == 503
        assert post().headers["RateLimit"].startswith('"events";r=58;')

    def test_of_a_request_that_another_one_with_the_same_key_preceded_does_not_count(self, post, run_before_write):
        run_before_write(lambda: post(headers=KEY))
        assert post(headers=KEY).headers["Idempotency-Replayed"] == "true"
        assert post().headers["RateLimit"].startswith('"events";r=58;')

    def test_of_an_earlier_minute_is_not_refunded(self, post, post_batch, clock, run_before_write):
        """The request that fails was counted in the minute before."""
        run_before_write(lambda: (clock.shift(seconds=60), post(headers=KEY))[1])
        assert post(headers=KEY).headers["Idempotency-Replayed"] == "true"
        assert post().headers["RateLimit"].startswith('"events";r=58;')


class TestFaultsInTheEventsOfOneOrganization:
    def test_do_not_block_those_of_another_that_a_service_key_reports(self, api, operator, stranger, post):
        key, other = create_service_key(api, operator), create_organization(api, stranger)
        assert [post(key, json=INVALID).status for _ in range(LIMIT)] == [422] * LIMIT
        post(key).expect_problem("429 rate_limited", "wrote nothing for this organization")
        api.post(f"{other.path}/events", caller=key, json=EVENT).expect(201)

    def test_do_not_block_it_for_other_callers(self, api, operator, post):
        keys = [create_service_key(api, operator) for _ in range(2)]
        assert [post(keys[0], json=INVALID).status for _ in range(LIMIT + 1)] == [422] * LIMIT + [429]
        post(keys[1]).expect(201)

    def test_count_together_for_a_user_who_could_name_any_organization(self, api, ada, post):
        path = f"/organizations/{ada.id}/events"
        assert {api.post(path, caller=ada, json=EVENT).status for _ in range(LIMIT)} == {404}
        post().expect_problem("429 rate_limited", "3 requests in 60 s wrote nothing:")
