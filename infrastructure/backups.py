"""Daily backups by AWS Backup, and their copies in a vault of another account or region.

The exports are not backed up: they expire, and can be made again from the log.
"""

from typing import Any, Final

from infrastructure.cfn import RETAINED, TEMPLATE_STAGE, get_att, policy_document, ref, sub
from infrastructure.data_stores import Resources

COPY_RETENTION_DAYS: Final = 35
"""How long a copy in the other vault is kept. A vault lock has to allow this retention."""

BACKUP_RETENTION_DAYS: Final = 7
"""How long a backup is kept in the stage's own vault. Point-in-time recovery reaches back further."""

_SCHEDULE: Final = "cron(0 3 * * ? *)"
"""Daily at 03:00 UTC."""

_START_MINUTES: Final = 60
_COMPLETION_MINUTES: Final = 24 * 60
_MANAGED_POLICIES: Final = (
    "service-role/AWSBackupServiceRolePolicyForBackup",
    "AWSBackupServiceRolePolicyForS3Backup",
)
_FAILED_STATES: Final = ["FAILED", "EXPIRED", "ABORTED", "PARTIAL"]


def backup_resources(condition: str) -> Resources:
    """Return the vault, and the plan, role and notices, which exist on a condition.

    The vault always exists, because a vault with backups cannot be deleted, and a retained one not be created again.
    An empty vault is free of charge. Parameters name the vault of the copies.
    """
    vault = {"Type": "AWS::Backup::BackupVault", "Properties": {"BackupVaultName": sub(TEMPLATE_STAGE.prefix)}}
    conditional: Resources = {
        "BackupPlan": {"Type": "AWS::Backup::BackupPlan", "Properties": {"BackupPlan": _plan()}},
        "BackupRole": {"Type": "AWS::IAM::Role", "Properties": _role()},
        "BackupSelection": {
            "Type": "AWS::Backup::BackupSelection",
            "Properties": {"BackupPlanId": ref("BackupPlan"), "BackupSelection": _selection()},
        },
        "BackupFailed": _failure_rule("Backup Job State Change", {"backupVaultName": [ref("BackupVault")]}),
        "CopyFailed": _failure_rule(
            "Copy Job State Change", {"sourceBackupVaultArn": [get_att("BackupVault", "BackupVaultArn")]}
        ),
    }
    return {
        "BackupVault": vault | RETAINED,
        **{name: resource | {"Condition": condition} for name, resource in conditional.items()},
    }


def _plan() -> dict[str, Any]:
    copy = {
        "DestinationBackupVaultArn": ref("CopyVaultArn"),
        "Lifecycle": {"DeleteAfterDays": COPY_RETENTION_DAYS},
    }
    rule = {
        "RuleName": "daily",
        "TargetBackupVault": ref("BackupVault"),
        "ScheduleExpression": _SCHEDULE,
        "StartWindowMinutes": _START_MINUTES,
        "CompletionWindowMinutes": _COMPLETION_MINUTES,
        "Lifecycle": {"DeleteAfterDays": BACKUP_RETENTION_DAYS},
        "CopyActions": [copy],
    }
    return {"BackupPlanName": sub(TEMPLATE_STAGE.prefix), "BackupPlanRule": [rule]}


def _role() -> dict[str, Any]:
    backup = {"Service": "backup.amazonaws.com"}
    trust = {
        "Effect": "Allow",
        "Principal": backup,
        "Action": ["sts:AssumeRole"],
        "Condition": {"StringEquals": {"aws:SourceAccount": ref("AWS::AccountId")}},
    }
    return {
        "RoleName": sub(f"{TEMPLATE_STAGE.prefix}-backup-${{AWS::Region}}"),
        "AssumeRolePolicyDocument": policy_document(trust),
        "ManagedPolicyArns": [sub(f"arn:${{AWS::Partition}}:iam::aws:policy/{name}") for name in _MANAGED_POLICIES],
    }


def _selection() -> dict[str, Any]:
    return {
        "SelectionName": "data",
        "IamRoleArn": get_att("BackupRole", "Arn"),
        "Resources": [ref("TableArn"), ref("AnchorsBucketArn")],
    }


def _failure_rule(kind: str, source: dict[str, Any]) -> dict[str, Any]:
    pattern = {"source": ["aws.backup"], "detail-type": [kind], "detail": {"state": _FAILED_STATES, **source}}
    target = {"Id": "notices", "Arn": ref("Notices")}
    return {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": pattern, "Targets": [target]}}
