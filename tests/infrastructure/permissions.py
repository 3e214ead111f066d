"""The IAM permissions that the calls of each function require, and those that its policy grants."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from email.utils import parseaddr
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto.keyrings import KeyPurpose
from chalicelib.kernel.work.dead_letters import dead_letter_queue_name
from infrastructure.names import Stage
from infrastructure.policies import policies
from infrastructure.resources import QUEUES, queue_name
from tests.harness.aws_calls import Call
from tests.harness.mailbox import SENDER
from tests.harness.memory_aws import PREFIX

STAGE: Final = Stage("prod", "123456789012", "eu-central-1")
KEY_ARN: Final = STAGE.arn("kms", "key/1f0e4c1a-3c62-4b57-9d0b-6a3a0d6f2a11")
POLICIES: Final = policies(STAGE, KEY_ARN, SENDER)
TRIGGER_QUEUES: Final = {
    "events": "events.fifo",
    "deliveries": "deliveries.fifo",
    "deliveries_slow": "deliveries-slow",
    "jobs": "jobs",
}
"""The queue that invokes each function."""

WRITE_ACTIONS: Final = {kind: f"{kind}Item" for kind in ("Put", "Update", "Delete", "ConditionCheck")}
"""The IAM action of each kind of item in a DynamoDB transaction."""

ACTIONS_BY_CALL: Final = {
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "s3:ListObjectVersions": "s3:ListBucketVersions",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListParts": "s3:ListMultipartUploadParts",
    **dict.fromkeys(("s3:CreateMultipartUpload", "s3:UploadPart", "s3:CompleteMultipartUpload"), "s3:PutObject"),
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sesv2:GetAccount": "ses:GetAccount",
    "sesv2:GetEmailIdentity": "ses:GetEmailIdentity",
    "sesv2:SendEmail": "ses:SendEmail",
    "lambda:Invoke": "lambda:InvokeFunction",
}
"""Calls whose IAM action has another name (Service Authorization Reference)."""

_CONTEXT_PREFIX: Final = "kms:EncryptionContext:"
_LEADING_KEYS: Final = "dynamodb:LeadingKeys"
_ALL_VALUES_LIKE: Final = "ForAllValues:StringLike"


class Permission(NamedTuple):
    """An action on a resource. `purpose` is that of the secret that the action unwraps."""

    action: str
    resource: str
    purpose: str = ""

    def covers(self, required: "Permission") -> bool:
        """Return whether this permission allows what the required one does."""
        return (self.action, self.purpose) == (required.action, required.purpose) and fnmatchcase(
            required.resource, self.resource
        )


REQUIRED_PERMISSIONS: Final[dict[str, set[Permission]]] = defaultdict(set)
"""What each function has required so far in this process."""


WRITTEN_PARTITION_KEYS: Final[dict[str, set[str]]] = defaultdict(set)
"""The partition keys of the items that each function has written or checked so far in this process."""

CALL_NAMES: Final[set[str]] = set()
"""The names of the calls that functions have made so far in this process, such as `dynamodb:Query`."""


def record_calls(function: str, calls: Iterable[Call]) -> None:
    """Record the calls of a function, and the permissions that they required."""
    CALL_NAMES.update(call.name for call in calls)
    REQUIRED_PERMISSIONS[function] |= {permission for call in calls for permission in required_permissions(call)}
    WRITTEN_PARTITION_KEYS[function] |= {key for call in calls for key in written_partition_keys(call)}


def missing_permissions() -> dict[str, set[Permission | str]]:
    """Return the permissions that functions required without having them, and the keys that they may not write."""
    missing: dict[str, set[Permission | str]] = {}
    for function, required in REQUIRED_PERMISSIONS.items():
        granted = granted_permissions(function)
        missing[function] = {need for need in required if not any(permission.covers(need) for permission in granted)}
        missing[function] |= {key for key in WRITTEN_PARTITION_KEYS[function] if not can_write(function, key)}
    return {function: permissions for function, permissions in missing.items() if permissions}


def writable_key_patterns(function: str, documents: Mapping[str, Any] = POLICIES) -> list[str]:
    """Return the patterns of the partition keys that a function may write to."""
    conditions = [statement.get("Condition", {}) for statement in documents[function]["Statement"]]
    return [
        pattern for condition in conditions for pattern in condition.get(_ALL_VALUES_LIKE, {}).get(_LEADING_KEYS, ())
    ]


def can_write(function: str, partition_key: str, documents: Mapping[str, Any] = POLICIES) -> bool:
    return any(fnmatchcase(partition_key, pattern) for pattern in writable_key_patterns(function, documents))


def written_partition_keys(call: Call) -> Iterator[str]:
    """Yield the partition keys that a call writes to or checks, as IAM sees them in `dynamodb:LeadingKeys`."""
    name = call.name.removeprefix("dynamodb:")
    writes = [write for item in call.parameters.get("TransactItems", ()) for write in item.values()]
    for write in (*writes, *([call.parameters] if name in WRITE_ACTIONS.values() else [])):
        yield (write.get("Key") or write["Item"])["pk"]["S"]


def granted_permissions(function: str, documents: Mapping[str, Any] = POLICIES) -> list[Permission]:
    """Return the permissions of a function's policy, with duplicates."""
    # A function always has a log, whose ARN has the account of the stage.
    log = next(s["Resource"][0] for s in documents[function]["Statement"] if s["Sid"] == "WriteItsLog")
    account = log.split(":")[4]
    return [permission for statement in documents[function]["Statement"] for permission in _expand(statement, account)]


def lambda_service_permissions(function: str) -> set[Permission]:
    """Return the permissions that Lambda itself needs to write a function's log and to poll its queue."""
    stream = STAGE.arn("logs", f"log-group:/aws/lambda/{STAGE.function_name(function)}:log-stream:2026/11/22/[7]0a1b")
    log_permissions = {Permission(f"logs:{action}", stream) for action in ("CreateLogStream", "PutLogEvents")}
    actions = ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage") if function in TRIGGER_QUEUES else ()
    return log_permissions | {Permission(f"sqs:{a}", STAGE.queue_arn(TRIGGER_QUEUES[function])) for a in actions}


def required_permissions(call: Call) -> Iterator[Permission]:
    service, _, name = call.name.partition(":")
    parameters = call.parameters
    match service:
        case "dynamodb":
            yield from _table_permissions(name, parameters)
        case "sesv2":
            domain = parseaddr(parameters["FromEmailAddress"])[1].rpartition("@")[2]
            yield Permission(ACTIONS_BY_CALL[call.name], STAGE.arn("ses", f"identity/{domain}"))
        case "s3":
            purposes = {settings().exports_bucket: "exports", settings().anchors_bucket: "anchors"}
            path = "/".join(filter(None, (STAGE.bucket_name(purposes[parameters["Bucket"]]), parameters.get("Key"))))
            version = "Version" if "VersionId" in parameters else ""  # A version has an action of its own.
            yield Permission(ACTIONS_BY_CALL.get(call.name, call.name) + version, f"arn:aws:s3:::{path}")
        case "sts":
            yield Permission(call.name, parameters["RoleArn"])
        case "sqs":
            queues = (*QUEUES, *map(dead_letter_queue_name, QUEUES))
            (queue,) = [q for q in queues if queue_name(PREFIX, q) == parameters["QueueUrl"].rpartition("/")[2]]
            yield Permission(ACTIONS_BY_CALL.get(call.name, call.name), STAGE.queue_arn(queue))
        case _:
            context = parameters["EncryptionContext"]
            assert (service, context) == ("kms", KeyPurpose(context["purpose"]).kms_encryption_context)
            yield Permission(call.name, KEY_ARN, context["purpose"])


def _table_permissions(name: str, parameters: Mapping[str, Any]) -> Iterator[Permission]:
    writes = [(kind, write) for item in parameters.get("TransactItems", ()) for kind, write in item.items()]
    request_tables = parameters.get("RequestItems", ())
    tables = {*request_tables, *(write["TableName"] for _, write in writes)} or {parameters["TableName"]}
    assert tables == {settings().table_name}
    index = f"/index/{parameters['IndexName']}" if "IndexName" in parameters else ""
    for action in [WRITE_ACTIONS[kind] for kind, _ in writes] or [name]:
        yield Permission(f"dynamodb:{action}", STAGE.table_arn + index)


def _expand(statement: Mapping[str, Any], account: str) -> Iterator[Permission]:
    """Yield a permission for each action, resource and purpose of a statement. Fails on an unknown condition.

    `account`: the account of the stage.
    """
    conditions = dict(statement.get("Condition", {}))
    # `ForAllValues` is also true of a request without keys, so a second condition requires some.
    assert (_ALL_VALUES_LIKE in conditions) == (conditions.pop("Null", {}) == {_LEADING_KEYS: "false"})
    assert conditions.pop(_ALL_VALUES_LIKE, {_LEADING_KEYS: []}).keys() == {_LEADING_KEYS}
    context = dict(conditions.pop("StringEquals", {}))
    excluded = conditions.pop("StringNotEquals", {})
    assert excluded == ({"aws:ResourceAccount": account} if statement["Action"] == ["sts:AssumeRole"] else {})
    assert not conditions
    purposes = context.pop(f"{_CONTEXT_PREFIX}purpose", [""])
    expected_context = {} if "" in purposes else {f"{_CONTEXT_PREFIX}service": "atrium"}
    assert (statement["Effect"], context) == ("Allow", expected_context)
    for action in statement["Action"]:
        for resource in statement["Resource"]:
            yield from (Permission(action, resource, purpose) for purpose in purposes)
