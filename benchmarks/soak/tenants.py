"""A tenant of a soak: somebody who makes, changes, publishes and deletes in an organization of their own, all along.

Nobody else writes to it, so what it has to hold is known after each answer. After a change that nobody knows the end
of, the record is looked at once more: it is as before, or as asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from threading import Event
from typing import Any, Final

from httpx import Response

from benchmarks.soak.journal import History, StoredRecord
from benchmarks.soak.record_types import KINDS, Kind
from benchmarks.soak.requests import Asking
from tests.emulator.log_reader import list_items
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import LocalStage

_MOST_OF_A_KIND: Final = 30
_OK, _CREATED, _NO_CONTENT, _NOT_FOUND, _STALE = 200, 201, 204, 404, 412


@dataclass
class Known:
    """A record: its name as last told, and in `doubt` the one that was asked for and may be; "": it may be deleted.

    `tag`: its ETag as last told; `former_tag`: the one before.
    """

    id: str
    kind: Kind
    name: str
    tag: str = ""
    former_tag: str = ""
    doubt: str | None = None


class Tenant:
    """Acts at random, as its seed has it, until told to stop."""

    def __init__(self, stage: LocalStage, number: int, seed: int, history: History) -> None:
        self.number = number
        self.exports: list[str] = []
        self.checkpoints: list[str] = []
        self._chance = Random(f"{seed}/{number}")  # noqa: S311 - a choice that can be made again
        self._history = history
        self.caller = ApiClient(stage, f"tenant-{number}")
        self.guest = ApiClient(stage, f"guest-{number}")
        self.asking = Asking(self.caller, history, self._chance, number)
        self._guest_asking = Asking(self.guest, history, self._chance)
        self._records: list[Known] = []
        self.gone: set[str] = set()
        self._names = 0

    def begin(self, endpoints: Sequence[str]) -> None:
        """Make the places, and webhooks that are told of everything."""
        self.organization = self.caller.create_organization(f"Tenant {self.number}")
        self.asking.organization = self._guest_asking.organization = self.organization
        subscription = {"events": ["*"]}
        hooks = f"/organizations/{self.organization}/webhooks"
        self.webhooks = {url: self._made(hooks, {"url": url, **subscription}) for url in endpoints}
        platform = self._made("/platforms", {"organizationId": self.organization, "name": f"Platform {self.number}"})
        site = self._made(f"/organizations/{self.organization}/sites", {"name": f"Site {self.number}"})
        self.asking.ask("publish", "PATCH", f"/sites/{site}", {"status": "published"}, surely=True)
        self._places = {
            "organization": self.organization,
            "platform": platform,
            "site": site,
            "elsewhere": endpoints[0],
        }

    def act(self, stopped: Event, pause: float) -> None:
        """Do one thing after the other, with pauses of that many seconds on average."""
        while not stopped.wait(self._chance.expovariate(1 / pause)):
            acts, weights = zip(*self._acts(), strict=True)
            self._chance.choices(acts, weights)[0]()

    def settle(self) -> Mapping[str, int]:
        """Look at every record once more, and return the versions of those that are there."""
        versions = {}
        for record in list(self._records):
            answer = self._look(record)
            if answer is not None and answer.is_success:
                versions[record.id] = int(answer.json()["version"])
        return versions

    def settle_deletions(self) -> None:
        """Look at what may be deleted."""
        for record in [record for record in self._records if record.doubt == ""]:
            self._look(record)

    def replay(self, stored: Sequence[StoredRecord]) -> None:
        """Ask once more for what was answered, unless it was about a record that is gone: that is 404 from then on."""
        for one in stored:
            if self.gone.isdisjoint(one.path.split("/")):
                self.asking.again(one)

    def listed(self) -> set[str]:
        """Return the ids of all records that are there, as lists have them."""
        lists = [list_items(self.caller, kind.listed_at.format_map(self._places)) for kind in KINDS]
        return {record["id"] for items in lists for record in items}

    def export(self) -> None:
        """Ask for the log as a file."""
        path = f"/organizations/{self.organization}/audit-log/export-async"
        self.exports.append(self._made(path, {}))

    def _acts(self) -> Sequence[tuple[Callable[[], None], int]]:
        return (
            (self._make, 14),
            (partial(self._with_one, self._look), 34),
            (self._list, 6),
            (partial(self._with_one, self._change), 24),
            (partial(self._with_one, self._change_what_is_stale), 4),
            (partial(self._with_one, self._publish), 6),
            (partial(self._with_one, self._delete), 5),
            (self._rename_organization, 3),
            (self._welcome_and_part, 2),
            (self._replay_one, 2),
        )

    def _made(self, path: str, body: dict[str, Any]) -> str:
        answer = self.asking.ask("create", "POST", path, body, surely=True)
        if answer is None or not answer.is_success:
            raise SystemExit(f"POST {path}: {answer and answer.text}")
        return str(answer.json()["id"])

    def _name(self) -> str:
        self._names += 1
        return f"{self.number}-{self._names}"

    def _with_one(self, act: Callable[[Known], object]) -> None:
        if self._records:
            act(self._chance.choice(self._records))

    def _make(self) -> None:
        kind = self._chance.choice(KINDS)
        if sum(record.kind is kind for record in self._records) >= _MOST_OF_A_KIND:
            return
        name = self._name()
        body = kind.body(name, self._places)
        answer = self.asking.ask("create", "POST", kind.made_at.format_map(self._places), body)
        if answer is not None and self._expected(answer.status_code, (_CREATED,), f"a new {kind.name}", answer.text):
            self._records.append(Known(answer.json()["id"], kind, name, answer.headers["ETag"]))

    def _look(self, record: Known) -> Response | None:
        answer = self.asking.ask("read", "GET", self._path(record))
        if answer is None:
            return None
        if answer.status_code == _NOT_FOUND and record.doubt == "":
            self._forget(record)
            return answer
        name = answer.json().get(record.kind.named_by)
        if name not in (record.name, record.doubt):
            known = f"known as {record.name}, in doubt {record.doubt}"
            self._history.is_wrong(f"{self._path(record)}, {known}: {answer.status_code} {answer.text}")
        record.name, record.doubt, record.tag = name, None, answer.headers.get("ETag", "")
        record.former_tag = ""
        return answer

    def _list(self) -> None:
        path = f"/organizations/{self.organization}/audit-log"
        answer = self.asking.ask("list", "GET", path, headers={})
        if answer is not None:
            self._expected(answer.status_code, (_OK,), "the log", answer.text)

    def _change(self, record: Known, tag: str = "") -> None:
        if record.doubt is not None:
            self._look(record)
            return
        name, record.doubt = record.name, self._name()
        asked = {record.kind.named_by: record.doubt}
        answer = self.asking.ask("change", "PATCH", self._path(record), asked, headers={"If-Match": tag} if tag else {})
        if answer is None:
            return
        if tag:
            self._expected(answer.status_code, (_STALE,), f"a stale change of {name}", answer.text)
            record.doubt = None
        elif self._expected(answer.status_code, (_OK,), f"a change of {name}", answer.text):
            record.former_tag, record.tag = record.tag, answer.headers["ETag"]
            record.name, record.doubt = record.doubt, None

    def _change_what_is_stale(self, record: Known) -> None:
        if record.former_tag and record.former_tag != record.tag:
            self._change(record, record.former_tag)

    def _publish(self, record: Known) -> None:
        if record.kind.name == "page" and record.doubt is None:
            answer = self.asking.ask("publish", "POST", f"{self._path(record)}/publish", {})
            if answer is not None and self._expected(answer.status_code, (_OK,), "publishing", answer.text):
                record.former_tag, record.tag = record.tag, answer.headers["ETag"]

    def _delete(self, record: Known) -> None:
        if record.doubt is not None:
            self._look(record)
            return
        record.doubt = ""
        answer = self.asking.ask("delete", "DELETE", self._path(record))
        # Who asks again after a cut may hear that it is gone.
        if answer is not None and self._expected(
            answer.status_code, (_NO_CONTENT, _NOT_FOUND), "deleting", answer.text
        ):
            self._forget(record)

    def _forget(self, record: Known) -> None:
        self._records.remove(record)
        self.gone.add(record.id)

    def _rename_organization(self) -> None:
        path = f"/organizations/{self.organization}"
        self.asking.ask("change", "PATCH", path, {"companyName": self._name()}, surely=True)

    def _welcome_and_part(self) -> None:
        path = f"/organizations/{self.organization}"
        asked = {"email": str(self.guest.person.claims()["email"]), "role": "editor"}
        invited = self.asking.ask("invite", "POST", f"{path}/invite", asked, surely=True)
        if invited is None or not self._expected(invited.status_code, (_CREATED,), "inviting", invited.text):
            return
        token = invited.json()["acceptUrl"].partition("token=")[2]
        accepting = "/organizations/invitations/acceptance"
        accepted = self._guest_asking.ask("accept", "POST", accepting, {"token": token}, surely=True)
        if accepted is not None:
            self._expected(accepted.status_code, (_OK,), "accepting", accepted.text)
        left = self._guest_asking.ask("leave", "POST", f"{path}/leave", {}, surely=True)
        if left is not None:
            self._expected(left.status_code, (_NO_CONTENT,), "leaving", left.text)

    def _replay_one(self) -> None:
        mine = [stored for stored in list(self._history.stored_records) if stored.tenant == self.number]
        self.settle_deletions()
        self.replay(self._chance.sample(mine, min(1, len(mine))))

    def keep_checkpoint(self) -> None:
        """Keep the log's checkpoint as it is now, once it has one."""
        path = f"/organizations/{self.organization}/audit-log/verify-integrity"
        answer = self.asking.ask("verify", "GET", path)
        if answer is not None and answer.is_success and answer.json()["checkpoint"]:
            self.checkpoints.append(answer.json()["checkpoint"])

    def _path(self, record: Known) -> str:
        return record.kind.found_at.format(**self._places, id=record.id)

    def _expected(self, status: int, expected: Sequence[int], what: str, text: str) -> bool:
        if status not in expected:
            self._history.is_wrong(f"{what}: {status} {text}")
        return status in expected
