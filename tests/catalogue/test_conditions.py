"""Conditional requests: every record has an entity tag, and every operation that changes one supports `If-Match`."""

from chalicelib.features.sites.visits.logic.stored_sitemaps import SITEMAP_PARTITION
from chalicelib.kernel.http.models import RecordOutput
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import caller_of, example_of, look, perform
from tests.catalogue.secrets import one_time
from tests.catalogue.tenant_fixture import World, put_items
from tests.harness import snapshots
from tests.harness.by_operation import by_operation, changes_a_record
from tests.harness.external_servers import unreached


def is_one_record(operation: Operation) -> bool:
    """Return whether the response of an operation is a single record."""
    model = operation.response_model
    return model is not None and (issubclass(model, RecordOutput) or model.content_etag) and not operation.is_list


@by_operation()
class TestEveryResponse:
    def test_has_a_strong_entity_tag_if_it_is_one_record(self, operation: Operation, world: World) -> None:
        answer = perform(operation, world)
        is_document = operation.response_model is None and answer.text
        assert ("ETag" in answer.headers) is bool(is_one_record(operation) or is_document or operation.has_etag)
        if is_one_record(operation):
            assert answer.etag.startswith('"')
            assert answer.etag.endswith('"')

    def test_has_the_location_of_a_created_record(self, operation: Operation, world: World) -> None:
        answer = perform(operation, world)
        assert ("Location" in answer.headers) is operation.creates
        if operation.creates:
            token = answer.json.get("leadToken")
            headers = {"Lead-Token": token} if token else {}
            created = world.api.get(answer.location, as_=caller_of(operation, world), headers=headers)
            assert created.status == 200
            assert created.json == {n: None if n in one_time(operation) else v for n, v in answer.json.items()}


class TestARead:
    @by_operation(
        lambda o: o.method == "GET" and not o.mutates and (is_one_record(o) or o.has_etag or o.response_model is None)
    )
    def test_with_the_current_tag_returns_304(self, operation: Operation, world: World) -> None:
        first = perform(operation, world)
        for tag in (first.etag, f'"other", {first.etag}', f"W/{first.etag}", "*"):
            again = perform(operation, world, headers={"If-None-Match": tag})
            assert (again.status, again.text, again.etag) == (304, "", first.etag)
        assert perform(operation, world, headers={"If-None-Match": '"other"'}).text == first.text

    @by_operation(lambda o: o.method == "GET")
    def test_writes_nothing_except_its_declared_changes(self, operation: Operation, world: World) -> None:
        before = snapshots.stored()
        assert perform(operation, world).status == operation.success
        after = snapshots.stored()
        changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        cached = {key for key in changed if key[0] in cache_partitions(operation, world)}
        assert bool(cached) is bool(cache_partitions(operation, world))
        assert bool(changed - cached) is operation.mutates

    @by_operation(lambda o: o.method == "GET" and o.mutates)
    def test_without_a_credential_writes_nothing(self, operation: Operation, world: World) -> None:
        before = snapshots.stored()
        perform(operation, world, as_=None)
        assert snapshots.stored() == before


@by_operation(changes_a_record)
class TestAChange:
    def test_with_the_current_tag_succeeds(self, operation: Operation, world: World) -> None:
        current = look(operation, world, example_of(operation, world).record(operation)).etag
        assert perform(operation, world, headers={"If-Match": f'"other", {current}'}).status == operation.success

    def test_with_an_asterisk_succeeds(self, operation: Operation, world: World) -> None:
        assert perform(operation, world, headers={"If-Match": "*"}).status == operation.success

    def test_with_an_outdated_tag_is_rejected(self, operation: Operation, world: World) -> None:
        path = example_of(operation, world).record(operation)
        current = look(operation, world, path)
        increase_version(path, current.json["id"])
        before = snapshots.stored()
        with unreached():
            rejected = perform(operation, world, headers={"If-Match": current.etag})
        assert rejected.code == "412 precondition_failed"
        assert rejected.faults == {"header/If-Match": "precondition_failed"}
        assert snapshots.stored() == before

    def test_with_a_malformed_tag_is_rejected(self, operation: Operation, world: World) -> None:
        rejected = perform(operation, world, headers={"If-Match": "no quotes"})
        assert rejected.code == "400 invalid_header"
        assert rejected.faults == {"header/If-Match": "invalid_header"}


def cache_partitions(operation: Operation, world: World) -> set[str]:
    """Return the partitions in which a read caches content that it generates from records."""
    return {SITEMAP_PARTITION.format(site_id=world.site.id)} if operation.id == "get_sitemap" else set()


def increase_version(path: str, record_id: str) -> None:
    """Increase the version of the record at a path, as another operation would."""
    items = [item for item in snapshots.stored().values() if item.get("kind", "entry") != "entry"]
    candidates = [item for item in items if item.get("id") == record_id]
    # A platform, its custom domain and its item in the inventory have the same id.
    kinds = ("platform.custom_domain",) if path.endswith("/custom-domain") else ("platform", "space", "lead")
    (item,) = [i for i in candidates if i["kind"] in kinds] or candidates
    # The version of a submission is the length of its history.
    submissions = [{**each, "history": [*each["history"], *each["history"]]} for each in item.get("submissions", [])]
    put_items([{**item, "version": item["version"] + 1, **({"submissions": submissions} if submissions else {})}])
