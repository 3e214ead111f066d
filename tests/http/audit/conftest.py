"""Fixtures of the tests of audit logs."""

import base64
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import pytest

from chalicelib.features.tenancy.entities.memberships import Member
from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.cached_scenarios import extended_scenario
from tests.harness.callers import Person
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization, set_role
from tests.harness.stored_logs import StoredLog
from tests.harness.stored_records import load_item
from tests.harness.witnesses import ORIGIN, FakeWitness, reachable_witnesses
from tests.harness.workers import Workers


@pytest.fixture(autouse=True)
def _no_index_retries(no_index_retries: None) -> None:
    """Let no test wait for an index, because indexes in memory do not lag."""


@pytest.fixture
def log(api: ApiClient, organization_with_ten_entries: CreatedOrganization, workers: Workers) -> StoredLog:
    """A log with ten entries, appended in several batches."""
    return StoredLog(api, workers, organization_with_ten_entries)


@pytest.fixture
def new_log(api: ApiClient, organization: CreatedOrganization, workers: Workers) -> StoredLog:
    """A log with four pending entries: the creation of the organization, and its members."""
    return StoredLog(api, workers, organization)


@pytest.fixture
def short_log(api: ApiClient, ada: Person, workers: Workers) -> StoredLog:
    """A log with one entry, of another organization of Ada's."""
    organization = create_organization(api, ada)
    workers.deliver()
    return StoredLog(api, workers, organization)


@pytest.fixture
def mixed_log(api: ApiClient, new_log: StoredLog, workers: Workers, grace: Person, mary: Person) -> StoredLog:
    """A log with entries of several types, some long, by several actors, appended in several batches."""
    organization = new_log.organization

    def add_entries() -> None:
        key = create_api_key(api, organization, "admin")
        new_log.rename("Zoë's Engines 🚂")
        for n in range(4):
            api.patch(organization.path, caller=grace, json={"name": f"By Grace {n}"})
            address = "x" * 3000 if n % 3 == 0 else f"Street {n}"
            api.patch(organization.path, caller=key, json={"companyAddress": address})
            set_role(api, organization, mary, ("editor", "member")[n % 2], caller=grace)
            if n % 2:
                workers.deliver()

    extended_scenario("mixed", add_entries)
    return new_log


def build_filter_queries(entries: list[Json], event_type: str, actor_id: str, target_id: str) -> list[dict[str, str]]:
    """Return queries with each filter of a log alone, with two of them, and with all."""
    times = sorted(entry["occurredAt"] for entry in entries)
    values = {"actorId": actor_id, "targetId": target_id, "from": times[1], "to": times[-2], "type": event_type}
    alone = [{"type": f"{event_type.partition('.')[0]}.*"}, *({name: value} for name, value in values.items())]
    return [*alone, *(first | second for first, second in combinations(alone, 2)), values]


def is_match(entry: Json, query: dict[str, str]) -> bool:
    pattern, time = query.get("type", str(entry["type"])), str(entry["occurredAt"])
    return (
        (entry["type"].startswith(pattern[:-1]) if pattern.endswith(".*") else entry["type"] == pattern)
        and query.get("actorId", entry["actor"]["id"]) == entry["actor"]["id"]
        and query.get("targetId", entry["target"]["id"]) == entry["target"]["id"]
        and query.get("from", time) <= time <= query.get("to", time)
    )


@pytest.fixture
def forged_member(organization: CreatedOrganization, grace: Person) -> dict[str, Any]:
    """A member whose role somebody changed in the table."""
    item = load_item(Member.make_item_key(organization_id=organization.id, user_id=organization.owner.id))
    forged = {**item, "id": f"{item['id'][:-4]}beef", "user_id": grace.id, "sk": f"M#{grace.id}", "role": "admin"}
    memory_aws.put_item(forged)
    return forged


@pytest.fixture
def witnesses(api: ApiClient, configure: Callable[..., None]) -> Iterator[list[FakeWitness]]:
    """Three witnesses that know the log of anchors."""
    public_key = base64.b64decode(api.get("/status").json["auditPublicKey"])
    witnesses = [FakeWitness(f"w{number}.example", {ORIGIN: public_key}) for number in range(3)]
    configure(witnesses=", ".join(each.setting for each in witnesses), witnessed_log_origin=ORIGIN)
    with reachable_witnesses(witnesses):
        yield witnesses


@pytest.fixture
def witness(witnesses: list[FakeWitness]) -> FakeWitness:
    """The first of the witnesses."""
    return witnesses[0]


@pytest.fixture
def logs(api: ApiClient, ada: Person, workers: Workers, witnesses: list[FakeWitness]) -> list[StoredLog]:
    """Three logs with one entry each, on a stage with witnesses."""
    logs = [StoredLog(api, workers, create_organization(api, ada)) for _ in witnesses]
    workers.deliver()
    return logs


@pytest.fixture
def without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command confirm suspects at once."""
    monkeypatch.setattr("local.tools.audit_records.CONFIRMATION_DELAY_SECONDS", 0)
