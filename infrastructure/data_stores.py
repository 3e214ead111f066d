"""The data resources of the stack: table, queues, buckets and the KMS key. They remain if the stack is deleted."""

from typing import Any, Final

from chalicelib.kernel.crypto.keyrings import KEY_CONTEXT
from chalicelib.kernel.work.dead_letters import dead_letter_queue_name
from infrastructure.cfn import (
    RETAINED,
    TEMPLATE_STAGE,
    allow_statement,
    deny_statement,
    get_att,
    logical_id,
    policy_document,
    ref,
    sub,
)
from infrastructure.resources import (
    ANCHOR_LOCK_YEARS,
    DEAD_LETTER_RETENTION_SECONDS,
    EXPORT_RETENTION_DAYS,
    MAX_EXPORT_DAYS,
    MAX_RECEIVES,
    POINT_IN_TIME_RECOVERY_DAYS,
    QUEUES,
    TTL_ATTRIBUTE,
    queue_name,
    table_definition,
)

Resources = dict[str, dict[str, Any]]

_ACCOUNT: Final = {"AWS": sub("arn:${AWS::Partition}:iam::${AWS::AccountId}:root")}
_KEY_ADMIN_ACTIONS: Final = [
    "kms:CancelKeyDeletion",
    "kms:CreateAlias",  # Not `Create*`: a grant of CreateGrant would permit what the key policy does not.
    "kms:Delete*",
    "kms:Describe*",
    "kms:Disable*",
    "kms:Enable*",
    "kms:Get*",
    "kms:List*",
    "kms:Put*",
    "kms:Revoke*",
    "kms:RotateKeyOnDemand",
    "kms:ScheduleKeyDeletion",
    "kms:TagResource",
    "kms:UntagResource",
    "kms:Update*",
]
_PURPOSES: Final = ("exports", "anchors")


def data_resources() -> Resources:
    """Return the data resources by logical id."""
    found = {
        "Table": _table(),
        "Key": _key(),
        **_queues(),
        "ExportsBucket": _exports_bucket(),
        "AnchorsBucket": _anchors_bucket(),
    }
    alias = {"AliasName": sub(TEMPLATE_STAGE.key_alias), "TargetKeyId": ref("Key")}
    return {
        **{name: resource | RETAINED for name, resource in found.items()},
        "KeyAlias": {"Type": "AWS::KMS::Alias", "Properties": alias} | RETAINED,
        **{f"{purpose.title()}BucketPolicy": _bucket_policy(purpose) | RETAINED for purpose in _PURPOSES},
    }


def queue_logical_id(queue: str) -> str:
    """Return the logical id of a queue or dead-letter queue: `EventsDeadQueue`."""
    return logical_id(queue.removesuffix(".fifo")) + "Queue"


def _table() -> dict[str, Any]:
    described = table_definition(TEMPLATE_STAGE.prefix)
    properties = described | {
        "TableName": sub(described["TableName"]),
        "PointInTimeRecoverySpecification": {
            "PointInTimeRecoveryEnabled": True,
            "RecoveryPeriodInDays": POINT_IN_TIME_RECOVERY_DAYS,
        },
        "TimeToLiveSpecification": {"AttributeName": TTL_ATTRIBUTE, "Enabled": True},
        # With DynamoDB's AWS managed key. With the stage's key, every function would need permission to use it.
        # The service encrypts secrets before it stores them.
        "SSESpecification": {"SSEEnabled": True},
        "DeletionProtectionEnabled": True,
    }
    return {"Type": "AWS::DynamoDB::Table", "Properties": properties}


def _queues() -> Resources:
    return {
        name: {"Type": "AWS::SQS::Queue", "Properties": properties | {"SqsManagedSseEnabled": True}}
        for queue, attributes in QUEUES.items()
        for name, properties in (
            (queue_logical_id(queue), _queue(queue, attributes)),
            (queue_logical_id(dead_letter_queue_name(queue)), _dead_letter_queue(queue, attributes)),
        )
    }


def _queue(queue: str, attributes: dict[str, str]) -> dict[str, Any]:
    dead = get_att(queue_logical_id(dead_letter_queue_name(queue)), "Arn")
    return {
        "QueueName": sub(queue_name(TEMPLATE_STAGE.prefix, queue)),
        **{name: _parse_attribute(text) for name, text in attributes.items()},
        "RedrivePolicy": {"deadLetterTargetArn": dead, "maxReceiveCount": MAX_RECEIVES},
    }


def _dead_letter_queue(queue: str, attributes: dict[str, str]) -> dict[str, Any]:
    # By name, because a reference would create a cycle with the redrive policy above.
    source = sub(TEMPLATE_STAGE.queue_arn(queue))
    return {
        "QueueName": sub(queue_name(TEMPLATE_STAGE.prefix, dead_letter_queue_name(queue))),
        **({"FifoQueue": True} if "FifoQueue" in attributes else {}),
        "MessageRetentionPeriod": DEAD_LETTER_RETENTION_SECONDS,
        "RedriveAllowPolicy": {"redrivePermission": "byQueue", "sourceQueueArns": [source]},
    }


def _parse_attribute(text: str) -> bool | int | str:
    return {"true": True, "false": False}.get(text, int(text) if text.isdigit() else text)


def _exports_bucket() -> dict[str, Any]:
    # A fallback: the service itself deletes expired exports. S3 counts from the start of an upload.
    rule = {
        "Id": "expired",
        "Status": "Enabled",
        "ExpirationInDays": MAX_EXPORT_DAYS + EXPORT_RETENTION_DAYS + 1,
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": MAX_EXPORT_DAYS},
    }
    return private_bucket("exports", {"LifecycleConfiguration": {"Rules": [rule]}})


def _anchors_bucket() -> dict[str, Any]:
    retention = {"Mode": {"Fn::If": ["IsProd", "COMPLIANCE", "GOVERNANCE"]}, "Years": ANCHOR_LOCK_YEARS}
    lock = {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": retention}}
    return private_bucket(
        "anchors",
        {
            "ObjectLockEnabled": True,
            "ObjectLockConfiguration": lock,
            "VersioningConfiguration": {"Status": "Enabled"},
        },
    )


def private_bucket(purpose: str, properties_of_purpose: dict[str, Any]) -> dict[str, Any]:
    """Return a bucket without access control lists and public access."""
    closed = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    by_s3 = {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}  # For the same reasons as the table.
    properties = {
        "BucketName": sub(TEMPLATE_STAGE.bucket_name(purpose)),
        "PublicAccessBlockConfiguration": dict.fromkeys(closed, True),
        "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
        "BucketEncryption": {"ServerSideEncryptionConfiguration": [by_s3]},
        **properties_of_purpose,
    }
    return {"Type": "AWS::S3::Bucket", "Properties": properties}


def _bucket_policy(purpose: str) -> dict[str, Any]:
    bucket = f"{purpose.title()}Bucket"
    files = sub(f"${{{bucket}.Arn}}/*")
    statements = [deny_statement(["s3:*"], [get_att(bucket, "Arn"), files], Bool={"aws:SecureTransport": "false"})]
    if purpose == "anchors":  # Object lock retains each version, but a delete marker or a new version would hide it.
        statements.append(deny_statement(["s3:DeleteObject", "s3:DeleteObjectVersion"], files))
        statements.append(deny_statement(["s3:PutObject"], files, Null={"s3:if-none-match": "true"}))
    return {
        "Type": "AWS::S3::BucketPolicy",
        "Properties": {"Bucket": ref(bucket), "PolicyDocument": policy_document(*statements)},
    }


def _key() -> dict[str, Any]:
    context = {f"kms:EncryptionContext:{name}": value for name, value in KEY_CONTEXT.items()}
    using = ["kms:Decrypt", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncrypt*"]
    statements = [
        allow_statement(_ACCOUNT, _KEY_ADMIN_ACTIONS, "*"),
        # The account's IAM policies grant these. No statement allows a call that returns a new key in plaintext.
        allow_statement(_ACCOUNT, using, "*", StringEquals=context),
        # Alarms publish to the encrypted topic, and cannot use the AWS managed key of SNS. The key policy admits only
        # CloudWatch alarms; the topic's policy restricts them to this account, which KMS may not be able to check.
        allow_statement(
            {"Service": "cloudwatch.amazonaws.com"},
            ["kms:Decrypt", "kms:GenerateDataKey*"],
            "*",
            StringNotEquals=context,
        ),
    ]
    properties = {
        "Description": sub("Encrypts the secrets of Atrium, stage ${Stage}"),
        "EnableKeyRotation": True,
        "PendingWindowInDays": 30,
        "KeyPolicy": policy_document(*statements),
    }
    return {"Type": "AWS::KMS::Key", "Properties": properties}
