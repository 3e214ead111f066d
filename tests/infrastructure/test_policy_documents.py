"""The policies as documents: exact wherever the stage is, nothing said twice, and within IAM's limits."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest

from infrastructure.names import Stage
from infrastructure.policies import GRANTS, policies
from local.paths import ROOT
from tests.harness.mailbox import SENDER
from tests.infrastructure.permissions import KEY, POLICIES, STAGE, WRITES, Permission, may_write, permissions

CHINA = Stage("dev", "210987654321", "cn-north-1", "aws-cn")
CHINAS_KEY = CHINA.arn("kms", "key/5d8f2b3c-7a41-4e0f-8c6d-2b9a1e4f7c30")
PLACES = [(STAGE, KEY, POLICIES), (CHINA, CHINAS_KEY, policies(CHINA, CHINAS_KEY, SENDER))]
LARGEST = 10_240
"""Characters of a role's inline policies, without white space (IAM and STS quotas)."""


def everything(documents: Mapping[str, Any] = POLICIES) -> set[Permission]:
    return {permission for function in GRANTS for permission in permissions(function, documents)}


@pytest.mark.parametrize(("stage", "key", "documents"), PLACES)
def test_every_resource_is_one_of_the_stages_own(stage: Stage, key: str, documents: Mapping[str, Any]) -> None:
    own = {stage.table_arn, key, *(f"arn:{stage.partition}:s3:::{stage.bucket(b)}" for b in ("exports", "anchors"))}
    for _, resource, _ in everything(documents):
        _, partition, service, region, account, name = resource.split(":", 5)
        assert partition == stage.partition
        assert (region, account) == (("", "") if service == "s3" else (stage.region, stage.account))
        logs = f"log-group:/aws/lambda/{stage.prefix}"
        assert name.startswith((stage.prefix, logs, "identity/")) or {resource, *parents(resource)} & own, resource


def parents(resource: str) -> list[str]:
    return [resource.partition(below)[0] for below in ("/index/", "/*") if below in resource]


@pytest.mark.parametrize(("stage", "key", "documents"), PLACES)
def test_an_asterisk_stands_only_for_names_that_are_made_later(
    stage: Stage, key: str, documents: Mapping[str, Any]
) -> None:
    """Lambda names the streams of a function's log; a file's name begins with an organization's id or a log's."""
    found = everything(documents)
    assert not [action for action, _, _ in found if "*" in action or "?" in action]
    streams = {stage.arn("logs", f"log-group:/aws/lambda/{stage.function(name)}:log-stream:*") for name in GRANTS}
    files = {f"arn:{stage.partition}:s3:::{stage.bucket(purpose)}/*" for purpose in ("exports", "anchors")}
    assert {resource for _, resource, _ in found if "*" in resource or "?" in resource} == streams | files
    assert "*" not in key


@pytest.mark.parametrize("function", GRANTS)
def test_nothing_is_said_twice(function: str) -> None:
    found = permissions(function)
    for number, permission in enumerate(found):
        assert not [other for other in found[:number] + found[number + 1 :] if other.covers(permission)]
    names = Counter(statement["Sid"] for statement in POLICIES[function]["Statement"])
    assert max(names.values()) == 1
    assert all(name.isalnum() for name in names)


@pytest.mark.parametrize("function", GRANTS)
def test_a_policy_fits_into_its_role_wherever_it_is(function: str) -> None:
    longest = Stage("prod-" + "x" * 10, "1" * 12, "ap-southeast-99", "aws-us-gov", restored="t" * 255)
    document = policies(longest, longest.arn("kms", f"key/mrk-{'0' * 32}"), f"a@{'d' * 253}")[function]
    assert len(json.dumps(document, separators=(",", ":"))) <= LARGEST


def test_only_jobs_send_mail_and_only_where_there_is_a_sender() -> None:
    assert [f for f in GRANTS if any(p.action.startswith("ses:") for p in permissions(f))] == ["jobs"]
    assert not [p for p in everything(policies(STAGE, KEY)) if p.action.startswith("ses:")]
    assert policies(STAGE, KEY, SENDER.upper()) == POLICIES  # SES and the stack know the domain in small letters.


def test_a_second_stage_has_its_own_logs_and_all_else_of_the_first() -> None:
    second = policies(replace(STAGE, name="prod-green", data_of="prod"), KEY, SENDER)
    logs, others = (
        {p for p in everything(second) if p.action.startswith("logs:") is is_log} for is_log in (True, False)
    )
    assert others == {p for p in everything() if not p.action.startswith("logs:")}
    assert all(":log-group:/aws/lambda/atrium-prod-green" in p.resource for p in logs)


def test_where_the_table_was_restored_the_former_one_is_out_of_reach() -> None:
    restored = everything(policies(replace(STAGE, restored="atrium-prod-2"), KEY, SENDER))
    tables = {p.resource.partition("/index/")[0] for p in restored if p.action.startswith("dynamodb:")}
    assert tables == {STAGE.arn("dynamodb", "table/atrium-prod-2")}


def test_no_function_may_scan_the_table_take_an_anchor_away_or_do_more_with_a_key_than_unwrap() -> None:
    found = everything()
    assert {p.action for p in found if p.action.startswith("kms:")} == {"kms:Decrypt"}
    assert {p.resource for p in found if p.purpose} == {KEY}
    assert all(p.purpose for p in found if p.action.startswith("kms:"))
    assert "dynamodb:Scan" not in {p.action for p in found}
    anchors = {p.action for p in found if STAGE.bucket("anchors") in p.resource}
    assert anchors == {"s3:GetObject", "s3:ListBucket", "s3:PutObject"}


WRITING = {f"dynamodb:{action}" for action in ("BatchWriteItem", "PartiQLInsert", "PartiQLUpdate", *WRITES.values())}


@pytest.mark.parametrize("function", GRANTS)
def test_a_function_writes_to_the_partitions_that_it_names_and_to_no_other(function: str) -> None:
    writing = [s for s in POLICIES[function]["Statement"] if WRITING & {*s["Action"]}]
    assert len(writing) <= 1
    for statement in writing:
        assert {*statement["Action"]} <= WRITING - {"dynamodb:BatchWriteItem"}
        patterns = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
        # All of no keys match: a request without one is refused by a condition of its own.
        assert statement["Condition"]["Null"] == {"dynamodb:LeadingKeys": "false"}
        assert all(re.fullmatch(r"[A-Z][A-Za-z#-]*\*", pattern) for pattern in patterns)
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
def test_who_may_write_what(functions: set[str], key: str) -> None:
    assert {function for function in GRANTS if may_write(function, key)} == functions


def test_whoever_deploys_is_told_of_every_service_that_the_commands_use() -> None:
    guide = (ROOT / "docs/guides/deployment.md").read_text()
    told = guide.partition("### Those of whoever deploys")[2].partition("\n## ")[0]
    kinds = {r["Type"] for r in json.loads((ROOT / "infrastructure/stack.json").read_text())["Resources"].values()}
    sources = "".join(file.read_text() for file in (ROOT / "infrastructure").glob("*.py"))
    used = {kind.split("::")[1].lower() for kind in kinds} | set(
        re.findall(r"client\((?:stage, )?\"([a-z]+)\"\)", sources)
    )
    needs_no_permission = {"sts"}
    assert {service for service in used if f"`{service}`" not in told} <= needs_no_permission
    assert {"dynamodb", "kms", "ssm", "lambda", "apigateway"} <= used
