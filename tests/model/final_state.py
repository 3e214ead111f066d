"""The invariants of a finished run: all records, lists, logs and deliveries match the model."""

from typing import Final

from tests.catalogue import log_proof
from tests.harness.api import Json
from tests.model.action_groups.faults import apply_elapsed_time, run_until_idle
from tests.model.action_groups.pages import visit
from tests.model.action_groups.sites import publication_of
from tests.model.action_groups.taxonomy import paths_of
from tests.model.interface_operations import is_event_in_areas
from tests.model.model_run import KINDS_WITH_HEALTH, ModelRun, Sender
from tests.model.service_model import SYSTEM, ModelRecord

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
}
_FIELDS_CHANGED_BY_OTHERS: Final = {
    "platform": ("home", "warnings"),
    "site": ("homePageId", "host"),
    "node": ("path", "depth", "parentId", "position"),
    "page": ("path", "isHome", "status", "publishAt", "hasUnpublishedChanges", "publishedRevisionId", "publishedAt"),
    "menu": ("items",),
}
"""Fields of a record that changes of other records change."""

_UNCHECKED_FIELDS: Final = ("lastUsedAt", "failingSince", "version", "updatedAt")


def check_final_state(run: ModelRun) -> None:
    """Run all pending work and compare the whole state with the model."""
    run.endpoints.state = "well"
    for organization in (t for t in run.model.records if t.kind == "organization"):
        if organization.fields["status"] == "pending_deletion" and not organization.is_deleted:
            from tests.model.action_groups.organizations import restore

            owner = next(name for name, p in run.people.items() if p.id == organization.fields["ownerId"])
            restore(run, Sender(owner), organization)
    run_until_idle(run)
    run.pass_time(days=1)
    run_until_idle(run)
    apply_elapsed_time(run)
    log_proof.assert_logs_are_proven()
    for organization in run.model.list_existing("organization"):
        _check_records_and_lists(run, organization)
        _check_trees(run, organization)
        entries = _check_log(run, organization)
        _check_deliveries(run, organization, entries)
    _check_delivery_isolation(run)
    expected_entries = sorted(
        (t.type, t.operation_id, str(t.actor_id)) for t in run.model.expected_entries.get(SYSTEM, [])
    )
    entries = run.api.get_items("/system/audit-log", caller=run.people["operator"], query={"limit": 100})
    assert sorted((e["type"], e["context"]["operationId"], str(e["actor"]["id"])) for e in entries) == expected_entries


def _check_records_and_lists(run: ModelRun, organization: ModelRecord) -> None:
    owner = run.owner_of(organization)
    for record in [t for t in run.model.records if t.exists and organization in t.self_and_containers]:
        response = run.read_as_owner(record)
        assert response.status == 200, f"{record.path}: {response.text}"
        _assert_same_fields(
            response.json, record.fields, *_UNCHECKED_FIELDS, *_FIELDS_CHANGED_BY_OTHERS.get(record.kind, ())
        )
        if not record.has_unseen_version and record.kind not in KINDS_WITH_HEALTH:
            assert response.json["version"] == record.fields["version"], record.fields
    for kind, list_path in LISTS.items():
        for record in [
            t
            for t in run.model.records
            if t.exists and organization in t.self_and_containers and _contains_kind(t, kind)
        ]:
            listed = run.api.get_items(f"{record.path}/{list_path}", caller=owner, query={"limit": 7})
            expected = run.model.list_existing(kind, record)
            if kind == "space":
                expected = sorted(expected, key=lambda space: (space.fields["position"], space.id))
            assert [item["id"] for item in listed] == [record.id for record in expected], f"{kind} of {record.fields}"


def _check_trees(run: ModelRun, organization: ModelRecord) -> None:
    owner = run.owner_of(organization)
    for platform in run.model.list_existing("platform", organization):
        nodes = run.api.get_items(f"{platform.path}/taxonomy-nodes", caller=owner, query={"limit": 9})
        assert {node["id"]: node["path"] for node in nodes} == paths_of(run, platform)
    for site in run.model.list_existing("site", organization):
        publication = publication_of(site)
        listed = run.api.get_items(f"{site.path}/pages", caller=owner, query={"limit": 9})
        assert {page["id"]: page["path"] for page in listed} == publication.draft_paths
        published = {page: page_state.published_revision for page, page_state in publication.pages.items()}
        assert {page["id"]: page["publishedRevisionId"] for page in listed} == published
        manual = {r["id"] for r in run.api.get_items(f"{site.path}/redirects", caller=owner) if r["origin"] == "manual"}
        assert manual == {redirect.id for redirect in run.model.list_existing("redirect", site)}
        for page, path in publication.public_paths.items() if site.fields["status"] == "published" else ():
            response = visit(run, site, path)
            is_redirected = path in {
                r.fields["fromPath"] for r in run.model.list_existing("redirect", site) if r.fields["enabled"]
            }
            assert is_redirected or (response.status, response.json["id"], response.json["path"]) == (200, page, path)


def _contains_kind(container: ModelRecord, kind: str) -> bool:
    container_kind = {"space": "platform", "space_member": "space", "platform_member": "platform"}.get(
        kind, "organization"
    )
    return container.kind == container_kind


def _assert_same_fields(actual: Json, expected: Json, *ignored: str) -> None:
    actual_fields, expected_fields = (
        {n: v for n, v in fields.items() if n not in ignored} for fields in (actual, expected)
    )
    assert actual_fields == expected_fields, f"{actual_fields} instead of {expected_fields}"


def _check_log(run: ModelRun, organization: ModelRecord) -> list[Json]:
    """Assert that the log has exactly one entry for each change, in order."""
    entries = run.api.get_items(
        f"{organization.path}/audit-log", caller=run.owner_of(organization), query={"limit": 100}
    )
    entries.sort(key=lambda entry: entry["sequence"])  # Several entries may have the same timestamp.
    requested = [entry for entry in entries if entry["actor"]["type"] != "system"]
    expected_entries = run.model.expected_entries.get(organization.id, [])
    expected = [(t.type, t.operation_id, t.actor_id) for t in expected_entries]
    assert [(e["type"], e["context"]["operationId"], e["actor"]["id"]) for e in requested] == expected
    for entry, expected_entry in zip(requested, expected_entries, strict=True):
        assert expected_entry.target_id in (entry["target"]["id"], entry["data"]["id"]), (
            f"{entry} is not about {expected_entry.target_id}"
        )
    actual_system_entries = sorted((e["type"], e["target"]["id"]) for e in entries if e["actor"]["type"] == "system")
    expected_system_entries = sorted(run.model.expected_system_entries.get(organization.id, []))
    assert actual_system_entries == expected_system_entries, (
        f"the service's own entries are {actual_system_entries} instead of {expected_system_entries}"
    )
    assert [entry["sequence"] for entry in entries] == [*range(1, len(entries) + 1)]
    assert len({entry["id"] for entry in entries}) == len(entries)
    response = run.api.get(f"{organization.path}/audit-log/verify-integrity", caller=run.owner_of(organization))
    report = response.json
    assert (report["valid"], report["pendingEntries"], report["treeSize"]) == (True, 0, len(entries)), report
    return entries


def _check_deliveries(run: ModelRun, organization: ModelRecord, entries: list[Json]) -> None:
    """Assert that each event reached its subscribers, or that a delivery explains why it did not."""
    expected = _expected_deliveries(entries)
    for webhook in run.model.list_existing("webhook", organization):
        listed = run.api.get_items(
            f"{webhook.path}/deliveries", caller=run.owner_of(organization), query={"limit": 100}
        )
        assert {delivery["eventId"] for delivery in listed} == expected[webhook.id].keys()
        arrived = {
            delivery["webhook-id"] for delivery in run.endpoints.accepted_messages.get(webhook.fields["url"], [])
        }
        for delivery in listed:
            assert delivery["status"] in ("succeeded", "skipped"), delivery
            assert delivery["status"] == "skipped" or delivery["eventId"] in arrived
            assert expected[webhook.id][delivery["eventId"]] or delivery["status"] == "skipped"
    for channel in run.model.list_existing("channel", organization):
        ids_by_sequence = {entry["sequence"]: entry["id"] for entry in entries}
        messages = run.endpoints.accepted_messages.get(channel.internal["url"], [])
        arrived = {ids_by_sequence[delivery["event"]["sequence"]] for delivery in messages}
        assert arrived <= expected[channel.id].keys()
        if channel.fields["enabled"] and all(expected[channel.id].values()):
            assert arrived == expected[channel.id].keys()


def _expected_deliveries(entries: list[Json]) -> dict[str, dict[str, bool]]:
    """Return the events of each subscriber, and whether the subscriber was enabled at that time."""
    subscribers: dict[str, Json] = {}
    expected: dict[str, dict[str, bool]] = {}
    for entry in entries:
        target = entry["target"]
        if target["type"] in ("organization.webhook", "organization.integration_channel"):
            subscribers[target["id"]] = entry["data"]
            if entry["type"].endswith(".deleted"):
                del subscribers[target["id"]]
        for subscriber, subscriber_fields in subscribers.items():
            deliveries = expected.setdefault(subscriber, {})
            if _matches(subscriber_fields["events"], entry["type"]) and is_event_in_areas(
                entry["type"], subscriber_fields["areas"]
            ):
                deliveries[entry["id"]] = subscriber_fields["enabled"]
    return expected


def _matches(patterns: list[str], event: str) -> bool:
    return any(p in ("*", event) or (p.endswith(".*") and event.startswith(p[:-1])) for p in patterns)


def _check_delivery_isolation(run: ModelRun) -> None:
    """Assert that no event of an organization arrived at another organization's subscribers."""
    owners: dict[str, str] = {}
    for record in run.model.records:
        if record.kind in ("webhook", "channel"):
            owners[record.internal.get("url") or record.fields["url"]] = record.log_id
    for url, messages in run.endpoints.accepted_messages.items():
        for message in messages:
            actual = message.get("event", message)
            assert actual["organizationId"] == owners[url], f"{message} arrived at {url}"
