"""A tenant of a soak, which creates, changes, publishes and deletes records of its own organization.

Nobody else writes to the organization, so its content is known after each response. After a change with an unknown
outcome the tenant reads the record: it is unchanged, or it has the requested state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from threading import Event
from typing import Any, Final

from httpx import Response

from benchmarks.soak.journal import Journal, ReplayableRequest
from benchmarks.soak.record_types import RECORD_TYPES, RecordType
from benchmarks.soak.requests import RetryingClient
from tests.emulator.api_clients import ApiClient
from tests.emulator.local_stage import LocalStage
from tests.emulator.log_reader import list_items

EVENT_TYPE: Final = "invoice.approved"
_MAX_RECORDS_PER_TYPE: Final = 30
_MAX_BATCH_EVENTS: Final = 5
_OK, _CREATED, _NO_CONTENT, _NOT_FOUND, _PRECONDITION_FAILED = 200, 201, 204, 404, 412


@dataclass
class KnownRecord:
    """A record with its name and ETags as last received.

    `uncertain_name` is a requested name whose change has an unknown outcome. It is "" for a deletion.
    """

    id: str
    record_type: RecordType
    name: str
    etag: str = ""
    previous_etag: str = ""
    uncertain_name: str | None = None


class Tenant:
    """Sends random requests, which depend on the seed, until it is stopped."""

    def __init__(self, stage: LocalStage, number: int, seed: int, journal: Journal) -> None:
        self.number = number
        self.export_ids: list[str] = []
        self.checkpoints: list[str] = []
        self._random = Random(f"{seed}/{number}")  # noqa: S311 - a repeatable choice
        self._journal = journal
        self.caller = ApiClient(stage, f"tenant-{number}")
        self.guest = ApiClient(stage, f"guest-{number}")
        self.client = RetryingClient(self.caller, journal, self._random, number)
        self._guest_client = RetryingClient(self.guest, journal, self._random)
        self._records: list[KnownRecord] = []
        self.deleted_ids: set[str] = set()
        self._name_count = 0

    def create_initial_records(self, endpoint_urls: Sequence[str], stream_url: str) -> None:
        """Create the organization, a platform, a site, and webhooks and a log stream for all events."""
        self.organization = self.caller.create_organization(f"Tenant {self.number}")
        self.client.organization = self._guest_client.organization = self.organization
        subscription = {"events": ["*"]}
        webhooks_path = f"/organizations/{self.organization}/webhooks"
        self.webhooks = {url: self._create(webhooks_path, {"url": url, **subscription}) for url in endpoint_urls}
        destination = {"type": "https", "url": stream_url, "format": "json"}
        self._create(f"/organizations/{self.organization}/log-streams", {"destination": destination, "startAt": 1})
        platform = self._create("/platforms", {"organizationId": self.organization, "name": f"Platform {self.number}"})
        site = self._create(f"/organizations/{self.organization}/sites", {"name": f"Site {self.number}"})
        self.client.request("publish", "PATCH", f"/sites/{site}", {"status": "published"}, never_abandon=True)
        self._path_values = {
            "organization": self.organization,
            "platform": platform,
            "site": site,
            "endpoint": endpoint_urls[0],
        }

    def act_until_stopped(self, stop: Event, mean_pause_seconds: float) -> None:
        """Perform random actions with pauses of the given mean, until `stop` is set."""
        while not stop.wait(self._random.expovariate(1 / mean_pause_seconds)):
            actions, weights = zip(*self._weighted_actions(), strict=True)
            self._random.choices(actions, weights)[0]()

    def read_versions(self) -> Mapping[str, int]:
        """Read every record once more, and return the versions of those that exist."""
        versions = {}
        for record in list(self._records):
            response = self._read_record(record)
            if response is not None and response.is_success:
                versions[record.id] = int(response.json()["version"])
        return versions

    def resolve_uncertain_deletions(self) -> None:
        """Read the records that may be deleted."""
        for record in [record for record in self._records if record.uncertain_name == ""]:
            self._read_record(record)

    def replay(self, requests: Sequence[ReplayableRequest]) -> None:
        """Repeat requests, except those for deleted records, which return 404."""
        for request in requests:
            if self.deleted_ids.isdisjoint(request.path.split("/")):
                self.client.replay(request)

    def list_record_ids(self) -> set[str]:
        """Return the ids of all records that lists contain."""
        lists = [list_items(self.caller, kind.list_path.format_map(self._path_values)) for kind in RECORD_TYPES]
        return {record["id"] for items in lists for record in items}

    def start_export(self) -> None:
        """Start an export of the log."""
        path = f"/organizations/{self.organization}/audit-log/export-async"
        self.export_ids.append(self._create(path, {}))

    def _weighted_actions(self) -> Sequence[tuple[Callable[[], None], int]]:
        return (
            (self._create_record, 14),
            (partial(self._with_random_record, self._read_record), 34),
            (self._list_log, 6),
            (partial(self._with_random_record, self._update_record), 24),
            (partial(self._with_random_record, self._update_outdated_version), 4),
            (partial(self._with_random_record, self._publish_page), 6),
            (partial(self._with_random_record, self._delete_record), 5),
            (self._report_events, 20),
            (self._rename_organization, 3),
            (self._invite_accept_and_leave, 2),
            (self._replay_random_request, 2),
        )

    def _create(self, path: str, body: dict[str, Any]) -> str:
        response = self.client.request("create", "POST", path, body, never_abandon=True)
        if response is None or not response.is_success:
            raise SystemExit(f"POST {path}: {response and response.text}")
        return str(response.json()["id"])

    def _next_name(self) -> str:
        self._name_count += 1
        return f"{self.number}-{self._name_count}"

    def _with_random_record(self, action: Callable[[KnownRecord], object]) -> None:
        if self._records:
            action(self._random.choice(self._records))

    def _create_record(self) -> None:
        record_type = self._random.choice(RECORD_TYPES)
        if sum(record.record_type is record_type for record in self._records) >= _MAX_RECORDS_PER_TYPE:
            return
        name = self._next_name()
        body = record_type.create_body(name, self._path_values)
        response = self.client.request("create", "POST", record_type.create_path.format_map(self._path_values), body)
        if response is not None and self._check_status(
            response.status_code, (_CREATED,), f"a new {record_type.name}", response.text
        ):
            self._records.append(KnownRecord(response.json()["id"], record_type, name, response.headers["ETag"]))

    def _read_record(self, record: KnownRecord) -> Response | None:
        response = self.client.request("read", "GET", self._record_path(record))
        if response is None:
            return None
        if response.status_code == _NOT_FOUND and record.uncertain_name == "":
            self._note_deletion(record)
            return response
        name = response.json().get(record.record_type.name_field)
        if name not in (record.name, record.uncertain_name):
            expectation = f"expected {record.name} or {record.uncertain_name}"
            self._journal.add_violation(
                f"{self._record_path(record)}, {expectation}: {response.status_code} {response.text}"
            )
        record.name, record.uncertain_name, record.etag = name, None, response.headers.get("ETag", "")
        record.previous_etag = ""
        return response

    def _list_log(self) -> None:
        path = f"/organizations/{self.organization}/audit-log"
        response = self.client.request("list", "GET", path, headers={})
        if response is not None:
            self._check_status(response.status_code, (_OK,), "the log", response.text)

    def _update_record(self, record: KnownRecord, outdated_etag: str = "") -> None:
        if record.uncertain_name is not None:
            self._read_record(record)
            return
        name, record.uncertain_name = record.name, self._next_name()
        body = {record.record_type.name_field: record.uncertain_name}
        response = self.client.request(
            "change",
            "PATCH",
            self._record_path(record),
            body,
            headers={"If-Match": outdated_etag} if outdated_etag else {},
        )
        if response is None:
            return
        if outdated_etag:
            self._check_status(
                response.status_code, (_PRECONDITION_FAILED,), f"an outdated change of {name}", response.text
            )
            record.uncertain_name = None
        elif self._check_status(response.status_code, (_OK,), f"a change of {name}", response.text):
            record.previous_etag, record.etag = record.etag, response.headers["ETag"]
            record.name, record.uncertain_name = record.uncertain_name, None

    def _update_outdated_version(self, record: KnownRecord) -> None:
        if record.previous_etag and record.previous_etag != record.etag:
            self._update_record(record, record.previous_etag)

    def _publish_page(self, record: KnownRecord) -> None:
        if record.record_type.name == "page" and record.uncertain_name is None:
            response = self.client.request("publish", "POST", f"{self._record_path(record)}/publish", {})
            if response is not None and self._check_status(response.status_code, (_OK,), "publishing", response.text):
                record.previous_etag, record.etag = record.etag, response.headers["ETag"]

    def _delete_record(self, record: KnownRecord) -> None:
        if record.uncertain_name is not None:
            self._read_record(record)
            return
        record.uncertain_name = ""
        response = self.client.request("delete", "DELETE", self._record_path(record))
        # A repeated deletion returns 404.
        if response is not None and self._check_status(
            response.status_code, (_NO_CONTENT, _NOT_FOUND), "deleting", response.text
        ):
            self._note_deletion(record)

    def _note_deletion(self, record: KnownRecord) -> None:
        self._records.remove(record)
        self.deleted_ids.add(record.id)

    def _rename_organization(self) -> None:
        path = f"/organizations/{self.organization}"
        self.client.request("change", "PATCH", path, {"companyName": self._next_name()}, never_abandon=True)

    def _report_events(self) -> None:
        size, path = self._random.randint(1, _MAX_BATCH_EVENTS), f"/organizations/{self.organization}/events"
        data, target = {"batch": self._next_name(), "size": size}, {"type": "invoice", "id": f"INV-{self._name_count}"}
        events = [{"type": EVENT_TYPE, "data": data, **({"targets": [target]} if n else {})} for n in range(size)]
        path, body = (path, events[0]) if size == 1 else (f"{path}/batch", {"events": events})
        response = self.client.request("report", "POST", path, body)
        if response is not None:
            self._check_status(response.status_code, (_CREATED,), "reporting events", response.text)

    def _invite_accept_and_leave(self) -> None:
        path = f"/organizations/{self.organization}"
        body = {"email": str(self.guest.person.claims()["email"]), "role": "editor"}
        invited = self.client.request("invite", "POST", f"{path}/invite", body, never_abandon=True)
        if invited is None or not self._check_status(invited.status_code, (_CREATED,), "inviting", invited.text):
            return
        token = invited.json()["acceptUrl"].partition("token=")[2]
        acceptance_path = "/organizations/invitations/acceptance"
        accepted = self._guest_client.request("accept", "POST", acceptance_path, {"token": token}, never_abandon=True)
        if accepted is not None:
            self._check_status(accepted.status_code, (_OK,), "accepting", accepted.text)
        departed = self._guest_client.request("leave", "POST", f"{path}/leave", {}, never_abandon=True)
        if departed is not None:
            self._check_status(departed.status_code, (_NO_CONTENT,), "leaving", departed.text)

    def _replay_random_request(self) -> None:
        requests = [stored for stored in list(self._journal.replayable_requests) if stored.tenant_number == self.number]
        self.resolve_uncertain_deletions()
        self.replay(self._random.sample(requests, min(1, len(requests))))

    def save_checkpoint(self) -> None:
        """Save the current checkpoint of the log, if it has one."""
        path = f"/organizations/{self.organization}/audit-log/verify-integrity"
        response = self.client.request("verify", "GET", path)
        if response is not None and response.is_success and response.json()["checkpoint"]:
            self.checkpoints.append(response.json()["checkpoint"])

    def _record_path(self, record: KnownRecord) -> str:
        return record.record_type.record_path.format(**self._path_values, id=record.id)

    def _check_status(self, status: int, expected: Sequence[int], description: str, text: str) -> bool:
        if status not in expected:
            self._journal.add_violation(f"{description}: {status} {text}")
        return status in expected
