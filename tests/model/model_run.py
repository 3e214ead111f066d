"""A run of the service beside its model. Each step is plain data, so that a run can be recorded and repeated."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.workers import Workers
from tests.model.interface_operations import OPERATIONS, InterfaceOperation
from tests.model.service_model import Caller, ExpectedEntry, Json, Model, ModelRecord

SECONDS_PER_STEP: Final = 11
"""The time between steps. It orders records by their creation and keeps requests below the rate limits."""

DAY_SECONDS: Final = 24 * 3600
_FIRST_ERROR_STATUS: Final = 400
_CREATED_STATUSES: Final = (201, 202)
KINDS_WITH_HEALTH: Final = ("webhook", "channel")
"""Kinds whose version also changes when the service records their health."""

STREAMS_URL: Final = "https://streams.example.com/"
"""The beginning of the URLs of log streams."""

VERSION_FIELDS: Final = ("updatedAt", "version")


ENDPOINT_STATES: Final = ("well", "refusing", "silent")

_ANSWERS: Final = {
    "well": {"status": 204, "error": None},
    "refusing": {"status": 503, "error": None},
    "silent": {"status": None, "error": "The server did not respond within 15 s.", "timed_out": True},
}


@dataclass
class FakeEndpoints:
    """Fake servers that receive webhooks and log streams.

    They store the accepted messages, and the accepted batches of log streams, by URL and in order of their arrival.
    `attempted_batches` contains all batches of log streams, by the ids of their messages.
    """

    state: str = "well"
    accepted_messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    accepted_batches: dict[str, list[list[Json]]] = field(default_factory=dict)
    attempted_batches: dict[str, list[list[Json]]] = field(default_factory=dict)

    def post(self, url: str, body: bytes, headers: Any, _seconds: float | None = None) -> WebhookResponse:
        """Respond to a message, and store it if it is accepted."""
        if url.startswith(STREAMS_URL):
            entries = json.loads(body) if body.startswith(b"[") else [json.loads(line) for line in body.splitlines()]
            self.attempted_batches.setdefault(headers["webhook-id"], []).append(entries)
            if self.state == "well":
                self.accepted_batches.setdefault(url, []).append(entries)
        elif self.state == "well":
            self.accepted_messages.setdefault(url, []).append(
                json.loads(body) | {"webhook-id": headers.get("webhook-id")}
            )
        return WebhookResponse(body="", duration_ms=7, **_ANSWERS[self.state])  # type: ignore[arg-type]


@dataclass(frozen=True)
class Sender:
    """The sender of a request (the name of a person or the id of an API key), and the headers that the sender adds."""

    caller_name: str
    if_match: str | None = None
    idempotency_number: int | None = None


@dataclass(frozen=True)
class KeyedRequest:
    row: InterfaceOperation
    caller: Caller
    record: ModelRecord | None
    path: str
    body: Any
    key: str
    response: ApiResponse
    sent_at_seconds: float


@dataclass
class ModelRun:
    """A run: the steps so far, and the state that the service should have by now (`model`)."""

    api: ApiClient
    workers: Workers
    clock: Clock
    people: Mapping[str, Person]
    endpoints: FakeEndpoints
    model: Model = field(default_factory=Model)
    keyed_requests: list[KeyedRequest] = field(default_factory=list)
    steps: list[tuple[str, Json]] = field(default_factory=list)
    elapsed_seconds: float = 0

    def continue_from(self, api: ApiClient, workers: Workers, clock: Clock) -> "ModelRun":
        model, keyed_requests, endpoints = deepcopy((self.model, self.keyed_requests, self.endpoints))
        return ModelRun(api, workers, clock, self.people, endpoints, model, keyed_requests, [], self.elapsed_seconds)

    def execute_step(self, name: str, arguments_as_json: Json) -> None:
        """Execute a step: the action of that name, with arguments in their recorded form."""
        from tests.model.actions import all_actions

        self.steps.append((name, arguments_as_json))
        self.pass_time(seconds=SECONDS_PER_STEP)
        arguments = {
            argument: self._resolve_sender(**value) if argument == "by" else value
            for argument, value in arguments_as_json.items()
        }
        all_actions()[name].run(self, arguments)

    def pass_time(self, *, seconds: float = 0, days: float = 0) -> None:
        self.clock.shift(seconds=seconds, days=days)
        self.elapsed_seconds += seconds + days * DAY_SECONDS

    def _resolve_sender(self, who: str | int, match: str | None = None, once: int | None = None) -> Sender:
        """Return the sender of a step's requests. A number selects an API key, counted from the newest."""
        keys = [t for t in self.model.records if t.kind == "api_key"][::-1]
        return Sender(keys[who % len(keys)].id if isinstance(who, int) else who, match, once)

    def resolve_caller(self, caller_name: str) -> tuple[Caller, str | None]:
        if caller_name == "nobody":
            return Caller("nobody", ""), None
        if person := self.people.get(caller_name):
            kind = "operator" if caller_name == "operator" else "user"
            return Caller(kind, person.id, caller_name), person.credential
        key = next(t for t in self.model.records if t.kind in ("api_key", "service_key") and t.id == caller_name)
        return Caller(key.kind, key.id, key.id, key), key.internal["key"]

    def caller_of(self, by: Sender) -> Caller:
        return self.resolve_caller(by.caller_name)[0]

    def request(  # noqa: PLR0913 - everything that distinguishes requests
        self,
        by: Sender,
        operation: str,
        record: ModelRecord | None = None,
        body: Any = None,
        *,
        refusal: str | None = None,
        possible_refusals: tuple[str, ...] = (),
        success_status: int | None = None,
        alternative_container: ModelRecord | None = None,
        query: Json | None = None,
        **path_parameters: str,
    ) -> ApiResponse | None:
        """Send a request about a record, and return the response, or None if it was rejected as the model expects.

        `refusal` is the expected status and code for authorized callers; `possible_refusals` are those that the model
        leaves open. `success_status` replaces the operation's usual status. In `alternative_container` the caller may
        have the role as well. `path_parameters` adds to those of the record.
        """
        operation_row = OPERATIONS[operation]
        caller, credential = self.resolve_caller(by.caller_name)
        path = operation_row.path.format_map({**(record.path_parameters if record else {}), **path_parameters})
        headers = self._conditional_headers(by, operation_row, record)
        is_stale = bool(headers) and by.if_match != "right"
        key = None
        if by.idempotency_number is not None and operation_row.method == "POST" and not headers:
            key = headers["Idempotency-Key"] = f"key-{by.idempotency_number}"
        access_refusal = self.model.expected_refusal(caller, operation_row, record, alternative_container)
        sent_before = (s for s in self.keyed_requests if key and (s.caller.id, s.key) == (caller.id, key))
        first_request = next(filter(self._is_key_retained, sent_before), None)
        response = self.api.request(
            operation_row.method, path, caller=credential, json=body, query=query, headers=headers
        )
        if first_request and access_refusal is None:
            if (first_request.path, first_request.body) == (path, body):
                self.assert_replayed(first_request, response)
                return None
            access_refusal = "422 idempotency_key_reused"
        actual = response.status_and_code if response.status >= _FIRST_ERROR_STATUS else str(response.status)
        if access_refusal is None and refusal is None and actual in possible_refusals:
            return None
        is_after_precondition = refusal is None or refusal[:3] in ("409", "429")
        precondition_refusal = "412 precondition_failed" if is_stale and is_after_precondition else None
        expected = access_refusal or precondition_refusal or refusal
        self._assert_status(actual, expected or str(success_status or operation_row.success), response)
        if expected:
            return None
        if key:
            self.keyed_requests.append(
                KeyedRequest(operation_row, caller, record, path, body, key, response, self.elapsed_seconds)
            )
        return response

    def create(
        self,
        by: Sender,
        operation: str,
        kind: str,
        container: ModelRecord | None,
        body: Json,
        expected: Json,
        *secret_names: str,
        **options: Any,
    ) -> ModelRecord | None:
        """Send a request that creates a record, and add the record to the model."""
        response = self.request(by, operation, container, body, **options)
        if response is None:
            return None
        return self.add_created_record(by, operation, kind, response, container, expected, *secret_names)

    def update(
        self,
        by: Sender,
        operation: str,
        record: ModelRecord,
        body: Json,
        changed_fields: Json,
        *,
        event: str | None = None,
        derived_fields: tuple[str, ...] = (),
        **options: Any,
    ) -> bool:
        """Send a request that changes a record, apply the change, and return whether it changed anything."""
        response = self.request(by, operation, record, body, **options)
        return response is not None and self.apply_change(
            by, operation, record, response, changed_fields, event=event, derived_fields=derived_fields
        )

    def delete(self, by: Sender, operation: str, record: ModelRecord, **options: Any) -> bool:
        """Send a request that deletes a record, and return whether it was deleted."""
        if self.request(by, operation, record, **options) is None:
            return False
        self.expect_entry(by, operation, record)
        record.is_deleted = True
        return True

    def check_list(
        self, by: Sender, operation: str, container: ModelRecord, expected: list[ModelRecord], *names: str
    ) -> None:
        """List records. The response must have exactly the expected ones, with their fields of these names."""
        if response := self.request(by, operation, container, query={"limit": 100}):
            listed = [[item[name] for name in ("id", *names)] for item in response.json["items"]]
            assert listed == [[record.fields[name] for name in ("id", *names)] for record in expected]

    @staticmethod
    def assert_replayed(first_request: KeyedRequest, response: ApiResponse) -> None:
        """Assert that the response to a repeated request equals the first response."""
        assert response.headers.get("Idempotency-Replayed") == "true", response.text
        assert response.comparable_content == first_request.response.comparable_content

    def _is_key_retained(self, keyed_request: KeyedRequest) -> bool:
        return self.elapsed_seconds - keyed_request.sent_at_seconds < DAY_SECONDS

    def repeat(self, keyed_request: KeyedRequest) -> None:
        credential = self.resolve_caller(keyed_request.caller.name or "nobody")[1]
        refusal = self.model.expected_refusal(keyed_request.caller, keyed_request.row, keyed_request.record)
        if not self._is_key_retained(keyed_request) and refusal is None:
            return  # The service would execute it again.
        headers = {"Idempotency-Key": keyed_request.key}
        response = self.api.post(keyed_request.path, caller=credential, json=keyed_request.body, headers=headers)
        if refusal:
            self._assert_status(response.status_and_code, refusal, response)
        else:
            self.assert_replayed(keyed_request, response)

    def _conditional_headers(self, by: Sender, row: InterfaceOperation, record: ModelRecord | None) -> dict[str, str]:
        if by.if_match is None or record is None or row.method == "GET" or row.success in _CREATED_STATUSES:
            return {}
        if by.if_match == "stale":
            return {"If-Match": record.first_etag if record.fields.get("version", 1) > 1 else '"of.another.one"'}
        return {"If-Match": self.read_as_owner(record).headers.get("ETag", '"nothing.is.there"')}

    @staticmethod
    def _assert_status(actual: str, expected: str, response: ApiResponse) -> None:
        assert actual == expected, f"{response.path}: {actual} instead of {expected}: {response.text}"

    def owner_of(self, record: ModelRecord) -> Person:
        """Return the owner of a record's organization, who sees all its fields, or an operator if it has none."""
        organization = record.container_of_kind("organization")
        if organization is None:
            return self.people["operator"]
        return next(p for p in self.people.values() if p.id == organization.fields["ownerId"])

    def sender_for_owner(self, record: ModelRecord) -> Sender:
        return Sender(self.owner_of(record).username)

    def read_as_owner(self, record: ModelRecord) -> ApiResponse:
        return self.api.get(record.path, caller=self.owner_of(record))

    def add_created_record(
        self,
        by: Sender,
        operation: str,
        kind: str,
        response: ApiResponse,
        container: ModelRecord | None,
        expected: Json,
        *secret_names: str,
    ) -> ModelRecord:
        """Add a created record to the model. `secret_names` are fields that only this response contains."""
        shown = response.json
        assert expected.items() <= shown.items(), f"{expected} is not in {shown}"
        assert shown["version"] == 1
        fields, secrets = {**shown, **dict.fromkeys(secret_names)}, {name: shown[name] for name in secret_names}
        created = ModelRecord(kind, fields, container, secrets, first_etag=response.headers.get("ETag", ""))
        self.model.records.append(created)
        self.expect_entry(by, operation, created)
        return created

    def apply_change(
        self,
        by: Sender,
        operation: str,
        record: ModelRecord,
        response: ApiResponse,
        changed_fields: Json,
        *,
        event: str | None = None,
        derived_fields: tuple[str, ...] = (),
        **secrets: bool,
    ) -> bool:
        """Apply a change to the model, and return whether it changed anything. All other fields must be unchanged.

        Only the service determines the values of `derived_fields`. `secrets` are fields that only this response has.
        """
        record.fields |= {name: response.json[name] for name in derived_fields}
        fields, before = response.json, record.fields
        expected = {**before, **changed_fields}
        assert _without(fields, *secrets) == _without(expected, *secrets), f"{fields} instead of {expected}"
        has_changed = _without(expected) != _without(before) or bool(secrets)
        increment = fields["version"] - before["version"]
        is_exact = not record.has_unseen_version and record.kind not in KINDS_WITH_HEALTH
        assert increment == has_changed if is_exact else increment >= has_changed, f"version {fields['version']}"
        record.has_unseen_version = False
        record.fields = {**fields, **dict.fromkeys(secrets)}
        record.internal |= {name: fields[name] for name in secrets}
        if has_changed:
            self.expect_entry(by, operation, record, event)
        return has_changed

    def expect_entry(self, by: Sender, operation: str, record: ModelRecord, event: str | None = None) -> None:
        event = event or OPERATIONS[operation].event
        entry = ExpectedEntry(event, record.id, self.caller_of(by).id or None, operation)
        self.model.expected_entries.setdefault(record.log_id, []).append(entry)

    def expect_system_entry(self, record: ModelRecord, event: str) -> None:
        """Expect an entry about a change that the service itself makes."""
        self.model.expected_system_entries.setdefault(record.log_id, []).append((event, record.id))

    def steps_as_json(self) -> str:
        """Return the steps in their recorded form, one per line."""
        lines = [json.dumps(step, ensure_ascii=False) for step in self.steps]
        return "[\n" + ",\n".join(lines) + "\n]"


def _without(fields: Json, *names: str) -> Json:
    return {name: value for name, value in fields.items() if name not in (*VERSION_FIELDS, *names)}
