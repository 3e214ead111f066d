"""The edge: its template, and the commands that create it and print its DNS records."""

import json
import re
from typing import Any, Final

import pytest
from cfnlint.api import lint
from moto import settings as moto_settings
from moto.backends import get_backend

from chalicelib.kernel.core import aws as core_aws
from chalicelib.kernel.http.client_address import EDGE_SECRET_HEADER, VIEWER_ADDRESS_HEADER, edge_secret_digest
from infrastructure import account, cloudformation, configuration, deployed_functions, edge
from infrastructure.__main__ import main
from infrastructure.edge import EDGE_REGION
from infrastructure.edge_template import FUNCTION_FILE
from infrastructure.names import Stage
from infrastructure.secrets import (
    STORED_SECRETS,
    create_missing_secrets,
    edge_secret_digests_setting,
    read_edge_secrets,
    rotate,
)
from infrastructure.template_uploads import MAX_TEMPLATE_BYTES
from local.paths import ROOT

TEXT: Final = (ROOT / "infrastructure/edge.json").read_text()
TEMPLATE: Final[dict[str, Any]] = json.loads(TEXT)
RESOURCES: Final = TEMPLATE["Resources"]
STAGE: Final = Stage("dev", "123456789012", "us-east-1")
STACK: Final = "atrium-dev-edge"
HOST: Final = "*.sites.atrium.example.com"
DISTRIBUTION: Final = "d111111abcdef8.cloudfront.net"
ROUTING_ENDPOINT: Final = "d222222abcdef8.cloudfront.net"


def properties_of(name):
    return RESOURCES[name]["Properties"]


def config_of(name):
    return properties_of(name)["DistributionConfig"]


class TestTemplate:
    def test_it_fits_into_a_request_and_passes_cfn_lint_in_its_region(self):
        assert len(json.dumps(TEMPLATE, separators=(",", ":"))) < MAX_TEMPLATE_BYTES
        assert [str(match) for match in lint(TEXT, regions=[EDGE_REGION])] == []

    def test_both_distributions_send_the_headers_that_the_service_believes(self):
        for name in ("Distribution", "TenantDistribution"):
            (origin,) = config_of(name)["Origins"]
            (header,) = origin["OriginCustomHeaders"]
            assert header["HeaderName"] == EDGE_SECRET_HEADER
            assert header["HeaderValue"] == {"Ref": "OriginSecret"}
            assert origin["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"
        headers = properties_of("OriginRequestPolicy")["OriginRequestPolicyConfig"]["HeadersConfig"]["Headers"]
        assert headers == ["Accept", VIEWER_ADDRESS_HEADER]
        assert TEMPLATE["Parameters"]["OriginSecret"]["NoEcho"] is True

    def test_both_distributions_run_the_function_and_have_the_same_behaviour(self):
        own, of_tenants = (config_of(name) for name in ("Distribution", "TenantDistribution"))
        assert own["DefaultCacheBehavior"] == of_tenants["DefaultCacheBehavior"]
        behavior = own["DefaultCacheBehavior"]
        (association,) = behavior["FunctionAssociations"]
        assert association["EventType"] == "viewer-request"
        assert association["FunctionARN"] == {"Fn::GetAtt": ["Function", "FunctionARN"]}
        assert properties_of("Function")["FunctionCode"] == FUNCTION_FILE.read_text()
        assert behavior["AllowedMethods"] == ["GET", "HEAD"]
        assert behavior["ViewerProtocolPolicy"] == "redirect-to-https"
        assert own["ViewerCertificate"]["MinimumProtocolVersion"] == "TLSv1.2_2021"
        assert of_tenants["ConnectionMode"] == "tenant-only"
        assert not {"Aliases", "IPV6Enabled", "PriceClass"} & of_tenants.keys()  # CloudFront accepts none of these.

    def test_responses_are_cached_by_host_and_path_as_the_service_allows_it(self):
        policy = properties_of("CachePolicy")["CachePolicyConfig"]
        key = policy["ParametersInCacheKeyAndForwardedToOrigin"]
        assert key["QueryStringsConfig"]["QueryStrings"] == ["host", "path", "page"]
        assert (key["HeadersConfig"], key["CookiesConfig"]) == ({"HeaderBehavior": "none"}, {"CookieBehavior": "none"})
        assert (policy["MinTTL"], policy["DefaultTTL"], policy["MaxTTL"]) == (0, 0, 300)

    def test_the_access_log_is_private_expires_and_contains_no_queries(self):
        bucket = properties_of("LogsBucket")
        assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
        assert all(bucket["PublicAccessBlockConfiguration"].values())
        assert [rule["ExpirationInDays"] for rule in bucket["LifecycleConfiguration"]["Rules"]] == [30]
        for name in ("Distribution", "TenantDistribution"):
            assert properties_of(f"{name}LogSource")["LogType"] == "ACCESS_LOGS"
            fields = set(properties_of(f"{name}LogDelivery")["RecordFields"])
            assert {"c-ip", "x-host-header", "sc-status"} <= fields
            assert not {"cs-uri-query", "cs(Cookie)", "cs(Referer)"} & fields

    def test_what_custom_domains_need_is_created_only_on_request(self):
        optional = {name for name, resource in RESOURCES.items() if "Condition" in resource}
        assert optional == {name for name in RESOURCES if name.startswith(("Tenant", "Connection"))}
        assert TEMPLATE["Parameters"]["CustomDomains"]["Default"] == "no"


def template_for_moto() -> str:
    """Return the template with the resources that moto supports, and with constant outputs."""
    constants = {"DistributionDomain": DISTRIBUTION}
    of_tenants = {"TenantDistributionId": "E2", "ConnectionGroupId": "cg_3", "RoutingEndpoint": ROUTING_ENDPOINT}
    outputs = {name: {"Value": value} for name, value in constants.items()}
    outputs |= {name: {"Condition": "ServesCustomDomains", "Value": value} for name, value in of_tenants.items()}
    return json.dumps(TEMPLATE | {"Resources": {"LogsBucket": RESOURCES["LogsBucket"]}, "Outputs": outputs})


@pytest.fixture
def variables():
    """The environment variables of the stage, which are also those of its deployed function."""
    address = "https://a1.execute-api.us-east-1.amazonaws.com/dev"
    return {"PLATFORMS_DOMAIN": "atrium.example.com", "PUBLIC_URL": address}


@pytest.fixture
def stage(aws, variables, monkeypatch, tmp_path):
    """The deployed stage `dev`, whose API accepts the secret of the edge. Certificates are valid at once."""
    account.client.cache_clear()
    (tmp_path / "infrastructure").mkdir()
    (tmp_path / "infrastructure/edge.json").write_text(template_for_moto())
    monkeypatch.setattr(configuration, "PROJECT", tmp_path)
    monkeypatch.setattr(configuration, "load_stage_in_current_account", lambda _: STAGE)
    monkeypatch.setattr(configuration, "environment_variables", lambda _: variables)
    monkeypatch.setattr(deployed_functions, "function_variables", lambda *_: variables)
    monkeypatch.setattr(moto_settings, "ACM_VALIDATION_WAIT", -1)
    monkeypatch.setattr(edge, "_CERTIFICATE_WAITER_CONFIG", {"Delay": 0, "MaxAttempts": 2})
    kms = core_aws.client("kms")
    kms.create_alias(AliasName=STAGE.key_alias, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    create_missing_secrets(STAGE)
    variables["EDGE_SECRET_DIGESTS"] = edge_secret_digests_setting(read_edge_secrets(STAGE))
    yield STAGE
    kms.delete_alias(AliasName=STAGE.key_alias)
    account.client("ssm").delete_parameters(Names=[STAGE.parameter_name(secret) for secret in STORED_SECRETS])
    if stack_parameters():
        account.client("s3").delete_bucket(Bucket=STAGE.bucket_name("edge-logs"))
    for service in ("acm", "cloudformation"):
        get_backend(service)[STAGE.account][EDGE_REGION].reset()
    account.client.cache_clear()


def run(*arguments: str, command: str = "edge") -> int:
    return main([command, "--stage", "dev", *arguments])


def stack_parameters():
    return cloudformation.stack_parameters(STACK, region=EDGE_REGION)


def list_certificates():
    return account.client("acm", EDGE_REGION).list_certificates()["CertificateSummaryList"]


@pytest.mark.usefixtures("stage")
class TestCommand:
    def test_it_creates_the_stack_in_front_of_the_api_and_prints_the_dns_records(self, capsys):
        assert run() == 0
        parameters, (certificate,) = stack_parameters(), list_certificates()
        assert parameters | {"OriginSecret": ""} == {
            "Stage": "dev",
            "Hosts": HOST,
            "CertificateArn": certificate["CertificateArn"],
            "OriginDomain": "a1.execute-api.us-east-1.amazonaws.com",
            "OriginPath": "/dev",
            "OriginSecret": "",
            "CustomDomains": "no",
        }
        assert parameters.keys() == TEMPLATE["Parameters"].keys()
        output = capsys.readouterr().out
        assert f"\n  {HOST} CNAME {DISTRIBUTION}\n" in output
        assert "cname." not in output
        assert read_edge_secrets(STAGE)[0] not in output

    def test_it_can_be_repeated_and_keeps_earlier_arguments(self, capsys):
        run("--custom-domains")
        before = stack_parameters()
        assert f"\n  cname.atrium.example.com CNAME {ROUTING_ENDPOINT}\n" in capsys.readouterr().out
        assert run() == 0
        assert "is up to date" in capsys.readouterr().out
        assert (stack_parameters(), len(list_certificates())) == (before, 1)
        assert run("--no-custom-domains") == 0
        assert stack_parameters() == before | {"CustomDomains": "no"}

    def test_an_interrupted_run_continues_with_the_certificate_that_it_requested(self, capsys, monkeypatch):
        monkeypatch.setattr(moto_settings, "ACM_VALIDATION_WAIT", 3600)
        assert run() == 1
        output = capsys.readouterr()
        assert re.search(r"\n  _\S+ CNAME _\S+\n", output.out)
        assert "is not valid: PENDING_VALIDATION. Check the DNS records" in output.err
        assert stack_parameters() == {}
        monkeypatch.setattr(moto_settings, "ACM_VALIDATION_WAIT", -1)
        assert (run(), len(list_certificates())) == (0, 1)

    def test_other_hosts_get_another_certificate_or_the_given_one(self):
        run()
        hosts = f"{HOST},*.atrium.example.com"
        first = stack_parameters()["CertificateArn"]
        assert run("--hosts", hosts) == 0
        second = stack_parameters()
        assert (second["Hosts"], second["CertificateArn"] == first) == (hosts, False)
        imported = account.client("acm", EDGE_REGION).request_certificate(DomainName="shop.example.com")
        assert run("--hosts", "shop.example.com", "--certificate", imported["CertificateArn"]) == 0
        assert run() == 0
        assert stack_parameters() | {"CertificateArn": imported["CertificateArn"]} == stack_parameters()

    @pytest.mark.parametrize(
        ("changed", "reason"),
        [
            ({"PUBLIC_URL": None}, "has no PUBLIC_URL yet. Run `make deploy STAGE=dev` first"),
            (
                {"EDGE_SECRET_DIGESTS": None},
                "does not accept the secret of the edge yet. Run `make bootstrap STAGE=dev`",
            ),
            ({"EDGE_SECRET_DIGESTS": "0" * 64}, "does not accept the secret of the edge yet"),
        ],
    )
    def test_it_reports_a_stage_that_is_not_ready_before_it_creates_anything(self, changed, reason, variables, capsys):
        for name, value in changed.items():
            variables.pop(name)
            variables |= {name: value} if value else {}
        assert run() == 1
        assert reason in capsys.readouterr().err
        assert (stack_parameters(), list_certificates()) == ({}, [])

    def test_a_rotated_secret_reaches_the_distribution_once_the_api_accepts_it(self, variables, capsys):
        run()
        for step in ("begin", "switch"):
            rotate(STAGE, "edge-secret", step)
        assert run() == 1
        variables["EDGE_SECRET_DIGESTS"] = edge_secret_digests_setting(read_edge_secrets(STAGE))
        assert run() == 0
        assert "Updating the stack" in capsys.readouterr().out

    def test_an_edge_of_ones_own_gets_the_secret_that_the_api_accepts(self, variables, capsys):
        assert run(command="edge-secret") == 0
        assert edge_secret_digest(capsys.readouterr().out.strip()) == variables["EDGE_SECRET_DIGESTS"]


@pytest.mark.parametrize("command", ["edge", "edge-secret"])
def test_a_second_stage_has_no_edge_of_its_own(command, capsys):
    assert main([command, "--stage", "prod-green"]) == 1
    assert "Pass STAGE=prod: its edge follows PUBLIC_URL." in capsys.readouterr().err
