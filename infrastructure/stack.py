"""The template of the stack `atrium-<stage>`: data resources and monitoring, without functions, roles and API."""

from collections.abc import Iterable
from typing import Any, Final

from infrastructure.alarms import RATE_PARAMETER, alarm_resources
from infrastructure.cfn import RETAINED, TEMPLATE_STAGE, allow_statement, get_att, logical_id, policy_document, ref, sub
from infrastructure.dashboard import dashboard_resource
from infrastructure.data_stores import Resources, data_resources, queue_logical_id
from infrastructure.gateway import DEFAULT_THROTTLE
from infrastructure.names import STAGE_NAME_PATTERN
from infrastructure.queries import QUERIES
from infrastructure.resources import LOG_RETENTION_DAYS, QUEUES, queue_setting

_PARAMETERS: Final = {
    "Stage": {
        "Type": "String",
        "AllowedPattern": STAGE_NAME_PATTERN,
        "Description": "Part of every resource name. Nobody can unlock the anchors of prod.",
    },
    "MailDomain": {
        "Type": "String",
        "Default": "",
        "AllowedPattern": "([a-z0-9-]+\\.)+[a-z]{2,}|",
        "Description": "Domain whose SES identity the stack creates.",
    },
    RATE_PARAMETER: {
        "Type": "Number",
        "Default": DEFAULT_THROTTLE.requests_per_second,
        "MinValue": 1,
        "Description": "Rate that API Gateway admits in this account and region.",
    },
    "SendsMail": {"Type": "String", "Default": "no", "AllowedValues": ["no", "yes"]},
    "AlarmEmail": {
        "Type": "String",
        "Default": "",
        "AllowedPattern": "[^@ ]+@[^@ ]+\\.[^@ ]+|",
        "Description": "Address for alarms, which must confirm. Empty: none.",
    },
}


def build_template(functions: Iterable[str]) -> dict[str, Any]:
    """Return the template. `functions`: the names of the app's functions."""
    named = [*functions]
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Atrium: data resources and monitoring of a stage.",
        "Parameters": _PARAMETERS,
        "Conditions": {
            "IsProd": {"Fn::Equals": [ref("Stage"), "prod"]},
            "HasIdentity": _is_not_empty("MailDomain"),
            # An identity that existed before the stack is not created, but its mail is watched.
            "SendsMail": {"Fn::Equals": [ref("SendsMail"), "yes"]},
            "TellsSomebody": _is_not_empty("AlarmEmail"),
        },
        "Resources": {
            **data_resources(),
            **_mail_identity(),
            **_alarm_topic(),
            **_log_groups(named),
            **alarm_resources(named),
            **dashboard_resource(named),
            **_queries(named),
        },
        "Outputs": _outputs(),
    }


def log_group_logical_id(function: str) -> str:
    """Return the logical id of a function's log group."""
    return f"{logical_id(function)}Log"


def _is_not_empty(parameter: str) -> dict[str, Any]:
    return {"Fn::Not": [{"Fn::Equals": [ref(parameter), ""]}]}


def _mail_identity() -> Resources:
    properties = {
        "EmailIdentity": ref("MailDomain"),
        "DkimSigningAttributes": {"NextSigningKeyLength": "RSA_2048_BIT"},
    }
    # Retained, because other senders may use the identity, and new DNS records would be necessary.
    identity = {"Type": "AWS::SES::EmailIdentity", "Condition": "HasIdentity", "Properties": properties}
    return {"MailIdentity": identity | RETAINED}


def _alarm_topic() -> Resources:
    topic = {"TopicName": sub(f"{TEMPLATE_STAGE.prefix}-alarms"), "KmsMasterKeyId": get_att("Key", "Arn")}
    publishing = allow_statement(
        {"Service": "cloudwatch.amazonaws.com"},
        ["sns:Publish"],
        ref("Alarms"),
        StringEquals={"aws:SourceAccount": ref("AWS::AccountId")},
    )
    subscription = {"TopicArn": ref("Alarms"), "Protocol": "email", "Endpoint": ref("AlarmEmail")}
    return {
        "Alarms": {"Type": "AWS::SNS::Topic", "Properties": topic},
        "AlarmsPolicy": {
            "Type": "AWS::SNS::TopicPolicy",
            "Properties": {"Topics": [ref("Alarms")], "PolicyDocument": policy_document(publishing)},
        },
        "AlarmsByMail": {
            "Type": "AWS::SNS::Subscription",
            "Condition": "TellsSomebody",
            "Properties": subscription,
        },
    }


def _log_groups(functions: Iterable[str]) -> Resources:
    return {
        name: {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {"LogGroupName": sub(group), "RetentionInDays": LOG_RETENTION_DAYS},
            **RETAINED,
        }
        for name, group in (
            ("AccessLog", TEMPLATE_STAGE.access_log_group),
            *((log_group_logical_id(function), TEMPLATE_STAGE.log_group_name(function)) for function in functions),
        )
    }


def _queries(functions: Iterable[str]) -> Resources:
    groups = [ref(log_group_logical_id(function)) for function in functions]
    reads = {"functions": groups, "everything": [*groups, ref("AccessLog")]}
    return {
        f"{logical_id(name)}Query": {
            "Type": "AWS::Logs::QueryDefinition",
            "Properties": {
                "Name": sub(
                    f"{TEMPLATE_STAGE.prefix}/{name}"
                ),  # The console shows the part before the slash as a folder.
                "QueryString": query.text,
                "LogGroupNames": reads[query.log_groups],
            },
        }
        for name, query in QUERIES.items()
    }


def _outputs() -> dict[str, Any]:
    found: dict[str, Any] = {
        "TableName": ref("Table"),
        "TableArn": get_att("Table", "Arn"),
        "ExportsBucket": ref("ExportsBucket"),
        "AnchorsBucket": ref("AnchorsBucket"),
        "KeyArn": get_att("Key", "Arn"),
        "AlarmTopicArn": ref("Alarms"),
        "AccessLogArn": get_att("AccessLog", "Arn"),
    }
    for queue in QUEUES:
        name = queue_logical_id(queue)
        found |= {logical_id(queue_setting(queue)): ref(name), f"{name}Arn": get_att(name, "Arn")}
    return {name: {"Value": value} for name, value in found.items()}
