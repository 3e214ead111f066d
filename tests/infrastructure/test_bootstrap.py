"""How `bootstrap` discovers an issuer's keys, and how the commands report failed stacks and missing capacity."""

import ast
import json
import os
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from botocore.stub import Stubber

from chalicelib.kernel.core.settings import settings_model
from infrastructure import cloudformation, quotas, template_uploads
from infrastructure.account import CommandError, translate_errors
from infrastructure.bootstrap import requested_settings
from infrastructure.discovery import discover_jwks_url
from infrastructure.names import Stage
from infrastructure.policies import GRANTS
from infrastructure.template_uploads import MAX_TEMPLATE_BYTES
from local.paths import ROOT
from tests.harness.certificates import CertificateAuthority
from tests.harness.receiver import Receiver, Reply

TEMPLATE = json.dumps({"Parameters": {"Stage": {"Type": "String"}, "AlarmEmail": {"Type": "String"}}, "Resources": {}})
PARAMETERS = [{"ParameterKey": "Stage", "ParameterValue": "prod"}]
DOMAIN = "example.com"


@pytest.fixture
def issuer(tmp_path, monkeypatch):
    """The URL of an issuer, and its discovery document. Tests add fields; an empty document is answered with 404."""
    document: dict[str, Any] = {}
    authority = CertificateAuthority()
    authority.trust(tmp_path, monkeypatch)
    with Receiver(tls=authority.create_server_context("127.0.0.1")) as server:
        server.default_reply = lambda _: Reply(200 if document else 404, body=json.dumps(document or "<html>").encode())
        yield f"{server.url}tenant", document


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"issuer": "{url}", "jwks_uri": "{url}/keys"}, None),
        ({}, "responds with status 404 and no OpenID Connect Discovery document"),
        ({"issuer": "https://another.example.com"}, "names the issuer 'https://another.example.com' instead of"),
        ({"issuer": "{url}"}, "contains no https URL of a key set"),
        ({"issuer": "{url}", "jwks_uri": "http://example.com/keys"}, "contains no https URL of a key set"),
        ({"issuer": "{url}", "jwks_uri": "https://[::1"}, "contains no https URL of a key set"),
    ],
)
def test_the_key_set_url_is_read_from_a_valid_discovery_document(fields, reason, issuer):
    url, document = issuer
    document |= {key: value.format(url=url) for key, value in fields.items()}
    if reason is None:
        assert discover_jwks_url(url) == f"{url}/keys"
        return
    with pytest.raises(CommandError) as raised:
        discover_jwks_url(url)
    assert reason in str(raised.value)


def test_set_changes_exactly_the_settings_that_no_command_sets():
    files = (ROOT / "infrastructure").glob("*.py")
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    reads = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "get"]
    # A command only reads what it names as an argument of `get`, as CONSOLE_CLIENT_ID.
    read = {id(argument) for call in reads for argument in call.args}
    named = {node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in read}
    # The prefix of a partition can have the name of a setting, as WITNESSES.
    named -= {prefix for grants in GRANTS.values() for grant in grants for prefix in grant.prefixes}
    for field, info in settings_model().model_fields.items():
        name = field.upper()
        if name in named or info.is_required() or field.endswith("_queue_url"):
            with pytest.raises(CommandError, match=f"SET cannot change {name}: "):
                requested_settings({}, [f"{name}=x"])
        else:
            assert requested_settings({}, [f"{name}=x", f"{name}="]) == {name: ""}


def stubbed_client(service):
    """Return a client and its stubber, which returns responses in order."""
    credentials = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    client = boto3.client(service, region_name="eu-central-1", **credentials)
    return client, Stubber(client)


@pytest.fixture
def stack(monkeypatch):
    """CloudFormation, with stubbed responses."""
    monkeypatch.setattr(cloudformation, "_WAITER_CONFIG", {"Delay": 0, "MaxAttempts": 2})
    client, stubber = stubbed_client("cloudformation")
    monkeypatch.setattr(cloudformation, "client", lambda *_: client)
    with stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def stub_describe_stack(stubber: Stubber, status: str, *parameter_names: str) -> None:
    parameters = [{"ParameterKey": key, "ParameterValue": "kept"} for key in parameter_names]
    stack = {"StackName": "atrium-prod", "StackStatus": status, "CreationTime": 0, "Parameters": parameters}
    stubber.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": "atrium-prod"})


def stub_failure_events(stubber, resource, reason):
    """Let CloudFormation return the events of an update in which a resource failed, newest first."""
    common = {"StackId": "id", "EventId": "id", "StackName": "atrium-prod", "Timestamp": 0}
    events = [
        ("Queue", "CREATE_FAILED", "Resource creation cancelled"),
        (resource, "CREATE_FAILED", reason),
        ("atrium-prod", "CREATE_IN_PROGRESS", ""),
        ("Old", "CREATE_FAILED", "Before."),
    ]
    names = ("LogicalResourceId", "ResourceStatus", "ResourceStatusReason")
    stack_events = [common | dict(zip(names, event, strict=True)) for event in events]
    stubber.add_response("describe_stack_events", {"StackEvents": stack_events})


def test_a_failed_stack_is_reported_with_the_first_resource_that_failed(stack):
    stack.add_client_error("describe_stacks", "ValidationError", "Stack with id atrium-prod does not exist")
    stack.add_response("create_stack", {"StackId": "id"})
    stub_describe_stack(stack, "CREATE_FAILED")
    stub_describe_stack(stack, "CREATE_FAILED")
    stub_failure_events(stack, "ExportsBucket", "The bucket name is taken.")
    with pytest.raises(CommandError) as raised:
        cloudformation.create_or_update_stack("atrium-prod", TEMPLATE, {"Stage": "prod"})
    assert str(raised.value).endswith("to continue.\n  ExportsBucket: The bucket name is taken.")


def test_an_incomplete_stack_is_updated_and_keeps_its_other_parameters(stack):
    stub_describe_stack(stack, "CREATE_FAILED", "Stage", "AlarmEmail", "NoLonger")
    expected = {
        "StackName": "atrium-prod",
        "TemplateBody": json.dumps(json.loads(TEMPLATE), separators=(",", ":")),
        "Parameters": [*PARAMETERS, {"ParameterKey": "AlarmEmail", "UsePreviousValue": True}],
        "DisableRollback": True,
        "Capabilities": ["CAPABILITY_NAMED_IAM"],
    }
    stack.add_response("update_stack", {"StackId": "id"}, expected)
    stub_describe_stack(stack, "UPDATE_COMPLETE")
    stub_describe_stack(stack, "UPDATE_COMPLETE")
    assert cloudformation.create_or_update_stack("atrium-prod", TEMPLATE, {"Stage": "prod"}) == {}


def test_a_template_larger_than_a_request_is_read_from_the_bucket_of_the_stage(stack, monkeypatch):
    stage, bucket = Stage("prod", "123456789012", "eu-central-1"), "atrium-prod-templates-123456789012-eu-central-1"
    large = json.dumps({"Resources": {}, "Description": "x" * MAX_TEMPLATE_BYTES}, separators=(",", ":"))
    s3, files = stubbed_client("s3")
    monkeypatch.setattr(template_uploads, "client", lambda _: s3)
    owner = {"Bucket": bucket, "ExpectedBucketOwner": stage.account}
    files.add_client_error("head_bucket", "404", expected_params=owner)
    place = {"LocationConstraint": stage.region}
    files.add_response("create_bucket", {}, {"Bucket": bucket, "CreateBucketConfiguration": place})
    files.add_response("put_object", {}, {**owner, "Key": "template.json", "Body": large.encode()})
    files.add_response("delete_object", {}, {**owner, "Key": "template.json"})
    stub_describe_stack(stack, "UPDATE_COMPLETE")
    expected = {
        "StackName": "atrium-prod",
        "TemplateURL": f"https://{bucket}.s3.eu-central-1.amazonaws.com/template.json",
        "Parameters": [],
        "DisableRollback": False,
        "Capabilities": ["CAPABILITY_NAMED_IAM"],
    }
    stack.add_client_error("update_stack", "ValidationError", "Template error", expected_params=expected)
    with files, pytest.raises(CommandError, match="Template error"):
        cloudformation.create_or_update_stack("atrium-prod", large, {}, upload_for=stage)
    files.assert_no_pending_responses()  # The file is deleted although the update was rejected.


@pytest.mark.parametrize(
    ("code", "reason"), [("403", "belongs to another account"), ("500", "AWS rejected HeadBucket")]
)
def test_a_bucket_for_templates_that_cannot_be_used_is_reported(code, reason, monkeypatch):
    s3, files = stubbed_client("s3")
    monkeypatch.setattr(template_uploads, "client", lambda _: s3)
    files.add_client_error("head_bucket", code)
    upload = template_uploads.uploaded_template(Stage("prod", "123456789012", "eu-central-1"), "{}")
    with files, pytest.raises(CommandError, match=reason), translate_errors(), upload:
        pass


@pytest.mark.parametrize("status", ["UPDATE_ROLLBACK_FAILED", "ROLLBACK_COMPLETE", "UPDATE_IN_PROGRESS"])
def test_a_stack_that_cannot_be_updated_is_left_unchanged(status, stack):
    stub_describe_stack(stack, status)
    message = "Wait until it is complete"
    if status != "UPDATE_IN_PROGRESS":
        stub_failure_events(stack, "Table", "It can't be replaced.")
        message = rf"is in status {status}[^\n]*\n  Table: It can't be replaced\."
    with pytest.raises(CommandError, match=message):
        cloudformation.create_or_update_stack("atrium-prod", TEMPLATE, {"Stage": "prod"})


@pytest.mark.parametrize(
    ("stack_domain", "ses_domain", "created"),
    [("", "", DOMAIN), ("", DOMAIN, ""), (DOMAIN, None, DOMAIN), ("other.example", DOMAIN, "")],
)
def test_a_mail_domain_is_created_unless_it_exists_outside_the_stack(stack_domain, ses_domain, created, monkeypatch):
    ses, stubber = stubbed_client("sesv2")
    monkeypatch.setattr(cloudformation, "client", lambda _: ses)
    monkeypatch.setattr(cloudformation, "stack_parameters", lambda _: {"MailDomain": stack_domain})
    with stubber:
        if ses_domain:
            stubber.add_response("get_email_identity", {"IdentityType": "DOMAIN"}, {"EmailIdentity": ses_domain})
        elif ses_domain is not None:
            stubber.add_client_error("get_email_identity", "NotFoundException")
        assert cloudformation.identity_domain("atrium-prod", DOMAIN) == created
        stubber.assert_no_pending_responses()


@pytest.mark.parametrize(("unreserved", "suffices"), [(10, False), (674, False), (675, True)])
def test_a_lack_of_concurrent_executions_is_reported_besides_those_that_the_stage_has_reserved(
    unreserved, suffices, monkeypatch
):
    functions, stubber = stubbed_client("lambda")
    monkeypatch.setattr(quotas, "client", lambda _: functions)
    limits = {"UnreservedConcurrentExecutions": unreserved, "ConcurrentExecutions": unreserved + 300}
    stubber.add_response("get_account_settings", {"AccountLimit": limits})
    stubber.add_response("get_function_concurrency", {"ReservedConcurrentExecutions": 300})
    for _ in range(7):
        stubber.add_client_error("get_function_concurrency", "ResourceNotFoundException")
    expectation = nullcontext() if suffices else pytest.raises(CommandError, match="needs 975")
    # Chalice sets a stage's variables in the environment, permanently.
    with stubber, patch.dict(os.environ), expectation as raised:
        quotas.check_concurrency(Stage("prod", "123456789012", "eu-central-1"))
    if raised is not None:
        message = str(raised.value)
        assert f"has {unreserved + 300} in eu-central-1, of which {unreserved + 300} are available" in message
        assert "--quota-code L-B99A9384 --region eu-central-1 --desired-value 975\n" in message
        assert message.endswith("make bootstrap STAGE=prod CAPACITY=small")
    stubber.assert_no_pending_responses()
