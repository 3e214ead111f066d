"""The stack of a stage is what the code declares, and is kept where a mistake would take data away."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from cfnlint.api import lint

from app import app
from chalicelib.features.audit.exports.tasks import RETENTION_DAYS
from chalicelib.kernel.core.aws import client
from infrastructure.alarms import known_alarms
from infrastructure.dashboard import KINDS, known_graphs
from infrastructure.deployed_functions import functions
from infrastructure.names import Stage
from infrastructure.policies import GRANTS
from infrastructure.queries import QUERIES
from infrastructure.resources import (
    EXPORT_RETENTION_DAYS,
    EXPORTS_MADE_WITHIN_DAYS,
    INDEX_KEYS,
    QUEUES,
    dead_letter_queue,
    queue_name,
)
from infrastructure.stack import LARGEST_BYTES
from local.paths import ROOT
from local.server.configuration import PREFIX

ACCOUNT, REGION = "123456789012", "us-east-1"
DEV = Stage("dev", ACCOUNT, REGION)
TEXT = (ROOT / "infrastructure/stack.json").read_text()
TEMPLATE: dict[str, Any] = json.loads(TEXT)
FUNCTIONS = functions(app)
KEPT = ("DynamoDB::Table", "SQS::Queue", "S3::Bucket", "S3::BucketPolicy", "KMS::Key", "KMS::Alias", "Logs::LogGroup")
MADE_BY_MOTO = ("DynamoDB::Table", "SQS::Queue", "S3::Bucket", "KMS::Key", "KMS::Alias", "SNS::Topic", "Logs::LogGroup")


def made_by_moto() -> str:
    kinds = [f"AWS::{kind}" for kind in MADE_BY_MOTO]
    return json.dumps(
        TEMPLATE
        | {
            "Resources": {name: r for name, r in TEMPLATE["Resources"].items() if r["Type"] in kinds},
            "Outputs": {name: o for name, o in TEMPLATE["Outputs"].items() if "Condition" not in o},
        }
    )


def of_type(kind: str) -> Mapping[str, Any]:
    return {name: r["Properties"] for name, r in TEMPLATE["Resources"].items() if r["Type"] == f"AWS::{kind}"}


def filled(value: Any) -> Any:
    """Return a part of the template as CloudFormation fills in the names of the stage dev."""
    if isinstance(value, list):
        return [filled(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value == {"Ref": "Stage"}:
        return "dev"
    if "Fn::Sub" not in value:
        return {name: filled(each) for name, each in value.items()}
    known = {"Stage": "dev", "AWS::AccountId": ACCOUNT, "AWS::Region": REGION, "AWS::Partition": "aws"}
    return re.sub(r"\$\{([^}]+)\}", lambda found: known.get(found[1], found[0]), value["Fn::Sub"])


MADE: Any = {"TemplateBody": made_by_moto(), "Parameters": [{"ParameterKey": "Stage", "ParameterValue": "dev"}]}


@pytest.fixture(scope="module")
def stack(_aws_in_memory: None) -> Iterator[Any]:
    """The stack of the stage dev, made in memory, and what CloudFormation says of it."""
    client("cloudformation").create_stack(StackName=DEV.prefix, **MADE)
    yield client("cloudformation").describe_stack_resources(StackName=DEV.prefix)["StackResources"]
    for purpose in ("exports", "anchors"):
        client("s3").delete_bucket(Bucket=DEV.bucket(purpose))
    for url in client("sqs").list_queues(QueueNamePrefix=DEV.prefix)["QueueUrls"]:
        client("sqs").delete_queue(QueueUrl=url)
    client("dynamodb").update_table(TableName=DEV.table, DeletionProtectionEnabled=False)
    client("dynamodb").delete_table(TableName=DEV.table)


def test_cloudformation_takes_the_template_with_the_request_and_cfn_lint_has_nothing_against_it() -> None:
    assert len(json.dumps(TEMPLATE, separators=(",", ":"))) < LARGEST_BYTES
    assert [str(match) for match in lint(TEXT)] == []


@pytest.mark.usefixtures("stack")
def test_the_table_is_the_one_that_a_run_on_this_machine_has() -> None:
    made = client("dynamodb").describe_table(TableName=DEV.table)["Table"]
    local = client("dynamodb").describe_table(TableName=PREFIX)["Table"]
    for word in ("KeySchema", "BillingModeSummary"):
        assert made[word] == local[word]
    assert attributes(made) == attributes(local)
    assert indexes(made) == indexes(local)
    (properties,) = of_type("DynamoDB::Table").values()
    local_ttl = client("dynamodb").describe_time_to_live(TableName=PREFIX)["TimeToLiveDescription"]
    assert properties["TimeToLiveSpecification"] == {"Enabled": True, "AttributeName": local_ttl["AttributeName"]}
    assert properties["PointInTimeRecoverySpecification"] == {
        "PointInTimeRecoveryEnabled": True,
        "RecoveryPeriodInDays": 35,
    }
    assert properties["DeletionProtectionEnabled"] is properties["SSESpecification"]["SSEEnabled"] is True


def attributes(described: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(a["AttributeName"], a["AttributeType"]) for a in described["AttributeDefinitions"]}


def indexes(described: Mapping[str, Any]) -> dict[str, Any]:
    return {i["IndexName"]: (i["KeySchema"], i["Projection"]) for i in described["GlobalSecondaryIndexes"]}


@pytest.mark.usefixtures("stack")
@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_is_the_one_that_a_run_on_this_machine_has(queue: str) -> None:
    for name in (queue, dead_letter_queue(queue)):
        made = attributes_of(queue_name(DEV.prefix, name))
        assert made == attributes_of(queue_name(PREFIX, name))
        assert ("RedrivePolicy" in made) is (name == queue)
    (dead,) = [
        p
        for p in of_type("SQS::Queue").values()
        if filled(p["QueueName"]) == queue_name(DEV.prefix, dead_letter_queue(queue))
    ]
    allowed = {"redrivePermission": "byQueue", "sourceQueueArns": [DEV.queue_arn(queue)]}
    assert filled(dead["RedriveAllowPolicy"]) == allowed
    assert dead["MessageRetentionPeriod"] == 14 * 24 * 3600
    assert all(p["SqsManagedSseEnabled"] for p in of_type("SQS::Queue").values())


def attributes_of(queue: str) -> dict[str, str]:
    sqs = client("sqs")
    found = sqs.get_queue_attributes(QueueUrl=sqs.get_queue_url(QueueName=queue)["QueueUrl"], AttributeNames=["All"])
    own = ("QueueArn", "CreatedTimestamp", "LastModifiedTimestamp", "RedriveAllowPolicy")
    said = {n: text for n, text in found["Attributes"].items() if n not in own and not n.startswith("Approximate")}
    return {name: text.replace(DEV.prefix, PREFIX) for name, text in said.items()}


def test_an_update_replaces_nothing_and_a_deleted_stack_leaves_what_holds_data(stack: list[Any]) -> None:
    cloudformation = client("cloudformation")
    cloudformation.update_stack(StackName=DEV.prefix, **MADE)
    made = cloudformation.describe_stack_resources(StackName=DEV.prefix)["StackResources"]
    held = {resource["PhysicalResourceId"] for resource in stack}
    assert held == {resource["PhysicalResourceId"] for resource in made}
    cloudformation.delete_stack(StackName=DEV.prefix)
    buckets = {bucket["Name"] for bucket in client("s3").list_buckets()["Buckets"]}
    assert {DEV.bucket("exports"), DEV.bucket("anchors")} <= held & buckets
    assert DEV.table in client("dynamodb").list_tables()["TableNames"]
    queues = {url.rpartition("/")[2] for url in client("sqs").list_queues(QueueNamePrefix=DEV.prefix)["QueueUrls"]}
    assert queues == {queue_name(DEV.prefix, name) for queue in QUEUES for name in (queue, dead_letter_queue(queue))}
    assert DEV.key_alias in {alias["AliasName"] for alias in client("kms").list_aliases()["Aliases"]}
    assert len(client("logs").describe_log_groups()["logGroups"]) == len(FUNCTIONS) + 1


def test_what_holds_data_is_kept_by_a_deleted_or_replaced_stack() -> None:
    for resource in TEMPLATE["Resources"].values():
        if resource["Type"].removeprefix("AWS::") in KEPT:
            assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"


def test_everything_has_the_name_that_the_stage_gives_it() -> None:
    names = {filled(p["TableName"]) for p in of_type("DynamoDB::Table").values()}
    names |= {filled(p["BucketName"]) for p in of_type("S3::Bucket").values()}
    names |= {filled(p["AliasName"]) for p in of_type("KMS::Alias").values()}
    names |= {filled(p["LogGroupName"]) for p in of_type("Logs::LogGroup").values()}
    assert names == {
        DEV.table,
        DEV.bucket("exports"),
        DEV.bucket("anchors"),
        DEV.key_alias,
        DEV.access_log,
        *map(DEV.log_group, FUNCTIONS),
    }


def test_exports_go_a_little_after_their_time_and_buckets_are_nobody_elses() -> None:
    assert EXPORT_RETENTION_DAYS == RETENTION_DAYS
    buckets = of_type("S3::Bucket")
    (rule,) = buckets["ExportsBucket"]["LifecycleConfiguration"]["Rules"]
    assert (
        EXPORTS_MADE_WITHIN_DAYS + RETENTION_DAYS
        < rule["ExpirationInDays"]
        <= EXPORTS_MADE_WITHIN_DAYS + RETENTION_DAYS + 2
    )
    assert rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"] == EXPORTS_MADE_WITHIN_DAYS
    for name, bucket in buckets.items():
        assert len(bucket["PublicAccessBlockConfiguration"]) == 4
        assert all(bucket["PublicAccessBlockConfiguration"].values())
        assert bucket["BucketEncryption"]
        assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
        http, *_ = of_type("S3::BucketPolicy")[f"{name}Policy"]["PolicyDocument"]["Statement"]
        assert (http["Effect"], http["Action"], http["Principal"]) == ("Deny", ["s3:*"], "*")
        assert http["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_anchors_are_locked_for_years_and_nobody_may_hide_them() -> None:
    bucket = of_type("S3::Bucket")["AnchorsBucket"]
    retention = bucket["ObjectLockConfiguration"]["Rule"]["DefaultRetention"]
    assert bucket["ObjectLockEnabled"]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert retention == {"Mode": {"Fn::If": ["IsProd", "COMPLIANCE", "GOVERNANCE"]}, "Years": 10}
    _, hiding = of_type("S3::BucketPolicy")["AnchorsBucketPolicy"]["PolicyDocument"]["Statement"]
    assert hiding["Effect"] == "Deny"
    assert "s3:DeleteObject" in hiding["Action"]


def test_the_key_shows_nobody_a_new_key_and_lets_alarms_reach_the_topic_only() -> None:
    key = of_type("KMS::Key")["Key"]
    managing, using, alarming = key["KeyPolicy"]["Statement"]
    assert key["EnableKeyRotation"] is True
    assert not any(fits(a, "kms:GenerateDataKey") or fits(a, "kms:Decrypt") for a in managing["Action"])
    assert not any(fits(action, "kms:GenerateDataKey") or fits(action, "kms:Encrypt") for action in using["Action"])
    atrium = {"kms:EncryptionContext:service": "atrium"}
    assert using["Condition"] == {"StringEquals": atrium}
    assert alarming["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert alarming["Condition"]["StringNotEquals"] == atrium
    assert of_type("SNS::Topic")["Alarms"]["KmsMasterKeyId"] == {"Fn::GetAtt": ["Key", "Arn"]}


def fits(pattern: str, action: str) -> bool:
    return re.fullmatch(pattern.replace("*", ".*"), action) is not None


def test_each_alarm_tells_the_topic_and_has_its_place_in_the_handbook() -> None:
    found = of_type("CloudWatch::Alarm").values()
    assert all(alarm["AlarmActions"] == [{"Ref": "Alarms"}] for alarm in found)
    names = [filled(alarm["AlarmName"]).removeprefix(f"{DEV.prefix}-") for alarm in found]
    chapter = (ROOT / "docs/operations/running.md").read_text().partition("## Alarms\n")[2].partition("\n## ")[0]
    headings = re.findall(r"`([^`]+)`", "".join(re.findall(r"^### .+$", chapter, re.MULTILINE)))
    assert sorted(headings) == sorted(names)


def measures() -> dict[str, set[str]]:
    """Return the dimensions of each measure that the handbook of the log has."""
    table = (ROOT / "docs/operations/logs.md").read_text().partition("| measure | dimensions |")[2].partition("\n\n")[0]
    rows = [row.split("|") for row in table.splitlines() if row.startswith("| `")]
    return {name.strip(" `"): set(re.findall(r"\w+", dimensions)) for _, name, dimensions, *_ in rows}


def test_alarms_and_dashboard_show_what_is_measured_of_what_there_is() -> None:
    written = measures()
    measured = [metric for alarm in known_alarms(FUNCTIONS).values() for metric in alarm.metrics.values()]
    for metric in measured + [metric for graph in known_graphs(FUNCTIONS).values() for metric in graph]:
        named = {name: filled({"Fn::Sub": value}) for name, value in metric.dimensions.items()}
        if metric.namespace == "Atrium":
            assert set(named) == written[metric.name]
            assert named.get("kind", "request") in KINDS
        assert named.get("FunctionName", DEV.prefix) in {DEV.function(name) for name in FUNCTIONS}
        assert named.get("TableName", DEV.table) == DEV.table
        assert named.get("stage", "dev") == named.get("Stage", "dev") == "dev"


def test_throttles_are_watched_wherever_the_table_or_an_index_is_read_or_written() -> None:
    watched = [
        (metric.name, metric.dimensions.get("Operation"), metric.dimensions.get("GlobalSecondaryIndexName"))
        for metric in known_alarms(FUNCTIONS)["table-throttled"].metrics.values()
    ]
    of_indexes = [grant for grants in GRANTS.values() for grant in grants if "index " in " ".join(grant.resources)]
    readings = {action.removeprefix("dynamodb:") for grant in of_indexes for action in grant.actions}
    assert watched == [
        ("ReadThrottleEvents", None, None),
        ("WriteThrottleEvents", None, None),
        *(("WriteThrottleEvents", None, index) for index in INDEX_KEYS),
        *(("ThrottledRequests", call, None) for call in readings),
    ]
    assert len(watched) <= 10  # CloudWatch takes no more in the formula of an alarm.


def test_the_dashboard_shows_each_graph_with_all_of_its_metrics() -> None:
    (properties,) = of_type("CloudWatch::Dashboard").values()
    widgets = json.loads(filled(properties["DashboardBody"]))["widgets"]
    assert {w["properties"]["title"]: len(w["properties"]["metrics"]) for w in widgets} == {
        title: len(metrics) for title, metrics in known_graphs(FUNCTIONS).items()
    }


def test_every_query_is_ready_in_the_console() -> None:
    found = {filled(query["Name"]): query["QueryString"] for query in of_type("Logs::QueryDefinition").values()}
    assert found == {f"{DEV.prefix}/{name}": query.text for name, query in QUERIES.items()}
