"""Requests of a tenant to a service whose processes may end at any time."""

import time
from collections.abc import Mapping
from random import Random
from typing import Any, Final
from uuid import UUID

import httpx

from benchmarks.soak.journal import MUTATING, AcknowledgedChange, Journal, ReplayableRequest
from tests.emulator.api_clients import ApiClient

_MAX_ATTEMPTS: Final = 40
_RETRY_PAUSE_SECONDS: Final = 0.25
_SERVICE_UNAVAILABLE: Final = 503
_ABANDONED_SHARE: Final = 0.3
"""The share of changes that the caller does not repeat after a lost connection."""

EVENTS_PATHS: Final = ("/events", "/events/batch")
"""The ends of the paths of operations that write application events."""

Json = dict[str, Any]


class RetryingClient:
    """Sends requests, repeats those without a response, and records the responses."""

    def __init__(self, caller: ApiClient, journal: Journal, random: Random, tenant_number: int | None = None) -> None:
        """Create a client. With a `tenant_number`, its POST requests are recorded for a replay."""
        self.organization = ""
        self._caller, self._journal, self._random, self._tenant_number = caller, journal, random, tenant_number

    def request(
        self,
        request_kind: str,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        never_abandon: bool = False,
    ) -> httpx.Response | None:
        """Return the response, or None after a lost connection if the request is not repeated.

        With `never_abandon` a request is always repeated.
        """
        sent_headers = dict(headers or {})
        if method == "POST":
            sent_headers["Idempotency-Key"] = str(UUID(int=self._random.getrandbits(128)))
        for _ in range(_MAX_ATTEMPTS):
            response = self._send(method, path, body, sent_headers)
            if response is not None and response.status_code != _SERVICE_UNAVAILABLE:
                self._record_response(request_kind, method, path, body, sent_headers, response)
                return response
            is_abandoned = method in MUTATING and not never_abandon and self._random.random() < _ABANDONED_SHARE
            self._journal.count_lost_connection(is_retried=not is_abandoned)
            if is_abandoned:
                return None
            time.sleep(_RETRY_PAUSE_SECONDS * (0.5 + self._random.random()))
        self._journal.add_violation(f"{method} {path}: no response in {_MAX_ATTEMPTS} attempts")
        return None

    def replay(self, request: ReplayableRequest) -> None:
        """Repeat a request with its Idempotency-Key, and check that the response is the same."""
        for _ in range(_MAX_ATTEMPTS):
            response = self._send("POST", request.path, request.body, {"Idempotency-Key": request.idempotency_key})
            if response is not None and response.status_code != _SERVICE_UNAVAILABLE:
                self._journal.count_response("replay", response.status_code)
                if response.content != request.response_body or response.headers.get("Idempotency-Replayed") != "true":
                    self._journal.add_violation(
                        f"POST {request.path} was executed again: {response.status_code} {response.text}"
                    )
                return
            time.sleep(_RETRY_PAUSE_SECONDS)
        self._journal.add_violation(f"POST {request.path}: no response to a replay")

    def _send(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> httpx.Response | None:
        try:
            return self._caller.request(method, path, json=body, headers=dict(headers))
        except httpx.TransportError:
            return None

    def _record_response(
        self,
        request_kind: str,
        method: str,
        path: str,
        body: Json | None,
        sent_headers: Mapping[str, str],
        response: httpx.Response,
    ) -> None:
        self._journal.count_response(request_kind, response.status_code)
        if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            self._journal.add_violation(f"{method} {path}: {response.status_code} {response.text}")
        if method not in MUTATING or not response.is_success:
            return
        record = response.json() if response.content else {}
        event_ids = tuple(item["id"] for item in record.get("items", [record])) if path.endswith(EVENTS_PATHS) else ()
        target, version = (None, None) if event_ids else (record.get("id"), record.get("version"))
        self._journal.acknowledged_changes.append(
            AcknowledgedChange(self.organization, method, path, response.status_code, target, version, event_ids)
        )
        if method == "POST" and self._tenant_number is not None:
            self._journal.replayable_requests.append(
                ReplayableRequest(
                    self._tenant_number, path, body or {}, sent_headers["Idempotency-Key"], response.content
                )
            )
