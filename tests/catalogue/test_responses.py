"""Responses of every operation: headers, entity tags, conditional requests, caching, and no undeclared changes."""

import re
from typing import Any

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.sites.visits.logic.stored_sitemaps import SITEMAP_PARTITION
from chalicelib.kernel.core.version import API_VERSION
from chalicelib.kernel.http.models import RecordOutput
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.entity import KINDS
from tests.catalogue.examples.registry import (
    call_operation,
    detail_fields,
    get_caller,
    get_example,
    read_with_full_access,
    secret_fields_of,
)
from tests.catalogue.outcomes import is_public
from tests.catalogue.tenant_fixture import TenantFixture, put_items
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.external_servers import forbid_deliveries
from tests.harness.parametrize_operations import (
    admits_service_keys,
    changes_a_record,
    parametrize_access_rules,
    parametrize_operations,
    parametrize_request_rules,
)
from tests.harness.signed_links import LinkHolder

READABLE_OR_BROWSER_HEADERS = {
    *("cache-control", "content-length", "content-type"),  # Pages of other origins may read them without CORS.
    *("content-security-policy", "cross-origin-opener-policy", "referrer-policy", "vary", "x-content-type-options"),
    *("x-frame-options", "x-robots-tag"),
}
"""Headers that pages of other origins may read without CORS, or that are for browsers and crawlers only."""


def is_one_record(operation: Operation) -> bool:
    model = operation.response_or_item_model
    return model is not None and (issubclass(model, RecordOutput) or model.content_etag) and not operation.is_list


def is_publicly_cacheable(response: ApiResponse) -> bool:
    cache_control = response.headers.get("Cache-Control", "")
    is_restricted = re.search("private|no-store|no-cache", cache_control)
    return bool(re.search("public|s-maxage", cache_control) or ("max-age" in cache_control and not is_restricted))


def cache_partitions(operation: Operation, tenant: TenantFixture) -> set[str]:
    """Return the partitions in which a read caches content that it generates from records."""
    return {SITEMAP_PARTITION.format(site_id=tenant.site.id)} if operation.id == "get_sitemap" else set()


@parametrize_operations()
def test_a_response_follows_the_conventions(operation, tenant, monkeypatch):
    for name in list(KINDS):  # The first request of a process finds records of every kind.
        monkeypatch.delitem(KINDS, name)
    options: dict[str, Any] = {} if operation.body_model else {"json": None}
    if operation.method in ("GET", "DELETE"):
        options["body"] = b"\xff{nonsense"  # An unexpected body is ignored.
    before = snapshots.items_by_key()
    answer = call_operation(
        operation,
        tenant,
        query={"utm_source": "post", "sheet": "7"},  # Unknown parameters are ignored.
        headers={"Origin": "https://app.example", "API-Version": API_VERSION},
        **options,
    )
    assert answer.status == operation.success
    assert answer.headers["Ignored-Parameters"] == "utm_source, sheet"
    if operation.method == "GET":
        assert_only_declared_changes(operation, tenant, before)
        assert is_public(operation) or not is_publicly_cacheable(answer)
    elif secret_fields_of(operation) and operation.method == "POST":
        assert answer.headers["Cache-Control"] == "no-store"
    assert_readable_by_browsers(answer)
    is_document = operation.response_or_item_model is None and answer.text
    assert ("ETag" in answer.headers) is bool(is_one_record(operation) or is_document or operation.has_list_etag)
    assert not is_one_record(operation) or re.fullmatch('".+"', answer.etag)
    assert ("Location" in answer.headers) is operation.has_location
    if operation.has_location:
        assert_location_of_created_record(operation, tenant, answer)


@parametrize_operations()
def test_strict_handling_rejects_unknown_query_parameters_and_no_others(operation, tenant):
    before, headers = snapshots.items_by_key(), {"Prefer": "handling=strict"}
    rejected = call_operation(operation, tenant, query={"utm_source": "post", "sheet": "7"}, headers=headers)
    assert rejected.validation_errors == dict.fromkeys(("query/utm_source", "query/sheet"), "unknown_parameter")
    assert snapshots.items_by_key() == before
    accepted = call_operation(operation, tenant, headers=headers)
    assert (accepted.status, accepted.headers.get("Ignored-Parameters")) == (operation.success, None)
    assert {each.headers["Preference-Applied"] for each in (rejected, accepted)} == {"handling=strict"}
    is_cacheable = "no-store" not in accepted.headers.get("Cache-Control", "no-store")
    for header in ("Prefer", "Accept-Encoding"):  # API Gateway compresses responses, but adds no `Vary`.
        assert (header in accepted.headers.get("Vary", "")) is is_cacheable


def assert_only_declared_changes(operation: Operation, tenant: TenantFixture, before: snapshots.Snapshot) -> None:
    after = snapshots.items_by_key()
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    cached = {key for key in changed if key[0] in cache_partitions(operation, tenant)}
    assert bool(cached) is bool(cache_partitions(operation, tenant))
    assert bool(changed - cached) is operation.emits_events


def assert_readable_by_browsers(answer: ApiResponse) -> None:
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers
    exposed = {name.strip().lower() for name in answer.headers["Access-Control-Expose-Headers"].split(",")}
    assert {"etag", "link", "location", "x-request-id", "retry-after"} <= exposed
    sent = {name for name in answer.headers if not name.startswith("access-control-")}
    assert sent - READABLE_OR_BROWSER_HEADERS <= exposed


def assert_location_of_created_record(operation: Operation, tenant: TenantFixture, answer: ApiResponse) -> None:
    if "#token=" in answer.json.get("url", ""):
        holder = LinkHolder(answer.json["id"], answer.json["url"].partition("#token=")[2])
        assert tenant.api.get(answer.location, caller=holder).json["expiresAt"] == answer.json["expiresAt"]
        return
    token = answer.json.get("leadToken")
    headers = {"Lead-Token": token} if token else {}
    created = tenant.api.get(answer.location, caller=get_caller(operation, tenant), headers=headers).expect(200)
    omitted = detail_fields(created.json) - answer.json.keys()
    record = {name: value for name, value in created.json.items() if name not in omitted}
    assert record == {n: None if n in secret_fields_of(operation) else v for n, v in answer.json.items()}


@parametrize_operations(lambda o: o.has_location and o.scope and o.is_open_to_api_keys)
def test_the_location_of_a_created_record_is_readable_with_the_scope_that_creates_it(operation, tenant):
    key = tenant.create_api_key(operation.scope)
    created = call_operation(operation, tenant, caller=key).expect(operation.success)
    tenant.api.get(created.location, caller=key).expect(200)


def test_what_service_keys_create_has_no_location_because_they_read_lists_only():
    assert not [each.id for each in all_operations() if admits_service_keys(each) and each.has_location]


@parametrize_request_rules()
def test_an_unknown_version_of_the_interface_is_rejected_without_a_change(operation, tenant, unchanged):
    rejected = call_operation(operation, tenant, headers={"API-Version": "1999-12-31"})
    assert (rejected.status_and_code, rejected.calls.call_names) == ("400 unknown_api_version", [])


@parametrize_operations(
    lambda o: (
        o.method == "GET"
        and not o.emits_events
        and (is_one_record(o) or o.has_list_etag or o.response_or_item_model is None)
    )
)
def test_a_read_with_the_current_tag_returns_304(operation, tenant, clock):
    clock.freeze()  # The lag of a log stream grows with time.
    first = call_operation(operation, tenant)
    for tag in (first.etag, f'"other", {first.etag}', f"W/{first.etag}", "*"):
        again = call_operation(operation, tenant, headers={"If-None-Match": tag})
        assert (again.status, again.text, again.etag) == (304, "", first.etag)
    assert call_operation(operation, tenant, headers={"If-None-Match": '"other"'}).text == first.text


@parametrize_operations(changes_a_record)
def test_a_change_succeeds_only_with_the_current_tag(operation, tenant):
    path = get_example(operation, tenant).get_target_path(operation)
    outdated = read_with_full_access(operation, tenant, path)
    increase_version(path, outdated.json["id"])
    before = snapshots.items_by_key()
    for tag, problem in ((outdated.etag, "412 precondition_failed"), ("no quotes", "400 invalid_header")):
        with forbid_deliveries():
            rejected = call_operation(operation, tenant, headers={"If-Match": tag})
        assert rejected.status_and_code == problem
        assert rejected.errors == {"header/If-Match": problem[4:]}
        assert rejected.calls.names_of_service("sqs") == []
        assert snapshots.items_by_key() == before
    current = read_with_full_access(operation, tenant, path).etag
    assert call_operation(operation, tenant, headers={"If-Match": f'"other", {current}'}).status == operation.success


@parametrize_access_rules(changes_a_record)
def test_a_change_with_an_asterisk_succeeds(operation, tenant):
    assert call_operation(operation, tenant, headers={"If-Match": "*"}).status == operation.success


@parametrize_operations(lambda operation: operation.can_create_record_in_path)
def test_a_request_that_only_creates_spares_an_existing_record(operation, tenant):
    tag = read_with_full_access(operation, tenant, get_example(operation, tenant).get_target_path(operation)).etag
    before = snapshots.items_by_key()
    for condition in ("*", f'"other", {tag}', f"W/{tag}"):
        rejected = call_operation(operation, tenant, headers={"If-None-Match": condition})
        assert rejected.status_and_code == "412 precondition_failed"
        assert rejected.errors == {"header/If-None-Match": "precondition_failed"}
        assert snapshots.items_by_key() == before
    assert call_operation(operation, tenant, headers={"If-None-Match": '"other"'}).status == operation.success


def increase_version(path: str, record_id: str) -> None:
    """Increase the version of the record at a path, as another operation would."""
    items = [item for item in snapshots.items_by_key().values() if item.get("kind", "entry") != "entry"]
    candidates = [item for item in items if item.get("id") == record_id]
    # A platform, its custom domain and its item in the inventory have the same id, and so do a stream and its progress.
    others = ("platform", "space", "lead", "organization.log_stream")
    kinds = ("platform.custom_domain",) if path.endswith("/custom-domain") else others
    (item,) = [i for i in candidates if i["kind"] in kinds] or candidates
    # The version of a submission is the length of its history.
    submissions = [{**each, "history": [*each["history"], *each["history"]]} for each in item.get("submissions", [])]
    put_items([{**item, "version": item["version"] + 1, **({"submissions": submissions} if submissions else {})}])
