"""Test the records of log streams: creation, changes, restarts and access."""

import json

import pytest

from chalicelib.features.notifications.log_streams.entities import MAX_LOG_STREAMS
from tests.harness import memory_aws
from tests.harness.log_streams import (
    DATADOG_KEY,
    ROLE_ARN,
    SPLUNK_TOKEN,
    create_log_stream,
    post_log_stream,
)
from tests.harness.organizations import create_api_key
from tests.harness.receiver import Reply
from tests.harness.webhooks import rename_organization

HTTPS = {"type": "https", "url": "https://example.com/entries"}
SPLUNK = {"type": "splunk", "url": "https://splunk.example.com:8088", "token": SPLUNK_TOKEN, "index": "audit"}
DATADOG = {"type": "datadog", "site": "datadoghq.eu", "apiKey": DATADOG_KEY}
S3 = {"type": "s3", "bucket": "example-audit", "region": "eu-central-1", "roleArn": ROLE_ARN}
OWN_ROLE = "arn:aws:iam::123456789012:role/atrium-log-stream-archive"


@pytest.fixture
def stream(api, organization):
    return create_log_stream(api, organization, HTTPS)


class TestCreateLogStream:
    @pytest.mark.parametrize(
        ("destination", "shown"),
        [
            (HTTPS, {**HTTPS, "format": "json"}),
            (
                SPLUNK,
                {
                    "type": "splunk",
                    "url": "https://splunk.example.com:8088/services/collector/event",
                    "index": "audit",
                    "sourcetype": None,
                },
            ),
            (DATADOG, {"type": "datadog", "site": "datadoghq.eu", "service": "atrium"}),
            (S3, {**S3, "prefix": None}),
        ],
    )
    def test_shows_the_destination_without_credentials(self, api, organization, workers, destination, shown):
        stream = create_log_stream(api, organization, destination)
        workers.deliver()
        assert stream.record["destination"] == shown
        assert (stream.record["secret"] is not None) == (destination["type"] == "https")
        assert (stream.record["externalId"] is not None) == (destination["type"] == "s3")
        assert stream.read() | {"secret": None} == stream.read()
        entries = api.get_items(f"{organization.path}/audit-log", caller=organization.owner)
        everything = f"{stream.read()} {entries} {memory_aws.all_items()}"
        for secret in (SPLUNK_TOKEN, DATADOG_KEY, stream.record["secret"]):
            assert not secret or secret not in everything

    @pytest.mark.parametrize(
        ("destination", "pointer"),
        [
            ({"type": "ftp"}, "/destination/type"),
            ({}, "/destination/type"),
            ({"type": "https", "url": "https://10.0.0.1/x"}, "/destination/url"),
            ({"type": "https", "url": "ftp://example.com"}, "/destination/url"),
            ({**SPLUNK, "url": "https://splunk.example.com/other"}, "/destination/url"),
            ({**SPLUNK, "token": None}, "/destination/token"),
            ({**SPLUNK, "token": "to\nken"}, "/destination/token"),
            ({**DATADOG, "apiKey": None}, "/destination/apiKey"),
            ({**DATADOG, "site": "datadoghq.example.com"}, "/destination/site"),
            ({**S3, "bucket": "Example.Audit"}, "/destination/bucket"),
            ({**S3, "region": "evil.example.com/"}, "/destination/region"),
            ({**S3, "prefix": "/a/b/"}, "/destination/prefix"),
            ({**S3, "prefix": "a/../b"}, "/destination/prefix"),
            ({**S3, "roleArn": "arn:aws:iam::210987654321:role/admin"}, "/destination/roleArn"),
            ({**S3, "roleArn": OWN_ROLE}, "/destination/roleArn"),
            ({**S3, "externalId": "mine"}, "/destination/externalId"),
        ],
    )
    def test_rejects_an_invalid_destination(self, api, organization, destination, pointer):
        answer = post_log_stream(api, organization, destination)
        assert answer.status_and_code == "422 validation_failed"
        assert [error["pointer"] for error in answer.json["errors"]] == [pointer]

    def test_starts_with_the_next_entry_or_with_a_given_one(self, api, organization, workers):
        workers.deliver()
        size = create_log_stream(api, organization, HTTPS, startAt=1, enabled=False).record["lagEntries"]
        stream = create_log_stream(api, organization, HTTPS, enabled=False).record
        assert (stream["startSequence"], stream["position"], stream["lagEntries"]) == (size + 1, size, 0)
        for start in (0, size + 2, "then", 1.5, True):
            answer = post_log_stream(api, organization, HTTPS, startAt=start)
            assert answer.status_and_code == "422 validation_failed"
            assert answer.json["errors"][0]["pointer"] == "/startAt"

    def test_an_organization_has_at_most_ten(self, api, organization):
        for _ in range(MAX_LOG_STREAMS):
            create_log_stream(api, organization, HTTPS, enabled=False)
        assert post_log_stream(api, organization, HTTPS).status_and_code == "409 limit_exceeded"

    def test_external_ids_are_random(self, api, organization):
        ids = {create_log_stream(api, organization, S3, enabled=False).record["externalId"] for _ in range(3)}
        assert len(ids) == 3
        assert all(len(each) > 32 for each in ids)

    def test_an_api_key_streams_only_what_it_may_read(self, api, organization):
        key = create_api_key(api, organization, "log-streams:write", "members:read")
        stream = post_log_stream(api, organization, HTTPS, caller=key).expect(201).json
        assert {*stream["areas"]} == {"log-streams", "members"}
        answer = post_log_stream(api, organization, HTTPS, caller=key, events=["site.created"])
        assert answer.status_and_code == "403 insufficient_scope"
        reader = create_api_key(api, organization, "log-streams:read")
        assert post_log_stream(api, organization, HTTPS, caller=reader).status_and_code == "403 insufficient_scope"


class TestUpdateLogStream:
    def test_keeps_a_credential_that_is_omitted_and_replaces_one_that_is_given(self, api, organization):
        stream = create_log_stream(api, organization, SPLUNK, enabled=False)
        secrets = stream.stored.secrets
        assert stream.update(destination={"index": "other"})["destination"]["index"] == "other"
        assert stream.stored.secrets == secrets
        stream.update(destination={"token": "another-token"})
        assert stream.stored.secrets != secrets

    def test_a_credential_is_not_sent_to_an_address_for_which_it_was_not_given(self, api, organization):
        destinations = [(SPLUNK, "url", "https://elsewhere.example.com:8088"), (DATADOG, "site", "datadoghq.com")]
        for destination, field, address in destinations:
            stream = create_log_stream(api, organization, destination, enabled=False)
            answer = stream.patch("", {"destination": {field: address}})
            credential = "token" if destination is SPLUNK else "apiKey"
            assert answer.json["errors"][0]["pointer"] == f"/destination/{credential}"
            assert answer.json["errors"][0]["code"] == "required"
            stream.update(destination={field: address, credential: destination[credential]})

    def test_the_type_of_the_destination_stays(self, stream):
        assert stream.update(destination={"type": "https"})["version"] == 1
        for destination in (DATADOG, {"type": "s3"}, {"type": 1}):
            answer = stream.patch("", {"destination": destination, "position": 9})
            assert answer.errors == {"/position": "read_only", "/destination/type": "read_only"}

    def test_an_own_role_is_rejected(self, api, organization):
        stream = create_log_stream(api, organization, S3, enabled=False)
        answer = stream.patch("", {"destination": {"roleArn": OWN_ROLE}})
        assert answer.json["errors"][0]["pointer"] == "/destination/roleArn"

    def test_a_restart_is_an_entry_of_the_log_each_time(self, api, organization, workers):
        stream = create_log_stream(api, organization, HTTPS, enabled=False)
        rename_organization(api, organization, "Looms")
        workers.deliver()
        assert stream.patch("", {"startAt": 1}).expect(200).json["lagEntries"] > 2
        version = stream.read()["version"]
        assert stream.patch("", {"startAt": 1}).expect(200).json["version"] == version + 1
        assert stream.patch("", {}).expect(200).json["version"] == version + 1
        assert stream.patch("", {"startAt": "now"}).expect(200).json["lagEntries"] == 0
        assert stream.patch("", {"startAt": 10**6}).status_and_code == "422 validation_failed"
        workers.deliver()
        types = [entry["type"] for entry in api.get_items(f"{organization.path}/audit-log", caller=organization.owner)]
        assert types.count("organization.log_stream.updated") == 3

    def test_measured_fields_may_be_repeated_but_not_changed(self, new_stream, receiver, rename, send, clock):
        clock.freeze()
        stream = new_stream({"type": "https", "url": receiver.url})
        active = stream.read()
        receiver.default_reply = Reply(status=500)
        send()
        failing = stream.read()
        assert (failing["status"], failing["version"]) == ("failing", active["version"])
        rename("Looms")
        send()
        shown = stream.read()
        differing = {name for name in shown if shown[name] != failing[name]}
        assert differing == {"lagEntries", "lagSeconds", "lastError"}
        for earlier in (active, failing, shown):  # The version is the same, so the user repeats what was read before.
            assert stream.patch("", earlier).expect(200).json["version"] == active["version"]
        for name, value in {"status": "active", "position": 1, "lagSeconds": 10**6, "lastError": None}.items():
            assert stream.patch("", {name: value}).errors == {f"/{name}": "read_only"}
            assert stream.patch("", {name: shown[name]}).expect(200).json["version"] == active["version"]
        for name, value in {"status": "paused", "lagEntries": "1", "lastError": {}, "version": 9, "url": None}.items():
            assert f"/{name}" in stream.patch("", {**shown, name: value}).errors

    @pytest.mark.parametrize("destination", [SPLUNK, DATADOG, S3])
    def test_other_destinations_have_no_secret_to_rotate(self, api, organization, destination):
        stream = create_log_stream(api, organization, destination, enabled=False)
        assert stream.post("/rotate-secret").status_and_code == "409 invalid_transition"

    def test_pausing_is_shown(self, stream):
        assert stream.read()["status"] == "active"
        assert stream.update(enabled=False)["status"] == "paused"
        assert stream.update(enabled=True)["status"] == "active"


def test_lists_streams_with_their_lag(api, organization, workers, clock):
    workers.deliver()
    clock.freeze()
    first = create_log_stream(api, organization, HTTPS, enabled=False)
    clock.shift(seconds=0.001)  # Ids have the order of their times.
    second = create_log_stream(api, organization, HTTPS, enabled=False)
    rename_organization(api, organization, "Looms")
    workers.deliver()
    clock.shift(seconds=100)
    listed = api.get_items(f"{organization.path}/log-streams", caller=organization.owner)
    assert [each["id"] for each in listed] == [first.id, second.id]
    assert all(each["lagEntries"] for each in listed)
    assert [each["lagSeconds"] for each in listed] == [100, 100]
    assert listed == [first.read(), second.read()]
    assert api.get_items(f"{organization.path}/log-streams", caller=organization.owner, query={"limit": "1"})


def test_a_deleted_stream_leaves_nothing(api, organization, workers, stream):
    workers.deliver()
    stream.delete().expect(204)
    workers.run_until_idle()
    assert stream.get().status == 404
    assert stream.id not in json.dumps(
        [item for item in memory_aws.all_items() if not item["pk"].startswith(("A#", "B#", "Q#"))], default=str
    )
