"""The template that `chalice package` creates from the app, its configuration and the merged template."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from botocore.session import get_session
from chalice.app import SQSEventConfig

from app import app
from chalicelib.features.reference.models.dataset_file import LATEST_VERSION
from chalicelib.kernel.core.problems import CODES
from chalicelib.kernel.core.version import API_VERSION
from infrastructure.deployed_functions import function_names
from infrastructure.gateway import PROBLEMS, openapi_gateway_responses
from infrastructure.resources import QUEUES
from local.paths import ROOT
from tests.harness import configured_stages, project_copies
from tests.harness.configured_stages import STAGE

PROJECT = ("app.py", "chalicelib", "openapi.json", ".chalice", "infrastructure")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `chalice package` wrote for the configured stage `dev`."""
    project = project_copies.copy_project(
        PROJECT, tmp_path_factory.mktemp("project"), "deployed", "deployments", "venv"
    )
    configured_stages.configure_stage(project)
    (project / "requirements.txt").touch()  # Libraries would be downloaded, and change only the archive.
    chalice = str(Path(sys.executable).with_name("chalice"))
    command = [chalice, "package", "--stage", "dev", "--merge-template", "infrastructure/template.json", "out"]
    project_copies.run_in_copy(command, project, AWS_DEFAULT_REGION="eu-central-1")
    return project / "out"


@pytest.fixture(scope="module")
def resources(package: Path) -> Mapping[str, Any]:
    """The resources of the packaged template, by name."""
    resources: dict[str, Any] = json.loads((package / "sam.json").read_text())["Resources"]
    return resources


def properties_by_name(resources: Mapping[str, Any], resource_type: str) -> Mapping[str, Any]:
    return {name: r["Properties"] for name, r in resources.items() if r["Type"] == f"AWS::{resource_type}"}


@pytest.fixture(scope="module")
def transformed(package: Path) -> Mapping[str, Any]:
    """The CloudFormation resources that AWS SAM creates from that template, by name."""
    from samtranslator.translator.transform import transform

    class NoManagedPolicies:
        @staticmethod
        def load() -> dict[str, str]:
            return {}

    template = json.loads((package / "sam.json").read_text())
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://packages/deployment.zip"  # As `cloudformation package` sets it.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", STAGE.region)
        resources: dict[str, Any] = transform(template, {"Stage": STAGE.name}, NoManagedPolicies())["Resources"]
    return resources


def test_the_template_passes_cfn_lint(package):
    lint = str(Path(sys.executable).with_name("cfn-lint"))
    project_copies.run_in_copy([lint, "--regions", STAGE.region, "--template", "sam.json"], package)


def test_aws_sam_names_the_functions_as_the_stack_expects(transformed):
    names = {
        function["FunctionName"]["Fn::Sub"] for function in properties_by_name(transformed, "Lambda::Function").values()
    }
    assert {name.replace("${Stage}", STAGE.name) for name in names} == {
        STAGE.function_name(name) for name in function_names(app)
    }


def test_aws_sam_creates_one_api_stage_with_an_access_log_and_a_throttle(transformed):
    (stage,) = properties_by_name(transformed, "ApiGateway::Stage").values()
    assert stage["StageName"] == STAGE.name
    assert stage["AccessLogSetting"]["DestinationArn"]["Fn::Sub"].endswith(":log-group:/atrium/${Stage}/access")
    assert stage["MethodSettings"][0]["ThrottlingRateLimit"] == 10_000


def test_both_ways_of_deployment_set_the_same_gateway_responses(transformed):
    (api,) = properties_by_name(transformed, "ApiGateway::RestApi").values()
    assert api["Body"]["x-amazon-apigateway-gateway-responses"] == openapi_gateway_responses()


def test_every_queue_mapping_reports_failed_messages(transformed):
    mappings = properties_by_name(transformed, "Lambda::EventSourceMapping").values()
    assert {mapping["EventSourceArn"]["Fn::Sub"].rpartition(":")[2] for mapping in mappings} == {
        STAGE.queue_arn(queue).rpartition(":")[2] for queue in QUEUES
    }
    assert all(mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for mapping in mappings)


def test_every_type_of_gateway_response_has_a_problem():
    model = get_session().get_service_model("apigateway")
    assert set(PROBLEMS) == set(model.shape_for("GatewayResponseType").enum)


@pytest.mark.parametrize("response_type", PROBLEMS)
def test_a_gateway_response_is_a_problem_of_the_service(response_type, resources):
    response = resources["RestAPI"]["Properties"]["GatewayResponses"][response_type]
    template = response["ResponseTemplates"]["application/json"].replace("$context.path", "/x")
    document = json.loads(template.replace("$context.requestId", "a-request"))
    status, title = CODES[document["code"]]
    assert (document["status"], document["title"], response["StatusCode"]) == (status, title, status)
    assert document["type"] == f"urn:atrium:problem:{document['code']}"
    assert (document["instance"], document["requestId"]) == ("/x", "a-request")
    assert "$" not in template.replace("$context.requestId", "")


@pytest.mark.parametrize("response_type", PROBLEMS)
def test_a_gateway_response_has_the_headers_of_the_service(response_type, resources):
    headers = resources["RestAPI"]["Properties"]["GatewayResponses"][response_type]["ResponseParameters"]["Headers"]
    assert headers["Content-Type"] == "'application/problem+json'"
    assert headers["X-Request-Id"] == "context.requestId"
    assert headers["API-Version"] == f"'{API_VERSION}'"
    assert headers["Access-Control-Allow-Origin"] == "'*'"


@pytest.mark.parametrize(
    ("response_type", "code"),
    [
        ("MISSING_AUTHENTICATION_TOKEN", "not_found"),
        ("INVALID_SIGNATURE", "not_found"),
        ("REQUEST_TOO_LARGE", "payload_too_large"),
        ("UNSUPPORTED_MEDIA_TYPE", "unsupported_media_type"),
        ("THROTTLED", "rate_limited"),
        ("INTEGRATION_TIMEOUT", "unavailable"),
        ("UNAUTHORIZED", "unauthenticated"),
    ],
)
def test_a_gateway_response_has_the_code_that_the_service_uses_for_the_error(response_type, code):
    assert PROBLEMS[response_type].code == code


@pytest.mark.parametrize("response_type", PROBLEMS)
def test_gateway_responses_have_the_headers_that_their_status_requires(response_type):
    required_headers = {
        401: {"WWW-Authenticate"},
        429: {"Retry-After", "RateLimit", "RateLimit-Policy"},
        503: {"Retry-After"},
    }
    assert set(PROBLEMS[response_type].headers) == required_headers.get(PROBLEMS[response_type].status, set())


def test_the_endpoint_is_regional_and_throttled_at_the_rate_in_its_header(resources):
    api = resources["RestAPI"]["Properties"]
    assert api["EndpointConfiguration"] == "REGIONAL"
    (method,) = api["MethodSettings"]
    assert f"q={method['ThrottlingRateLimit']};w=1" in PROBLEMS["THROTTLED"].headers["RateLimit-Policy"]


def test_every_function_has_its_own_role(resources):
    functions = properties_by_name(resources, "Serverless::Function")
    roles = [function["Role"]["Fn::GetAtt"][0] for function in functions.values()]
    assert len(set(roles)) == len(functions) == len(properties_by_name(resources, "IAM::Role"))


def test_a_function_times_out_before_its_messages_become_visible_again(resources):
    queues = {STAGE.queue_arn(name).rpartition(":")[2]: queue for name, queue in QUEUES.items()}
    for function in properties_by_name(resources, "Serverless::Function").values():
        for source in function.get("Events", {}).values():
            if source["Type"] == "SQS":
                queue = queues[source["Properties"]["Queue"]["Fn::Sub"].rpartition(":")[2]]
                assert function["Timeout"] < int(queue["VisibilityTimeout"])


def test_a_stage_reserves_the_maximum_concurrency_of_each_queue_and_leaves_some_unreserved():
    config = json.loads((ROOT / ".chalice/config.json").read_text())
    reserved = {
        name: function.get("reserved_concurrency")
        for name, function in config["stages"]["prod"]["lambda_functions"].items()
    }
    assert set(reserved) == set(function_names(app))
    assert sum(reserved.values()) <= 900
    for source in app.event_sources:
        if isinstance(source, SQSEventConfig):
            assert reserved[source.name] >= source.maximum_concurrency
    assert not any("reserved_concurrency" in f for f in config["stages"]["dev"]["lambda_functions"].values())


def test_the_package_contains_nothing_of_the_local_stage(package, resources):
    variables = [f["Environment"]["Variables"] for f in properties_by_name(resources, "Serverless::Function").values()]
    assert all(v["STAGE"] == STAGE.name and "SETTINGS_FILE" not in v for v in variables)
    files = ZipFile(package / "deployment.zip").namelist()
    assert "chalicelib/entrypoints/docs/openapi.json" in files
    assert not any(file.startswith(("local/", "tests/", "infrastructure/", "moto/")) for file in files)


def test_the_package_contains_the_templates_of_mail(package):
    files = ZipFile(package / "deployment.zip").namelist()
    assert {"chalicelib/kernel/outbound/mail.txt.jinja", "chalicelib/kernel/outbound/mail.html.jinja"} <= set(files)
    assert "chalicelib/features/tenancy/invitations/mail.jinja" in files


def test_the_package_contains_the_data_that_migrations_load(package):
    assert f"chalicelib/features/reference/data/{LATEST_VERSION}.bin" in ZipFile(package / "deployment.zip").namelist()


def test_the_package_contains_the_templates_of_pages(package):
    files = set(ZipFile(package / "deployment.zip").namelist())
    assert {
        f"chalicelib/features/sites/rendering/{name}"
        for name in ("page.html.jinja", "body.html.jinja", "blocks.html.jinja", "page.css")
    } <= files
