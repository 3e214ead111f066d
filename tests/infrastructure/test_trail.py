"""The trail selects all writers of the table and the anchors but the functions, and its alarm notifies the topic."""

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest
from cfnlint.api import lint

from infrastructure import trail
from infrastructure.account import CommandError
from infrastructure.names import Stage
from infrastructure.policies import GRANTS
from infrastructure.trail import build_template
from tests.infrastructure.simulated_account import PROD, run_account_with_stage

pytestmark = pytest.mark.xdist_group("deploy")

TOPIC = "arn:aws:sns:eu-central-1:123456789012:atrium-prod-alarms"
ROLES = ["atrium-prod-api_handler", "atrium-prod-jobs"]
SESSION = "arn:aws:sts::123456789012:assumed-role"


def selects(selector: dict[str, Any], event: dict[str, str]) -> bool:
    """Return whether CloudTrail records an event: each field has to satisfy all its operators."""
    operators = {
        "Equals": lambda value, patterns: value in patterns,
        "StartsWith": lambda value, patterns: value.startswith(tuple(patterns)),
        "NotStartsWith": lambda value, patterns: not value.startswith(tuple(patterns)),
    }
    return all(
        operators[operator](event[fields["Field"]], patterns)
        for fields in selector["FieldSelectors"]
        for operator, patterns in fields.items()
        if operator != "Field"
    )


def event(**changes: str) -> dict[str, str]:
    table = {"resources.type": "AWS::DynamoDB::Table", "resources.ARN": PROD.table_arn}
    return {
        "eventCategory": "Data",
        "readOnly": "false",
        "userIdentity.arn": f"{SESSION}/admin/eve",
        **table,
        **{name.replace("_", "."): value for name, value in changes.items()},
    }


ANCHOR = {
    "resources_type": "AWS::S3::Object",
    "resources_ARN": f"arn:aws:s3:::{PROD.bucket_name('anchors')}/log/999999999990",
}


@pytest.mark.parametrize(
    ("written", "is_recorded"),
    [
        (event(), True),
        (event(**ANCHOR), True),
        (event(userIdentity_arn="arn:aws:iam::123456789012:user/eve"), True),
        (event(userIdentity_arn=f"{SESSION}/atrium-prod-jobs-of-eve/eve"), True),
        (event(userIdentity_arn=f"{SESSION}/atrium-prod-jobs/atrium-prod-jobs"), False),
        (event(**ANCHOR, userIdentity_arn=f"{SESSION}/atrium-prod-api_handler/atrium-prod"), False),
        (event(readOnly="true"), False),
        (event(resources_ARN=f"{PROD.table_arn}-2"), False),
        (event(**ANCHOR | {"resources_ARN": f"arn:aws:s3:::{PROD.bucket_name('exports')}/file"}), False),
    ],
)
def test_writers_that_are_not_functions_are_recorded(written, is_recorded):
    selectors = build_template(PROD, ROLES, TOPIC)["Resources"]["Trail"]["Properties"]["AdvancedEventSelectors"]
    assert any(selects(selector, written) for selector in selectors) is is_recorded


def test_the_alarm_begins_with_the_first_record_and_notifies_the_topic():
    resources = build_template(PROD, ROLES, TOPIC)["Resources"]
    alarm, metric = (resources[name]["Properties"] for name in ("UnexpectedWriters", "UnexpectedWrites"))
    (transformation,) = metric["MetricTransformations"]
    assert (alarm["Namespace"], alarm["MetricName"]) == (
        transformation["MetricNamespace"],
        transformation["MetricName"],
    )
    assert (alarm["Threshold"], alarm["ComparisonOperator"]) == (0, "GreaterThanThreshold")
    assert alarm["AlarmActions"] == alarm["OKActions"] == [TOPIC]
    assert alarm["AlarmName"] == "atrium-prod-unexpected-writers"


def test_cloudtrail_may_write_the_streams_of_its_log_group():
    resources = build_template(PROD, ROLES, TOPIC)["Resources"]
    (policy,) = resources["TrailRole"]["Properties"]["Policies"]
    (statement,) = policy["PolicyDocument"]["Statement"]
    name = resources["TrailLog"]["Properties"]["LogGroupName"]
    stream = PROD.arn("logs", f"log-group:{name}:log-stream:{PROD.account}_CloudTrail_{PROD.region}_2")
    assert fnmatchcase(stream, statement["Resource"]["Fn::Sub"].replace("${TrailLog}", name))


@pytest.mark.parametrize("stage", [PROD, Stage("dev", "210987654321", "cn-north-1", "aws-cn")])
def test_the_template_passes_cfn_lint(stage):
    assert [str(match) for match in lint(json.dumps(build_template(stage, ROLES, TOPIC)), regions=[PROD.region])] == []


@pytest.fixture
def stage_of_account(tmp_path):
    with run_account_with_stage(tmp_path) as account:
        yield account


def test_the_roles_of_all_functions_are_excluded(stage_of_account, monkeypatch):
    monkeypatch.setattr(trail, "client", stage_of_account.client)
    names = trail._role_names(PROD)  # noqa: SLF001 - moto has no trails with these selectors in its CloudFormation
    assert sorted(names) == sorted(f"atrium-prod-{function}" for function in GRANTS)
    assert "except the 8 roles" in stage_of_account.run_checked("trail", "--stage", "prod")
    (group,) = stage_of_account.client("logs").describe_log_groups(logGroupNamePrefix="/atrium/prod/w")["logGroups"]
    assert group["retentionInDays"] == trail.TRAIL_RETENTION_DAYS
    with pytest.raises(CommandError, match="make deploy STAGE=dev"):
        trail._role_names(Stage("dev", PROD.account, PROD.region))  # noqa: SLF001


def test_a_secondary_stage_has_no_trail_of_its_own(monkeypatch):
    stage = replace(PROD, name="prod-green", primary_stage="prod")
    monkeypatch.setattr("infrastructure.configuration.load_stage_in_current_account", lambda _: stage)
    with pytest.raises(CommandError, match="make trail STAGE=prod SECONDARY=prod-green"):
        trail.create_or_update_trail("prod-green")
