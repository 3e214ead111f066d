"""What `docs/guides/deployment.md` says that operators' commands need is what they ask of AWS, and nothing more."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from botocore.client import BaseClient

from chalicelib.kernel.core import aws
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import queues
from infrastructure import account, configuration
from infrastructure.__main__ import main as infrastructure
from infrastructure.names import Stage
from infrastructure.secrets import SECRETS, create, public_keys, read
from local.__main__ import main as local
from local.paths import ROOT
from local.tools import redrive as redriving
from tests.conftest import SettingsOverride
from tests.harness import webhooks
from tests.harness.anchors import run_anchoring
from tests.harness.api import ApiClient
from tests.harness.aws_calls import allow_scans
from tests.harness.callers import Person
from tests.harness.channels import create_channel
from tests.harness.data_keys import reset_key_cache
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.receiver import Receiver
from tests.harness.workers import Workers
from tests.infrastructure.permissions import ACTIONS, WRITES

STAGE: Final = Stage("dev", "123456789012", "us-east-1")
GUIDE: Final = (ROOT / "docs/guides/deployment.md").read_text()
TABLE: Final = GUIDE.partition("| command on a stage |")[2].partition("\n\n")[0]


def listed(command: str) -> set[str]:
    """Return the actions in the rows of a command; those below it without a name are its own, too."""
    rows = [line.split("|")[1:3] for line in TABLE.splitlines() if line.startswith("| ")]
    name, actions = "", set()
    for named, may in rows:
        name = named.strip().strip("`") or name
        actions |= set(re.findall(r"\w+:\w+", may)) if name == command else set()
    return actions


class Asked(set[str]):
    """The actions of all calls since the last look, whichever client made them."""

    def note(self, service: str, name: str, given: dict[str, Any]) -> None:
        if name == "TransactWriteItems":
            self.update(f"dynamodb:{WRITES[kind]}" for item in given["TransactItems"] for kind in item)
        elif service != "sts":  # Anybody may ask who they are.
            self.add(ACTIONS.get(f"{service}:{name}", f"{service}:{name}"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, _aws: None) -> Iterator[Asked]:
    """What is asked of AWS from now on."""
    noted, original = Asked(), BaseClient._make_api_call  # noqa: SLF001 - every call of every client comes by there

    def call(client: Any, name: str, given: dict[str, Any]) -> Any:
        noted.note(client.meta.service_model.service_name, name, given)
        return original(client, name, given)

    monkeypatch.setattr(BaseClient, "_make_api_call", call)
    with allow_scans():
        yield noted


@pytest.fixture
def _stage(configure: SettingsOverride, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The stage `dev` with its secrets, and the service on it."""
    kms = aws.client("kms")
    kms.create_alias(AliasName=STAGE.key_alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    create(STAGE)
    deploy(configure)
    for asked in (
        "infrastructure.account.stage_here",
        "infrastructure.configuration.here",
        "local.tools.reencrypt.deployed",
        "infrastructure.configuration.deployed",
    ):
        monkeypatch.setattr(asked, lambda _: STAGE)
    monkeypatch.setattr("local.server.configuration.use_place", lambda *_: None)
    yield
    account.client("kms").delete_alias(AliasName=STAGE.key_alias)
    names = [STAGE.parameter(name) for name in SECRETS]
    account.client("ssm").delete_parameters(Names=[*names, STAGE.parameter("audit-former-public-keys")])


def deploy(configure: SettingsOverride) -> None:
    """Let the service go by the secrets as they are now."""
    secrets = read(STAGE)
    configure(**secrets, AUDIT_PUBLIC_KEYS=public_keys(secrets["AUDIT_SIGNING_KEY"]), webhook_allow_private="1")
    reset_key_cache()


@pytest.fixture
def busy(_stage: None, api: ApiClient, ada: Person, workers: Workers, receiver: Receiver) -> CreatedOrganization:
    """An organization with a webhook and a channel, whose log was anchored, beside one that waits for that."""
    organization = create_organization(api, ada)
    webhooks.create_webhook(api, organization, receiver)
    create_channel(api, organization, receiver)
    workers.deliver()
    run_anchoring(workers)
    create_organization(api, ada, name="Waits for its first anchor")
    workers.deliver()
    return organization


def rotate(asked: Asked, secret: str, step: str) -> set[str]:
    """Do a step of a rotation, and return what was asked of AWS."""
    asked.clear()
    assert infrastructure(["rotate", "--stage", "dev", secret, step, "--at-once"]) == 0
    return set(asked)


@pytest.mark.usefixtures("_stage")
@pytest.mark.parametrize("secret", ["audit-signing-key", "entry-key", "token-key"])
def test_of_a_rotation(secret: str, asked: Asked) -> None:
    finish = "rotate … audit-signing-key finish" if secret == "audit-signing-key" else "rotate … finish"
    assert rotate(asked, secret, "begin") == listed("rotate … begin")
    assert rotate(asked, secret, "switch") == listed("rotate … switch")
    assert rotate(asked, secret, "finish") == listed(finish)
    assert rotate(asked, secret, "return") == listed("rotate … return")


@pytest.mark.usefixtures("busy")
def test_of_sealing_anew_also_where_somebody_else_writes(
    asked: Asked, configure: SettingsOverride, monkeypatch: pytest.MonkeyPatch
) -> None:
    rotate(asked, "data-key", "begin")
    rotate(asked, "data-key", "switch")
    deploy(configure)
    commit, lost = UnitOfWork.commit, iter([True])

    def contended(changes: UnitOfWork) -> Any:
        if next(lost, False):
            raise ConcurrentModification
        return commit(changes)

    monkeypatch.setattr(UnitOfWork, "commit", contended)
    asked.clear()
    assert local(["reseal", "--stage", "dev"]) == 0
    assert asked == listed("reseal")
    assert rotate(asked, "data-key", "finish") == listed("rotate … finish")


@pytest.mark.usefixtures("busy")
def test_of_renewing_seals(asked: Asked, configure: SettingsOverride) -> None:
    rotate(asked, "seal-key", "begin")
    assert local(["renew-seals", "--stage", "dev"]) == 1  # The settings don't list that key yet.
    rotate(asked, "seal-key", "switch")
    deploy(configure)
    asked.clear()
    assert local(["renew-seals", "--stage", "dev"]) == 0
    assert asked == listed("renew-seals")
    assert rotate(asked, "seal-key", "finish") == listed("rotate … finish")


@pytest.mark.usefixtures("busy")
def test_once_seals_are_renewed_those_of_the_signing_key_are_to_count_no_more(
    configure: SettingsOverride, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    setting, over = "SIGNING_KEY_SEALS_UNTIL", "2026-11-20T09:30:00.000Z"
    monkeypatch.setattr(configuration, "FILE", tmp_path / "config.json")
    configuration.FILE.write_text(json.dumps({"stages": {"dev": {"environment_variables": {setting: over}}}}))
    configure(signing_key_seals_until=over)
    with allow_scans():
        assert local(["renew-seals", "--stage", "dev"]) == 0
    assert configuration.variables("dev") == {setting: ""}
    assert "stop accepting seals of the signing key, run `make deploy STAGE=dev`" in capsys.readouterr().out


def test_of_verifying(busy: CreatedOrganization, api: ApiClient, asked: Asked) -> None:
    webhooks.rename_organization(api, busy, "Waits for the ledger")
    reset_key_cache()
    asked.clear()
    assert local(["verify", "--stage", "dev"]) == 0
    assert asked == listed("verify")


@pytest.mark.usefixtures("busy")
def test_of_anchoring_anew(asked: Asked) -> None:
    for file in aws.client("s3").list_objects_v2(Bucket="atrium-anchors")["Contents"]:
        aws.client("s3").delete_object(Bucket="atrium-anchors", Key=file["Key"])
    asked.clear()
    assert local(["reanchor", "--stage", "dev"]) == 0
    assert asked == listed("reanchor")


def test_of_looking_at_dead_letters_and_sending_them(
    busy: CreatedOrganization, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redriving, "_WAIT_SECONDS", 0)
    redriving.sqs.cache_clear()
    dead = {name: redriving.DeadLetters.of(url).address for name, url in queues.queue_urls().items()}
    task = {"task": "erasures.run", "pk": "O#gone", "sk": "#"}
    aws.client("sqs").send_message(QueueUrl=dead["jobs"], MessageBody=json.dumps(task))
    log, order = {"log": busy.id}, {"MessageGroupId": "a", "MessageDeduplicationId": "b"}
    aws.client("sqs").send_message(QueueUrl=dead["events"], MessageBody=json.dumps(log), **order)
    asked.clear()
    assert local(["redrive", "--stage", "dev"]) == 0
    assert asked == listed("redrive")
    assert local(["redrive", "--stage", "dev", "--send"]) == 0
    redriving.sqs.cache_clear()
    assert asked == listed("redrive") | listed("redrive … --send")
