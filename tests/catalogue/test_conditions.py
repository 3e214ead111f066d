"""Conditional requests: every single record has an entity tag, and everything that changes one honours `If-Match`."""

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
    answer = operation.response_model
    return answer is not None and (issubclass(answer, RecordOutput) or answer.content_etag) and not operation.is_list


@by_operation()
class TestEveryAnswer:
    def test_that_is_one_record_has_a_strong_entity_tag(self, operation: Operation, world: World) -> None:
        answer = perform(operation, world)
        documents = operation.response_model is None and answer.text
        assert ("ETag" in answer.headers) is bool(is_one_record(operation) or documents or operation.has_etag)
        if is_one_record(operation):
            assert answer.etag.startswith('"')
            assert answer.etag.endswith('"')

    def test_that_created_something_says_where_it_is(self, operation: Operation, world: World) -> None:
        answer = perform(operation, world)
        assert ("Location" in answer.headers) is operation.creates
        if operation.creates:
            token = answer.json.get("leadToken")
            headers = {"Lead-Token": token} if token else {}
            made = world.api.get(answer.location, as_=caller_of(operation, world), headers=headers)
            assert made.status == 200
            assert made.json == {n: None if n in one_time(operation) else v for n, v in answer.json.items()}


class TestARead:
    @by_operation(
        lambda o: o.method == "GET" and not o.mutates and (is_one_record(o) or o.has_etag or o.response_model is None)
    )
    def test_with_the_tag_in_hand_is_not_sent_again(self, operation: Operation, world: World) -> None:
        first = perform(operation, world)
        for tag in (first.etag, f'"other", {first.etag}', f"W/{first.etag}", "*"):
            again = perform(operation, world, headers={"If-None-Match": tag})
            assert (again.status, again.text, again.etag) == (304, "", first.etag)
        assert perform(operation, world, headers={"If-None-Match": '"other"'}).text == first.text

    @by_operation(lambda o: o.method == "GET")
    def test_writes_nothing_but_what_it_says(self, operation: Operation, world: World) -> None:
        before = snapshots.stored()
        assert perform(operation, world).status == operation.success
        after = snapshots.stored()
        changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        kept = {key for key in changed if key[0] in made_from_records(operation, world)}
        assert bool(kept) is bool(made_from_records(operation, world))
        assert bool(changed - kept) is operation.mutates

    @by_operation(lambda o: o.method == "GET" and o.mutates)
    def test_that_writes_does_so_for_nobody_without_a_credential(self, operation: Operation, world: World) -> None:
        before = snapshots.stored()
        perform(operation, world, as_=None)
        assert snapshots.stored() == before


@by_operation(changes_a_record)
class TestAChange:
    def test_of_what_the_caller_has_seen_last_is_done(self, operation: Operation, world: World) -> None:
        seen = look(operation, world, example_of(operation, world).record(operation)).etag
        assert perform(operation, world, headers={"If-Match": f'"other", {seen}'}).status == operation.success

    def test_of_whatever_there_is_is_done(self, operation: Operation, world: World) -> None:
        assert perform(operation, world, headers={"If-Match": "*"}).status == operation.success

    def test_of_what_has_changed_since_is_refused(self, operation: Operation, world: World) -> None:
        path = example_of(operation, world).record(operation)
        seen = look(operation, world, path)
        grown(path, seen.json["id"])
        before = snapshots.stored()
        with unreached():
            refused = perform(operation, world, headers={"If-Match": seen.etag})
        assert refused.code == "412 precondition_failed"
        assert refused.faults == {"header/If-Match": "precondition_failed"}
        assert snapshots.stored() == before

    def test_with_a_malformed_tag_is_refused(self, operation: Operation, world: World) -> None:
        refused = perform(operation, world, headers={"If-Match": "no quotes"})
        assert refused.code == "400 invalid_header"
        assert refused.faults == {"header/If-Match": "invalid_header"}


def made_from_records(operation: Operation, world: World) -> set[str]:
    """Return the partitions where a read keeps what it made of records, which it needs not to make again."""
    return {SITEMAP_PARTITION.format(site_id=world.site.id)} if operation.id == "get_sitemap" else set()


def grown(path: str, record_id: str) -> None:
    """Let the record at a path have another version, as some other operation would."""
    items = [item for item in snapshots.stored().values() if item.get("kind", "entry") != "entry"]
    of_this_id = [item for item in items if item.get("id") == record_id]
    # A platform's custom domain has the platform's id, and so has the inventory's entry about it.
    kinds = ("platform.custom_domain",) if path.endswith("/custom-domain") else ("platform", "space", "lead")
    (item,) = [i for i in of_this_id if i["kind"] in kinds] or of_this_id
    # What somebody sent has as many versions as its history has entries.
    sent = [{**each, "history": [*each["history"], *each["history"]]} for each in item.get("submissions", [])]
    put_items([{**item, "version": item["version"] + 1, **({"submissions": sent} if sent else {})}])
