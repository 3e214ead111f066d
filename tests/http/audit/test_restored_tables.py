"""Test the service and `python -m local verify` on a table that was restored to an earlier point in time."""

from copy import deepcopy
from typing import Final

import pytest
from standardwebhooks import Webhook as Verifier

from chalicelib.features.audit.log.logic.log_verification import VerificationResult
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.counts import describe_count
from chalicelib.kernel.core.problems import unavailable
from infrastructure import resources
from local.__main__ import main
from local.tools import verify_logs as module
from tests.harness import memory_aws, snapshots
from tests.harness.anchors import anchored_sizes
from tests.harness.audit_logs import head_item
from tests.harness.faults import run_before_call
from tests.harness.organizations import create_organization
from tests.harness.webhooks import create_webhook

RESTORED_TABLE: Final = "atrium-restored"
NEW_ANCHORS_BUCKET: Final = "atrium-anchors-2"


@pytest.fixture(autouse=True)
def local_commands(monkeypatch, scans_allowed):
    monkeypatch.setattr("local.server.configuration.use_stage_or_run", lambda *_: None)


@pytest.fixture
def restored_table(configure):
    """Create a table with the same indexes, as RestoreTableToPointInTime does, and let the service use it."""
    aws.client("dynamodb").create_table(**resources.table_definition(RESTORED_TABLE))
    configure(table_name=RESTORED_TABLE)
    yield
    aws.client("dynamodb").delete_table(TableName=RESTORED_TABLE)


@pytest.fixture
def run_verify(capsys):
    def run(*arguments: str) -> tuple[int, list[str]]:
        capsys.readouterr()
        return main(["verify", *arguments]), capsys.readouterr().out.splitlines()

    return run


def use_new_anchors_bucket(configure):
    aws.client("s3").create_bucket(Bucket=NEW_ANCHORS_BUCKET)
    configure(anchors_bucket=NEW_ANCHORS_BUCKET)


def run_reanchor(capsys):
    assert main(["reanchor"]) == 0
    return capsys.readouterr().out


def found_logs():
    return [log_position.log for log_position in module.iter_log_positions("")]


def summary(logs, entries, source):
    return f"{describe_count(logs, 'log')} with {entries} entries, compared with {source}: all verified."


class TestEveryLog:
    def test_is_verified_whether_it_has_an_anchor_or_not_yet(self, log, api, ada, workers, run_verify):
        log.anchor()
        log.append(2)
        create_organization(api, ada, name="Waits for its first anchor")
        workers.deliver()
        assert run_verify() == (0, [summary(2, 13, "the anchors in atrium-anchors")])

    def test_is_found_and_verified_without_anchors_and_after_a_change_of_their_bucket(self, log, configure, run_verify):
        log.anchor()
        use_new_anchors_bucket(configure)
        assert found_logs() == [log.id]
        assert run_verify() == (0, [summary(1, 10, f"the anchors in {NEW_ANCHORS_BUCKET}")])
        configure(anchors_bucket="")
        assert run_verify() == (0, [summary(1, 10, "their signed heads (no anchors)")])

    def test_is_found_before_its_first_entry(self, api, ada):
        organization = create_organization(api, ada)
        assert found_logs() == [organization.id]

    @pytest.mark.usefixtures("restored_table")
    def test_an_empty_table_is_reported_as_a_failure(self, configure, capsys):
        configure(table_name=RESTORED_TABLE, anchors_bucket="")
        assert main(["verify"]) == 1
        assert "The table contains no log" in capsys.readouterr().err

    def test_continues_after_the_last_verified_log(self, log, api, ada, workers, capsys, monkeypatch, run_verify):
        log.anchor()
        for n in range(3):
            create_organization(api, ada, name=f"Waits {n}")
        workers.deliver()
        monkeypatch.setattr(module, "_CONCURRENT_LOGS", 1)
        log_positions = [*module.iter_log_positions("")]
        assert log_positions[0].after.startswith("stored/")
        for n, log_position in enumerate(log_positions):
            assert list(module.iter_log_positions(log_position.after)) == log_positions[n + 1 :]
        verify, verified_logs = module.verify_log, list[str]()

        def fail_at_third_log(log_id: str) -> list[VerificationResult]:
            verified_logs.append(log_id)
            if len(verified_logs) == 3:
                raise unavailable("The database is busy.")
            return verify(log_id)

        monkeypatch.setattr(module, "verify_log", fail_at_third_log)
        assert main(["verify"]) == 1
        assert f"--after {log_positions[1].after}" in capsys.readouterr().err
        _, (last_line,) = run_verify("--after", log_positions[1].after)
        assert last_line.startswith("2 logs with ")
        assert verified_logs[3:] == [log_position.log for log_position in log_positions[2:]]
        assert main(["verify", "--after", "nowhere/"]) == 1
        assert "not a position that this command printed" in capsys.readouterr().err


def remove_pending_entry(log):
    log.rename("Taken away")
    (pointer,) = (item for item in memory_aws.all_items() if item["pk"] == f"Q#{log.id}" and "leaf" in item)
    memory_aws.delete_item(pointer)
    memory_aws.delete_item({"pk": f"A#{log.id}", "sk": pointer["sk"]})


def truncate_and_alter(log):
    snapshot = deepcopy(snapshots.take_snapshot())
    log.append(3)
    log.anchor()
    memory_aws.get_table().items.clear()
    memory_aws.get_table().items.update(snapshot)
    log.alter(4, leaf=bytes(32))


MODIFIED = "modified at sequence 4, of 10 entries"
TRUNCATED = "truncated at sequence 11: 10 of 13 anchored entries remain, 3 are lost"


@pytest.mark.parametrize(
    ("tamper", "fault"),
    [
        (lambda log: log.alter(4, leaf=bytes(32)), MODIFIED),
        (remove_pending_entry, "verified; removed before sealing: 1 entry"),
        (truncate_and_alter, f"{TRUNCATED}; remaining entries: {MODIFIED}"),
    ],
)
def test_the_faults_of_a_log_are_reported(log, api, ada, run_verify, tamper, fault):
    create_organization(api, ada, name="Healthy")
    log.anchor()
    tamper(log)
    code, (line, last_line) = run_verify()
    assert (code, line) == (1, f"{log.id}: {fault}")
    assert last_line.endswith("1 failed.")


@pytest.mark.usefixtures("private_targets_allowed")
def test_a_restored_table_shows_the_loss_and_serves_the_remaining_data(
    log, api, workers, configure, capsys, receiver, request, run_verify
):
    webhook = create_webhook(api, log.organization, receiver, events=["organization.updated"])
    workers.deliver()
    log.anchor()
    snapshot = deepcopy(snapshots.take_snapshot())
    log.append(3)
    receiver.requests.clear()
    owner = log.organization.owner
    later_organization = create_organization(api, owner, name="Founded since")
    workers.deliver()
    log.anchor()
    assert run_verify()[0] == 0

    request.getfixturevalue("restored_table")
    memory_aws.get_table(RESTORED_TABLE).items.update(snapshot)
    loss = "11 of 14 anchored entries remain, 3 are lost"
    assert run_verify() == (
        1,
        [
            f"{log.id}: truncated at sequence 12: {loss}; remaining entries: verified",
            f"{later_organization.id}: truncated at sequence 1: 0 of 1 anchored entries remain, 1 are lost",
            "2 logs with 11 entries, compared with the anchors in atrium-anchors: 2 failed.",
        ],
    )

    assert api.get(later_organization.path, caller=owner).status == 404
    assert api.get(webhook.path, caller=owner).status == 200
    use_new_anchors_bucket(configure)
    assert run_verify() == (0, [summary(1, 11, f"the anchors in {NEW_ANCHORS_BUCKET}")])
    assert f"Scheduled the first anchor of 1 log in {NEW_ANCHORS_BUCKET}" in run_reanchor(capsys)
    log.anchor()
    assert log.anchored_sizes == [11]
    assert "Scheduled the first anchor of 0 logs" in run_reanchor(capsys)
    log.rename("Restored")
    workers.deliver()
    (webhook_request,) = receiver.requests  # Signed with a secret that the restored table stores encrypted.
    Verifier(webhook.secret).verify(webhook_request.body, dict(webhook_request.headers))
    report = log.verify()
    assert (report["valid"], report["treeSize"]) == (True, 12)


def test_reanchor_skips_logs_that_already_await_an_anchor(log, api, ada, workers, configure):
    log.anchor()
    new_organization = create_organization(api, ada, name="Waits for its first anchor")
    workers.deliver()
    awaits_since = head_item(new_organization)["index2sk"]
    use_new_anchors_bucket(configure)
    with run_before_call(log.append, call_number=4) as interleaving:
        assert main(["reanchor"]) == 0
    assert interleaving.interrupted_call == "dynamodb:TransactWriteItems"
    assert head_item(new_organization)["index2sk"] == awaits_since
    log.anchor()
    assert (log.anchored_sizes, anchored_sizes(new_organization.id)) == ([11], [1])


@pytest.mark.usefixtures("log")
def test_reanchor_fails_without_a_bucket(configure, capsys):
    configure(anchors_bucket="")
    assert main(["reanchor"]) == 1
    assert "ANCHORS_BUCKET is not set" in capsys.readouterr().err
