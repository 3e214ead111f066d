"""The command `make trail`: a CloudTrail trail of writers to a stage's data that are not its functions.

Without a trail of data events, CloudTrail records no call that reads or writes an item or a file. The trail selects
writes to the table and to the bucket of anchors, and excludes the roles of the functions. So in normal operation it
records nothing, and costs almost nothing. An alarm begins with the first event.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from infrastructure import cloudformation, configuration
from infrastructure.account import CommandError, client, translate_errors
from infrastructure.cfn import RETAINED, allow_statement, deny_statement, get_att, policy_document, ref, sub
from infrastructure.data_stores import private_bucket
from infrastructure.names import Stage
from infrastructure.policies import GRANTS

TRAIL_RETENTION_DAYS: Final = 365
"""How long the trail's records are kept."""

_ALARM: Final = "unexpected-writers"
_NAMESPACE: Final = "Atrium"
_METRIC: Final = "UnexpectedWrites"


def create_or_update_trail(name: str, secondary: Sequence[str] = ()) -> None:
    """Create or update the trail of a stage. Raises CommandError.

    `secondary`: stages such as `prod-green` that work on the same data. The roles are those of the deployed functions,
    so the command has to be repeated if roles are replaced.
    """
    stage = configuration.load_stage_in_current_account(name)
    if stage.primary_stage:
        raise CommandError(
            f"{name} works on the data of {stage.primary_stage}, which has one trail. Run: make trail"
            f" STAGE={stage.primary_stage} SECONDARY={name}"
        )
    topic = cloudformation.stack_outputs(stage.prefix)["AlarmTopicArn"]
    with translate_errors():
        stages = [stage, *(replace(stage, name=other, primary_stage=stage.data_stage) for other in secondary)]
        roles = [role for each in stages for role in _role_names(each)]
    template = build_template(stage, roles, topic)
    cloudformation.create_or_update_stack(f"{stage.prefix}-trail", json.dumps(template), {})
    print(
        f"The trail {stage.prefix}-writers records all writers to the data of {stage.name},"
        f" except the {len(roles)} roles of its functions."
    )


def build_template(stage: Stage, roles: Iterable[str], topic: str) -> dict[str, Any]:
    """Return the template of the stack. `roles`: names of the roles that may write; `topic`: ARN for the alarm."""
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Atrium: a trail of writers to a stage's data that are not its functions.",
        "Resources": {**_bucket(stage), **_log_group(stage), **_trail(stage, roles), **_alarm(stage, topic)},
    }


def _role_names(stage: Stage) -> list[str]:
    """Return the names of the roles of a stage's functions. CloudFormation chooses other names than Chalice."""
    asked, found = client("lambda"), list[str]()
    for function in GRANTS:
        try:
            role = asked.get_function_configuration(FunctionName=stage.function_name(function))["Role"]
        except asked.exceptions.ResourceNotFoundException:
            raise CommandError(
                f"{stage.name} has no function {stage.function_name(function)}: make deploy STAGE={stage.name}"
            ) from None
        found.append(role.rpartition("/")[2])
    return found


def _selectors(stage: Stage, roles: Iterable[str]) -> list[dict[str, Any]]:
    sessions = [f"arn:{stage.partition}:sts::{stage.account}:assumed-role/{role}/" for role in roles]
    files = f"arn:{stage.partition}:s3:::{stage.bucket_name('anchors')}/"
    return [
        {
            "Name": name,
            "FieldSelectors": [
                {"Field": "eventCategory", "Equals": ["Data"]},
                {"Field": "resources.type", "Equals": [resource_type]},
                {"Field": "resources.ARN", **resource},
                {"Field": "readOnly", "Equals": ["false"]},
                {"Field": "userIdentity.arn", "NotStartsWith": sessions},
            ],
        }
        for name, resource_type, resource in (
            ("Writers of the table", "AWS::DynamoDB::Table", {"Equals": [stage.table_arn]}),
            ("Writers of anchors", "AWS::S3::Object", {"StartsWith": [files]}),
        )
    ]


def _trail_arn(stage: Stage) -> str:
    return stage.arn("cloudtrail", f"trail/{stage.prefix}-writers")


def _log_arn(stage: Stage) -> str:
    # Not the attribute `Arn`, which ends in `:*` and so matches no ARN of a stream.
    return stage.arn("logs", "log-group:${TrailLog}")


def _bucket(stage: Stage) -> dict[str, Any]:
    rule = {"Id": "expired", "Status": "Enabled", "ExpirationInDays": TRAIL_RETENTION_DAYS}
    name = {"BucketName": stage.bucket_name("trail")}  # This template has no parameter for the stage.
    bucket = private_bucket("trail", name | {"LifecycleConfiguration": {"Rules": [rule]}})
    arn = get_att("TrailBucket", "Arn")
    files = sub("${TrailBucket.Arn}/*")
    service, condition = {"Service": "cloudtrail.amazonaws.com"}, {"aws:SourceArn": _trail_arn(stage)}
    statements = [
        deny_statement(["s3:*"], [arn, files], Bool={"aws:SecureTransport": "false"}),
        allow_statement(service, ["s3:GetBucketAcl"], arn, StringEquals=condition),
        allow_statement(
            service, ["s3:PutObject"], files, StringEquals=condition | {"s3:x-amz-acl": "bucket-owner-full-control"}
        ),
    ]
    return {
        "TrailBucket": bucket | RETAINED,
        "TrailBucketPolicy": {
            "Type": "AWS::S3::BucketPolicy",
            "Properties": {"Bucket": ref("TrailBucket"), "PolicyDocument": policy_document(*statements)},
        },
    }


def _log_group(stage: Stage) -> dict[str, Any]:
    service = {"Service": "cloudtrail.amazonaws.com"}
    assuming = {
        "Effect": "Allow",
        "Principal": service,
        "Action": ["sts:AssumeRole"],
        "Condition": {"StringEquals": {"aws:SourceArn": _trail_arn(stage)}},
    }
    writing = {
        "Effect": "Allow",
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
        "Resource": sub(f"{_log_arn(stage)}:log-stream:{stage.account}_CloudTrail_{stage.region}*"),
    }
    return {
        "TrailLog": {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {
                "LogGroupName": f"/atrium/{stage.data_stage}/writers",
                "RetentionInDays": TRAIL_RETENTION_DAYS,
            },
        }
        | RETAINED,
        "TrailRole": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": policy_document(assuming),
                "Policies": [{"PolicyName": "WriteTheLog", "PolicyDocument": policy_document(writing)}],
            },
        },
    }


def _trail(stage: Stage, roles: Iterable[str]) -> dict[str, Any]:
    properties = {
        "TrailName": f"{stage.prefix}-writers",
        "S3BucketName": ref("TrailBucket"),
        "CloudWatchLogsLogGroupArn": get_att("TrailLog", "Arn"),
        "CloudWatchLogsRoleArn": get_att("TrailRole", "Arn"),
        "EnableLogFileValidation": True,
        "IncludeGlobalServiceEvents": False,
        "IsMultiRegionTrail": False,
        "IsLogging": True,
        "AdvancedEventSelectors": _selectors(stage, roles),
    }
    return {"Trail": {"Type": "AWS::CloudTrail::Trail", "DependsOn": "TrailBucketPolicy", "Properties": properties}}


def _alarm(stage: Stage, topic: str) -> dict[str, Any]:
    transformation = {"MetricNamespace": _NAMESPACE, "MetricName": f"{_METRIC}-{stage.data_stage}", "MetricValue": "1"}
    alarm = {
        "AlarmName": f"{stage.prefix}-{_ALARM}",
        "AlarmDescription": "Somebody wrote to the table or to the anchors who is not a function of the stage.",
        "AlarmActions": [topic],
        "OKActions": [topic],
        "Namespace": _NAMESPACE,
        "MetricName": transformation["MetricName"],
        "Statistic": "Sum",
        "Period": 300,
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "notBreaching",
    }
    filtered = {
        "LogGroupName": ref("TrailLog"),
        "FilterPattern": "{ $.eventName = * }",
        "MetricTransformations": [transformation],
    }
    return {
        "UnexpectedWrites": {"Type": "AWS::Logs::MetricFilter", "Properties": filtered},
        "UnexpectedWriters": {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm},
    }
