"""Each function's role allows what its handler asks of AWS: seen while every operation, worker and task ran."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from email.utils import parseaddr
from fnmatch import fnmatchcase
from typing import Any

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.features.audit_exports import making
from chalicelib.features.deliveries.rules import RETRY_SECONDS, SCATTER
from chalicelib.kernel import files, jobs, outgoing, queues
from chalicelib.kernel.sealing import KEY_CONTEXT
from chalicelib.kernel.settings import settings
from infrastructure.resources import QUEUES, queue_name
from local.configuration import PREFIX
from local.folders import ROOT
from tests.catalogue.examples.registry import perform
from tests.catalogue.world import People, World
from tests.conftest import Configure
from tests.faults import tasks
from tests.harness import snapshots
from tests.harness.anchors import anchor, anchored
from tests.harness.api import Api
from tests.harness.calls import Call
from tests.harness.clock import Clock
from tests.harness.data_keys import ALIAS, forget, wrapped
from tests.harness.exports import completed, lines
from tests.harness.invitations import invite
from tests.harness.logs import grow
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import make_key
from tests.harness.receiver import HANG, Receiver, Reply
from tests.harness.webhooks import delivery, hook, rename, shown
from tests.harness.workers import Workers

ACCOUNT = "eu-central-1:123456789012"
TABLE = f"arn:aws:dynamodb:{ACCOUNT}:table/{PREFIX}"
MAIL = f"arn:aws:ses:{ACCOUNT}"
DATA_KEY = f"arn:aws:kms:{ACCOUNT}:key/1f0e4c1a-3c62-4b57-9d0b-6a3a0d6f2a11"
FUNCTIONS = ("api", "events", "deliveries", "deliveries-slow", "jobs", "sweep", "anchor", "migrate")
SEALING = ("api", "deliveries", "deliveries-slow", "jobs")
WRITES = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
FILES = {
    "ListObjectsV2": "ListBucket", "ListMultipartUploads": "ListBucketMultipartUploads", "HeadObject": "GetObject",
    "ListParts": "ListMultipartUploadParts", "CreateMultipartUpload": "PutObject", "UploadPart": "PutObject",
    "CompleteMultipartUpload": "PutObject",
}  # fmt: skip
"""Calls of S3 whose action is called otherwise."""

Need = tuple[str, str]


class WatchedWorkers(Workers):
    """Workers that remember what each handler asked of AWS."""

    def __init__(self, app: Any) -> None:
        super().__init__(app)
        self.made: dict[str, list[Call]] = defaultdict(list)

    def _call(self, handler: str, event: dict[str, Any]) -> Any:
        answer = super()._call(handler, event)
        self.made[handler] += self.calls.made
        return answer


def needs(call: Call) -> Iterator[Need]:
    """Yield the actions and resources that a call has to be allowed, as IAM names them."""
    service, _, name = call.name.partition(":")
    if name == "TransactWriteItems":
        yield from (
            (f"dynamodb:{WRITES[kind]}", TABLE) for action in call.parameters["TransactItems"] for kind in action
        )
    elif service == "dynamodb":
        index = call.parameters.get("IndexName")
        yield call.name, f"{TABLE}/index/{index}" if index else TABLE
    elif service == "sesv2":
        sender = parseaddr(call.parameters["FromEmailAddress"])[1].rpartition("@")[2]
        yield f"ses:{name}", f"{MAIL}:identity/{sender}"
        yield f"ses:{name}", f"{MAIL}:configuration-set/mail"  # asked for too, once an identity has a set of its own
    elif service == "s3":
        bucket = f"arn:aws:s3:::{call.parameters['Bucket']}"
        key = call.parameters.get("Key")
        yield f"s3:{FILES.get(name, name)}", f"{bucket}/{key}" if key else bucket
    elif service == "kms":
        assert call.parameters["EncryptionContext"] == KEY_CONTEXT
        yield call.name, DATA_KEY
    else:
        yield call.name.removesuffix("Batch"), f"arn:aws:sqs:{ACCOUNT}:{call.parameters['QueueUrl'].rpartition('/')[2]}"


def allowed(function: str, need: Need) -> bool:
    """Return whether a function's policy allows an action on a resource."""
    return any(
        need[0] in statement["Action"] and any(fnmatchcase(need[1], resource) for resource in statement["Resource"])
        for statement in statements_of(function)
    )


def statements_of(function: str) -> list[dict[str, Any]]:
    """Return what a function's policy says."""
    policy = json.loads((ROOT / f".chalice/policy-{function}.json").read_text())
    assert all(statement["Effect"] == "Allow" for statement in policy["Statement"])
    return list(policy["Statement"])


def refused(function: str, calls: list[Call]) -> set[Need]:
    """Return what a function needed for these calls, and is not allowed."""
    assert calls, f"{function} asked nothing of AWS"
    return {need for call in calls for need in needs(call) if not allowed(function, need)}


@pytest.fixture(scope="module")
def data_key(_aws_in_memory: None) -> str:
    """A data key that is wrapped, as on a deployed stage."""
    return wrapped()


@pytest.fixture
def world(api: Api, people: People, configure: Configure, data_key: str) -> World:
    """What the examples are about, sealed with that key."""
    from app import app

    configure(data_key=data_key)
    workers = WatchedWorkers(app)
    made = snapshots.once(("world", data_key), lambda: World.made(api, workers, people))
    return replace(made, api=api, workers=workers)


def test_the_api_may_do_what_its_operations_do(world: World) -> None:
    snapshot, calls = snapshots.taken(), list[Call]()
    for operation in operations():
        snapshots.put_back(snapshot)
        once = {"Idempotency-Key": operation.id} if operation.method == "POST" else None
        calls += perform(operation, world, headers=once).calls.made
    calls += world.api.get(world.organization.path, as_=world.api_key).calls.made
    assert refused("api", calls) == set()
    assert "kms:Decrypt" in {call.name for call in calls}


def test_the_workers_may_do_what_they_do_from_the_first_entry_to_the_purge(world: World, clock: Clock) -> None:
    workers = world.workers
    assert isinstance(workers, WatchedWorkers)
    make_key(world.api, world.organization, expiresAt="2099-01-01T00:00:00Z")
    clock.shift(days=366 * 80)
    workers.settle()
    clock.shift(days=-366 * 80)
    world.api.delete(world.organization.path, as_=world.people.owner)
    clock.shift(days=31)
    workers.settle()
    assert world.organization.id not in {item.get("id") for item in snapshots.stored().values()}
    assert {handler: refused(handler, workers.made[handler]) for handler in ("events", "jobs", "sweep")} == {
        "events": set(), "jobs": set(), "sweep": set(),
    }  # fmt: skip


@pytest.mark.usefixtures("mailbox")
@pytest.mark.parametrize("name", tasks.names())
def test_the_workers_may_do_every_task(name: str, world: World, clock: Clock) -> None:
    workers = world.workers
    assert isinstance(workers, WatchedWorkers)
    record = tasks.EXAMPLES[name].given(world)
    clock.shift(**tasks.EXAMPLES[name].later)
    workers.made.clear()
    before = snapshots.stored()
    queues.start(name, record)
    assert len(workers.deliver()) >= 1
    assert snapshots.stored() != before
    assert refused("jobs", workers.made["jobs"]) == set()


def test_the_workers_may_send_mail(world: World, mailbox: Mailbox) -> None:
    workers = world.workers
    assert isinstance(workers, WatchedWorkers)
    invite(world.api, world.organization, "sophie@example.org")
    workers.settle()
    assert len(mailbox.letters) == 1
    assert {handler: refused(handler, workers.made[handler]) for handler in ("events", "jobs")} == {
        "events": set(), "jobs": set(),
    }  # fmt: skip


@pytest.mark.usefixtures("mailbox")
def test_the_workers_may_deliver_to_webhooks_well_slow_and_gone(
    world: World, receiver: Receiver, clock: Clock, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(webhook_allow_private="1")
    monkeypatch.setattr(outgoing, "TOTAL_SECONDS", 0.3)
    workers, made = world.workers, hook(world.api, world.organization, receiver)
    assert isinstance(workers, WatchedWorkers)
    for answer in (Reply(), Reply(status=500), HANG, Reply(), Reply(status=410)):
        receiver.answer = answer
        rename(world.api, world.organization, f"Name {len(receiver.requests)}")
        for _ in range(2):
            forget()
            workers.settle()
            clock.shift(minutes=10)
    assert shown(world.api, made)["status"] == "disabled"
    for handler in ("deliveries", "deliveries_slow"):
        assert "kms:Decrypt" in {call.name for call in workers.made[handler]}
    assert {function: refused(function, workers.made[function.replace("-", "_")]) for function in FUNCTIONS[1:-2]} == {
        function: set() for function in FUNCTIONS[1:-2]
    }


def test_the_workers_may_give_a_delivery_up(
    world: World, receiver: Receiver, clock: Clock, configure: Configure
) -> None:
    configure(webhook_allow_private="1")
    receiver.answer = Reply(status=500)
    workers, made = world.workers, hook(world.api, world.organization, receiver, events=["organization.updated"])
    assert isinstance(workers, WatchedWorkers)
    rename(world.api, world.organization, "Engines")
    for pause in (*RETRY_SECONDS, 0):
        workers.settle()
        clock.shift(seconds=round(pause * (1 + SCATTER)) + 1)
    assert delivery(world.api, made, "organization.updated")["status"] == "failed"
    assert {handler: refused(handler, workers.made[handler]) for handler in ("deliveries", "jobs", "sweep")} == {
        "deliveries": set(), "jobs": set(), "sweep": set(),
    }  # fmt: skip


@pytest.mark.parametrize("function", ["api", "deliveries", "deliveries-slow", "events", "sweep"])
def test_no_other_function_may_send_mail(function: str) -> None:
    assert not allowed(function, ("ses:SendEmail", f"{MAIL}:identity/atrium.example"))


def test_the_workers_may_anchor_and_the_api_may_look_at_what_they_anchored(world: World) -> None:
    workers = world.workers
    assert isinstance(workers, WatchedWorkers)
    workers.settle()
    workers.made.clear()
    for _ in range(2):
        anchor(workers)
        grow(world.api, workers, world.organization)
    anchor(workers)
    assert len(anchored(world.id)) == 3
    assert {handler: refused(handler, workers.made[handler]) for handler in ("anchor", "jobs")} == {
        "anchor": set(), "jobs": set(),
    }  # fmt: skip
    path = f"{world.organization.path}/audit-log/verify-integrity"
    assert refused("api", world.api.get(path, as_=world.people.owner).calls.made) == set()


def test_the_function_that_migrates_may_do_so(workers: Workers) -> None:
    assert [outcome["state"] for outcome in workers.migrate()] == ["applied"]
    assert refused("migrate", workers.calls.made) == set()


def test_the_workers_may_make_exports_and_let_them_go(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = world.workers
    assert isinstance(workers, WatchedWorkers)
    monkeypatch.setattr(making, "KEEP_SECONDS", -1)  # What is not enough for a part is put beside the file.
    monkeypatch.setattr(jobs, "_TURN_SECONDS", -1)
    made = completed(world.api, workers, world.organization)
    assert len(lines(made)) == made["entryCount"]
    files.begin(settings().exports_bucket, f"{world.id}/of-a-worker-that-died", "application/gzip")
    world.api.delete(world.organization.path, as_=world.people.owner)
    clock.shift(days=31)
    workers.settle()
    assert {handler: refused(handler, workers.made[handler]) for handler in ("events", "jobs")} == {
        "events": set(), "jobs": set(),
    }  # fmt: skip
    asked = {call.name for call in workers.made["jobs"]}
    assert {"s3:UploadPart", "s3:AbortMultipartUpload", "s3:GetObject", "s3:DeleteObject"} <= asked


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_address_that_the_api_hands_out_leads_to_an_export_and_no_other_function_makes_one(function: str) -> None:
    export = "arn:aws:s3:::atrium-exports/organization/export/audit-log.ndjson.gz"
    assert allowed(function, ("s3:GetObject", export)) is (function in ("api", "jobs"))
    for action in ("PutObject", "DeleteObject"):
        assert allowed(function, (f"s3:{action}", export)) is (function == "jobs")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("action", ["DeleteObject", "DeleteObjectVersion", "PutObjectRetention", "PutBucketPolicy"])
def test_no_function_may_take_an_anchor_away(function: str, action: str) -> None:
    for resource in ("arn:aws:s3:::atrium-anchors", "arn:aws:s3:::atrium-anchors/log/999999999999"):
        assert not allowed(function, (f"s3:{action}", resource))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_unwrap_the_data_key_or_no_key_and_nothing_else_of_kms(function: str) -> None:
    statements = [found for found in statements_of(function) if any("kms:" in action for action in found["Action"])]
    assert (len(statements) == 1) is (function in SEALING)
    for statement in statements:
        assert statement["Action"] == ["kms:Decrypt"]
        assert statement["Condition"] == {
            "StringEquals": {f"kms:EncryptionContext:{name}": value for name, value in KEY_CONTEXT.items()},
            "ForAnyValue:StringEquals": {"kms:ResourceAliases": ALIAS},
        }


@pytest.mark.parametrize(
    ("function", "queue"),
    [
        ("events", "events.fifo"),
        ("deliveries", "deliveries.fifo"),
        ("deliveries-slow", "deliveries-slow"),
        ("jobs", "jobs"),
    ],
)
def test_a_queue_handler_may_take_its_own_messages_and_no_others(function: str, queue: str) -> None:
    for action in ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"):
        may = {
            name for name in QUEUES if allowed(function, (action, f"arn:aws:sqs:{ACCOUNT}:{queue_name(PREFIX, name)}"))
        }
        assert may == {queue}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_function_may_scan_or_delete_the_table(function: str) -> None:
    assert not any(
        allowed(function, (f"dynamodb:{action}", TABLE)) for action in ("Scan", "DeleteTable", "UpdateTable")
    )
    assert allowed(function, ("logs:PutLogEvents", f"arn:aws:logs:{ACCOUNT}:log-group:/aws/lambda/x:log-stream:y"))
