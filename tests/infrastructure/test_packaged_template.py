"""The template that `chalice package` creates from the app, its configuration and the merged template."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
from botocore.session import get_session
from chalice.app import SQSEventConfig

from app import app
from chalicelib.entrypoints.capacity import profile_of
from chalicelib.features.reference.models.dataset_file import LATEST_VERSION
from chalicelib.kernel.core.problems import CODES
from chalicelib.kernel.core.version import API_VERSION
from infrastructure.deployed_functions import function_names
from infrastructure.gateway import PROBLEMS, Throttle, openapi_gateway_responses
from infrastructure.resources import QUEUES, RECURSIVE_FUNCTIONS
from infrastructure.template import template_of_api
from local.paths import ROOT
from tests.harness import configured_stages, project_copies
from tests.harness.configured_stages import STAGE

PROJECT = ("app.py", "chalicelib", "openapi.json", ".chalice", "infrastructure")
API_PATH = "/dev"
NEW_ACCOUNT_CONCURRENCY = 10
THROTTLE = Throttle(3_000, 1_500)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The folder that `chalice package` wrote for the configured stage `dev`."""
    folder = tmp_path_factory.mktemp("project")
    project = project_copies.copy_project(PROJECT, folder, "deployed", "deployments", "venv")
    configured_stages.configure_stage(project)
    (project / "requirements.txt").touch()  # Libraries would be downloaded, and change only the archive.
    command = [program("chalice"), "package", "--stage", "dev"]
    (project / "template.json").write_text(json.dumps(template_of_api(API_PATH, THROTTLE)))
    command += ["--merge-template", "template.json", "out"]
    project_copies.run_in_copy(command, project, AWS_DEFAULT_REGION="eu-central-1")
    return project / "out"


def program(name):
    return str(Path(sys.executable).with_name(name))


@pytest.fixture(scope="module")
def resources(package):
    """The resources of the packaged template, by name."""
    return json.loads((package / "sam.json").read_text())["Resources"]


@pytest.fixture(scope="module")
def transformed(package):
    """The CloudFormation resources that AWS SAM creates from that template, by name."""
    from samtranslator.translator.transform import transform

    template = json.loads((package / "sam.json").read_text())
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://packages/deployment.zip"  # As `cloudformation package` sets it.
    no_managed_policies = SimpleNamespace(load=dict)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", STAGE.region)
        return transform(template, {"Stage": STAGE.name}, no_managed_policies)["Resources"]


def properties_by_name(resources, resource_type):
    return {name: r["Properties"] for name, r in resources.items() if r["Type"] == f"AWS::{resource_type}"}


@pytest.mark.exhaustive
def test_the_template_passes_cfn_lint(package):
    command = [program("cfn-lint"), "--regions", STAGE.region, "--template", "sam.json"]
    project_copies.run_in_copy(command, package)


def test_aws_sam_creates_the_functions_api_and_queue_mappings_that_the_stack_expects(transformed):
    functions = properties_by_name(transformed, "Lambda::Function").values()
    names = {function["FunctionName"]["Fn::Sub"].replace("${Stage}", STAGE.name) for function in functions}
    assert names == {STAGE.function_name(name) for name in function_names(app)}
    allowed = {f["FunctionName"]["Fn::Sub"].rpartition("-")[2] for f in functions if f.get("RecursiveLoop") == "Allow"}
    assert allowed == set(RECURSIVE_FUNCTIONS)

    (stage,) = properties_by_name(transformed, "ApiGateway::Stage").values()
    assert stage["StageName"] == STAGE.name
    assert stage["AccessLogSetting"]["DestinationArn"]["Fn::Sub"].endswith(":log-group:/atrium/${Stage}/access")
    assert stage["MethodSettings"][0]["ThrottlingRateLimit"] == THROTTLE.requests_per_second
    (api,) = properties_by_name(transformed, "ApiGateway::RestApi").values()
    # Both ways of deployment set the same gateway responses.
    assert api["Body"]["x-amazon-apigateway-gateway-responses"] == openapi_gateway_responses(API_PATH, THROTTLE)

    mappings = properties_by_name(transformed, "Lambda::EventSourceMapping").values()
    sources = {mapping["EventSourceArn"]["Fn::Sub"].rpartition(":")[2] for mapping in mappings}
    assert sources == {STAGE.queue_arn(queue).rpartition(":")[2] for queue in QUEUES}
    assert all(mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for mapping in mappings)
    # Lambda rejects a batching window for FIFO queues.
    assert all(mapping["MaximumBatchingWindowInSeconds"] == {"Ref": "AWS::NoValue"} for mapping in mappings)


def test_responses_from_1_kib_on_are_compressed(transformed):
    (api,) = properties_by_name(transformed, "ApiGateway::RestApi").values()
    assert api["MinimumCompressionSize"] == 1024
    assert api["Body"]["x-amazon-apigateway-binary-media-types"] == []  # All bodies are text.


def test_every_type_of_gateway_response_has_a_problem():
    model = get_session().get_service_model("apigateway")
    assert set(PROBLEMS) == set(model.shape_for("GatewayResponseType").enum)


@pytest.mark.parametrize("response_type", PROBLEMS)
def test_a_gateway_response_is_a_problem_with_the_headers_of_the_service(response_type, resources):
    response = resources["RestAPI"]["Properties"]["GatewayResponses"][response_type]
    template = response["ResponseTemplates"]["application/json"].replace("$context.path", "/x")
    document = json.loads(template.replace("$context.requestId", "a-request"))
    status, title = CODES[document["code"]]
    assert (document["status"], document["title"], response["StatusCode"]) == (status, title, status)
    assert document["type"] == f"urn:atrium:problem:{document['code']}"
    assert (document["instance"], document["requestId"]) == ("/x", "a-request")
    assert "$" not in template.replace("$context.requestId", "")
    headers = response["ResponseParameters"]["Headers"]
    expected = {
        "Content-Type": "'application/problem+json'",
        "X-Request-Id": "context.requestId",
        "API-Version": f"'{API_VERSION}'",
        "Access-Control-Allow-Origin": "'*'",
    }
    assert expected.items() <= headers.items()
    required = {
        401: {"WWW-Authenticate"},
        404: {"Link"},
        429: {"Retry-After", "RateLimit", "RateLimit-Policy"},
        503: {"Retry-After"},
    }
    assert set(PROBLEMS[response_type].headers) == required.get(status, set())
    if status == 404:
        assert headers["Link"] == "'</dev/docs>; rel=\"service-doc\"'"
        assert "at /dev/docs lists" in document["detail"]


def test_gateway_responses_have_the_codes_that_the_service_uses_for_the_errors():
    expected = {
        # API Gateway has one of these types for an unknown path, depending on the credential.
        **dict.fromkeys(("MISSING_AUTHENTICATION_TOKEN", "RESOURCE_NOT_FOUND"), "no_such_route"),
        **dict.fromkeys(("INVALID_SIGNATURE", "EXPIRED_TOKEN", "ACCESS_DENIED", "DEFAULT_4XX"), "no_such_route"),
        **dict.fromkeys(("INVALID_API_KEY", "WAF_FILTERED"), "forbidden"),
        **dict.fromkeys(("THROTTLED", "QUOTA_EXCEEDED"), "rate_limited"),
        **dict.fromkeys(("INTEGRATION_TIMEOUT", "INTEGRATION_FAILURE"), "unavailable"),
        "BAD_REQUEST_BODY": "malformed_json",
        "BAD_REQUEST_PARAMETERS": "invalid_header",
        "REQUEST_TOO_LARGE": "payload_too_large",
        "UNSUPPORTED_MEDIA_TYPE": "unsupported_media_type",
        "UNAUTHORIZED": "unauthenticated",
    }
    assert {response_type: PROBLEMS[response_type].code for response_type in expected} == expected


def test_the_endpoint_is_regional_and_throttled_at_the_rate_in_its_header(resources):
    api = resources["RestAPI"]["Properties"]
    assert api["EndpointConfiguration"] == "REGIONAL"
    (method,) = api["MethodSettings"]
    assert (method["ThrottlingRateLimit"], method["ThrottlingBurstLimit"]) == THROTTLE
    for response_type in ("THROTTLED", "QUOTA_EXCEEDED"):
        headers = api["GatewayResponses"][response_type]["ResponseParameters"]["Headers"]
        assert "q=3000;w=1" in headers["RateLimit-Policy"]


def test_every_function_has_its_own_role_and_times_out_before_its_messages_become_visible_again(resources):
    functions = properties_by_name(resources, "Serverless::Function")
    roles = {function["Role"]["Fn::GetAtt"][0] for function in functions.values()}
    assert len(roles) == len(functions) == len(properties_by_name(resources, "IAM::Role"))
    queues = {STAGE.queue_arn(name).rpartition(":")[2]: queue for name, queue in QUEUES.items()}
    sources = [
        (f["Timeout"], s) for f in functions.values() for s in f.get("Events", {}).values() if s["Type"] == "SQS"
    ]
    assert len(sources) == len(QUEUES)
    for timeout, source in sources:
        queue = queues[source["Properties"]["Queue"]["Fn::Sub"].rpartition(":")[2]]
        assert timeout < int(queue["VisibilityTimeout"])


def test_a_stage_reserves_the_maximum_concurrency_of_each_queue_and_leaves_some_unreserved():
    stages = json.loads((ROOT / ".chalice/config.json").read_text())["stages"]
    reserved = {name: f.get("reserved_concurrency") for name, f in stages["prod"]["lambda_functions"].items()}
    assert set(reserved) == set(function_names(app))
    assert reserved == profile_of({"STAGE": "prod"}).reserved_concurrency
    assert sum(reserved.values()) <= 900
    sources = {source.name: source for source in app.event_sources if isinstance(source, SQSEventConfig)}
    assert sources.keys() == profile_of({"STAGE": "prod"}).maximum_concurrency.keys()
    for name, maximum in profile_of({"STAGE": "prod"}).maximum_concurrency.items():
        assert reserved[name] >= maximum
    assert not any("reserved_concurrency" in f for f in stages["dev"]["lambda_functions"].values())


def test_the_queues_of_a_small_stage_leave_executions_of_a_new_account_to_the_api(transformed):
    small = profile_of({"STAGE": "dev"})
    assert small.reserved_concurrency == {}
    assert sum(small.maximum_concurrency.values()) <= NEW_ACCOUNT_CONCURRENCY - 2
    mappings = properties_by_name(transformed, "Lambda::EventSourceMapping")
    assert len(mappings) == len(small.maximum_concurrency)
    assert {mapping["ScalingConfig"]["MaximumConcurrency"] for mapping in mappings.values()} == {2}
    assert profile_of({"STAGE": "dev", "CAPACITY": "full"}) == profile_of({"STAGE": "prod"}) != small
    assert profile_of({"STAGE": "prod", "CAPACITY": "small"}) == small


def test_the_package_contains_templates_and_data_and_nothing_of_the_local_stage(package, resources):
    variables = [f["Environment"]["Variables"] for f in properties_by_name(resources, "Serverless::Function").values()]
    assert all(v["STAGE"] == STAGE.name and "SETTINGS_FILE" not in v for v in variables)
    files = set(ZipFile(package / "deployment.zip").namelist())
    assert not any(file.startswith(("local/", "tests/", "infrastructure/", "moto/")) for file in files)
    assert files >= {
        "chalicelib/entrypoints/docs/openapi.json",
        "chalicelib/kernel/outbound/mail.txt.jinja",
        "chalicelib/kernel/outbound/mail.html.jinja",
        *(f"chalicelib/features/tenancy/{name}/mail.jinja" for name in ("invitations", "members")),
        f"chalicelib/features/reference/data/{LATEST_VERSION}.bin",
        *(f"chalicelib/features/sites/rendering/{name}.html.jinja" for name in ("page", "body", "blocks")),
        "chalicelib/features/sites/rendering/page.css",
    }


def test_the_web_acl_of_the_safeguards_is_put_in_front_of_the_api_only_if_there_is_one(transformed, package):
    association = transformed["WebAclAssociation"]
    (api_stage,) = properties_by_name(transformed, "ApiGateway::Stage")
    assert association["Properties"]["ResourceArn"]["Fn::Sub"].endswith(
        f"::/restapis/${{RestAPI}}/stages/${{{api_stage}}}"
    )
    template = json.loads((package / "sam.json").read_text())
    assert template["Parameters"]["WebAclArn"]["Default"] == ""
    assert template["Conditions"][association["Condition"]] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "WebAclArn"}, ""]}]}
