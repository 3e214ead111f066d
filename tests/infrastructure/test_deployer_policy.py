"""The IAM policies that `make deployer-policy` prints: limits of IAM, and the resources of the templates."""

import json

import pytest

from infrastructure.__main__ import main
from infrastructure.deployer_policy import GRANTS, MAX_POLICY_CHARACTERS, deployer_policies, resource_arns
from infrastructure.names import Stage
from local.paths import ROOT

STAGE = Stage("prod", "123456789012", "eu-central-1")
GUIDE = (ROOT / "docs/guides/deployment.md").read_text()


@pytest.mark.parametrize(
    ("file", "command"), [("stack.json", "bootstrap"), ("safeguards.json", "bootstrap with safeguards")]
)
def test_each_resource_of_a_template_belongs_to_a_service_that_the_policy_allows(file, command):
    resources = json.loads((ROOT / "infrastructure" / file).read_text())["Resources"].values()
    services = {resource["Type"].split("::")[1].lower() for resource in resources}
    names = ("bootstrap", command)
    allowed = {action.partition(":")[0] for name in names for grant in GRANTS[name] for action in grant.actions}
    assert services - allowed == set()


def test_each_policy_fits_into_a_managed_policy():
    sizes = {name: len(json.dumps(policy, separators=(",", ":"))) for name, policy in deployer_policies(STAGE).items()}
    assert len(sizes) == len(GRANTS)
    assert {name: size for name, size in sizes.items() if size > MAX_POLICY_CHARACTERS} == {}


def test_every_resource_is_one_of_the_stage_unless_its_name_is_not_known_before():
    for kind, arns in resource_arns(STAGE).items():
        if kind not in ("any", "access log"):
            assert all("*" not in arn.split(":", 5)[:5] for arn in arns)
            assert all(arn != "*" for arn in arns)
    used = {kind for grants in GRANTS.values() for grant in grants for kind in grant.resources}
    assert used == resource_arns(STAGE).keys()


def test_no_policy_reads_the_data_or_changes_other_roles():
    allowed = {action for grants in GRANTS.values() for grant in grants for action in grant.actions}
    assert allowed.isdisjoint({"dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan", "s3:Get*"})
    files = {grant.resources for grants in GRANTS.values() for grant in grants if "s3:GetObject" in grant.actions}
    assert files == {("templates",)}  # CloudFormation reads the template in the name of its caller.
    assert resource_arns(STAGE)["templates"] == (f"arn:aws:s3:::{STAGE.bucket_name('templates')}/*",)
    roles = [grant for grants in GRANTS.values() for grant in grants if any("Role" in each for each in grant.actions)]
    assert {kind for grant in roles for kind in grant.resources} == {
        "gateway role",
        "backup role",
        "service role of AWS Backup",
        "function roles",
    }


def test_whoever_associates_a_web_acl_may_set_it_on_the_api():
    """AWS WAF requires a permission of API Gateway besides its own, for each of these calls."""
    for grants in GRANTS.values():
        allowed = {(action, kind) for grant in grants for action in grant.actions for kind in grant.resources}
        for call in ("wafv2:AssociateWebACL", "wafv2:DisassociateWebACL"):
            assert (call, "API stages") not in allowed or ("apigateway:SetWebACL", "API stages") in allowed


def test_the_command_prints_the_policies(monkeypatch, capsys):
    monkeypatch.setattr("infrastructure.account.current_stage", lambda _: STAGE)
    assert main(["deployer-policy", "--stage", "prod-green"]) == 0
    assert json.loads(capsys.readouterr().out) == deployer_policies(STAGE)
