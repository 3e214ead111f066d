"""Test the service and `python -m local verify` on a table that was restored to an earlier point in time."""

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
from tests.conftest import SettingsOverride
from tests.harness import memory_aws, snapshots
from tests.harness.anchors import anchored_sizes, run_anchoring
from tests.harness.audit_logs import add_entries, alter_item, entry_item, head_item
from tests.harness.aws_calls import allow_scans
from tests.harness.faults import run_before_call
from tests.harness.organizations import create_organization
from tests.harness.webhooks import create_webhook

RESTORED_TABLE: Final = "atrium-restored"
NEW_ANCHORS_BUCKET: Final = "atrium-anchors-2"

pytestmark = pytest.mark.usefixtures("no_index_retries", "local_commands")


@pytest.fixture
def local_commands(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the commands use the AWS in memory of the test."""
    monkeypatch.setattr("local.server.configuration.use_stage_or_run", lambda *_: None)
    with allow_scans():
        yield


@pytest.fixture
def restored_table(configure: SettingsOverride) -> Iterator[None]:
    """Create a table with the same indexes, as RestoreTableToPointInTime does, and let the service use it."""
    aws.client("dynamodb").create_table(**resources.table_definition(RESTORED_TABLE))
    configure(table_name=RESTORED_TABLE)
    yield
    aws.client("dynamodb").delete_table(TableName=RESTORED_TABLE)


def run_verify(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    """Return the exit code and the printed lines."""
    capsys.readouterr()
    return main(["verify", *arguments]), capsys.readouterr().out.splitlines()


def use_new_anchors_bucket(configure: SettingsOverride) -> None:
    """Let the service store anchors in another, empty bucket."""
    aws.client("s3").create_bucket(Bucket=NEW_ANCHORS_BUCKET)
    configure(anchors_bucket=NEW_ANCHORS_BUCKET)


class TestEveryLog:
    def test_is_verified_whether_it_has_an_anchor_or_not_yet(
        self, api, organization_with_ten_entries, ada, workers, capsys
    ):
        run_anchoring(workers)
        add_entries(api, workers, organization_with_ten_entries, 2)
        create_organization(api, ada, name="Waits for its first anchor")
        workers.deliver()
        assert run_verify(capsys) == (
            0,
            ["2 logs with 13 entries, compared with the anchors in atrium-anchors: all verified."],
        )

    @pytest.mark.usefixtures("organization_with_ten_entries")
    def test_is_verified_without_anchors(self, configure, capsys):
        configure(anchors_bucket="")
        assert run_verify(capsys) == (
            0,
            ["1 logs with 10 entries, compared with their signed heads (no anchors): all verified."],
        )

    def test_is_found_after_a_change_of_the_anchors_bucket(
        self, organization_with_ten_entries, workers, configure, capsys
    ):
        run_anchoring(workers)
        use_new_anchors_bucket(configure)
        assert [log_position.log for log_position in module.iter_log_positions("")] == [
            organization_with_ten_entries.id
        ]
        assert run_verify(capsys) == (
            0,
            [f"1 logs with 10 entries, compared with the anchors in {NEW_ANCHORS_BUCKET}: all verified."],
        )

    def test_is_found_before_its_first_entry(self, api, ada):
        organization = create_organization(api, ada, name="Waits for its first entry")
        assert [log_position.log for log_position in module.iter_log_positions("")] == [organization.id]

    @pytest.mark.usefixtures("restored_table")
    def test_an_empty_table_is_reported_as_a_failure(self, configure, capsys):
        configure(table_name=RESTORED_TABLE, anchors_bucket="")
        assert main(["verify"]) == 1
        assert "The table contains no log" in capsys.readouterr().err

    def test_an_altered_log_is_reported_with_the_sequence_number(
        self, api, organization_with_ten_entries, ada, workers, capsys
    ):
        create_organization(api, ada, name="Healthy")
        run_anchoring(workers)
        alter_item(entry_item(organization_with_ten_entries, 4), leaf=bytes(32))
        code, (line, summary) = run_verify(capsys)
        assert (code, line) == (1, f"{organization_with_ten_entries.id}: modified at sequence 4, of 10 entries")
        assert summary.endswith("1 failed.")

    def test_removed_pending_entries_are_counted_in_the_report(self, api, organization_with_ten_entries, capsys):
        assert (
            api.patch(
                organization_with_ten_entries.path,
                caller=organization_with_ten_entries.owner,
                json={"name": "Taken away"},
            ).status
            == 200
        )
        (pointer,) = (
            item
            for item in memory_aws.all_items()
            if item["pk"] == f"Q#{organization_with_ten_entries.id}" and "leaf" in item
        )
        memory_aws.delete_item(pointer)
        memory_aws.delete_item({"pk": f"A#{organization_with_ten_entries.id}", "sk": pointer["sk"]})
        code, (line, summary) = run_verify(capsys)
        assert (code, line) == (
            1,
            f"{organization_with_ten_entries.id}: verified; 1 entries were removed before they were sealed",
        )
        assert summary.endswith("1 failed.")

    @pytest.mark.usefixtures("organization_with_ten_entries")
    def test_continues_after_the_last_verified_log(self, api, ada, workers, capsys, monkeypatch):
        run_anchoring(workers)
        for n in range(3):
            create_organization(api, ada, name=f"Waits {n}")
        workers.deliver()
        monkeypatch.setattr(module, "_CONCURRENT_LOGS", 1)
        log_positions = [*module.iter_log_positions("")]
        assert log_positions[0].after.startswith("stored/")
        for n, log_position in enumerate(log_positions):
            assert list(module.iter_log_positions(log_position.after)) == log_positions[n + 1 :]
        verify, verified_logs = module.verify_log, list[str]()

        def fail_at_third_log(log: str) -> list[VerificationResult]:
            verified_logs.append(log)
            if len(verified_logs) == 3:
                raise unavailable("The database is busy.")
            return verify(log)

        monkeypatch.setattr(module, "verify_log", fail_at_third_log)
        assert main(["verify"]) == 1
        assert f"--after {log_positions[1].after}" in capsys.readouterr().err
        _, (summary,) = run_verify(capsys, "--after", log_positions[1].after)
        assert summary.startswith("2 logs with ")
        assert verified_logs[3:] == [log_position.log for log_position in log_positions[2:]]
        assert main(["verify", "--after", "nowhere/"]) == 1
        assert "not a position that this command printed" in capsys.readouterr().err


@pytest.mark.usefixtures("private_targets_allowed")
def test_a_restored_table_shows_the_loss_and_serves_the_remaining_data(
    api, organization_with_ten_entries, ada, workers, configure, capsys, receiver, request
):
    webhook = create_webhook(api, organization_with_ten_entries, receiver, events=["organization.updated"])
    workers.deliver()
    run_anchoring(workers)
    snapshot = deepcopy(snapshots.take_snapshot())
    add_entries(api, workers, organization_with_ten_entries, 3)
    receiver.requests.clear()
    later_organization = create_organization(api, ada, name="Founded since")
    workers.deliver()
    run_anchoring(workers)
    assert run_verify(capsys)[0] == 0

    request.getfixturevalue("restored_table")
    memory_aws.get_table(RESTORED_TABLE).items.update(snapshot)
    code, lines = run_verify(capsys)
    assert code == 1
    loss = "11 of 14 anchored entries remain, 3 are lost"
    assert lines[:2] == [
        f"{organization_with_ten_entries.id}: truncated at sequence 12: {loss}; remaining entries: verified",
        f"{later_organization.id}: truncated at sequence 1: 0 of 1 anchored entries remain, 1 are lost",
    ]
    assert lines[2:] == ["2 logs with 11 entries, compared with the anchors in atrium-anchors: 2 failed."]

    assert api.get(later_organization.path, caller=ada).status == 404
    assert api.get(webhook.path, caller=ada).status == 200
    use_new_anchors_bucket(configure)
    assert run_verify(capsys) == (
        0,
        [f"1 logs with 11 entries, compared with the anchors in {NEW_ANCHORS_BUCKET}: all verified."],
    )
    assert main(["reanchor"]) == 0
    assert f"1 logs are scheduled for their first anchor in {NEW_ANCHORS_BUCKET}" in capsys.readouterr().out
    run_anchoring(workers)
    assert anchored_sizes(organization_with_ten_entries.id) == [11]
    assert main(["reanchor"]) == 0
    assert "0 logs are scheduled" in capsys.readouterr().out
    assert api.patch(organization_with_ten_entries.path, caller=ada, json={"name": "Restored"}).status == 200
    workers.deliver()
    (webhook_request,) = receiver.requests  # Signed with a secret that the restored table stores encrypted.
    Verifier(webhook.secret).verify(webhook_request.body, dict(webhook_request.headers))
    report = api.get(f"{organization_with_ten_entries.path}/audit-log/verify-integrity", caller=ada).json
    assert (report["valid"], report["treeSize"]) == (True, 12)


def test_the_rest_of_a_truncated_log_is_verified_too(api, organization_with_ten_entries, workers, capsys):
    snapshot = deepcopy(snapshots.take_snapshot())
    add_entries(api, workers, organization_with_ten_entries, 3)
    run_anchoring(workers)
    memory_aws.get_table().items.clear()
    memory_aws.get_table().items.update(snapshot)
    alter_item(entry_item(organization_with_ten_entries, 4), leaf=bytes(32))
    code, (line, _) = run_verify(capsys)
    assert code == 1
    assert line == (
        f"{organization_with_ten_entries.id}: truncated at sequence 11: "
        "10 of 13 anchored entries remain, 3 are lost; "
        "remaining entries: modified at sequence 4, of 10 entries"
    )


def test_reanchor_skips_logs_that_already_await_an_anchor(api, organization_with_ten_entries, ada, workers, configure):
    run_anchoring(workers)
    new_organization = create_organization(api, ada, name="Waits for its first anchor")
    workers.deliver()
    awaits_since = head_item(new_organization)["index2sk"]
    use_new_anchors_bucket(configure)
    with run_before_call(
        lambda: add_entries(api, workers, organization_with_ten_entries, 1), call_number=4
    ) as interleaving:
        assert main(["reanchor"]) == 0
    assert interleaving.interrupted_call == "dynamodb:TransactWriteItems"
    assert head_item(new_organization)["index2sk"] == awaits_since
    run_anchoring(workers)
    assert (anchored_sizes(organization_with_ten_entries.id), anchored_sizes(new_organization.id)) == ([11], [1])


@pytest.mark.usefixtures("organization_with_ten_entries")
def test_reanchor_fails_without_a_bucket(configure, capsys):
    configure(anchors_bucket="")
    assert main(["reanchor"]) == 1
    assert "ANCHORS_BUCKET is not set" in capsys.readouterr().err
