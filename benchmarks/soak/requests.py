"""How a tenant asks for something of a service whose processes may die at any moment."""

import time
from collections.abc import Mapping
from random import Random
from typing import Any, Final
from uuid import UUID

import httpx

from benchmarks.soak.journal import MUTATING, History, ReceivedEvent, StoredRecord
from tests.emulator.api_clients import ApiClient

_MOST_TRIES: Final = 40
_PAUSE_SECONDS: Final = 0.25
_UNAVAILABLE: Final = 503
_ABANDONED: Final = 0.3
"""Of the changes whose connection was cut: how many nobody asks for again."""

Json = dict[str, Any]


class Asking:
    """Somebody who asks, asks again where no answer came, and remembers what they were told."""

    def __init__(self, caller: ApiClient, history: History, chance: Random, tenant: int | None = None) -> None:
        """Take who asks; `tenant`: by whose number their answers are kept, to be asked for again."""
        self.organization = ""
        self._caller, self._history, self._chance, self._tenant = caller, history, chance, tenant

    def ask(
        self,
        kind: str,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        surely: bool = False,
    ) -> httpx.Response | None:
        """Return the answer; None: the connection was cut, and nobody asks again. `surely`: somebody always does."""
        sent = dict(headers or {})
        if method == "POST":
            sent["Idempotency-Key"] = str(UUID(int=self._chance.getrandbits(128)))
        for _ in range(_MOST_TRIES):
            answer = self._once(method, path, body, sent)
            if answer is not None and answer.status_code != _UNAVAILABLE:
                self._remember(kind, method, path, body, sent, answer)
                return answer
            gives_up = method in MUTATING and not surely and self._chance.random() < _ABANDONED
            self._history.cut(again=not gives_up)
            if gives_up:
                return None
            time.sleep(_PAUSE_SECONDS * (0.5 + self._chance.random()))
        self._history.is_wrong(f"{method} {path}: no answer in {_MOST_TRIES} tries")
        return None

    def again(self, stored: StoredRecord) -> None:
        """Ask once more for what was answered, by its Idempotency-Key: the answer has to be the same."""
        for _ in range(_MOST_TRIES):
            answer = self._once("POST", stored.path, stored.body, {"Idempotency-Key": stored.key})
            if answer is not None and answer.status_code != _UNAVAILABLE:
                self._history.count("replay", answer.status_code)
                if answer.content != stored.answer or answer.headers.get("Idempotency-Replayed") != "true":
                    self._history.is_wrong(f"POST {stored.path} was answered anew: {answer.status_code} {answer.text}")
                return
            time.sleep(_PAUSE_SECONDS)
        self._history.is_wrong(f"POST {stored.path}: no answer to a replay")

    def _once(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> httpx.Response | None:
        try:
            return self._caller.request(method, path, json=body, headers=dict(headers))
        except httpx.TransportError:
            return None

    def _remember(
        self, kind: str, method: str, path: str, body: Json | None, sent: Mapping[str, str], answer: httpx.Response
    ) -> None:
        self._history.count(kind, answer.status_code)
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            self._history.is_wrong(f"{method} {path}: {answer.status_code} {answer.text}")
        if method not in MUTATING or not answer.is_success:
            return
        record = answer.json() if answer.content else {}
        self._history.received_events.append(
            ReceivedEvent(self.organization, method, path, answer.status_code, record.get("id"), record.get("version"))
        )
        if method == "POST" and self._tenant is not None:
            self._history.stored_records.append(
                StoredRecord(self._tenant, path, body or {}, sent["Idempotency-Key"], answer.content)
            )
