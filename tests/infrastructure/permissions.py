"""What the functions ask of AWS, as IAM names it, and what their policies allow, permission by permission."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from email.utils import parseaddr
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.crypto.keyrings import KeyPurpose
from infrastructure.names import Stage
from infrastructure.policies import policies
from infrastructure.resources import QUEUES, queue_name
from tests.harness.aws_calls import Call
from tests.harness.mailbox import SENDER
from tests.harness.memory_aws import PREFIX

STAGE: Final = Stage("prod", "123456789012", "eu-central-1")
KEY: Final = STAGE.arn("kms", "key/1f0e4c1a-3c62-4b57-9d0b-6a3a0d6f2a11")
POLICIES: Final = policies(STAGE, KEY, SENDER)
TAKES_FROM: Final = {
    "events": "events.fifo",
    "deliveries": "deliveries.fifo",
    "deliveries_slow": "deliveries-slow",
    "jobs": "jobs",
}
"""The queue that calls a function."""

WRITES: Final = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
ACTIONS: Final = {
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListParts": "s3:ListMultipartUploadParts",
    "s3:CreateMultipartUpload": "s3:PutObject",
    "s3:UploadPart": "s3:PutObject",
    "s3:CompleteMultipartUpload": "s3:PutObject",
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sesv2:SendEmail": "ses:SendEmail",
}
"""Calls whose action is called otherwise (Service Authorization Reference)."""

_CONTEXT: Final = "kms:EncryptionContext:"
_LEADING: Final = "dynamodb:LeadingKeys"
_EVERY: Final = "ForAllValues:StringLike"


class Permission(NamedTuple):
    """An action on a resource; `purpose` is that of the secret that may be, or has to be, unwrapped."""

    action: str
    resource: str
    purpose: str = ""

    def covers(self, need: "Permission") -> bool:
        """Return whether whoever has this may do what is needed."""
        return (self.action, self.purpose) == (need.action, need.purpose) and fnmatchcase(need.resource, self.resource)


ASKED: Final[dict[str, set[Permission]]] = defaultdict(set)
"""What each function has needed so far in this process."""


WROTE: Final[dict[str, set[str]]] = defaultdict(set)
"""The partition keys of what each function has written or checked so far in this process."""

MADE: Final[set[str]] = set()
"""The calls that functions have made so far in this process: `dynamodb:Query` …"""


def note(function: str, calls: Iterable[Call]) -> None:
    """Keep the calls that a function made, and what it needed for them."""
    MADE.update(call.name for call in calls)
    ASKED[function] |= {need for call in calls for need in needs(call)}
    WROTE[function] |= {key for call in calls for key in written(call)}


def refused() -> dict[str, set[Permission | str]]:
    """Return what functions have needed so far and are not allowed, and the keys that they wrote to and may not."""
    found: dict[str, set[Permission | str]] = {}
    for function, asked in ASKED.items():
        allowed = permissions(function)
        found[function] = {need for need in asked if not any(permission.covers(need) for permission in allowed)}
        found[function] |= {key for key in WROTE[function] if not may_write(function, key)}
    return {function: needed for function, needed in found.items() if needed}


def leading_keys(function: str, documents: Mapping[str, Any] = POLICIES) -> list[str]:
    """Return the patterns of the partition keys that a function may write to."""
    conditions = [statement.get("Condition", {}) for statement in documents[function]["Statement"]]
    return [pattern for condition in conditions for pattern in condition.get(_EVERY, {}).get(_LEADING, ())]


def may_write(function: str, key: str, documents: Mapping[str, Any] = POLICIES) -> bool:
    """Return whether a function may write to a partition."""
    return any(fnmatchcase(key, pattern) for pattern in leading_keys(function, documents))


def written(call: Call) -> Iterator[str]:
    """Yield the partition keys that a call writes to or checks, as IAM sees them in `dynamodb:LeadingKeys`."""
    name = call.name.removeprefix("dynamodb:")
    alone = [call.parameters] if name in WRITES.values() else []
    given = [each for action in call.parameters.get("TransactItems", ()) for each in action.values()]
    for one in (*alone, *given):
        yield (one.get("Key") or one["Item"])["pk"]["S"]


def permissions(function: str, documents: Mapping[str, Any] = POLICIES) -> list[Permission]:
    """Return all that a function's policy allows, as often as it does so."""
    return [permission for statement in documents[function]["Statement"] for permission in _allowed(statement)]


def by_lambda(function: str) -> set[Permission]:
    """Return what Lambda itself asks for in the name of a function: to write its log and to take from its queue."""
    stream = STAGE.arn("logs", f"log-group:/aws/lambda/{STAGE.function(function)}:log-stream:2026/11/22/[7]0a1b")
    written = {Permission(f"logs:{action}", stream) for action in ("CreateLogStream", "PutLogEvents")}
    taken = ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage") if function in TAKES_FROM else ()
    return written | {Permission(f"sqs:{action}", STAGE.queue_arn(TAKES_FROM[function])) for action in taken}


def needs(call: Call) -> Iterator[Permission]:
    """Yield what a call has to be allowed on the stage where it would be made."""
    service, _, name = call.name.partition(":")
    asked = call.parameters
    match service:
        case "dynamodb":
            yield from _of_table(name, asked)
        case "sesv2":
            domain = parseaddr(asked["FromEmailAddress"])[1].rpartition("@")[2]
            yield Permission(ACTIONS[call.name], STAGE.arn("ses", f"identity/{domain}"))
        case "s3":
            purpose = {settings().exports_bucket: "exports", settings().anchors_bucket: "anchors"}[asked["Bucket"]]
            where = "/".join(filter(None, (STAGE.bucket(purpose), asked.get("Key"))))
            yield Permission(ACTIONS.get(call.name, call.name), f"arn:aws:s3:::{where}")
        case "sqs":
            (queue,) = [q for q in QUEUES if queue_name(PREFIX, q) == asked["QueueUrl"].rpartition("/")[2]]
            yield Permission(ACTIONS.get(call.name, call.name), STAGE.queue_arn(queue))
        case _:
            context = asked["EncryptionContext"]
            assert (service, context) == ("kms", KeyPurpose(context["purpose"]).context)
            yield Permission(call.name, KEY, context["purpose"])


def _of_table(name: str, asked: Mapping[str, Any]) -> Iterator[Permission]:
    kinds = [(kind, given) for action in asked.get("TransactItems", ()) for kind, given in action.items()]
    tables = {*asked.get("RequestItems", ()), *(given["TableName"] for _, given in kinds)} or {asked["TableName"]}
    assert tables == {settings().table_name}
    index = f"/index/{asked['IndexName']}" if "IndexName" in asked else ""
    for action in [WRITES[kind] for kind, _ in kinds] or [name]:
        yield Permission(f"dynamodb:{action}", STAGE.table_arn + index)


def _allowed(statement: Mapping[str, Any]) -> Iterator[Permission]:
    whole = dict(statement.get("Condition", {}))
    # A request without keys would pass for all values: a second condition asks for some.
    assert (_EVERY in whole) == (whole.pop("Null", {}) == {_LEADING: "false"})
    assert whole.pop(_EVERY, {_LEADING: []}).keys() == {_LEADING}
    condition = dict(whole.pop("StringEquals", {}))
    assert not whole
    purposes = condition.pop(f"{_CONTEXT}purpose", [""])
    assert (statement["Effect"], condition) == ("Allow", {} if "" in purposes else {f"{_CONTEXT}service": "atrium"})
    for action in statement["Action"]:
        for resource in statement["Resource"]:
            yield from (Permission(action, resource, purpose) for purpose in purposes)
