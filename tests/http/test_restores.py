"""A table that was restored to an earlier moment: `python -m local verify`, and the service on it."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Final

import pytest
from standardwebhooks import Webhook as Verifier

from chalicelib.features.audit.log.logic.log_verification import VerificationResult
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.problems import unavailable
from infrastructure import resources
from local.__main__ import main
from local.tools import verify_logs as module
from tests.conftest import Configure
from tests.harness import cloud, snapshots
from tests.harness.anchors import anchor, anchored
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.calls import scanning
from tests.harness.faults import overtaken
from tests.harness.logs import alter, entry, grow, head
from tests.harness.organizations import Founded, found
from tests.harness.receiver import Receiver
from tests.harness.webhooks import hook
from tests.harness.workers import Workers

RESTORED: Final = "atrium-restored"
ANCHORS_2: Final = "atrium-anchors-2"

pytestmark = pytest.mark.usefixtures("impatient", "here")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The command verifies what the test sees."""
    monkeypatch.setattr("local.server.configuration.use_place", lambda *_: None)
    with scanning():
        yield


@pytest.fixture
def restored(configure: Configure) -> Iterator[None]:
    """Another table with the same indexes and items, as RestoreTableToPointInTime makes one, and the service on it."""
    aws.client("dynamodb").create_table(**resources.table(RESTORED))
    configure(table_name=RESTORED)
    yield
    aws.client("dynamodb").delete_table(TableName=RESTORED)


def verified(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str]]:
    """Return the exit code and what was printed."""
    capsys.readouterr()
    return main(["verify", *words]), capsys.readouterr().out.splitlines()


def anew(configure: Configure) -> None:
    """Let the anchors begin anew in another bucket."""
    aws.client("s3").create_bucket(Bucket=ANCHORS_2)
    configure(anchors_bucket=ANCHORS_2)


class TestEveryLog:
    def test_is_verified_whether_it_is_anchored_or_waits_for_it(
        self, api: Api, ten: Founded, ada: Person, workers: Workers, capsys: pytest.CaptureFixture[str]
    ) -> None:
        anchor(workers)
        grow(api, workers, ten, 2)
        found(api, ada, name="Waits for its first anchor")
        workers.deliver()
        assert verified(capsys) == (
            0,
            ["2 logs of 13 entries, held against the anchors in atrium-anchors: all are as they were signed."],
        )

    @pytest.mark.usefixtures("ten")
    def test_is_found_without_anchors_too(self, configure: Configure, capsys: pytest.CaptureFixture[str]) -> None:
        configure(anchors_bucket="")
        assert verified(capsys) == (
            0,
            ["1 logs of 10 entries, held against their heads; no anchors: all are as they were signed."],
        )

    def test_is_found_after_the_anchors_began_anew(
        self, ten: Founded, workers: Workers, configure: Configure, capsys: pytest.CaptureFixture[str]
    ) -> None:
        anchor(workers)
        anew(configure)
        assert [place.log for place in module.places("")] == [ten.id]
        assert verified(capsys) == (
            0,
            [f"1 logs of 10 entries, held against the anchors in {ANCHORS_2}: all are as they were signed."],
        )

    def test_is_found_before_anything_was_appended_to_it(self, api: Api, ada: Person) -> None:
        young = found(api, ada, name="Waits for its first entry")
        assert [place.log for place in module.places("")] == [young.id]

    @pytest.mark.usefixtures("restored")
    def test_is_gone_which_is_said_and_no_success(
        self, configure: Configure, capsys: pytest.CaptureFixture[str]
    ) -> None:
        configure(table_name=RESTORED, anchors_bucket="")
        assert main(["verify"]) == 1
        assert "There is no log" in capsys.readouterr().err

    def test_that_was_altered_is_named_with_its_place(
        self, api: Api, ten: Founded, ada: Person, workers: Workers, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found(api, ada, name="Healthy")
        anchor(workers)
        alter(entry(ten, 4), leaf=bytes(32))
        code, (line, summary) = verified(capsys)
        assert (code, line) == (1, f"{ten.id}: modified at sequence 4, of 10 entries")
        assert summary.endswith("1 failed.")

    def test_of_which_an_entry_was_taken_away_is_named_with_their_number(
        self, api: Api, ten: Founded, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert api.patch(ten.path, as_=ten.owner, json={"name": "Taken away"}).status == 200
        (pointer,) = (item for item in cloud.stored() if item["pk"] == f"Q#{ten.id}" and "leaf" in item)
        cloud.remove(pointer)
        cloud.remove({"pk": f"A#{ten.id}", "sk": pointer["sk"]})
        code, (line, summary) = verified(capsys)
        assert (code, line) == (1, f"{ten.id}: as it was signed; 1 taken away before they were sealed")
        assert summary.endswith("1 failed.")

    @pytest.mark.usefixtures("ten")
    def test_is_gone_on_with_after_the_last(
        self,
        api: Api,
        ada: Person,
        workers: Workers,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        anchor(workers)
        for n in range(3):
            found(api, ada, name=f"Waits {n}")
        workers.deliver()
        monkeypatch.setattr(module, "_AT_ONCE", 1)
        everything = [*module.places("")]
        assert everything[0].after.startswith("stored/")
        for n, place in enumerate(everything):
            assert list(module.places(place.after)) == everything[n + 1 :]
        verify, asked = module.outcomes_of, list[str]()

        def fails_at_the_third(log: str) -> list[VerificationResult]:
            asked.append(log)
            if len(asked) == 3:
                raise unavailable("The database is busy.")
            return verify(log)

        monkeypatch.setattr(module, "outcomes_of", fails_at_the_third)
        assert main(["verify"]) == 1
        assert f"--after {everything[1].after}" in capsys.readouterr().err
        _, (summary,) = verified(capsys, "--after", everything[1].after)
        assert summary.startswith("2 logs of ")
        assert asked[3:] == [place.log for place in everything[2:]]
        assert main(["verify", "--after", "nowhere/"]) == 1
        assert "no place that this command has named" in capsys.readouterr().err


@pytest.mark.usefixtures("private_targets")
def test_a_restored_table_shows_what_is_lost_and_serves_what_is_left(
    api: Api,
    ten: Founded,
    ada: Person,
    workers: Workers,
    configure: Configure,
    capsys: pytest.CaptureFixture[str],
    receiver: Receiver,
    request: pytest.FixtureRequest,
) -> None:
    webhook = hook(api, ten, receiver, events=["organization.updated"])
    workers.deliver()
    anchor(workers)
    moment = deepcopy(snapshots.taken())
    grow(api, workers, ten, 3)
    receiver.requests.clear()
    later = found(api, ada, name="Founded since")
    workers.deliver()
    anchor(workers)
    assert verified(capsys)[0] == 0

    request.getfixturevalue("restored")
    cloud.table(RESTORED).items.update(moment)
    code, lines = verified(capsys)
    assert code == 1
    cut_off = "11 of the 14 entries that were anchored are left, 3 lost"
    assert lines[:2] == [
        f"{ten.id}: truncated at sequence 12: {cut_off}, and what is left: as it was signed",
        f"{later.id}: truncated at sequence 1: 0 of the 1 entries that were anchored are left, 1 lost",
    ]
    assert lines[2:] == ["2 logs of 11 entries, held against the anchors in atrium-anchors: 2 failed."]

    assert api.get(later.path, as_=ada).status == 404
    assert api.get(webhook.path, as_=ada).status == 200
    anew(configure)
    assert verified(capsys) == (
        0,
        [f"1 logs of 11 entries, held against the anchors in {ANCHORS_2}: all are as they were signed."],
    )
    assert main(["reanchor"]) == 0
    assert f"1 logs wait for their first anchor in {ANCHORS_2}" in capsys.readouterr().out
    anchor(workers)
    assert anchored(ten.id) == [11]
    assert main(["reanchor"]) == 0
    assert "0 logs wait" in capsys.readouterr().out
    assert api.patch(ten.path, as_=ada, json={"name": "Restored"}).status == 200
    workers.deliver()
    (sent,) = receiver.requests  # Signed by a secret that the new table holds sealed.
    Verifier(webhook.secret).verify(sent.body, dict(sent.headers))
    report = api.get(f"{ten.path}/audit-log/verify-integrity", as_=ada).json
    assert (report["valid"], report["treeSize"]) == (True, 12)


def test_of_a_log_that_was_cut_off_what_is_left_is_verified_as_well(
    api: Api, ten: Founded, workers: Workers, capsys: pytest.CaptureFixture[str]
) -> None:
    moment = deepcopy(snapshots.taken())
    grow(api, workers, ten, 3)
    anchor(workers)
    cloud.table().items.clear()
    cloud.table().items.update(moment)
    alter(entry(ten, 4), leaf=bytes(32))
    code, (line, _) = verified(capsys)
    assert code == 1
    assert line == (
        f"{ten.id}: truncated at sequence 11: 10 of the 13 entries that were anchored are left, 3 lost, "
        "and what is left: modified at sequence 4, of 10 entries"
    )


def test_who_waits_for_an_anchor_waits_on_and_who_grew_meanwhile_does_so_by_that(
    api: Api, ten: Founded, ada: Person, workers: Workers, configure: Configure
) -> None:
    anchor(workers)
    young = found(api, ada, name="Waits for its first anchor")
    workers.deliver()
    waits = head(young)["index2sk"]
    anew(configure)
    with overtaken(lambda: grow(api, workers, ten, 1), at=4) as overtaking:
        assert main(["reanchor"]) == 0
    assert overtaking.hit == "dynamodb:TransactWriteItems"
    assert head(young)["index2sk"] == waits
    anchor(workers)
    assert (anchored(ten.id), anchored(young.id)) == ([11], [1])


@pytest.mark.usefixtures("ten")
def test_without_a_bucket_nothing_can_be_anchored(configure: Configure, capsys: pytest.CaptureFixture[str]) -> None:
    configure(anchors_bucket="")
    assert main(["reanchor"]) == 1
    assert "no ANCHORS_BUCKET" in capsys.readouterr().err
