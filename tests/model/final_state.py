"""The invariants of a finished run: all records, lists, logs and deliveries match the model."""

from typing import Final

from tests.catalogue import log_proof
from tests.harness.api import Json
from tests.harness.reconciliations import find_disagreements
from tests.model.action_groups.erasures import check_erasures
from tests.model.action_groups.event_types import check_event_types
from tests.model.action_groups.faults import apply_elapsed_time, run_until_idle
from tests.model.action_groups.log_streams import PROGRESS_FIELDS, check_log_streams, check_repeated_batches
from tests.model.action_groups.organizations import restore
from tests.model.action_groups.pages import visit
from tests.model.action_groups.proofs import check_proofs
from tests.model.action_groups.sites import publication_of
from tests.model.action_groups.taxonomy import paths_of
from tests.model.interface_operations import is_event_in_areas
from tests.model.model_run import KINDS_WITH_HEALTH, ModelRun
from tests.model.service_model import SYSTEM, ExpectedEntry, ModelRecord

LISTS: Final = {
    "member": "members",
    "invitation": "invitations",
    "api_key": "api-keys",
    "webhook": "webhooks",
    "channel": "integration-channels",
    "space": "spaces",
    "space_member": "members",
    "platform_member": "members",
    "site": "sites",
    "log_stream": "log-streams",
}
_FIELDS_CHANGED_BY_OTHERS: Final = {
    "platform": ("home", "warnings"),
    "site": ("homePageId", "host"),
    "node": ("path", "depth", "parentId", "position"),
    "page": ("path", "isHome", "status", "publishAt", "hasUnpublishedChanges", "publishedRevisionId", "publishedAt"),
    "menu": ("items",),
    "log_stream": PROGRESS_FIELDS,
    "erasure": ("status", "erasedRecords", "erasedEntries"),
}
"""Fields of a record that changes of other records change."""

_UNCHECKED_FIELDS: Final = ("lastUsedAt", "failingSince", "version", "updatedAt")


def check_final_state(run: ModelRun) -> None:
    """Run all pending work and compare the whole state with the model."""
    run.endpoints.state = "well"
    for organization in run.model.list_all("organization"):
        if organization.fields["status"] == "pending_deletion" and not organization.is_deleted:
            restore(run, run.sender_for_owner(organization), organization)
    run_until_idle(run)
    run.pass_time(days=1)
    run_until_idle(run)
    apply_elapsed_time(run)
    log_proof.assert_logs_are_proven()
    for organization in run.model.list_existing("organization"):
        _check_records_and_lists(run, organization)
        _check_trees(run, organization)
        entries = _check_log(run, organization)
        found = find_disagreements(organization.id)
        assert found == [], found
        _check_deliveries(run, organization, entries)
        check_log_streams(run, organization, entries)
        check_proofs(run, organization, entries)
        check_erasures(run, organization)
    check_event_types(run)
    check_repeated_batches(run)
    # No event of an organization may arrive at the subscribers of another.
    subscribers = run.model.list_all("webhook") + run.model.list_all("channel")
    log_ids = {record.internal.get("url") or record.fields["url"]: record.log_id for record in subscribers}
    for url, messages in run.endpoints.accepted_messages.items():
        for message in messages:
            assert message.get("event", message)["organizationId"] == log_ids[url], f"{message} arrived at {url}"
    expected = [(t.type, t.operation_id, str(t.actor_id)) for t in run.model.expected_entries.get(SYSTEM, [])]
    entries = run.api.get_items("/system/audit-log", caller=run.people["operator"], query={"limit": 100})
    actual = [(e["type"], e["context"]["operationId"], str(e["actor"]["id"])) for e in entries]
    assert sorted(actual) == sorted(expected)


def _list_as_owner(run: ModelRun, record: ModelRecord, list_path: str, limit: int = 100) -> list[Json]:
    """Return the items of a list in a record. A small limit makes several pages of it."""
    return run.api.get_items(f"{record.path}/{list_path}", caller=run.owner_of(record), query={"limit": limit})


def _check_records_and_lists(run: ModelRun, organization: ModelRecord) -> None:
    records = [record for record in run.model.records if record.exists and record.is_inside(organization)]
    for record in records:
        response = run.read_as_owner(record)
        assert response.status == 200, f"{record.path}: {response.text}"
        ignored = (*_UNCHECKED_FIELDS, *_FIELDS_CHANGED_BY_OTHERS.get(record.kind, ()))
        actual, expected = (
            {name: value for name, value in fields.items() if name not in ignored}
            for fields in (response.json, record.fields)
        )
        assert actual == expected, f"{actual} instead of {expected}"
        if not record.has_unseen_version and record.kind not in KINDS_WITH_HEALTH:
            assert response.json["version"] == record.fields["version"], record.fields
    for kind, list_path in LISTS.items():
        container_kind = {"space": "platform", "space_member": "space", "platform_member": "platform"}.get(kind)
        for container in (record for record in records if record.kind == (container_kind or "organization")):
            expected_records = run.model.list_existing(kind, container)
            if kind == "space":
                expected_records.sort(key=lambda space: (space.fields["position"], space.id))
            listed_ids = [item["id"] for item in _list_as_owner(run, container, list_path, limit=7)]
            assert listed_ids == [record.id for record in expected_records], f"{kind} of {container.fields}"


def _check_trees(run: ModelRun, organization: ModelRecord) -> None:
    for platform in run.model.list_existing("platform", organization):
        nodes = _list_as_owner(run, platform, "taxonomy-nodes", limit=9)
        assert {node["id"]: node["path"] for node in nodes} == paths_of(run, platform)
    for site in run.model.list_existing("site", organization):
        publication, redirects = publication_of(site), run.model.list_existing("redirect", site)
        listed = _list_as_owner(run, site, "pages", limit=9)
        assert {page["id"]: page["path"] for page in listed} == publication.draft_paths
        published = {page: page_state.published_revision for page, page_state in publication.pages.items()}
        assert {page["id"]: page["publishedRevisionId"] for page in listed} == published
        manual_ids = {r["id"] for r in _list_as_owner(run, site, "redirects") if r["origin"] == "manual"}
        assert manual_ids == {redirect.id for redirect in redirects}
        redirected_paths = {r.fields["fromPath"] for r in redirects if r.fields["enabled"]}
        for page, path in publication.public_paths.items() if site.fields["status"] == "published" else ():
            response = visit(run, site, path)
            is_visible = (response.status, response.json["id"], response.json["path"]) == (200, page, path)
            assert path in redirected_paths or is_visible


def _check_log(run: ModelRun, organization: ModelRecord) -> list[Json]:
    """Assert that the log has exactly one entry for each change, in order."""
    entries = _list_as_owner(run, organization, "audit-log")
    entries.sort(key=lambda entry: entry["sequence"])  # Several entries may have the same timestamp.
    requested = [entry for entry in entries if "erased" in entry or entry["actor"]["type"] != "system"]
    expected_entries = run.model.expected_entries.get(organization.id, [])
    assert [entry["type"] for entry in requested] == [expected_entry.type for expected_entry in expected_entries]
    for entry, expected_entry in zip(requested, expected_entries, strict=True):
        _check_entry(entry, expected_entry)
    own_entries = [(e["type"], e["target"]["id"]) for e in entries if e not in requested]
    expected_own_entries = run.model.expected_system_entries.get(organization.id, [])
    assert sorted(own_entries) == sorted(expected_own_entries), "the service's own entries"
    assert [entry["sequence"] for entry in entries] == [*range(1, len(entries) + 1)]
    assert len({entry["id"] for entry in entries}) == len(entries)
    path = f"{organization.path}/audit-log/verify-integrity"
    report = run.api.get(path, caller=run.owner_of(organization)).json
    assert (report["valid"], report["pendingEntries"], report["treeSize"]) == (True, 0, len(entries)), report
    return entries


def _check_entry(entry: Json, expected: ExpectedEntry) -> None:
    if "erased" in entry:
        assert expected.is_erased or expected.may_be_erased, f"{entry} is erased"
        return
    assert not expected.is_erased, f"{entry} is not erased"
    actor, reporter_id = entry["actor"], entry.get("reportedBy", {}).get("id")
    assert (entry["context"]["operationId"], actor["id"]) == (expected.operation_id, expected.actor_id)
    assert reporter_id == expected.reporter_id
    assert actor.get("asserted", False) == (expected.asserted_actor is not None)
    actual_ids = ((entry["target"] or {}).get("id"), entry["data"].get("id"))
    assert expected.target_id in actual_ids, f"{entry} is not about {expected.target_id}"


def _check_deliveries(run: ModelRun, organization: ModelRecord, entries: list[Json]) -> None:
    """Assert that each event reached its subscribers, or that a delivery explains why it did not."""
    expected, accepted = _expected_deliveries(entries), run.endpoints.accepted_messages
    for webhook in run.model.list_existing("webhook", organization):
        listed = _list_as_owner(run, webhook, "deliveries")
        assert {delivery["eventId"] for delivery in listed} == expected[webhook.id].keys()
        arrived = {message["webhook-id"] for message in accepted.get(webhook.fields["url"], [])}
        for delivery in listed:
            assert delivery["status"] in ("succeeded", "skipped"), delivery
            assert delivery["status"] == "skipped" or delivery["eventId"] in arrived
            assert expected[webhook.id][delivery["eventId"]] or delivery["status"] == "skipped"
    ids_by_sequence = {entry["sequence"]: entry["id"] for entry in entries}
    for channel in run.model.list_existing("channel", organization):
        messages = accepted.get(channel.internal["url"], [])
        arrived = {ids_by_sequence[message["event"]["sequence"]] for message in messages}
        assert arrived <= expected[channel.id].keys()
        if channel.fields["enabled"] and all(expected[channel.id].values()):
            # An entry that was erased before its delivery is not sent.
            assert arrived >= expected[channel.id].keys() - {entry["id"] for entry in entries if "erased" in entry}


def _expected_deliveries(entries: list[Json]) -> dict[str, dict[str, bool]]:
    """Return the events of each subscriber, and whether the subscriber was enabled at that time."""
    subscribers: dict[str, Json] = {}
    expected: dict[str, dict[str, bool]] = {}
    for entry in entries:
        target = entry["target"] or {"type": None}
        if target["type"] in ("organization.webhook", "organization.integration_channel"):
            subscribers[target["id"]] = entry["data"]
            if entry["type"].endswith(".deleted"):
                del subscribers[target["id"]]
        for subscriber, fields in subscribers.items():
            deliveries = expected.setdefault(subscriber, {})
            if _matches(fields["events"], entry["type"]) and is_event_in_areas(entry["type"], fields["areas"]):
                deliveries[entry["id"]] = fields["enabled"]
    return expected


def _matches(patterns: list[str], event: str) -> bool:
    return any(p in ("*", event) or (p.endswith(".*") and event.startswith(p[:-1])) for p in patterns)
