"""The IAM policies of those who run `make bootstrap`, `make deploy` and `make delete`: `make deployer-policy`.

CloudFormation calls other services in the name of its caller, so these policies contain what its resources need. The
page about deployment lists them (`make generate`). Tests compare them with the calls of the commands, and with the
types of resources in the templates.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from infrastructure.cfn import policy_document
from infrastructure.names import Stage
from infrastructure.template_uploads import TEMPLATES

MAX_POLICY_CHARACTERS: Final = 6_144
"""The maximum length of a managed policy of IAM, without white space."""


class DeployerGrant(NamedTuple):
    """Actions on resources, given as keys of `resource_arns`. `note`: what they are for."""

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    note: str


GRANTS: Final[Mapping[str, tuple[DeployerGrant, ...]]] = {
    "bootstrap": (
        DeployerGrant(
            (
                *("cloudformation:CreateStack", "cloudformation:DescribeStackEvents"),
                *("cloudformation:DescribeStacks", "cloudformation:UpdateStack"),
                "cloudformation:UpdateTerminationProtection",
            ),
            ("stacks",),
            "create and update the stacks",
        ),
        DeployerGrant(
            (
                *("dynamodb:CreateTable", "dynamodb:Describe*", "dynamodb:ListTagsOfResource"),
                *("dynamodb:UpdateContinuousBackups", "dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive"),
            ),
            ("table",),
            "the table",
        ),
        DeployerGrant(
            (
                *("sqs:CreateQueue", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListQueueTags"),
                "sqs:SetQueueAttributes",
            ),
            ("queues",),
            "the queues",
        ),
        DeployerGrant(
            (
                *("s3:CreateBucket", "s3:Get*Configuration", "s3:GetBucket*", "s3:ListBucket", "s3:PutBucket*"),
                *("s3:PutEncryptionConfiguration", "s3:PutLifecycleConfiguration"),
            ),
            ("buckets",),
            "the buckets, but none of their files",
        ),
        DeployerGrant(
            ("s3:DeleteObject", "s3:GetObject", "s3:PutObject"),
            ("templates",),
            "the template of the stack, which CloudFormation reads in your name",
        ),
        DeployerGrant(
            (
                *("kms:CreateKey", "kms:DescribeKey", "kms:EnableKeyRotation", "kms:GetKeyPolicy"),
                *("kms:GetKeyRotationStatus", "kms:ListResourceTags", "kms:PutKeyPolicy", "kms:TagResource"),
                "kms:UpdateKeyDescription",
            ),
            ("any",),
            "the key, whose name does not exist before it",
        ),
        DeployerGrant(("kms:CreateAlias", "kms:UpdateAlias"), ("alias", "keys"), "the alias of the key"),
        DeployerGrant(
            ("kms:Decrypt", "kms:GenerateDataKeyWithoutPlaintext"), ("keys",), "create secrets, and read public keys"
        ),
        DeployerGrant(
            ("ssm:GetParameterHistory", "ssm:GetParameters", "ssm:PutParameter"), ("parameters",), "store secrets"
        ),
        DeployerGrant(
            (
                *("logs:CreateLogGroup", "logs:GetDataProtectionPolicy", "logs:ListTagsForResource"),
                "logs:PutRetentionPolicy",
                *("cloudwatch:DescribeAlarms", "cloudwatch:PutMetricAlarm", "cloudwatch:ListTagsForResource"),
                *("cloudwatch:GetDashboard", "cloudwatch:PutDashboard"),
            ),
            ("log groups", "alarms", "dashboard"),
            "logs, alarms and the dashboard",
        ),
        DeployerGrant(
            (
                *("logs:DeleteQueryDefinition", "logs:DescribeLogGroups", "logs:DescribeQueryDefinitions"),
                *("logs:PutQueryDefinition", "ses:CreateEmailIdentity", "ses:GetAccount"),
                *("ses:GetEmailIdentity", "ses:PutEmailIdentityDkimSigningAttributes"),
            ),
            ("any",),
            "saved queries and the SES identity; IAM does not limit some of these actions to resources",
        ),
        DeployerGrant(
            (
                *("sns:CreateTopic", "sns:GetDataProtectionPolicy", "sns:GetTopicAttributes"),
                "sns:ListSubscriptionsByTopic",
                *("sns:ListTagsForResource", "sns:SetTopicAttributes", "sns:Subscribe", "sns:Unsubscribe"),
            ),
            ("topics",),
            "the topics",
        ),
        DeployerGrant(("sns:GetSubscriptionAttributes",), ("any",), "subscriptions"),
        DeployerGrant(
            ("iam:AttachRolePolicy", "iam:CreateRole", "iam:GetRole", "iam:PassRole"),
            ("gateway role",),
            "once for each account: API Gateway's role for logs",
        ),
        DeployerGrant(
            ("apigateway:GET", "apigateway:PATCH"), ("gateway account",), "let API Gateway use that role for logs"
        ),
    ),
    "bootstrap with safeguards": (
        DeployerGrant(
            (
                *("wafv2:CreateWebACL", "wafv2:DeleteWebACL", "wafv2:DisassociateWebACL", "wafv2:GetWebACL"),
                *("wafv2:ListResourcesForWebACL", "wafv2:ListTagsForResource", "wafv2:UpdateWebACL"),
                "apigateway:SetWebACL",
            ),
            ("web ACL", "API stages"),
            "the rate rule",
        ),
        DeployerGrant(("budgets:ModifyBudget", "budgets:ViewBudget"), ("budget",), "the budget"),
        DeployerGrant(
            (
                *("backup:CreateBackupPlan", "backup:CreateBackupSelection", "backup:CreateBackupVault"),
                *("backup:DeleteBackupPlan", "backup:DeleteBackupSelection", "backup:DescribeBackupVault"),
                *("backup:DescribeRegionSettings", "backup:GetBackupPlan", "backup:GetBackupSelection"),
                *("backup:ListTags", "backup:UpdateBackupPlan", "backup-storage:MountCapsule"),
                *("kms:CreateGrant", "kms:DescribeKey", "kms:GenerateDataKey", "kms:RetireGrant"),
            ),
            ("any",),
            "the plan of backups, whose id does not exist before it; `kms` for the key of its vault",
        ),
        DeployerGrant(
            (
                *("iam:AttachRolePolicy", "iam:CreateRole", "iam:DeleteRole", "iam:DetachRolePolicy"),
                *("iam:GetRole", "iam:ListAttachedRolePolicies", "iam:ListRolePolicies", "iam:PassRole"),
            ),
            ("backup role",),
            "the role of AWS Backup",
        ),
        DeployerGrant(
            ("iam:CreateServiceLinkedRole",),
            ("service role of AWS Backup",),
            "once for each account: the role that AWS Backup creates for itself",
        ),
        DeployerGrant(
            (
                *("events:DeleteRule", "events:DescribeRule", "events:ListTargetsByRule", "events:PutRule"),
                *("events:PutTargets", "events:RemoveTargets"),
            ),
            ("rules",),
            "the notices of failed backups",
        ),
    ),
    "deploy": (
        DeployerGrant(("cloudformation:DescribeStacks",), ("stacks",), "find the web ACL"),
        DeployerGrant(
            ("apigateway:SetWebACL", "wafv2:AssociateWebACL"),
            ("web ACL", "API stages"),
            "associate the web ACL with the API",
        ),
        DeployerGrant(
            (
                *("lambda:AddPermission", "lambda:CreateFunction", "lambda:DeleteFunction"),
                *("lambda:DeleteFunctionConcurrency", "lambda:Get*", "lambda:InvokeFunction", "lambda:ListTags"),
                *("lambda:PutFunction*", "lambda:RemovePermission", "lambda:TagResource", "lambda:UntagResource"),
                *("lambda:UpdateFunctionCode", "lambda:UpdateFunctionConfiguration"),
            ),
            ("functions",),
            "the functions",
        ),
        DeployerGrant(
            (
                *("lambda:CreateEventSourceMapping", "lambda:DeleteEventSourceMapping"),
                *("lambda:GetAccountSettings", "lambda:GetEventSourceMapping"),
                *("lambda:ListEventSourceMappings", "lambda:UpdateEventSourceMapping"),
            ),
            ("any",),
            "event sources, whose ids do not exist before them, and the account's quota",
        ),
        DeployerGrant(
            (
                *("iam:CreateRole", "iam:DeleteRole", "iam:DeleteRolePolicy"),
                *("iam:DetachRolePolicy", "iam:GetRole", "iam:ListAttachedRolePolicies", "iam:ListRolePolicies"),
                *("iam:PassRole", "iam:PutRolePolicy", "iam:UpdateAssumeRolePolicy"),
            ),
            ("function roles",),
            "the roles of the functions",
        ),
        DeployerGrant(
            (
                *("events:DeleteRule", "events:DescribeRule", "events:ListTargetsByRule", "events:PutRule"),
                *("events:PutTargets", "events:RemoveTargets"),
            ),
            ("rules",),
            "the schedules",
        ),
        DeployerGrant(
            ("apigateway:DELETE", "apigateway:GET", "apigateway:PATCH", "apigateway:POST", "apigateway:PUT"),
            ("APIs",),
            "the API, whose id does not exist before it",
        ),
        DeployerGrant(
            ("apigateway:GET", "apigateway:PATCH"), ("gateway account",), "let API Gateway use its role for logs"
        ),
        DeployerGrant(("iam:PassRole",), ("gateway role",), "pass that role to API Gateway"),
        DeployerGrant(
            (
                *("logs:CreateLogDelivery", "logs:DescribeLogGroups", "logs:DescribeResourcePolicies"),
                *("logs:GetLogDelivery", "logs:ListLogDeliveries", "logs:PutResourcePolicy"),
                "logs:UpdateLogDelivery",
            ),
            ("access log",),
            "the API's access log",
        ),
    ),
}
"""The permissions of each command. `make delete` needs those of `deploy`."""


def resource_arns(stage: Stage) -> Mapping[str, tuple[str, ...]]:
    """Return the ARNs of each kind of resource of a stage, with those of its secondary stages."""
    prefix, everywhere = stage.prefix, f"arn:{stage.partition}"
    api = f"{everywhere}:apigateway:{stage.region}::"
    role = f"{everywhere}:iam::{stage.account}:role"
    return {
        "any": ("*",),
        "stacks": (
            stage.arn("cloudformation", f"stack/{prefix}/*"),
            stage.arn("cloudformation", f"stack/{prefix}-*/*"),
        ),
        "table": (f"{stage.table_arn}*",),
        "queues": (stage.arn("sqs", f"{prefix}-*"),),
        "buckets": (f"{everywhere}:s3:::{prefix}-*",),
        "templates": (f"{everywhere}:s3:::{stage.bucket_name(TEMPLATES)}/*",),
        "alias": (stage.arn("kms", stage.key_alias),),
        "keys": (stage.arn("kms", "key/*"),),
        "parameters": (stage.arn("ssm", f"parameter/atrium/{stage.name}/*"),),
        "log groups": (
            stage.arn("logs", f"log-group:/aws/lambda/{prefix}*"),
            stage.arn("logs", f"log-group:/atrium/{stage.name}*"),
        ),
        "alarms": (stage.arn("cloudwatch", f"alarm:{prefix}-*"),),
        "dashboard": (f"{everywhere}:cloudwatch::{stage.account}:dashboard/{prefix}*",),
        "topics": (stage.arn("sns", f"{prefix}-*"),),
        "gateway role": (f"{role}/atrium-gateway-logs",),
        "gateway account": (f"{api}/account",),
        "web ACL": (stage.arn("wafv2", f"regional/webacl/{prefix}/*"),),
        "API stages": (f"{api}/restapis/*/stages/*",),
        "APIs": (f"{api}/restapis", f"{api}/restapis/*", f"{api}/tags/*"),
        "budget": (f"{everywhere}:budgets::{stage.account}:budget/{prefix}",),
        "backup role": (f"{role}/{prefix}-backup-*",),
        "service role of AWS Backup": (f"{role}/aws-service-role/backup.amazonaws.com/*",),
        "rules": (stage.arn("events", f"rule/{prefix}-*"),),
        "functions": (stage.arn("lambda", f"function:{prefix}"), stage.arn("lambda", f"function:{prefix}-*")),
        "function roles": (f"{role}/{prefix}-*",),
        "access log": ("*",),
    }


def deployer_policies(stage: Stage) -> dict[str, dict[str, Any]]:
    """Return the policies of a stage by name, each short enough for IAM."""
    return {
        f"{stage.prefix}-{command.replace(' ', '-')}": policy_document(*_statements(stage, command))
        for command in GRANTS
    }


def render_policies(stage: Stage) -> str:
    """Return the policies as JSON: an object with each policy by its name."""
    return json.dumps(deployer_policies(stage), indent=2)


def _statements(stage: Stage, command: str) -> Iterator[dict[str, Any]]:
    arns = resource_arns(stage)
    for grant in GRANTS[command]:
        resources = [arn for kind in grant.resources for arn in arns[kind]]
        yield {"Effect": "Allow", "Action": sorted(grant.actions), "Resource": resources}
