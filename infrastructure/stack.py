"""The template of the stack `atrium-<stage>`: data resources and monitoring, without functions, roles and API."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from infrastructure.alarms import alarms
from infrastructure.cfn import HERE, RETAINED, allow, of, policy, ref, sub, titled
from infrastructure.dashboard import dashboard
from infrastructure.data_stores import Resources, resource_of, stores
from infrastructure.names import NAMES
from infrastructure.queries import QUERIES
from infrastructure.resources import LOG_RETENTION_DAYS, QUEUES, queue_setting

LARGEST_BYTES: Final = 51_200
"""Maximum size of a template that is sent in the request."""

_DKIM_TOKENS: Final = (1, 2, 3)
_PARAMETERS: Final = {
    "Stage": {
        "Type": "String",
        "AllowedPattern": NAMES,
        "Description": "Name of the stage, part of every resource name. Nobody can unlock the anchors of prod.",
    },
    "MailDomain": {
        "Type": "String",
        "Default": "",
        "AllowedPattern": "([a-z0-9-]+\\.)+[a-z]{2,}|",
        "Description": "Sender domain of mail, verified in SES by DKIM. Empty: no identity.",
    },
    "AlarmEmail": {
        "Type": "String",
        "Default": "",
        "AllowedPattern": "[^@ ]+@[^@ ]+\\.[^@ ]+|",
        "Description": "E-mail address for alarms, which must confirm the subscription. Empty: none.",
    },
}


def stack(functions: Iterable[str]) -> dict[str, Any]:
    """Return the template. `functions`: the names of the app's functions."""
    named = [*functions]
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Atrium: data resources and monitoring of a stage.",
        "Parameters": _PARAMETERS,
        "Conditions": {
            "IsProd": {"Fn::Equals": [ref("Stage"), "prod"]},
            "SendsMail": _given("MailDomain"),
            "TellsSomebody": _given("AlarmEmail"),
        },
        "Resources": {
            **stores(),
            **_mail(),
            **_topic(),
            **_logs(named),
            **alarms(named),
            **dashboard(named),
            **_queries(named),
        },
        "Outputs": _outputs(),
    }


def log_of(function: str) -> str:
    """Return the logical id of a function's log group."""
    return f"{titled(function)}Log"


def _given(parameter: str) -> dict[str, Any]:
    return {"Fn::Not": [{"Fn::Equals": [ref(parameter), ""]}]}


def _mail() -> Resources:
    properties = {
        "EmailIdentity": ref("MailDomain"),
        "DkimSigningAttributes": {"NextSigningKeyLength": "RSA_2048_BIT"},
    }
    # Retained, because other senders may use the identity, and new DNS records would be necessary.
    identity = {"Type": "AWS::SES::EmailIdentity", "Condition": "SendsMail", "Properties": properties}
    return {"MailIdentity": identity | RETAINED}


def _topic() -> Resources:
    topic = {"TopicName": sub(f"{HERE.prefix}-alarms"), "KmsMasterKeyId": of("Key", "Arn")}
    publishing = allow(
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
            "Properties": {"Topics": [ref("Alarms")], "PolicyDocument": policy(publishing)},
        },
        "AlarmsByMail": {
            "Type": "AWS::SNS::Subscription",
            "Condition": "TellsSomebody",
            "Properties": subscription,
        },
    }


def _logs(functions: Iterable[str]) -> Resources:
    return {
        name: {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {"LogGroupName": sub(group), "RetentionInDays": LOG_RETENTION_DAYS},
            **RETAINED,
        }
        for name, group in (
            ("AccessLog", HERE.access_log),
            *((log_of(function), HERE.log_group(function)) for function in functions),
        )
    }


def _queries(functions: Iterable[str]) -> Resources:
    groups = [ref(log_of(function)) for function in functions]
    reads = {"functions": groups, "everything": [*groups, ref("AccessLog")]}
    return {
        f"{titled(name)}Query": {
            "Type": "AWS::Logs::QueryDefinition",
            "Properties": {
                "Name": sub(f"{HERE.prefix}/{name}"),  # The console shows the part before the slash as a folder.
                "QueryString": query.text,
                "LogGroupNames": reads[query.log_groups],
            },
        }
        for name, query in QUERIES.items()
    }


def _outputs() -> dict[str, Any]:
    found: dict[str, Any] = {
        "TableName": ref("Table"),
        "TableArn": of("Table", "Arn"),
        "ExportsBucket": ref("ExportsBucket"),
        "AnchorsBucket": ref("AnchorsBucket"),
        "KeyArn": of("Key", "Arn"),
        "AlarmTopicArn": ref("Alarms"),
        "AccessLogArn": of("AccessLog", "Arn"),
    }
    for queue in QUEUES:
        name = resource_of(queue)
        found |= {titled(queue_setting(queue)): ref(name), f"{name}Arn": of(name, "Arn")}
    records: Mapping[str, Any] = {
        f"Dkim{part}{number}": of("MailIdentity", f"DkimDNSToken{part}{number}")
        for number in _DKIM_TOKENS
        for part in ("Name", "Value")
    }
    conditional = {name: {"Condition": "SendsMail", "Value": value} for name, value in records.items()}
    return {name: {"Value": value} for name, value in found.items()} | conditional
