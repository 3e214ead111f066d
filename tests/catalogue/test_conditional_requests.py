"""Conditional requests: every record has an entity tag, and every operation that changes one supports `If-Match`."""

from chalicelib.features.sites.visits.logic.stored_sitemaps import SITEMAP_PARTITION
from chalicelib.kernel.http.models import RecordOutput
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_caller, get_example, read_with_full_access
from tests.catalogue.secret_fields import secret_fields_of
from tests.catalogue.tenant_fixture import TenantFixture, put_items
from tests.harness import snapshots
from tests.harness.external_servers import forbid_deliveries
from tests.harness.parametrize_operations import changes_a_record, parametrize_operations


def is_one_record(operation: Operation) -> bool:
    """Return whether the response of an operation is a single record."""
    model = operation.response_or_item_model
    return model is not None and (issubclass(model, RecordOutput) or model.content_etag) and not operation.is_list


@parametrize_operations()
class TestEveryResponse:
    def test_has_a_strong_entity_tag_if_it_is_one_record(self, operation, tenant):
        answer = call_operation(operation, tenant)
        is_document = operation.response_or_item_model is None and answer.text
        assert ("ETag" in answer.headers) is bool(is_one_record(operation) or is_document or operation.has_etag)
        if is_one_record(operation):
            assert answer.etag.startswith('"')
            assert answer.etag.endswith('"')

    def test_has_the_location_of_a_created_record(self, operation, tenant):
        answer = call_operation(operation, tenant)
        assert ("Location" in answer.headers) is operation.succeeds_with_created_or_accepted
        if operation.succeeds_with_created_or_accepted:
            token = answer.json.get("leadToken")
            headers = {"Lead-Token": token} if token else {}
            created = tenant.api.get(answer.location, caller=get_caller(operation, tenant), headers=headers)
            assert created.status == 200
            assert created.json == {n: None if n in secret_fields_of(operation) else v for n, v in answer.json.items()}


class TestARead:
    @parametrize_operations(
        lambda o: (
            o.method == "GET"
            and not o.emits_events
            and (is_one_record(o) or o.has_etag or o.response_or_item_model is None)
        )
    )
    def test_with_the_current_tag_returns_304(self, operation, tenant):
        first = call_operation(operation, tenant)
        for tag in (first.etag, f'"other", {first.etag}', f"W/{first.etag}", "*"):
            again = call_operation(operation, tenant, headers={"If-None-Match": tag})
            assert (again.status, again.text, again.etag) == (304, "", first.etag)
        assert call_operation(operation, tenant, headers={"If-None-Match": '"other"'}).text == first.text

    @parametrize_operations(lambda o: o.method == "GET")
    def test_writes_nothing_except_its_declared_changes(self, operation, tenant):
        before = snapshots.items_by_key()
        assert call_operation(operation, tenant).status == operation.success
        after = snapshots.items_by_key()
        changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        cached = {key for key in changed if key[0] in cache_partitions(operation, tenant)}
        assert bool(cached) is bool(cache_partitions(operation, tenant))
        assert bool(changed - cached) is operation.emits_events

    @parametrize_operations(lambda o: o.method == "GET" and o.emits_events)
    def test_without_a_credential_writes_nothing(self, operation, tenant):
        before = snapshots.items_by_key()
        call_operation(operation, tenant, caller=None)
        assert snapshots.items_by_key() == before


@parametrize_operations(changes_a_record)
class TestAChange:
    def test_with_the_current_tag_succeeds(self, operation, tenant):
        current = read_with_full_access(
            operation, tenant, get_example(operation, tenant).get_target_path(operation)
        ).etag
        assert (
            call_operation(operation, tenant, headers={"If-Match": f'"other", {current}'}).status == operation.success
        )

    def test_with_an_asterisk_succeeds(self, operation, tenant):
        assert call_operation(operation, tenant, headers={"If-Match": "*"}).status == operation.success

    def test_with_an_outdated_tag_is_rejected(self, operation, tenant):
        path = get_example(operation, tenant).get_target_path(operation)
        current = read_with_full_access(operation, tenant, path)
        increase_version(path, current.json["id"])
        before = snapshots.items_by_key()
        with forbid_deliveries():
            rejected = call_operation(operation, tenant, headers={"If-Match": current.etag})
        assert rejected.status_and_code == "412 precondition_failed"
        assert rejected.errors == {"header/If-Match": "precondition_failed"}
        assert snapshots.items_by_key() == before

    def test_with_a_malformed_tag_is_rejected(self, operation, tenant):
        rejected = call_operation(operation, tenant, headers={"If-Match": "no quotes"})
        assert rejected.status_and_code == "400 invalid_header"
        assert rejected.errors == {"header/If-Match": "invalid_header"}


def cache_partitions(operation: Operation, world: TenantFixture) -> set[str]:
    """Return the partitions in which a read caches content that it generates from records."""
    return {SITEMAP_PARTITION.format(site_id=world.site.id)} if operation.id == "get_sitemap" else set()


def increase_version(path: str, record_id: str) -> None:
    """Increase the version of the record at a path, as another operation would."""
    items = [item for item in snapshots.items_by_key().values() if item.get("kind", "entry") != "entry"]
    candidates = [item for item in items if item.get("id") == record_id]
    # A platform, its custom domain and its item in the inventory have the same id.
    kinds = ("platform.custom_domain",) if path.endswith("/custom-domain") else ("platform", "space", "lead")
    (item,) = [i for i in candidates if i["kind"] in kinds] or candidates
    # The version of a submission is the length of its history.
    submissions = [{**each, "history": [*each["history"], *each["history"]]} for each in item.get("submissions", [])]
    put_items([{**item, "version": item["version"] + 1, **({"submissions": submissions} if submissions else {})}])
