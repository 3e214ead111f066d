"""The IAM policy of each function: least privilege, with the exact resources of a stage.

A test compares them with all AWS calls of the code. It fails if a permission is missing or unused.
"""

from collections.abc import Mapping, Sequence
from email.utils import parseaddr
from typing import Any, Final, NamedTuple

from chalicelib.features.notifications.log_streams.models.destinations import ROLE_NAME_PREFIX
from chalicelib.kernel.crypto.keyrings import KEY_CONTEXT, KeyPurpose
from chalicelib.kernel.work.dead_letters import dead_letter_queue_name
from infrastructure.names import Stage
from infrastructure.resources import FACETS, INDEX_KEYS, INDEXES, QUEUES


class Grant(NamedTuple):
    """Actions of a service on resources. `why`: the id of the statement.

    `purposes`: purposes of the secrets to decrypt. `prefixes`: prefixes of the items' partition keys.
    `only_other_accounts`: whether resources of the stage's own account are excluded.
    """

    statement_id: str
    actions: Sequence[str]
    resources: Sequence[str]
    purposes: Sequence[KeyPurpose] = ()
    prefixes: Sequence[str] = ()
    only_other_accounts: bool = False


def _read_grant(*actions: str) -> Grant:
    return Grant("ReadRecords", [f"dynamodb:{action}" for action in actions], ["table"])


def _index_grant(*indexes: str) -> Grant:
    return Grant("ReadLists", ["dynamodb:Query"], [f"index {index}" for index in indexes])


def _write_grant(*actions: str, prefixes: Sequence[str]) -> Grant:
    # All actions have the same prefixes, because IAM may check the keys of a whole transaction at once.
    return Grant("WriteRecords", [f"dynamodb:{action}" for action in actions], ["table"], prefixes=prefixes)


def _check_grant(*prefixes: str) -> Grant:
    """Return the permission to require that records are unchanged, for a function that must not write them."""
    return Grant("CheckRecords", ["dynamodb:ConditionCheckItem"], ["table"], prefixes=prefixes)


def _send_grant(*queues: str) -> Grant:
    return Grant("QueueMessages", ["sqs:SendMessage"], [f"queue {queue}" for queue in queues])


def _dead_letters_grant(*actions: str) -> Grant:
    return Grant("HandleDeadLetters", actions, [f"queue {dead_letter_queue_name(queue)}" for queue in QUEUES])


def _decrypt_grant(*purposes: KeyPurpose) -> Grant:
    return Grant("UnwrapSecrets", ["kms:Decrypt"], ["key"], purposes)


def _receive_grant(queue: str) -> Grant:
    """Return the permissions that Lambda needs to invoke a function with messages of a queue."""
    actions = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
    return Grant("TakeMessages", actions, [f"queue {queue}"])


_ASSUME_STREAM_ROLES: Final = Grant("AssumeStreamRoles", ["sts:AssumeRole"], ["stream roles"], only_other_accounts=True)
"""Customers give these roles access to their buckets, and allow the service to assume them."""

_MIGRATED_PREFIXES: Final = ("DATA", "INVITED#", "L#NAMES#", "MIGRATIONS", "O#*#NAMES#", "ORGANIZATIONS")

_SCHEDULED_PREFIXES: Final = (
    "LOG-VERIFICATIONS",
    "N#",
    "O#",
    "P#",
    "Q#",
    "REDRIVES",
    "RJ#",
    "SERVICE-KEY#",
    "V#",
    "W#",
    "WITNESSES",
    "Z#",
)
"""Prefixes of items with a scheduled task."""

_EVENTS_PREFIXES: Final = ("A#", "F#", "N#", "Q#", "QUARANTINE#", "V#")
_API_PREFIXES: Final = (
    "A#",
    "ADDRESS-HASH-KEY",
    "B#",
    "EVENT-TYPE",
    "H#",
    "I#",
    "INVITED#",
    "K#",
    "L#",
    "LOG-VERIFICATIONS",
    "O#",
    "ORGANIZATIONS",
    "P#",
    "Q#",
    "R#",
    "REDRIVES",
    "RJ#",
    "S#",
    "SERVICE-KEY",
    "SUPPRESSED#",
    "U#",
    "USER#",
    "USERINFO#",
    "V#",
    "W#",
    "Y#",
    "Z#",
)
_JOBS_PREFIXES: Final = (
    "A#",
    "B#",
    "F#",
    "H#",
    "INVITED#",
    "K#",
    "LOG-VERIFICATIONS",
    "N#",
    "O#",
    "ORGANIZATIONS",
    "P#",
    "PACE#",
    "Q#",
    "QUARANTINE#",
    "R#",
    "RA#",
    "REDRIVES",
    "RJ#",
    "RL#",
    "RO#",
    "S#",
    "SERVICE-KEY",
    "U#",
    "V#",
    "W#",
    "WITNESSES",
    "Y#mails-",
    "Z#",
)

GRANTS: Final[Mapping[str, Sequence[Grant]]] = {
    "api_handler": (
        _read_grant("BatchGetItem", "GetItem", "Query"),
        _index_grant("due", *INDEXES, *FACETS),
        _write_grant("ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem", prefixes=_API_PREFIXES),
        _send_grant("events.fifo"),
        Grant("SeeThatTheQueuesAnswer", ["sqs:GetQueueAttributes"], [f"queue {queue}" for queue in QUEUES]),
        _dead_letters_grant("sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"),
        Grant("FindTheNewestAnchor", ["s3:ListBucketVersions"], ["bucket anchors"]),
        Grant("ReadAnchors", ["s3:GetObjectVersion"], ["files anchors"]),
        Grant("HandOutExports", ["s3:GetObject"], ["files exports"]),
        _ASSUME_STREAM_ROLES,
        _decrypt_grant(*(purpose for purpose in KeyPurpose if purpose is not KeyPurpose.AUDIT_SIGNING_KEY)),
    ),
    "events": (
        _receive_grant("events.fifo"),
        _read_grant("BatchGetItem", "Query"),
        _index_grant("index1"),
        _write_grant("ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem", prefixes=_EVENTS_PREFIXES),
        _send_grant("jobs", "deliveries.fifo"),
        _decrypt_grant(KeyPurpose.AUDIT_SIGNING_KEY, KeyPurpose.SEAL_KEY, KeyPurpose.ENTRY_KEY),
    ),
    "deliveries": (
        _receive_grant("deliveries.fifo"),
        _read_grant("BatchGetItem", "GetItem", "Query"),
        _write_grant("DeleteItem", "PutItem", "UpdateItem", prefixes=["N#", "O#", "V#", "Y#sends#"]),
        _send_grant("deliveries.fifo", "deliveries-slow", "jobs"),
        _decrypt_grant(KeyPurpose.DATA_KEY),
    ),
    "deliveries_slow": (
        _receive_grant("deliveries-slow"),
        _read_grant("BatchGetItem", "GetItem", "Query"),
        _index_grant("index1"),
        _write_grant("DeleteItem", "PutItem", "UpdateItem", prefixes=["O#", "V#", "Y#sends#"]),
        _send_grant("deliveries.fifo", "deliveries-slow", "jobs"),
        _ASSUME_STREAM_ROLES,
        _decrypt_grant(KeyPurpose.DATA_KEY),
    ),
    "jobs": (
        _receive_grant("jobs"),
        _read_grant("BatchGetItem", "GetItem", "Query"),
        _index_grant(*INDEXES, *FACETS),
        _write_grant("ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem", prefixes=_JOBS_PREFIXES),
        _send_grant(*QUEUES),
        _dead_letters_grant("sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"),
        Grant("SendMail", ["ses:SendEmail"], ["identity"]),
        Grant("KeepAnchors", ["s3:GetObjectVersion", "s3:PutObject"], ["files anchors"]),
        Grant("FindTheNewestAnchor", ["s3:ListBucketVersions"], ["bucket anchors"]),
        Grant(
            "MakeExports",
            [
                "s3:AbortMultipartUpload",
                "s3:DeleteObject",
                "s3:GetObject",
                "s3:ListMultipartUploadParts",
                "s3:PutObject",
            ],
            ["files exports"],
        ),
        Grant("FindWhatExportsLeft", ["s3:ListBucket", "s3:ListBucketMultipartUploads"], ["bucket exports"]),
        _decrypt_grant(*KeyPurpose),
    ),
    "sweep": (
        _index_grant("due"),
        _write_grant("UpdateItem", prefixes=_SCHEDULED_PREFIXES),
        _send_grant("events.fifo", "jobs"),
    ),
    "anchor": (_index_grant("index2"), _send_grant("jobs")),
    "migrate": (
        _read_grant("BatchGetItem", "GetItem", "Query"),
        _index_grant("due", "index1", "index2"),
        Grant("FindTheNewestAnchor", ["s3:ListBucketVersions"], ["bucket anchors"]),
        _write_grant("PutItem", "UpdateItem", prefixes=_MIGRATED_PREFIXES),
        _check_grant("L#", "O#", "P#", "W#"),
    ),
}
"""What each function may do, but for writing its log. Resources have the words of `_arns`.

Entries are committed by `api_handler` and `jobs` alone: but for the ledger no other can use the key that authenticates
them. Heads and erasures are signed in `events` and `jobs`: nobody else can use the key for that.
"""


def mail_domain(sender: str) -> str:
    """Return the domain that the setting MAIL_FROM sends from; empty if it sends none."""
    return parseaddr(sender)[1].rpartition("@")[2].lower()


def policies(stage: Stage, key: str, mail_from: str = "") -> Mapping[str, Any]:
    """Return the policy of each function by name.

    `key`: the ARN of the KMS key that encrypts the stage's secrets. `mail_from`: the setting; empty disables mail.
    """
    arns = _arns(stage, key, mail_domain(mail_from))
    return {function: _policy(arns, stage, function) for function in GRANTS}


def _policy(arns: Mapping[str, str], stage: Stage, function: str) -> dict[str, Any]:
    granted = [grant for grant in GRANTS[function] if all(name in arns for name in grant.resources)]
    # The log group exists before, with a retention period. Lambda chooses the names of its streams.
    log = Grant("WriteItsLog", ["logs:CreateLogStream", "logs:PutLogEvents"], ["log"])
    streams = stage.arn("logs", f"log-group:{stage.log_group_name(function)}:log-stream:*")
    statements = [_statement(grant, {**arns, "log": streams}) for grant in (*granted, log)]
    return {"Version": "2012-10-17", "Statement": statements}


def _statement(grant: Grant, arns: Mapping[str, str]) -> dict[str, Any]:
    resources = [arns[name] for name in grant.resources]
    statement = {"Sid": grant.statement_id, "Effect": "Allow", "Action": [*grant.actions], "Resource": resources}
    if grant.prefixes:
        patterns = [f"{prefix}*" for prefix in grant.prefixes]
        # ForAllValues also matches requests without keys, so require one.
        return statement | {
            "Condition": {
                "ForAllValues:StringLike": {"dynamodb:LeadingKeys": patterns},
                "Null": {"dynamodb:LeadingKeys": "false"},
            }
        }
    if grant.only_other_accounts:
        return statement | {"Condition": {"StringNotEquals": {"aws:ResourceAccount": arns["account"]}}}
    if not grant.purposes:
        return statement
    context = {**KEY_CONTEXT, "purpose": [purpose.value for purpose in grant.purposes]}
    return statement | {
        "Condition": {"StringEquals": {f"kms:EncryptionContext:{name}": value for name, value in context.items()}}
    }


def _arns(stage: Stage, key: str, mail_domain_name: str) -> dict[str, str]:
    buckets = {
        purpose: f"arn:{stage.partition}:s3:::{stage.bucket_name(purpose)}" for purpose in ("exports", "anchors")
    }
    return {
        "table": stage.table_arn,
        **{f"index {index}": f"{stage.table_arn}/index/{index}" for index in INDEX_KEYS},
        **{
            f"queue {name}": stage.queue_arn(name)
            for queue in QUEUES
            for name in (queue, dead_letter_queue_name(queue))
        },
        **{f"bucket {purpose}": arn for purpose, arn in buckets.items()},
        # File names begin with the id of an organization or a log.
        **{f"files {purpose}": f"{arn}/*" for purpose, arn in buckets.items()},
        "key": key,
        "account": stage.account,
        "stream roles": f"arn:{stage.partition}:iam::*:role/{ROLE_NAME_PREFIX}*",
        **({"identity": stage.arn("ses", f"identity/{mail_domain_name}")} if mail_domain_name else {}),
    }
