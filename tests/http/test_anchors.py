import json

import pytest

from chalicelib.features.audit.log import tasks
from chalicelib.features.audit.log.logic import anchors
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.work import jobs, queues
from tests.conftest import Configure
from tests.harness import cloud, rfc6962
from tests.harness.anchors import anchor, anchored, cut_off, end_of, overtake, put, read, waits
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import erased
from tests.harness.invitations import invite
from tests.harness.log_lines import measures, written
from tests.harness.logs import alter, entry, grow, head, leaf_of, log_of, signed, verify
from tests.harness.organizations import Founded, found
from tests.harness.parcels import mutate
from tests.harness.workers import Workers, bodies

pytestmark = pytest.mark.usefixtures("impatient")


class TestTheSchedule:
    def test_a_log_that_grew_is_anchored_once(self, api: Api, ten: Founded, workers: Workers) -> None:
        assert waits(ten.id)
        anchor(workers)
        assert anchored(ten.id) == [10]
        assert not waits(ten.id)
        grow(api, workers, ten, 3)
        anchor(workers)
        assert anchored(ten.id) == [13, 10]

    def test_a_log_that_did_not_is_not_even_looked_at(self, ten: Founded, workers: Workers) -> None:
        anchor(workers)
        workers.anchor()
        assert workers.calls.names == ["dynamodb:Query"] * ledger.UNANCHORED_SHARDS
        assert bodies("jobs") == []
        assert anchored(ten.id) == [10]

    def test_an_anchor_is_the_checkpoint_that_the_log_had_then(self, api: Api, ten: Founded, workers: Workers) -> None:
        anchor(workers)
        note, _, peaks = read(ten.id, 10).rpartition("\n\n")
        assert f"{note}\n" == verify(api, ten)["checkpoint"]
        leaves = [rfc6962.leaf_hash(said) for said in reversed(log_of(api, ten))]
        rfc6962.check_note(f"{note}\n", ten.id, leaves, api.get("/status").json["auditPublicKey"])
        assert len(peaks.split()) == 2, "ten entries are a tree of eight and one of two"

    @pytest.mark.usefixtures("ten")
    def test_an_anchor_can_be_locked_as_it_is_written(self, workers: Workers) -> None:
        anchor(workers)
        put_object = next(call for call in workers.calls.made if call.name == "s3:PutObject")
        assert put_object.parameters["ChecksumAlgorithm"] == "CRC32"

    def test_every_log_has_its_own(self, api: Api, ten: Founded, ada: Person, workers: Workers) -> None:
        others = [found(api, ada) for _ in range(9)]
        workers.deliver()
        anchor(workers)
        assert [anchored(log) for log in (ten.id, *(other.id for other in others))] == [[10], *[[1]] * 9]

    def test_logs_that_have_waited_for_longest_come_first(
        self, api: Api, ada: Person, workers: Workers, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)
        organizations = [found(api, ada) for _ in range(3)]
        workers.deliver()
        anchor(workers)
        for n in (2, 0, 1, 2):
            clock.shift(minutes=1)
            grow(api, workers, organizations[n])
        workers.anchor()
        assert [json.loads(body)["pk"] for body in bodies("jobs")] == [f"Q#{organizations[n].id}" for n in (2, 0, 1)]

    def test_what_a_turn_has_no_time_for_is_left_for_the_next(
        self, api: Api, ada: Person, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        organizations = [found(api, ada) for _ in range(3)]
        workers.deliver()
        monkeypatch.setattr(ledger, "UNANCHORED_SHARDS", 1)
        monkeypatch.setattr(ledger, "_PAGE_SIZE", 2)
        for organization in organizations:
            alter(head(organization), index2pk="ANCHOR#0")
        with monkeypatch.context() as in_no_time:
            in_no_time.setattr(tasks, "_QUEUE_TIMEOUT_SECONDS", -1)
            anchor(workers)
            assert sum(waits(organization.id) for organization in organizations) == 1
        anchor(workers)
        assert [anchored(organization.id) for organization in organizations] == [[1]] * 3

    def test_without_a_bucket_nothing_is_done_and_the_line_says_so(
        self, ten: Founded, workers: Workers, configure: Configure, caplog: pytest.LogCaptureFixture
    ) -> None:
        queues.forward(message_about(ten.id))
        configure(anchors_bucket="")
        anchor(workers)
        (line,) = [vars(record) for record in caplog.records if vars(record).get("operation") == "anchor"]
        assert (line["bucket"], line["queued"], line["awsCalls"]) == (None, 0, 0)
        assert waits(ten.id)
        assert workers.calls.of("s3") == []


def message_about(log: str) -> queues.Message:
    """What tells the task of a log."""
    pk, sk = head_key(log)
    return {"task": "audit.anchor", "pk": pk, "sk": sk}


class TestOneLog:
    def test_messages_that_come_twice_anchor_once(self, api: Api, ten: Founded, workers: Workers) -> None:
        grow(api, workers, ten)
        for _ in range(3):
            queues.forward(message_about(ten.id))
        assert len(workers.deliver()) == 3
        assert anchored(ten.id) == [11]

    def test_two_workers_at_once_anchor_once(
        self, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write, others = anchors.store_anchor, [lambda: tasks.anchor_log(message_about(ten.id))]

        def overtaken(log: str, newest: Head) -> bool:
            while others:
                others.pop()()
            return write(log, newest)

        monkeypatch.setattr(anchors, "store_anchor", overtaken)
        anchor(workers)
        assert others == []
        assert anchored(ten.id) == [10]
        assert not waits(ten.id)

    def test_one_that_grows_meanwhile_waits_for_the_next_hour(
        self, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write = anchors.store_anchor

        def outgrown(log: str, newest: Head) -> bool:
            mutate("meanwhile", log)
            ledger.append_pending(log)
            return write(log, newest)

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(anchors, "store_anchor", outgrown)
            anchor(workers)
        assert anchored(ten.id) == [10]
        assert waits(ten.id)
        anchor(workers)
        assert anchored(ten.id) == [11, 10]

    def test_one_that_another_worker_anchored_just_now_is_not_taken_for_cut_off(
        self, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        overtake(monkeypatch, lambda: tasks.anchor_log(message_about(ten.id)))
        anchor(workers)
        assert anchored(ten.id) == [11]
        assert not [record for record in caplog.records if "refused" in vars(record)]

    def test_one_whose_anchor_was_written_by_a_process_that_ended_then_waits_no_longer(
        self, ten: Founded, workers: Workers
    ) -> None:
        anchors.store_anchor(ten.id, Head.from_item(head(ten)))
        anchor(workers)
        assert anchored(ten.id) == [10]
        assert not waits(ten.id)

    def test_one_with_an_erased_entry_is_anchored_by_what_stays_of_it(
        self, api: Api, ten: Founded, workers: Workers, mary: Person, clock: Clock
    ) -> None:
        anchor(workers)
        grow(api, workers, ten)
        invite(api, ten, mary)
        erased(api, workers, clock, ten, email=mary.email)
        assert [said["type"] for said in log_of(api, ten) if said.get("erased")] == ["organization.invitation.created"]
        anchor(workers)
        assert anchored(ten.id) == [13, 10]

    def test_one_that_never_was_leaves_nothing(self, workers: Workers) -> None:
        queues.enqueue("audit.anchor", head_key("01939d3c-0000-7000-8000-0000000000ff"))
        workers.deliver()
        assert cloud.stored() == []


class TestALogOfMoreThanATurn:
    @pytest.fixture(autouse=True)
    def _in_no_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tasks, "WINDOW_ENTRIES", 4)
        monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)

    def test_is_followed_turn_by_turn(self, ten: Founded, workers: Workers) -> None:
        queues.forward(message_about(ten.id))
        assert len(workers.deliver()) == 3
        assert anchored(ten.id) == [10]
        assert not waits(ten.id)

    @pytest.mark.usefixtures("ten")
    def test_each_turn_goes_on_where_the_one_before_was(self, workers: Workers) -> None:
        workers.anchor()
        first, second, third = workers.deliver()
        assert "reached" not in json.loads(first)
        assert json.loads(second)["reached"] != json.loads(third)["reached"]

    def test_it_believes_no_message_that_it_has_not_written(self, ten: Founded, workers: Workers) -> None:
        queues.forward({**message_about(ten.id), "reached": "made up"})
        assert len(workers.deliver()) == 3
        assert anchored(ten.id) == [10]

    def test_how_far_a_turn_was_counts_for_the_anchor_that_it_began_from_only(
        self, api: Api, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        anchor(workers)
        earlier = end_of(ten)
        grow(api, workers, ten, 8)
        forwarded: list[queues.Message] = []
        with monkeypatch.context() as held_up:
            held_up.setattr(queues, "forward", forwarded.append)
            tasks.anchor_log(message_about(ten.id))
        fork = [*(entry(ten, sequence) for sequence in range(11, 19)), head(ten)]
        cut_off(ten, earlier)
        grow(api, workers, ten, 2)
        anchor(workers)
        assert anchored(ten.id) == [12, 10]
        cut_off(ten, earlier)
        for item in fork:
            cloud.put(item)
        (message,) = forwarded
        queues.forward(message)
        workers.deliver()
        assert anchored(ten.id) == [12, 10]


class TestRefusals:
    """What does not lead from its last anchor to its head is not anchored."""

    def assert_refused(
        self, organization: Founded, workers: Workers, caplog: pytest.LogCaptureFixture, *why: object
    ) -> None:
        """Assert that it is refused each hour, and that nothing is written."""
        before = anchored(organization.id)
        for _ in range(2):
            caplog.clear()
            anchor(workers)
            lines = [vars(record) for record in caplog.records if "refused" in vars(record)]
            assert [(line["tenant"], line["refused"], line["sequence"]) for line in lines] == [(organization.id, *why)]
            assert anchored(organization.id) == before
            assert waits(organization.id)

    def test_a_log_that_was_cut_off(
        self, api: Api, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture
    ) -> None:
        earlier = end_of(ten)
        grow(api, workers, ten, 3)
        anchor(workers)
        cut_off(ten, earlier)
        self.assert_refused(ten, workers, caplog, "truncated", 11)

    @pytest.mark.parametrize("entries", [3, 4])
    def test_one_that_was_cut_off_and_grew_again(
        self, api: Api, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture, entries: int
    ) -> None:
        earlier = end_of(ten)
        grow(api, workers, ten, 3)
        anchor(workers)
        cut_off(ten, earlier)
        grow(api, workers, ten, entries)
        self.assert_refused(ten, workers, caplog, "forked", None)

    @pytest.mark.parametrize("sequence", [11, 12])
    def test_one_of_which_an_entry_was_altered_since(
        self, api: Api, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture, sequence: int
    ) -> None:
        anchor(workers)
        grow(api, workers, ten, 2)
        item = entry(ten, sequence)
        body = item["body"].replace(b"Ada", b"Eve")
        alter(item, body=body, leaf=leaf_of(body))
        self.assert_refused(ten, workers, caplog, "modified", sequence)

    def test_one_of_which_an_entry_was_removed_since(
        self, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture
    ) -> None:
        cloud.remove(entry(ten, 4))
        self.assert_refused(ten, workers, caplog, "missing", 4)

    @pytest.mark.parametrize(
        ("altered", "why"),
        [({"note": "nothing"}, "bad_signature"), ({"peaks": bytes(64)}, "forked"), ({"peaks": b""}, "bad_signature")],
    )
    def test_one_with_another_head_than_its_own(
        self, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture, altered: dict[str, object], why: str
    ) -> None:
        alter(head(ten), **altered)
        self.assert_refused(ten, workers, caplog, why, None)

    def test_one_with_an_anchor_that_is_not_the_services(
        self, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture
    ) -> None:
        put(ten.id, 5, b"nothing")
        self.assert_refused(ten, workers, caplog, "bad_signature", None)

    def test_they_are_counted(self, ten: Founded, workers: Workers) -> None:
        alter(head(ten), note=signed(ten, 10, bytes(32)))
        with written() as lines:
            anchor(workers)
        assert [measures(line, "stage") for line in lines if "AnchorsRefused" in line] == [{"AnchorsRefused": 1}]

    def test_one_that_is_put_right_again_is_anchored(
        self, ten: Founded, workers: Workers, caplog: pytest.LogCaptureFixture
    ) -> None:
        item = entry(ten, 4)
        cloud.remove(item)
        self.assert_refused(ten, workers, caplog, "missing", 4)
        cloud.put(item)
        anchor(workers)
        assert anchored(ten.id) == [10]

    def test_others_are_anchored_all_the_same(self, api: Api, ten: Founded, ada: Person, workers: Workers) -> None:
        other = found(api, ada)
        workers.deliver()
        cloud.remove(entry(ten, 4))
        anchor(workers)
        assert (anchored(ten.id), anchored(other.id)) == ([], [1])
