"""A run of the service beside its model. Each step is plain data, so that a run can be recorded and repeated."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.workers import Workers
from tests.model.fake_endpoints import FakeEndpoints
from tests.model.interface_operations import OPERATIONS, InterfaceOperation
from tests.model.service_model import Caller, ExpectedEntry, Json, Model, ModelRecord

SECONDS_PER_STEP: Final = 11
"""The time between steps. It orders records by their creation and keeps requests below the rate limits."""

_DAY_SECONDS: Final = 24 * 3600
_FIRST_ERROR_STATUS: Final = 400
_CREATED_STATUSES: Final = (201, 202)
KINDS_WITH_HEALTH: Final = ("webhook", "channel")
"""Kinds whose version also changes when the service records their health."""

VERSION_FIELDS: Final = ("updatedAt", "version")


@dataclass(frozen=True)
class Sender:
    """The sender of a request (the name of a person or the id of an API key), and the headers that the sender adds."""

    caller_name: str
    if_match: str | None = None
    idempotency_number: int | None = None


@dataclass(frozen=True)
class KeyedRequest:
    """A request with an `Idempotency-Key`, and its response."""

    row: InterfaceOperation
    caller: Caller
    container: ModelRecord | None
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
        """Return a copy of this run that continues from its state."""
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
        """Move the clock forward."""
        self.clock.shift(seconds=seconds, days=days)
        self.elapsed_seconds += seconds + days * _DAY_SECONDS

    def _resolve_sender(self, who: str | int, match: str | None = None, once: int | None = None) -> Sender:
        """Return the sender of a step's requests. A number selects an API key, counted from the newest."""
        keys = [t for t in self.model.records if t.kind == "api_key"][::-1]
        return Sender(keys[who % len(keys)].id if isinstance(who, int) else who, match, once)

    def resolve_caller(self, caller_name: str) -> tuple[Caller, str | None]:
        """Return a caller and their credential."""
        if caller_name == "nobody":
            return Caller("nobody", ""), None
        if person := self.people.get(caller_name):
            return Caller(
                "operator" if caller_name == "operator" else "user", person.id, caller_name
            ), person.credential
        key = next(t for t in self.model.records if t.kind == "api_key" and t.id == caller_name)
        return Caller("api_key", key.id, key.id, key), key.internal["key"]

    def request(  # noqa: PLR0913 - everything that distinguishes requests
        self,
        by: Sender,
        operation: str,
        container: ModelRecord | None = None,
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
        """Send a request and return the response, or None if it was rejected as the model expects.

        `refusal` is the expected status and code for authorized callers; `possible_refusals` are those that the model
        leaves open. `success_status` replaces the operation's usual status. In `alternative_container` the caller may
        have the role as well. `path_parameters` adds to those of the container and the record.
        """
        operation_row, target = OPERATIONS[operation], record or container
        caller, credential = self.resolve_caller(by.caller_name)
        path = operation_row.path.format_map({**(target.path_parameters if target else {}), **path_parameters})
        conditions = self._conditional_headers(by, operation_row, target)
        key = (
            f"key-{by.idempotency_number}"
            if by.idempotency_number is not None and operation_row.method == "POST" and not conditions
            else None
        )
        access_refusal = self.model.expected_refusal(caller, operation_row, container, record, alternative_container)
        first_request = next(
            (
                s
                for s in self.keyed_requests
                if key and (s.caller.id, s.key) == (caller.id, key) and self._is_key_retained(s)
            ),
            None,
        )
        if first_request and access_refusal is None:
            access_refusal = (
                "422 idempotency_key_reused" if (first_request.path, first_request.body) != (path, body) else "replayed"
            )
        request_headers = {**conditions, **({"Idempotency-Key": key} if key else {})}
        response = self.api.request(
            operation_row.method, path, caller=credential, json=body, query=query, headers=request_headers
        )
        if access_refusal == "replayed" and first_request:
            self.assert_replayed(first_request, response)
            return None
        actual = response.status_and_code if response.status >= _FIRST_ERROR_STATUS else str(response.status)
        if access_refusal is None and refusal is None and actual in possible_refusals:
            return None
        is_after_precondition = refusal is None or refusal[:3] in ("409", "429")
        precondition_refusal = (
            "412 precondition_failed" if conditions and by.if_match != "right" and is_after_precondition else None
        )
        expected = access_refusal or precondition_refusal or refusal
        self._assert_status(actual, expected or str(success_status or operation_row.success), response)
        if expected:
            return None
        if key:
            self.keyed_requests.append(
                KeyedRequest(operation_row, caller, container, record, path, body, key, response, self.elapsed_seconds)
            )
        return response

    @staticmethod
    def assert_replayed(first_request: KeyedRequest, response: ApiResponse) -> None:
        """Assert that the response to a repeated request equals the first response."""
        assert response.headers.get("Idempotency-Replayed") == "true", response.text
        assert response.comparable_content == first_request.response.comparable_content

    def _is_key_retained(self, keyed_request: KeyedRequest) -> bool:
        return self.elapsed_seconds - keyed_request.sent_at_seconds < _DAY_SECONDS

    def repeat(self, keyed_request: KeyedRequest) -> None:
        """Send a request again with its idempotency key."""
        credential = self.resolve_caller(keyed_request.caller.name or "nobody")[1]
        expected_refusal = self.model.expected_refusal(
            keyed_request.caller, keyed_request.row, keyed_request.container, keyed_request.record
        )
        if not self._is_key_retained(keyed_request) and expected_refusal is None:
            return  # The service would execute it again.
        headers = {"Idempotency-Key": keyed_request.key}
        response = self.api.request(
            "POST", keyed_request.path, caller=credential, json=keyed_request.body, headers=headers
        )
        if expected_refusal:
            self._assert_status(response.status_and_code, expected_refusal, response)
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

    def read_as_owner(self, record: ModelRecord) -> ApiResponse:
        """Return the response to the owner who reads a record."""
        return self.api.get(record.path, caller=self.owner_of(record))

    def add_created_record(
        self, kind: str, response: ApiResponse, container: ModelRecord | None, expected: Json, *secret_names: str
    ) -> ModelRecord:
        """Add a created record to the model. `secret_names` are fields that only this response contains."""
        shown = response.json
        assert expected.items() <= shown.items(), f"{expected} is not in {shown}"
        assert shown["version"] == 1
        secrets = {name: shown[name] for name in secret_names}
        created = ModelRecord(
            kind,
            {**shown, **dict.fromkeys(secret_names)},
            container,
            secrets,
            first_etag=response.headers.get("ETag", ""),
        )
        self.model.records.append(created)
        return created

    def apply_change(self, record: ModelRecord, response: ApiResponse, changed_fields: Json, **secrets: Any) -> bool:
        """Apply a change to the model and return whether it changed anything. All other fields must be unchanged."""
        fields, before = response.json, record.fields
        expected = {**before, **changed_fields}
        assert _without(fields, *secrets) == _without(expected, *secrets), f"{fields} instead of {expected}"
        has_changed = _without(expected) != _without(before) or bool(secrets)
        self._check_version(record, fields, has_changed=has_changed)
        record.fields = {**fields, **dict.fromkeys(name for name in secrets)}
        record.internal |= {name: fields[name] for name in secrets}
        return has_changed

    @staticmethod
    def _check_version(record: ModelRecord, fields: Json, *, has_changed: bool) -> None:
        increment = fields["version"] - record.fields["version"]
        is_exact = not record.has_unseen_version and record.kind not in KINDS_WITH_HEALTH
        assert increment == has_changed if is_exact else increment >= has_changed, f"version {fields['version']}"
        record.has_unseen_version = False

    def expect_entry(self, by: Sender, operation: str, record: ModelRecord, event: str | None = None) -> None:
        """Expect a log entry about a record."""
        caller = self.resolve_caller(by.caller_name)[0]
        entry = ExpectedEntry(
            event or OPERATIONS[operation].event, record.id, caller.id or None, operation, dict(record.fields)
        )
        self.model.expected_entries.setdefault(record.log_id, []).append(entry)

    def steps_as_json(self) -> str:
        """Return the steps in their recorded form, one per line."""
        lines = [json.dumps(step, ensure_ascii=False) for step in self.steps]
        return "[\n" + ",\n".join(lines) + "\n]"


def _without(fields: Json, *names: str) -> Json:
    return {name: value for name, value in fields.items() if name not in (*VERSION_FIELDS, *names)}
