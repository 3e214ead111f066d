"""The CloudFormation stack of a stage matches the code, and deleting the stack keeps the data."""

import fnmatch
import json
import re
from typing import Any

import pytest
from cfnlint.api import lint

from app import app
from chalicelib.features.audit.exports.tasks import RETENTION_DAYS
from chalicelib.kernel.core.aws import client
from chalicelib.kernel.work.dead_letters import dead_letter_queue_name
from infrastructure.alarms import define_alarms
from infrastructure.dashboard import RECORD_KINDS, define_graphs
from infrastructure.deployed_functions import function_names
from infrastructure.names import Stage
from infrastructure.policies import GRANTS
from infrastructure.queries import QUERIES
from infrastructure.resources import (
    EXPORT_RETENTION_DAYS,
    INDEX_KEYS,
    MAX_EXPORT_DAYS,
    QUEUES,
    queue_name,
)
from infrastructure.template_uploads import MAX_UPLOADED_TEMPLATE_BYTES
from local.paths import ROOT
from local.server.configuration import PREFIX

ACCOUNT, REGION = "123456789012", "us-east-1"
DEV = Stage("dev", ACCOUNT, REGION)
TEXT = (ROOT / "infrastructure/stack.json").read_text()
TEMPLATE: dict[str, Any] = json.loads(TEXT)
FUNCTIONS = function_names(app)
DATA_TYPES = ("DynamoDB::Table", "SQS::Queue", "S3::Bucket", "KMS::Key", "KMS::Alias", "Logs::LogGroup")
RETAINED_TYPES = (*DATA_TYPES, "S3::BucketPolicy")
TYPES_SUPPORTED_BY_MOTO = (*DATA_TYPES, "SNS::Topic")


def template_for_moto():
    types = [f"AWS::{kind}" for kind in TYPES_SUPPORTED_BY_MOTO]
    resources = {name: r for name, r in TEMPLATE["Resources"].items() if r["Type"] in types}
    outputs = {name: output for name, output in TEMPLATE["Outputs"].items() if "Condition" not in output}
    return json.dumps(TEMPLATE | {"Resources": resources, "Outputs": outputs})


def properties_by_name(resource_type):
    return {name: r["Properties"] for name, r in TEMPLATE["Resources"].items() if r["Type"] == f"AWS::{resource_type}"}


def resolve(value):
    """Return a part of the template with the references of the stage `dev` resolved, as CloudFormation does it."""
    if isinstance(value, list):
        return [resolve(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value == {"Ref": "Stage"}:
        return "dev"
    if "Fn::Sub" not in value:
        return {name: resolve(each) for name, each in value.items()}
    variables = {"Stage": "dev", "AWS::AccountId": ACCOUNT, "AWS::Region": REGION, "AWS::Partition": "aws"}
    return re.sub(r"\$\{([^}]+)\}", lambda match: variables.get(match[1], match[0]), value["Fn::Sub"])


STACK_OPTIONS: Any = {
    "TemplateBody": template_for_moto(),
    "Parameters": [{"ParameterKey": "Stage", "ParameterValue": "dev"}],
}


@pytest.fixture(scope="module")
def stack(_aws_in_memory):
    """The resources of the stack of the stage `dev`, created in memory."""
    client("cloudformation").create_stack(StackName=DEV.prefix, **STACK_OPTIONS)
    yield client("cloudformation").describe_stack_resources(StackName=DEV.prefix)["StackResources"]
    client("kms").delete_alias(AliasName=DEV.key_alias)
    for purpose in ("exports", "anchors"):
        client("s3").delete_bucket(Bucket=DEV.bucket_name(purpose))
    for url in client("sqs").list_queues(QueueNamePrefix=DEV.prefix)["QueueUrls"]:
        client("sqs").delete_queue(QueueUrl=url)
    client("dynamodb").update_table(TableName=DEV.table_name, DeletionProtectionEnabled=False)
    client("dynamodb").delete_table(TableName=DEV.table_name)


def test_the_template_is_one_that_cloudformation_reads_from_a_bucket_and_passes_cfn_lint():
    assert len(json.dumps(TEMPLATE, separators=(",", ":"))) < MAX_UPLOADED_TEMPLATE_BYTES / 2
    assert [str(match) for match in lint(TEXT)] == []


@pytest.mark.usefixtures("stack")
def test_the_table_equals_that_of_the_local_stage():
    deployed = client("dynamodb").describe_table(TableName=DEV.table_name)["Table"]
    local = client("dynamodb").describe_table(TableName=PREFIX)["Table"]
    for field in ("KeySchema", "BillingModeSummary"):
        assert deployed[field] == local[field]
    assert attribute_types(deployed) == attribute_types(local)
    assert index_schemas(deployed) == index_schemas(local)
    (properties,) = properties_by_name("DynamoDB::Table").values()
    local_ttl = client("dynamodb").describe_time_to_live(TableName=PREFIX)["TimeToLiveDescription"]
    assert properties["TimeToLiveSpecification"] == {"Enabled": True, "AttributeName": local_ttl["AttributeName"]}
    recovery = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 35}
    assert properties["PointInTimeRecoverySpecification"] == recovery
    assert properties["DeletionProtectionEnabled"] is properties["SSESpecification"]["SSEEnabled"] is True


def attribute_types(description):
    return {(a["AttributeName"], a["AttributeType"]) for a in description["AttributeDefinitions"]}


def index_schemas(description):
    return {i["IndexName"]: (i["KeySchema"], i["Projection"]) for i in description["GlobalSecondaryIndexes"]}


@pytest.mark.usefixtures("stack")
@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_equals_that_of_the_local_stage(queue):
    for name in (queue, dead_letter_queue_name(queue)):
        attributes = comparable_queue_attributes(queue_name(DEV.prefix, name))
        assert attributes == comparable_queue_attributes(queue_name(PREFIX, name))
        assert ("RedrivePolicy" in attributes) is (name == queue)
    properties = {resolve(p["QueueName"]): p for p in properties_by_name("SQS::Queue").values()}
    dead_letters = properties[queue_name(DEV.prefix, dead_letter_queue_name(queue))]
    redrive_policy = {"redrivePermission": "byQueue", "sourceQueueArns": [DEV.queue_arn(queue)]}
    assert resolve(dead_letters["RedriveAllowPolicy"]) == redrive_policy
    assert dead_letters["MessageRetentionPeriod"] == 14 * 24 * 3600
    assert all(p["SqsManagedSseEnabled"] for p in properties.values())


def comparable_queue_attributes(queue):
    """Return the attributes of a queue with the names of the local stage, without those that differ between queues."""
    sqs = client("sqs")
    response = sqs.get_queue_attributes(QueueUrl=sqs.get_queue_url(QueueName=queue)["QueueUrl"], AttributeNames=["All"])
    excluded = ("QueueArn", "CreatedTimestamp", "LastModifiedTimestamp", "RedriveAllowPolicy")
    attributes = {
        n: text for n, text in response["Attributes"].items() if n not in excluded and not n.startswith("Approximate")
    }
    return {name: text.replace(DEV.prefix, PREFIX) for name, text in attributes.items()}


def test_an_update_replaces_nothing_and_a_deleted_stack_leaves_its_data(stack):
    cloudformation = client("cloudformation")
    cloudformation.update_stack(StackName=DEV.prefix, **STACK_OPTIONS)
    updated_stack = cloudformation.describe_stack_resources(StackName=DEV.prefix)["StackResources"]
    resource_ids = {resource["PhysicalResourceId"] for resource in stack}
    assert resource_ids == {resource["PhysicalResourceId"] for resource in updated_stack}
    cloudformation.delete_stack(StackName=DEV.prefix)
    buckets = {bucket["Name"] for bucket in client("s3").list_buckets()["Buckets"]}
    assert {DEV.bucket_name("exports"), DEV.bucket_name("anchors")} <= resource_ids & buckets
    assert DEV.table_name in client("dynamodb").list_tables()["TableNames"]
    queues = {url.rpartition("/")[2] for url in client("sqs").list_queues(QueueNamePrefix=DEV.prefix)["QueueUrls"]}
    assert queues == {
        queue_name(DEV.prefix, name) for queue in QUEUES for name in (queue, dead_letter_queue_name(queue))
    }
    assert DEV.key_alias in {alias["AliasName"] for alias in client("kms").list_aliases()["Aliases"]}
    assert len(client("logs").describe_log_groups()["logGroups"]) == len(FUNCTIONS) + 1


def test_resources_with_data_are_retained_when_the_stack_is_deleted_or_replaced():
    for resource in TEMPLATE["Resources"].values():
        if resource["Type"].removeprefix("AWS::") in RETAINED_TYPES:
            assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"


def test_resources_have_the_names_that_the_stage_defines():
    fields = {"DynamoDB::Table": "TableName", "S3::Bucket": "BucketName", "KMS::Alias": "AliasName"}
    fields["Logs::LogGroup"] = "LogGroupName"
    names = {resolve(p[field]) for kind, field in fields.items() for p in properties_by_name(kind).values()}
    expected = {DEV.table_name, DEV.key_alias, DEV.access_log_group, *map(DEV.log_group_name, FUNCTIONS)}
    assert names == expected | {DEV.bucket_name("exports"), DEV.bucket_name("anchors")}


def test_exports_are_deleted_soon_after_their_retention_and_buckets_are_private():
    assert EXPORT_RETENTION_DAYS == RETENTION_DAYS
    buckets = properties_by_name("S3::Bucket")
    (rule,) = buckets["ExportsBucket"]["LifecycleConfiguration"]["Rules"]
    assert MAX_EXPORT_DAYS + RETENTION_DAYS < rule["ExpirationInDays"] <= MAX_EXPORT_DAYS + RETENTION_DAYS + 2
    assert rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"] == MAX_EXPORT_DAYS
    for name, bucket in buckets.items():
        assert len(bucket["PublicAccessBlockConfiguration"]) == 4
        assert all(bucket["PublicAccessBlockConfiguration"].values())
        assert bucket["BucketEncryption"]
        assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
        deny_http, *_ = properties_by_name("S3::BucketPolicy")[f"{name}Policy"]["PolicyDocument"]["Statement"]
        assert (deny_http["Effect"], deny_http["Action"], deny_http["Principal"]) == ("Deny", ["s3:*"], "*")
        assert deny_http["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_anchors_are_locked_for_ten_years_and_cannot_be_hidden_by_delete_markers():
    bucket = properties_by_name("S3::Bucket")["AnchorsBucket"]
    retention = bucket["ObjectLockConfiguration"]["Rule"]["DefaultRetention"]
    assert bucket["ObjectLockEnabled"]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert retention == {"Mode": {"Fn::If": ["IsProd", "COMPLIANCE", "GOVERNANCE"]}, "Years": 10}
    policy = properties_by_name("S3::BucketPolicy")["AnchorsBucketPolicy"]["PolicyDocument"]
    _, deny_delete, deny_overwrite = policy["Statement"]
    assert deny_delete["Effect"] == "Deny"
    assert "s3:DeleteObject" in deny_delete["Action"]
    assert deny_overwrite == {
        "Effect": "Deny",
        "Principal": "*",
        "Action": ["s3:PutObject"],
        "Resource": deny_delete["Resource"],
        "Condition": {"Null": {"s3:if-none-match": "true"}},
    }


def test_the_key_policy_allows_no_plaintext_data_keys_and_admits_alarms_only_for_the_topic():
    key = properties_by_name("KMS::Key")["Key"]
    administration, usage, alarms = key["KeyPolicy"]["Statement"]
    assert key["EnableKeyRotation"] is True
    for statement, call in ((administration, "Decrypt"), (usage, "Encrypt")):
        for pattern in statement["Action"]:
            assert not fnmatch.filter(["kms:GenerateDataKey", f"kms:{call}"], pattern)
    context = {"kms:EncryptionContext:service": "atrium"}
    assert usage["Condition"] == {"StringEquals": context}
    assert alarms["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert alarms["Condition"]["StringNotEquals"] == context
    assert properties_by_name("SNS::Topic")["Alarms"]["KmsMasterKeyId"] == {"Fn::GetAtt": ["Key", "Arn"]}


def test_the_alarm_about_traffic_follows_the_rate_of_the_account():
    alarm = TEMPLATE["Resources"]["ApiNearLimitAlarm"]["Properties"]
    (rate,) = [metric["Expression"] for metric in alarm["Metrics"] if "Expression" in metric]
    assert (rate, alarm["Threshold"]) == ({"Fn::Sub": "100 * all / (60 * ${RequestsPerSecond})"}, 80)


def test_each_alarm_notifies_the_topic_and_is_documented():
    alarms = properties_by_name("CloudWatch::Alarm").values()
    assert all(alarm["AlarmActions"] == [{"Ref": "Alarms"}] for alarm in alarms)
    names = [resolve(alarm["AlarmName"]).removeprefix(f"{DEV.prefix}-") for alarm in alarms]
    chapter = (ROOT / "docs/operations/running.md").read_text().partition("## Alarms\n")[2].partition("\n## ")[0]
    headings = re.findall(r"`([^`]+)`", "".join(re.findall(r"^### .+$", chapter, re.MULTILINE)))
    assert sorted(headings) == sorted([*names, "unexpected-writers"]), "the last one belongs to the stack of the trail"


def test_alarms_and_dashboard_use_documented_metrics_of_existing_resources():
    table = (ROOT / "docs/operations/logs.md").read_text().partition("| measure | dimensions |")[2].partition("\n\n")[0]
    rows = [row.split("|") for row in table.splitlines() if row.startswith("| `")]
    documented = {name.strip(" `"): set(re.findall(r"\w+", dimensions)) for _, name, dimensions, *_ in rows}
    alarm_metrics = [metric for alarm in define_alarms(FUNCTIONS).values() for metric in alarm.metrics.values()]
    for metric in alarm_metrics + [metric for graph in define_graphs(FUNCTIONS).values() for metric in graph]:
        dimensions = {name: resolve({"Fn::Sub": value}) for name, value in metric.dimensions.items()}
        if metric.namespace == "Atrium":
            assert set(dimensions) == documented[metric.name]
            assert dimensions.get("kind", "request") in RECORD_KINDS
        assert dimensions.get("FunctionName", DEV.prefix) in {DEV.function_name(name) for name in FUNCTIONS}
        assert dimensions.get("TableName", DEV.table_name) == DEV.table_name
        assert dimensions.get("stage", "dev") == dimensions.get("Stage", "dev") == "dev"


@pytest.mark.parametrize(
    ("alarm_name", "metric"),
    [
        ("forged-entries", "ForgedEntries"),
        ("anchors-refused", "AnchorsRefused"),
        ("tiles-refused", "TilesRefused"),
        ("anchors-rewritten", "AnchorsRewritten"),
        ("witnesses-refused", "WitnessesRefused"),
        ("records-disagree", "ReconciliationFindings"),
    ],
)
def test_an_alarm_about_altered_data_begins_with_the_first_occurrence(alarm_name, metric):
    (alarm,) = (
        each
        for each in properties_by_name("CloudWatch::Alarm").values()
        if resolve(each["AlarmName"]) == f"{DEV.prefix}-{alarm_name}"
    )
    source = (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"], resolve(alarm["Dimensions"]))
    assert source == ("Atrium", metric, "Sum", [{"Name": "stage", "Value": "dev"}])
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert (alarm["EvaluationPeriods"], alarm["TreatMissingData"]) == (1, "notBreaching")
    assert "DatapointsToAlarm" not in alarm


@pytest.mark.parametrize(
    ("alarm_name", "metric"),
    [("functions-throttled", "Throttles"), ("functions-recursive", "RecursiveInvocationsDropped")],
)
def test_an_alarm_about_all_functions_begins_when_one_of_them_is_refused(alarm_name, metric):
    alarm = define_alarms(FUNCTIONS)[alarm_name]
    watched = {(each.namespace, each.name, each.statistic, *each.dimensions) for each in alarm.metrics.values()}
    assert watched == {("AWS/Lambda", metric, "Sum", "FunctionName")}
    names = [resolve({"Fn::Sub": each.dimensions["FunctionName"]}) for each in alarm.metrics.values()]
    assert names == [DEV.function_name(name) for name in FUNCTIONS]
    assert (alarm.threshold, alarm.breaching_periods, alarm.is_minimum) == (0, 1, False)


def test_the_alarm_for_throttles_covers_reads_and_writes_of_the_table_and_its_indexes():
    alarm_metrics = [
        (metric.name, metric.dimensions.get("Operation"), metric.dimensions.get("GlobalSecondaryIndexName"))
        for metric in define_alarms(FUNCTIONS)["table-throttled"].metrics.values()
    ]
    index_grants = [grant for grants in GRANTS.values() for grant in grants if "index " in " ".join(grant.resources)]
    index_reads = {action.removeprefix("dynamodb:") for grant in index_grants for action in grant.actions}
    assert alarm_metrics == [
        ("ReadThrottleEvents", None, None),
        ("WriteThrottleEvents", None, None),
        *(("WriteThrottleEvents", None, index) for index in INDEX_KEYS),
        *(("ThrottledRequests", call, None) for call in index_reads),
    ]
    assert len(alarm_metrics) <= 10  # The maximum of CloudWatch for the formula of an alarm.


def test_the_dashboard_contains_each_graph_with_all_its_metrics_and_every_query_is_defined_in_the_console():
    (properties,) = properties_by_name("CloudWatch::Dashboard").values()
    widgets = json.loads(resolve(properties["DashboardBody"]))["widgets"]
    assert {w["properties"]["title"]: len(w["properties"]["metrics"]) for w in widgets} == {
        title: len(metrics) for title, metrics in define_graphs(FUNCTIONS).items()
    }
    definitions = properties_by_name("Logs::QueryDefinition").values()
    queries = {resolve(definition["Name"]): definition["QueryString"] for definition in definitions}
    assert queries == {f"{DEV.prefix}/{name}": query.text for name, query in QUERIES.items()}
