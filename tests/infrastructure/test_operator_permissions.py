"""The permissions that `docs/guides/deployment.md` lists for operators' commands are those that they use."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import pytest
from botocore.client import BaseClient
from botocore.stub import Stubber

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import dead_letters, queues
from infrastructure import account, configuration, mail_checks
from infrastructure.__main__ import main as infrastructure
from infrastructure.names import Stage
from infrastructure.secrets import STORED_SECRETS, create_missing_secrets, public_keys_setting, read_settings
from local.__main__ import main as local
from local.paths import ROOT
from local.smoke import account_checks, organization_checks
from local.smoke.organization_checks import run_anchoring as run_anchoring_of_stage
from local.smoke.target import CheckFailed, Target
from local.tools.mail_checks import check_mail
from tests.harness import memory_aws, webhooks
from tests.harness.anchors import put_anchor, run_anchoring
from tests.harness.aws_calls import allow_scans
from tests.harness.channels import create_channel
from tests.harness.data_keys import reset_key_cache
from tests.harness.organizations import create_organization
from tests.infrastructure.permissions import ACTIONS_BY_CALL, WRITE_ACTIONS

STAGE: Final = Stage("dev", "123456789012", "us-east-1")
GUIDE: Final = (ROOT / "docs/guides/deployment.md").read_text()
TABLE: Final = GUIDE.partition("| command on a stage |")[2].partition("\n\n")[0]


def documented_actions(command):
    """Return the actions in the rows of a command. A row without a name belongs to the command above it."""
    rows = [line.split("|")[1:3] for line in TABLE.splitlines() if line.startswith("| ")]
    row_command, actions = "", set()
    for name_cell, actions_cell in rows:
        row_command = name_cell.strip().strip("`") or row_command
        actions |= set(re.findall(r"\w+:\w+", actions_cell)) if row_command == command else set()
    return actions


class UsedActions(set[str]):
    """The IAM actions of all calls of all clients since the last `clear`."""

    def record(self, service: str, name: str, parameters: dict[str, Any]) -> None:
        if name == "TransactWriteItems":
            self.update(f"dynamodb:{WRITE_ACTIONS[kind]}" for item in parameters["TransactItems"] for kind in item)
        elif service != "sts":  # `sts:GetCallerIdentity` requires no permission.
            version = "Version" if service == "s3" and "VersionId" in parameters else ""  # An action of its own.
            self.add(ACTIONS_BY_CALL.get(f"{service}:{name}", f"{service}:{name}") + version)


@pytest.fixture
def used_actions(monkeypatch, _aws):
    """The IAM actions of the calls that are made from now on."""
    recorded, original = UsedActions(), BaseClient._make_api_call  # noqa: SLF001 - the method that makes every call

    def call(client: Any, name: str, parameters: dict[str, Any]) -> Any:
        recorded.record(client.meta.service_model.service_name, name, parameters)
        return original(client, name, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", call)
    with allow_scans():
        yield recorded


@pytest.fixture
def stage(configure, monkeypatch):
    """The stage `dev` with its secrets, used by the service and by the commands."""
    kms = aws.client("kms")
    kms.create_alias(AliasName=STAGE.key_alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    create_missing_secrets(STAGE)
    apply_secrets(configure)
    for function in (
        "infrastructure.account.current_stage",
        "infrastructure.configuration.load_stage_in_current_account",
        "local.tools.reencrypt.load_stage",
        "infrastructure.configuration.load_stage",
    ):
        monkeypatch.setattr(function, lambda _: STAGE)
    monkeypatch.setattr("local.server.configuration.use_stage_or_run", lambda *_: None)
    yield
    account.client("kms").delete_alias(AliasName=STAGE.key_alias)
    names = [STAGE.parameter_name(name) for name in STORED_SECRETS]
    account.client("ssm").delete_parameters(Names=[*names, STAGE.parameter_name("audit-former-public-keys")])


def apply_secrets(configure):
    secrets = read_settings(STAGE)
    configure(**secrets, AUDIT_PUBLIC_KEYS=public_keys_setting(secrets["AUDIT_SIGNING_KEY"]), webhook_allow_private="1")
    reset_key_cache()


@pytest.fixture
def organization_with_data(stage, api, ada, workers, receiver):
    """An organization with a webhook, a channel and an anchored log; another one is not anchored yet."""
    organization = create_organization(api, ada)
    webhooks.create_webhook(api, organization, receiver)
    create_channel(api, organization, receiver)
    workers.deliver()
    run_anchoring(workers)
    create_organization(api, ada, name="Waits for its first anchor")
    workers.deliver()
    return organization


def rotate(used_actions, secret, step):
    """Run a step of a rotation, and return the actions that it used."""
    used_actions.clear()
    assert infrastructure(["rotate", "--stage", "dev", secret, step, "--at-once"]) == 0
    return set(used_actions)


def run_local(used_actions: UsedActions, *command: str) -> set[str]:
    """Run a command of `local` on the stage, and return the actions that it used."""
    used_actions.clear()
    assert local([*command, "--stage", "dev"]) == 0
    return set(used_actions)


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize("secret", ["audit-signing-key", "entry-key", "token-key", "edge-secret"])
def test_each_step_of_a_rotation_uses_the_documented_actions(secret, used_actions):
    finish = "rotate … audit-signing-key finish" if secret == "audit-signing-key" else "rotate … finish"
    assert rotate(used_actions, secret, "begin") == documented_actions("rotate … begin")
    assert rotate(used_actions, secret, "switch") == documented_actions("rotate … switch")
    assert rotate(used_actions, secret, "finish") == documented_actions(finish)
    assert rotate(used_actions, secret, "return") == documented_actions("rotate … return")


@pytest.mark.usefixtures("stage")
def test_printing_the_secret_of_the_edge_uses_the_documented_actions(used_actions):
    used_actions.clear()
    assert infrastructure(["edge-secret", "--stage", "dev"]) == 0
    assert used_actions == documented_actions("edge-secret")


@pytest.mark.usefixtures("organization_with_data")
def test_reencryption_uses_the_documented_actions_even_after_a_write_conflict(used_actions, configure, monkeypatch):
    rotate(used_actions, "data-key", "begin")
    rotate(used_actions, "data-key", "switch")
    apply_secrets(configure)
    commit, conflicts = UnitOfWork.commit, iter([True])

    def commit_with_one_conflict(changes: UnitOfWork) -> Any:
        if next(conflicts, False):
            raise ConcurrentModification
        return commit(changes)

    monkeypatch.setattr(UnitOfWork, "commit", commit_with_one_conflict)
    assert run_local(used_actions, "reseal") == documented_actions("reseal")
    assert rotate(used_actions, "data-key", "finish") == documented_actions("rotate … finish")


@pytest.mark.usefixtures("organization_with_data")
def test_renewing_entry_macs_uses_the_documented_actions(used_actions, configure):
    rotate(used_actions, "seal-key", "begin")
    assert local(["renew-seals", "--stage", "dev"]) == 1  # The settings don't list that key yet.
    rotate(used_actions, "seal-key", "switch")
    apply_secrets(configure)
    assert run_local(used_actions, "renew-seals") == documented_actions("renew-seals")
    assert rotate(used_actions, "seal-key", "finish") == documented_actions("rotate … finish")


@pytest.mark.usefixtures("organization_with_data")
def test_auditing_records_uses_the_documented_actions(used_actions, configure):
    documented = documented_actions("audit-records")
    reset_key_cache()
    assert run_local(used_actions, "audit-records") == documented
    for item in memory_aws.all_items():
        memory_aws.put_item({name: value for name, value in item.items() if name != "record_mac"})
    configure(unauthenticated_records_until=after(now(), seconds=60))
    reset_key_cache()
    assert run_local(used_actions, "audit-records", "--renew") == documented | documented_actions(
        "audit-records --renew"
    )


@contextmanager
def ses_that_sends_mail() -> Iterator[None]:
    """Stub the calls that moto does not implement."""
    with Stubber(aws.client("sesv2")) as stubber:
        stubber.add_response("get_account", {"ProductionAccessEnabled": True, "SendingEnabled": True})
        stubber.add_response("get_email_identity", {"VerifiedForSendingStatus": True})
        yield


@pytest.mark.usefixtures("stage")
def test_checking_mail_uses_the_documented_actions(used_actions, configure, monkeypatch):
    configure(mail_from="atrium@example.com")
    monkeypatch.setattr("local.tools.mail_checks.client", aws.client)
    used_actions.clear()
    with ses_that_sends_mail():
        assert [*check_mail(None)]
    assert used_actions == documented_actions("doctor") == set(mail_checks.ACTIONS)


def test_accepting_findings_uses_the_documented_actions(organization_with_data, used_actions, monkeypatch):
    monkeypatch.setattr("local.tools.audit_records.CONFIRMATION_DELAY_SECONDS", 0)
    organization, actions = organization_with_data, set[str]()
    (channel,) = (each for each in memory_aws.all_items() if each.get("kind") == "organization.integration_channel")
    for alter in (lambda: memory_aws.put_item({**channel, "name": "Forged"}), lambda: memory_aws.delete_item(channel)):
        alter()
        reset_key_cache()
        actions |= run_local(used_actions, "audit-records", "--accept", organization.id, channel["kind"], channel["id"])
    expected = documented_actions("audit-records") - {"dynamodb:Scan", "s3:ListBucketVersions"}
    assert actions == expected | documented_actions("audit-records --accept")


@pytest.mark.usefixtures("organization_with_data")
def test_renewing_entry_macs_ends_the_time_in_which_those_of_the_signing_key_are_valid(
    configure, tmp_path, monkeypatch, capsys
):
    setting, past_time = "SIGNING_KEY_SEALS_UNTIL", "2026-11-20T09:30:00.000Z"
    monkeypatch.setattr(configuration, "CONFIG_FILE", tmp_path / "config.json")
    config = {"stages": {"dev": {"environment_variables": {setting: past_time}}}}
    configuration.CONFIG_FILE.write_text(json.dumps(config))
    configure(signing_key_seals_until=past_time)
    with allow_scans():
        assert local(["renew-seals", "--stage", "dev"]) == 0
    assert configuration.environment_variables("dev") == {setting: ""}
    assert "stop accepting seals of the signing key, run `make deploy STAGE=dev`" in capsys.readouterr().out


def test_verification_uses_the_documented_actions(organization_with_data, api, used_actions):
    webhooks.rename_organization(api, organization_with_data, "Waits for the ledger")
    reset_key_cache()
    assert run_local(used_actions, "verify") == documented_actions("verify")


@pytest.mark.usefixtures("organization_with_data")
def test_republishing_anchors_uses_the_documented_actions(used_actions):
    for version in aws.client("s3").list_object_versions(Bucket="atrium-anchors")["Versions"]:
        aws.client("s3").delete_object(Bucket="atrium-anchors", Key=version["Key"], VersionId=version["VersionId"])
    put_anchor("missing-in-the-table", 1, b"")
    assert run_local(used_actions, "reanchor") == documented_actions("reanchor")


def test_listing_and_redriving_dead_letters_use_the_documented_actions(organization_with_data, used_actions):
    urls = queues.queue_urls_by_name()
    dead = {name: dead_letters.DeadLetterQueue.for_source(urls[name]).url for name in ("jobs", "events")}
    task, message = {"task": "erasures.run", "pk": "O#gone", "sk": "#"}, {"log": organization_with_data.id}
    aws.client("sqs").send_message(QueueUrl=dead["jobs"], MessageBody=json.dumps(task))
    fifo_fields = {"MessageGroupId": "a", "MessageDeduplicationId": "b"}
    aws.client("sqs").send_message(QueueUrl=dead["events"], MessageBody=json.dumps(message), **fifo_fields)
    listing = documented_actions("redrive")
    assert run_local(used_actions, "redrive") == listing
    assert run_local(used_actions, "redrive", "--send") | listing == listing | documented_actions("redrive … --send")


def test_the_checks_of_a_stage_use_the_documented_actions(organization_with_data, used_actions, configure, monkeypatch):
    monkeypatch.setattr(organization_checks, "_MAX_WAIT_SECONDS", 0)

    def run_anchoring_without_function(target: Target) -> None:
        with suppress(CheckFailed):
            run_anchoring_of_stage(target)

    monkeypatch.setattr(organization_checks, "run_anchoring", run_anchoring_without_function)
    target = Target.at_url("https://api.example.com", "token", STAGE)
    target.organization = {"id": organization_with_data.id}
    configure(mail_from="atrium@example.com")
    monkeypatch.setattr("local.tools.mail_checks.client", aws.client)
    used_actions.clear()
    checks = (
        account_checks.check_event_sources,
        account_checks.check_recursion,
        account_checks.check_alarms,
        account_checks.check_dead_letters,
        organization_checks.check_mail,
        organization_checks.check_anchor,
        organization_checks.check_chain,
    )
    with ses_that_sends_mail():
        for check in checks:
            with suppress(CheckFailed):  # There are no functions and no API. What counts is the call.
                check(target)
    target.close()
    assert used_actions == documented_actions("smoke")
