"""The policy documents name exact resources on every stage, contain no duplicates and fit IAM's limits."""

import json
import re
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

from chalicelib.features.notifications.log_streams.models.destinations import ROLE_NAME_PREFIX
from infrastructure.names import Stage
from infrastructure.policies import GRANTS, policies
from local.paths import ROOT
from tests.harness.mailbox import SENDER
from tests.infrastructure.permissions import (
    KEY_ARN,
    POLICIES,
    STAGE,
    WRITE_ACTIONS,
    Permission,
    can_write,
    granted_permissions,
)

CHINA = Stage("dev", "210987654321", "cn-north-1", "aws-cn")
CHINA_KEY_ARN = CHINA.arn("kms", "key/5d8f2b3c-7a41-4e0f-8c6d-2b9a1e4f7c30")
STAGES = [(STAGE, KEY_ARN, POLICIES), (CHINA, CHINA_KEY_ARN, policies(CHINA, CHINA_KEY_ARN, SENDER))]
MAX_POLICY_CHARACTERS = 10_240
"""The maximum size of a role's inline policies, without white space (IAM and STS quotas)."""


def all_permissions(documents=POLICIES):
    return {permission for function in GRANTS for permission in granted_permissions(function, documents)}


@pytest.mark.parametrize(("stage", "key", "documents"), STAGES)
def test_every_resource_belongs_to_the_stage_and_asterisks_match_only_names_chosen_at_run_time(stage, key, documents):
    """Lambda names the log streams of a function. A file's name begins with the ID of an organization or a log.

    Only roles of log streams belong to other accounts. Their names begin with a prefix.
    """
    permissions = all_permissions(documents)
    role = Permission("sts:AssumeRole", f"arn:{stage.partition}:iam::*:role/{ROLE_NAME_PREFIX}*")
    assert [permission for permission in permissions if permission.action.startswith("sts:")] == [role]
    permissions -= {role}
    buckets = {f"arn:{stage.partition}:s3:::{stage.bucket_name(purpose)}" for purpose in ("exports", "anchors")}
    prefixes = (stage.prefix, f"log-group:/aws/lambda/{stage.prefix}", "identity/")
    for _, resource, _ in permissions:
        _, partition, service, region, account, name = resource.split(":", 5)
        assert partition == stage.partition
        assert (region, account) == (("", "") if service == "s3" else (stage.region, stage.account))
        parents = {resource, resource.partition("/index/")[0], resource.partition("/*")[0]}
        assert name.startswith(prefixes) or parents & {stage.table_arn, key, *buckets}, resource
    assert not [action for action, _, _ in permissions if "*" in action or "?" in action]
    streams = {stage.arn("logs", f"log-group:/aws/lambda/{stage.function_name(name)}:log-stream:*") for name in GRANTS}
    patterns = {resource for _, resource, _ in permissions if "*" in resource or "?" in resource}
    assert patterns == streams | {f"{bucket}/*" for bucket in buckets}
    assert "*" not in key


@pytest.mark.parametrize("function", GRANTS)
def test_no_permission_or_statement_id_is_repeated(function):
    permissions = granted_permissions(function)
    for number, permission in enumerate(permissions):
        assert not [other for other in permissions[:number] + permissions[number + 1 :] if other.covers(permission)]
    names = Counter(statement["Sid"] for statement in POLICIES[function]["Statement"])
    assert max(names.values()) == 1
    assert all(name.isalnum() for name in names)


@pytest.mark.parametrize("function", GRANTS)
def test_a_policy_fits_the_size_limit_with_the_longest_names(function):
    longest = Stage("prod-" + "x" * 10, "1" * 12, "ap-southeast-99", "aws-us-gov", restored_table="t" * 255)
    document = policies(longest, longest.arn("kms", f"key/mrk-{'0' * 32}"), f"a@{'d' * 253}")[function]
    assert len(json.dumps(document, separators=(",", ":"))) <= MAX_POLICY_CHARACTERS


def test_only_jobs_may_send_mail_and_only_if_a_sender_is_configured():
    assert [f for f in GRANTS if any(p.action.startswith("ses:") for p in granted_permissions(f))] == ["jobs"]
    assert not [p for p in all_permissions(policies(STAGE, KEY_ARN)) if p.action.startswith("ses:")]
    assert policies(STAGE, KEY_ARN, SENDER.upper()) == POLICIES  # SES and the stack use the domain in lower case.


def test_a_second_stage_uses_the_resources_of_the_first_except_for_its_logs():
    second = policies(replace(STAGE, name="prod-green", primary_stage="prod"), KEY_ARN, SENDER)
    logs, others = (
        {p for p in all_permissions(second) if p.action.startswith("logs:") is is_log} for is_log in (True, False)
    )
    assert others == {p for p in all_permissions() if not p.action.startswith("logs:")}
    assert all(":log-group:/aws/lambda/atrium-prod-green" in p.resource for p in logs)


def test_a_stage_with_a_restored_table_has_no_permissions_on_the_former_one():
    restored = all_permissions(policies(replace(STAGE, restored_table="atrium-prod-2"), KEY_ARN, SENDER))
    tables = {p.resource.partition("/index/")[0] for p in restored if p.action.startswith("dynamodb:")}
    assert tables == {STAGE.arn("dynamodb", "table/atrium-prod-2")}


def test_no_function_may_scan_the_table_delete_an_anchor_or_use_the_key_except_to_decrypt():
    permissions = all_permissions()
    assert {p.action for p in permissions if p.action.startswith("kms:")} == {"kms:Decrypt"}
    assert {p.resource for p in permissions if p.purpose} == {KEY_ARN}
    assert all(p.purpose for p in permissions if p.action.startswith("kms:"))
    assert "dynamodb:Scan" not in {p.action for p in permissions}
    anchors = {p.action for p in permissions if STAGE.bucket_name("anchors") in p.resource}
    assert anchors == {"s3:GetObjectVersion", "s3:ListBucketVersions", "s3:PutObject"}


def statements_in(node):
    """Yield every policy statement in a document or a template, at any depth."""
    if isinstance(node, dict):
        if {"Effect", "Action"} <= node.keys():
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from statements_in(each)


def test_no_policy_lets_anybody_create_a_grant_for_a_key():
    """A grant permits operations beside the key policy, such as a new key in plaintext."""
    names = ("stack", "edge", "template")
    templates = [json.loads((ROOT / f"infrastructure/{name}.json").read_text()) for name in names]
    statements = [*statements_in(templates), *statements_in(POLICIES)]
    allowed = [action for each in statements if each["Effect"] == "Allow" for action in as_list(each["Action"])]
    assert "kms:CreateAlias" in allowed
    assert [action for action in allowed if fnmatchcase("kms:creategrant", action.lower())] == []
    assert not [each for each in statements if "NotAction" in each]


def as_list(value):
    return [value] if isinstance(value, str) else value


TABLE_WRITE_ACTIONS = {
    f"dynamodb:{action}" for action in ("BatchWriteItem", "PartiQLInsert", "PartiQLUpdate", *WRITE_ACTIONS.values())
}


CHECK_ACTIONS = ["dynamodb:ConditionCheckItem"]
"""The actions of a statement that lets a function check records which it must not write."""


@pytest.mark.parametrize("function", GRANTS)
def test_write_permissions_are_limited_to_listed_partitions(function):
    write_statements = [s for s in POLICIES[function]["Statement"] if TABLE_WRITE_ACTIONS & {*s["Action"]}]
    checks = [statement for statement in write_statements if statement["Action"] == CHECK_ACTIONS]
    assert len(checks) == (function == "migrate")
    assert len(write_statements) - len(checks) <= 1
    for statement in write_statements:
        assert {*statement["Action"]} <= TABLE_WRITE_ACTIONS - {"dynamodb:BatchWriteItem"}
        patterns = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        # `ForAllValues` is also true of a request without keys, so a second condition rejects those.
        assert statement["Condition"]["Null"] == {"dynamodb:LeadingKeys": "false"}
        assert all(re.fullmatch(r"[A-Z][A-Za-z#-]*(\*#[A-Z]+#)?\*", pattern) for pattern in patterns)
        assert sorted(patterns) == patterns
        assert not [(a, b) for a in patterns for b in patterns if a != b and fnmatchcase(a[:-1], b)]


@pytest.mark.parametrize(
    ("functions", "key"),
    [
        ({"api_handler", "events", "jobs"}, "A#log"),
        ({"api_handler", "jobs"}, "B#log"),
        ({"api_handler", "events", "jobs", "sweep"}, "Q#log"),
        ({"events", "jobs"}, "QUARANTINE#log"),
        ({"events", "jobs"}, "F#log"),
        ({"api_handler", "jobs"}, "K#digest"),
        ({"api_handler"}, "I#principal#digest"),
        ({"api_handler", "jobs", "deliveries", "deliveries_slow", "sweep"}, "O#id"),
        ({"migrate"}, "DATA#countries"),
        ({"migrate"}, "MIGRATIONS"),
        (set(), "ANCHOR#0"),
        (set(), "another"),
    ],
)
def test_each_partition_is_writable_only_by_the_listed_functions(functions, key):
    writing = {
        function: {"Statement": [s for s in document["Statement"] if s["Action"] != CHECK_ACTIONS]}
        for function, document in POLICIES.items()
    }
    assert {function for function in GRANTS if can_write(function, key, writing)} == functions


def test_the_guide_lists_every_service_that_the_deployment_commands_use():
    guide = (ROOT / "docs/guides/deployment.md").read_text()
    chapter = guide.partition("### Permissions of operators")[2].partition("\n## ")[0]
    stacks = [json.loads((ROOT / f"infrastructure/{name}.json").read_text()) for name in ("stack", "edge")]
    sources = "".join(file.read_text() for file in (ROOT / "infrastructure").glob("*.py"))
    used = {resource["Type"].split("::")[1].lower() for stack in stacks for resource in stack["Resources"].values()}
    used |= set(re.findall(r"client\((?:stage, )?\"([a-z]+)\"[,)]", sources))
    needs_no_permission = {"sts"}
    listed = set(re.findall(r"`([a-z0-9-]+)(?::\w+\*?)?`", chapter))
    assert used - listed <= needs_no_permission
    assert {"dynamodb", "kms", "ssm", "lambda", "apigateway", "cloudfront", "acm"} <= used
