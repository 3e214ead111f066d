"""A story: the service and the model side by side, step by step; each is plain data, so that it can be told again."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.workers import Workers
from tests.model.endpoints import Endpoints
from tests.model.entities import Caller, Json, Model, Thing, Told
from tests.model.interface import OPERATIONS, Row

STEP_SECONDS: Final = 11
"""How much later each step is. Things are made one after the other then, and the service finds nothing too early."""

_DAY_SECONDS: Final = 24 * 3600
_REFUSED: Final = 400
_MAKES: Final = (201, 202)
LIVELY: Final = ("webhook", "channel")
"""Kinds that have another version when the service notes how they are."""

UNSEEN: Final = ("updatedAt", "version")


@dataclass(frozen=True)
class By:
    """How a step asks: `who` does (a name, or the id of an API key), with which `If-Match` and `Idempotency-Key`."""

    who: str
    match: str | None = None
    once: int | None = None


@dataclass(frozen=True)
class Sent:
    """A request that carried an `Idempotency-Key`, and how it was answered."""

    row: Row
    who: Caller
    place: Thing | None
    record: Thing | None
    path: str
    body: Any
    key: str
    answer: Answer
    second: float


@dataclass
class Story:
    """What was done so far (`steps`), and what there should be by now (`model`)."""

    api: Api
    workers: Workers
    clock: Clock
    people: Mapping[str, Person]
    endpoints: Endpoints
    model: Model = field(default_factory=Model)
    sent: list[Sent] = field(default_factory=list)
    steps: list[tuple[str, Json]] = field(default_factory=list)
    seconds: float = 0

    def goes_on(self, api: Api, workers: Workers, clock: Clock) -> "Story":
        """Return a story that goes on from here, and leaves this one as it is."""
        model, sent, endpoints = deepcopy((self.model, self.sent, self.endpoints))
        return Story(api, workers, clock, self.people, endpoints, model, sent, [], self.seconds)

    def do(self, name: str, said: Json) -> None:
        """Take a step."""
        from tests.model.actions import all_deeds

        self.steps.append((name, said))
        self.pass_time(seconds=STEP_SECONDS)
        words = {word: self._by(**value) if word == "by" else value for word, value in said.items()}
        all_deeds()[name].function(self, **words)

    def pass_time(self, *, seconds: float = 0, days: float = 0) -> None:
        """Let time pass, and nothing happen meanwhile."""
        self.clock.shift(seconds=seconds, days=days)
        self.seconds += seconds + days * _DAY_SECONDS

    def _by(self, who: str | int, match: str | None = None, once: int | None = None) -> By:
        """Return how a step asks. A number stands for an API key, counted from the last that there is by now."""
        keys = [t for t in self.model.things if t.kind == "api_key"][::-1]
        return By(keys[who % len(keys)].id if isinstance(who, int) else who, match, once)

    def caller(self, who: str) -> tuple[Caller, str | None]:
        """Return who calls, and with what credential."""
        if who == "nobody":
            return Caller("nobody", ""), None
        if person := self.people.get(who):
            return Caller("operator" if who == "operator" else "user", person.id, who), person.credential
        key = next(t for t in self.model.things if t.kind == "api_key" and t.id == who)
        return Caller("api_key", key.id, key.id, key), key.hidden["key"]

    def ask(  # noqa: PLR0913 - all that tells one request from another
        self,
        by: By,
        operation: str,
        place: Thing | None = None,
        record: Thing | None = None,
        body: Any = None,
        *,
        unless: str | None = None,
        perhaps: tuple[str, ...] = (),
        success: int | None = None,
        instead: Thing | None = None,
        query: Json | None = None,
        **names: str,
    ) -> Answer | None:
        """Ask for something; return the answer if something came of it, and None if it was refused, as it had to be.

        `unless`: with what it is refused that the caller may ask for; `perhaps`: what the model leaves open. `success`:
        what is answered, if not the usual. `instead`: where the role may be held too. `names`: else of the path.
        """
        row, (who, credential), near = OPERATIONS[operation], self.caller(by.who), record or place
        path = row.path.format_map({**(near.names if near else {}), **names})
        headers = self._condition(by, row, near)
        key = f"key-{by.once}" if by.once is not None and row.method == "POST" and not headers else None
        refused = self.model.refused(who, row, place, record, instead)
        known = next((s for s in self.sent if key and (s.who.id, s.key) == (who.id, key) and self._kept(s)), None)
        if known and refused is None:
            refused = "422 idempotency_key_reused" if (known.path, known.body) != (path, body) else "replayed"
        carried = {**headers, **({"Idempotency-Key": key} if key else {})}
        answer = self.api.request(row.method, path, as_=credential, json=body, query=query, headers=carried)
        if refused == "replayed" and known:
            self.replayed(known, answer)
            return None
        said = answer.code if answer.status >= _REFUSED else str(answer.status)
        if refused is None and unless is None and said in perhaps:
            return None
        late = unless is None or unless[:3] in ("409", "429")
        stale = "412 precondition_failed" if headers and by.match != "right" and late else None
        expected = refused or stale or unless
        self._agree(said, expected or str(success or row.success), answer)
        if expected:
            return None
        if key:
            self.sent.append(Sent(row, who, place, record, path, body, key, answer, self.seconds))
        return answer

    @staticmethod
    def replayed(known: Sent, answer: Answer) -> None:
        """Hold the answer to a repeated request against the first one: they are the same, byte for byte."""
        assert answer.headers.get("Idempotency-Replayed") == "true", answer.text
        assert answer.said == known.answer.said

    def _kept(self, sent: Sent) -> bool:
        return self.seconds - sent.second < _DAY_SECONDS

    def again(self, sent: Sent) -> None:
        """Send a request again, with its key."""
        credential = self.caller(sent.who.name or "nobody")[1]
        refused = self.model.refused(sent.who, sent.row, sent.place, sent.record)
        if not self._kept(sent) and refused is None:
            return  # It would be done anew.
        headers = {"Idempotency-Key": sent.key}
        answer = self.api.request("POST", sent.path, as_=credential, json=sent.body, headers=headers)
        if refused:
            self._agree(answer.code, refused, answer)
        else:
            self.replayed(sent, answer)

    def _condition(self, by: By, row: Row, thing: Thing | None) -> dict[str, str]:
        if by.match is None or thing is None or row.method == "GET" or row.success in _MAKES:
            return {}
        if by.match == "stale":
            return {"If-Match": thing.first_tag if thing.shown.get("version", 1) > 1 else '"of.another.one"'}
        return {"If-Match": self.read(thing).headers.get("ETag", '"nothing.is.there"')}

    @staticmethod
    def _agree(said: str, expected: str, answer: Answer) -> None:
        assert said == expected, f"{answer.path}: {said} instead of {expected}: {answer.text}"

    def owner(self, thing: Thing) -> Person:
        """Return the owner of what a thing is in, who sees all of it; of what is in nothing an operator."""
        organization = thing.above("organization")
        if organization is None:
            return self.people["operator"]
        return next(p for p in self.people.values() if p.id == organization.shown["ownerId"])

    def read(self, thing: Thing) -> Answer:
        """Return what is answered to the owner who reads a thing."""
        return self.api.get(thing.path, as_=self.owner(thing))

    def makes(self, kind: str, answer: Answer, within: Thing | None, said: Json, *once: str) -> Thing:
        """Note what was made: it says what was asked for. `once`: what is told this once only."""
        shown = answer.json
        assert said.items() <= shown.items(), f"{said} is not in {shown}"
        assert shown["version"] == 1
        hidden = {name: shown[name] for name in once}
        made = Thing(kind, {**shown, **dict.fromkeys(once)}, within, hidden, first_tag=answer.headers.get("ETag", ""))
        self.model.things.append(made)
        return made

    def changes(self, thing: Thing, answer: Answer, changed: Json, **hidden: Any) -> bool:
        """Note how something was changed, and return whether it was. What is not named has stayed as it was."""
        shown, before = answer.json, thing.shown
        expected = {**before, **changed}
        assert _but(shown, *hidden) == _but(expected, *hidden), f"{shown} instead of {expected}"
        does = _but(expected) != _but(before) or bool(hidden)
        self._renewed(thing, shown, does=does)
        thing.shown = {**shown, **dict.fromkeys(name for name in hidden)}
        thing.hidden |= {name: shown[name] for name in hidden}
        return does

    @staticmethod
    def _renewed(thing: Thing, shown: Json, *, does: bool) -> None:
        step = shown["version"] - thing.shown["version"]
        rests = not thing.touched and thing.kind not in LIVELY
        assert step == does if rests else step >= does, f"version {shown['version']}"
        thing.touched = False

    def tells(self, by: By, operation: str, thing: Thing, event: str | None = None) -> None:
        """Note that a log tells of something."""
        who = self.caller(by.who)[0]
        said = Told(event or OPERATIONS[operation].event, thing.id, who.id or None, operation, dict(thing.shown))
        self.model.told.setdefault(thing.log, []).append(said)

    def told(self) -> str:
        """Return the steps as they are kept: a line for each."""
        lines = [json.dumps(step, ensure_ascii=False) for step in self.steps]
        return "[\n" + ",\n".join(lines) + "\n]"


def _but(shown: Json, *names: str) -> Json:
    return {name: value for name, value in shown.items() if name not in (*UNSEEN, *names)}
