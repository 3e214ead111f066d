"""The template of the optional stack `atrium-<stage>-safeguards`: WAF's rate rule, a budget and backup copies.

Each is created only if its parameter is set. The stack is separate, because most stages have none of these.
"""

from typing import Any, Final

from infrastructure.backups import backup_resources
from infrastructure.budget import budget_resources
from infrastructure.cfn import TEMPLATE_STAGE, allow_statement, get_att, policy_document, ref, sub
from infrastructure.data_stores import Resources
from infrastructure.web_firewall import web_firewall_resources

UNSET: Final = {"RequestLimit": "0", "MonthlyBudget": "0", "CopyVaultArn": ""}
"""The parameters that select a safeguard, with the value without it."""

VAULT_ARN_PATTERN: Final = r"arn:aws[a-z-]*:backup:[a-z0-9-]+:[0-9]{12}:backup-vault:[A-Za-z0-9_-]{2,50}"
"""Pattern of the ARN of a backup vault."""

_CONDITIONS: Final = {
    "LimitsAddresses": "RequestLimit",
    "HasBudget": "MonthlyBudget",
    "CopiesBackups": "CopyVaultArn",
}
_PARAMETERS: Final = {
    "Stage": {"Type": "String", "AllowedPattern": "dev|prod", "Description": "Name of the stage."},
    "AlarmEmail": {
        "Type": "String",
        "Default": "",
        "Description": "E-mail address for notices, which must confirm the subscription. Empty: none.",
    },
    "RequestLimit": {
        "Type": "Number",
        "Default": UNSET["RequestLimit"],
        "Description": "Requests of an address in 5 minutes, above which WAF refuses more. 0: no web ACL.",
    },
    "EdgeSecret": {
        "Type": "String",
        "NoEcho": True,
        "Default": "",
        "Description": "The secret of the edge, which is not limited. Empty without a limit.",
    },
    "FormerEdgeSecret": {
        "Type": "String",
        "NoEcho": True,
        "Default": "",
        "Description": "Another secret of the edge, or the same. Empty without a limit.",
    },
    "MonthlyBudget": {
        "Type": "Number",
        "Default": UNSET["MonthlyBudget"],
        "Description": "Monthly budget of the account in US dollars. 0: none.",
    },
    "CopyVaultArn": {
        "Type": "String",
        "Default": UNSET["CopyVaultArn"],
        "AllowedPattern": f"({VAULT_ARN_PATTERN})?",
        "Description": "The vault that receives a copy of each backup. Empty: no backups.",
    },
    "TableArn": {"Type": "String", "Description": "The table to back up."},
    "AnchorsBucketArn": {"Type": "String", "Description": "The bucket of anchors to back up."},
}


def build_template() -> dict[str, Any]:
    """Return the template."""
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Atrium: a rate rule per address, a budget and copies of backups of a stage.",
        "Parameters": _PARAMETERS,
        "Conditions": {
            **{
                condition: {"Fn::Not": [{"Fn::Equals": [ref(parameter), UNSET[parameter]]}]}
                for condition, parameter in _CONDITIONS.items()
            },
            "TellsSomebody": {"Fn::Not": [{"Fn::Equals": [ref("AlarmEmail"), ""]}]},
        },
        "Resources": {
            **_notices(),
            **web_firewall_resources("LimitsAddresses"),
            **budget_resources("HasBudget"),
            **backup_resources("CopiesBackups"),
        },
        "Outputs": {"WebAclArn": {"Condition": "LimitsAddresses", "Value": get_att("WebAcl", "Arn")}},
    }


def _notices() -> Resources:
    # Not encrypted with the stage's key, which these services may not use. The notices contain amounts and job ids.
    publishing = [
        allow_statement(
            {"Service": service},
            ["sns:Publish"],
            ref("Notices"),
            **({"StringEquals": {"aws:SourceAccount": ref("AWS::AccountId")}} if service.startswith("budgets") else {}),
        )
        for service in ("budgets.amazonaws.com", "events.amazonaws.com")
    ]
    return {
        "Notices": {
            "Type": "AWS::SNS::Topic",
            "Properties": {"TopicName": sub(f"{TEMPLATE_STAGE.prefix}-safeguards")},
        },
        "NoticesPolicy": {
            "Type": "AWS::SNS::TopicPolicy",
            "Properties": {"Topics": [ref("Notices")], "PolicyDocument": policy_document(*publishing)},
        },
        "NoticesByMail": {
            "Type": "AWS::SNS::Subscription",
            "Condition": "TellsSomebody",
            "Properties": {"TopicArn": ref("Notices"), "Protocol": "email", "Endpoint": ref("AlarmEmail")},
        },
    }
