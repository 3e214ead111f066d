"""The optional safeguards of a stage: a rate rule of AWS WAF, a budget, and copies of backups."""

import json
from typing import Any, Final

import pytest
from botocore.client import BaseClient
from cfnlint.api import lint
from moto.backends import get_backend

from chalicelib.kernel.core import aws as core_aws
from infrastructure import account, cloudformation, configuration, safeguards
from infrastructure.names import Stage
from infrastructure.safeguards_template import UNSET
from infrastructure.secrets import STORED_SECRETS, create_missing_secrets, read_edge_secrets
from local.paths import ROOT

STAGE: Final = Stage("dev", "123456789012", "us-east-1")
STACK: Final = "atrium-dev-safeguards"
VAULT: Final = "arn:aws:backup:eu-west-1:210987654321:backup-vault:atrium-copies"
WEB_ACL: Final = "arn:aws:wafv2:us-east-1:123456789012:regional/webacl/atrium-dev/1"
TEXT: Final = (ROOT / "infrastructure/safeguards.json").read_text()
TEMPLATE: Final[dict[str, Any]] = json.loads(TEXT)
RESOURCES: Final = TEMPLATE["Resources"]
RATE_RULE: Final = RESOURCES["WebAcl"]["Properties"]["Rules"][0]
BLOCK: Final = RATE_RULE["Action"]["Block"]["CustomResponse"]


class TestTemplate:
    def test_it_passes_cfn_lint(self):
        assert [str(match) for match in lint(TEXT)] == []

    def test_each_safeguard_is_created_only_on_request(self):
        conditions = {name: resource.get("Condition") for name, resource in RESOURCES.items()}
        unconditional = {name for name, condition in conditions.items() if condition is None}
        assert unconditional == {"Notices", "NoticesPolicy", "BackupVault"}
        assert {name: TEMPLATE["Parameters"][name]["Default"] for name in UNSET} == UNSET

    def test_the_rule_refuses_with_a_problem_and_the_time_to_wait(self):
        body = RESOURCES["WebAcl"]["Properties"]["CustomResponseBodies"][BLOCK["CustomResponseBodyKey"]]
        document = json.loads(body["Content"])
        headers = {header["Name"]: header["Value"] for header in BLOCK["ResponseHeaders"]}
        assert (document["code"], document["status"], BLOCK["ResponseCode"]) == ("rate_limited", 429, 429)
        assert (headers["Retry-After"], headers["Cache-Control"]) == ("60", "no-store")
        assert headers["Access-Control-Allow-Origin"] == "*"
        # What WAF refuses: this name, a text over 4 KB, and more than ten headers or one over 255 B.
        assert "content-type" not in {name.lower() for name in headers}
        assert (len(body["Content"]), len(headers)) < (4096, 10)
        assert max(map(len, headers.values())) <= 255

    def test_the_rule_counts_addresses_but_not_those_of_the_edge(self):
        rate = RATE_RULE["Statement"]["RateBasedStatement"]
        assert (rate["AggregateKeyType"], rate["EvaluationWindowSec"]) == ("IP", 300)
        exempt = rate["ScopeDownStatement"]["NotStatement"]["Statement"]["OrStatement"]["Statements"]
        matches = [statement["ByteMatchStatement"] for statement in exempt]
        assert [match["SearchString"] for match in matches] == [{"Ref": "EdgeSecret"}, {"Ref": "FormerEdgeSecret"}]
        assert {match["PositionalConstraint"] for match in matches} == {"EXACTLY"}
        assert all(TEMPLATE["Parameters"][match["SearchString"]["Ref"]]["NoEcho"] for match in matches)
        assert RATE_RULE["VisibilityConfig"]["SampledRequestsEnabled"] is False

    def test_the_budget_tells_the_topic_before_and_when_it_is_exceeded(self):
        budget = RESOURCES["Budget"]["Properties"]
        notices = budget["NotificationsWithSubscribers"]
        kinds = [(each["Notification"]["NotificationType"], each["Notification"]["Threshold"]) for each in notices]
        assert kinds == [("ACTUAL", 50), ("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100)]
        assert all(
            each["Subscribers"] == [{"SubscriptionType": "SNS", "Address": {"Ref": "Notices"}}] for each in notices
        )
        senders = {
            statement["Principal"]["Service"]
            for statement in RESOURCES["NoticesPolicy"]["Properties"]["PolicyDocument"]["Statement"]
        }
        assert senders == {"budgets.amazonaws.com", "events.amazonaws.com"}

    def test_each_backup_of_the_table_and_the_anchors_is_copied(self):
        (rule,) = RESOURCES["BackupPlan"]["Properties"]["BackupPlan"]["BackupPlanRule"]
        (copy,) = rule["CopyActions"]
        assert copy == {"DestinationBackupVaultArn": {"Ref": "CopyVaultArn"}, "Lifecycle": {"DeleteAfterDays": 35}}
        selection = RESOURCES["BackupSelection"]["Properties"]["BackupSelection"]
        assert selection["Resources"] == [{"Ref": "TableArn"}, {"Ref": "AnchorsBucketArn"}]
        for name in ("BackupFailed", "CopyFailed"):
            states = RESOURCES[name]["Properties"]["EventPattern"]["detail"]["state"]
            assert {"FAILED", "EXPIRED"} <= set(states)

    def test_the_vault_stays_in_the_stack_without_copies(self):
        """A retained vault that the stack no longer knows would make the next BACKUP_VAULT fail."""
        assert RESOURCES["BackupVault"]["DeletionPolicy"] == "Retain"
        assert "Condition" not in RESOURCES["BackupVault"]


class OtherCalls:
    """Calls of services that moto does not have, with their responses."""

    def __init__(self) -> None:
        self.made = list[tuple[str, dict[str, Any]]]()
        self.backup_settings = {"DynamoDB": True, "S3": True}
        self.associated = list[str]()
        self.unavailable = 0

    def answer(self, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self.made.append((name, parameters))
        if name == "AssociateWebACL" and self.unavailable:
            self.unavailable -= 1
            raise account.client("wafv2").exceptions.WAFUnavailableEntityException({}, name)
        answers: dict[str, dict[str, Any]] = {
            "DescribeRegionSettings": {
                "ResourceTypeOptInPreference": self.backup_settings,
                "ResourceTypeManagementPreference": {"DynamoDB": True},
            },
            "ListResourcesForWebACL": {"ResourceArns": self.associated},
        }
        return answers.get(name, {})


def template_for_moto() -> str:
    """Return the template with the resources that moto supports, and with a constant output."""
    resources = {"Notices": RESOURCES["Notices"]}
    return json.dumps(
        TEMPLATE
        | {"Resources": resources, "Outputs": {"WebAclArn": TEMPLATE["Outputs"]["WebAclArn"] | {"Value": WEB_ACL}}}
    )


@pytest.fixture
def calls(aws, monkeypatch, tmp_path):
    """The stage `dev` with its secrets; and the calls of other services than moto's."""
    account.client.cache_clear()
    (tmp_path / "infrastructure").mkdir()
    (tmp_path / "infrastructure/safeguards.json").write_text(template_for_moto())
    monkeypatch.setattr(configuration, "PROJECT", tmp_path)
    monkeypatch.setattr(configuration, "gateway_stage", lambda _: "dev")
    kms = core_aws.client("kms")
    kms.create_alias(AliasName=STAGE.key_alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    create_missing_secrets(STAGE)
    recorded, original = OtherCalls(), BaseClient._make_api_call  # noqa: SLF001 - the method that makes every call

    def call(client: Any, name: str, parameters: dict[str, Any]) -> Any:
        if client.meta.service_model.service_name in ("backup", "wafv2"):
            return recorded.answer(name, parameters)
        return original(client, name, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", call)
    yield recorded
    kms.delete_alias(AliasName=STAGE.key_alias)
    account.client("ssm").delete_parameters(Names=[STAGE.parameter_name(secret) for secret in STORED_SECRETS])
    get_backend("cloudformation")[STAGE.account][STAGE.region].reset()
    get_backend("sns")[STAGE.account][STAGE.region].reset()
    account.client.cache_clear()


def guard(*, alarms_to: str | None = None, **given: str) -> Any:
    safeguards.create_or_update_safeguards(STAGE, given, alarms_to)
    return cloudformation.stack_parameters(STACK)


@pytest.mark.usefixtures("calls")
class TestCommand:
    def test_a_stage_without_safeguards_has_no_such_stack(self):
        assert guard() == {}
        assert guard(waf_limit="0", backup_vault="none") == {}

    def test_what_is_omitted_keeps_its_value(self):
        first = guard(waf_limit="2000", alarms_to="ops@example.com")
        assert (first["RequestLimit"], first["MonthlyBudget"], first["AlarmEmail"]) == ("2000", "0", "ops@example.com")
        second = guard(budget="300", backup_vault=VAULT, alarms_to="ops@example.com")
        assert (second["RequestLimit"], second["MonthlyBudget"], second["CopyVaultArn"]) == ("2000", "300", VAULT)
        assert second["TableArn"] == "arn:aws:dynamodb:us-east-1:123456789012:table/atrium-dev"
        assert second["AnchorsBucketArn"].endswith(":::atrium-dev-anchors-123456789012-us-east-1")

    def test_notices_that_nobody_gets_are_pointed_out(self, capsys):
        guard(waf_limit="2000")
        assert "Nobody gets notices" not in capsys.readouterr().out
        guard(budget="300")
        assert "Nobody gets notices of atrium-dev-safeguards yet" in capsys.readouterr().out

    def test_only_the_rate_rule_gets_the_secrets_of_the_edge(self, monkeypatch):
        guard(waf_limit="2000", budget="300")
        monkeypatch.setattr("infrastructure.secrets.read_edge_secrets", lambda _: pytest.fail("not needed"))
        parameters = guard(waf_limit="0")
        assert {parameters["EdgeSecret"], parameters["FormerEdgeSecret"]} in ({""}, {"****"})

    def test_the_edge_is_recognized_by_each_of_its_secrets(self, monkeypatch):
        used = read_edge_secrets(STAGE)
        monkeypatch.setattr("infrastructure.secrets.read_edge_secrets", lambda _: ["new", *used])
        found = guard(waf_limit="2000")
        assert {found["EdgeSecret"], found["FormerEdgeSecret"]} in ({"new", used[0]}, {"****"})

    def test_copies_need_the_opt_in_of_the_account(self, calls):
        guard(backup_vault=VAULT)
        calls.backup_settings = {"DynamoDB": True, "S3": False}
        other = VAULT.replace("copies", "others")
        (problem,) = safeguards.find_missing_backup_settings(STAGE, {"backup_vault": other})
        assert "aws backup update-region-settings" in problem
        for given in ({"backup_vault": VAULT}, {"backup_vault": "none"}, {}):
            assert list(safeguards.find_missing_backup_settings(STAGE, given)) == []

    def test_the_api_of_a_deployment_gets_the_web_acl(self, calls):
        safeguards.associate_web_acl(STAGE, "a1b2c3")
        assert calls.made == []
        guard(waf_limit="2000")
        safeguards.associate_web_acl(STAGE, "a1b2c3")
        resource = "arn:aws:apigateway:us-east-1::/restapis/a1b2c3/stages/dev"
        assert calls.made == [("AssociateWebACL", {"WebACLArn": WEB_ACL, "ResourceArn": resource})]

    @pytest.mark.parametrize("pauses", [2, 12])
    def test_a_web_acl_that_waf_does_not_find_yet_is_associated_later(self, pauses, calls, monkeypatch):
        guard(waf_limit="2000")
        slept = list[float]()
        monkeypatch.setattr("infrastructure.safeguards.time.sleep", slept.append)
        calls.unavailable = pauses
        safeguards.associate_web_acl(STAGE, "a1b2c3")
        assert slept == [5.0] * pauses

    def test_waiting_for_waf_ends_after_a_minute(self, calls, monkeypatch):
        guard(waf_limit="2000")
        monkeypatch.setattr("infrastructure.safeguards.time.sleep", lambda _: None)
        calls.unavailable = 13
        with pytest.raises(account.client("wafv2").exceptions.WAFUnavailableEntityException):
            safeguards.associate_web_acl(STAGE, "a1b2c3")

    def test_a_removed_limit_first_releases_the_apis(self, calls):
        calls.associated = ["arn:aws:apigateway:us-east-1::/restapis/a1b2c3/stages/dev"]
        guard(waf_limit="2000")
        assert guard(waf_limit="0")["RequestLimit"] == "0"
        assert calls.made[-1] == ("DisassociateWebACL", {"ResourceArn": calls.associated[0]})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"waf_limit": "9"}, "WAF_LIMIT must be a number of requests from 10 on"),
        ({"waf_limit": "many"}, "WAF_LIMIT must be"),
        ({"budget": "12.50"}, "BUDGET must be a whole number of US dollars"),
        ({"backup_vault": "atrium-copies"}, "BACKUP_VAULT must be the ARN of a backup vault"),
    ],
)
def test_invalid_arguments_are_reported(given, reason):
    (found,) = safeguards.find_invalid_arguments(given)
    assert found.startswith(reason)


def test_valid_arguments_are_accepted():
    valid = ({"waf_limit": "10", "budget": "1", "backup_vault": VAULT}, {"waf_limit": "0", "backup_vault": "none"})
    assert [list(safeguards.find_invalid_arguments(given)) for given in valid] == [[], []]
