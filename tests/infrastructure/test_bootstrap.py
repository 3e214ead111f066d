"""How `bootstrap` discovers an issuer's keys, and how the commands report failed stacks and missing capacity."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from botocore.stub import Stubber

from infrastructure import cloudformation, deploy
from infrastructure.account import CommandError
from infrastructure.discovery import discover_jwks_url
from infrastructure.names import Stage
from tests.harness.certificates import CertificateAuthority

TEMPLATE = json.dumps({"Parameters": {"Stage": {"Type": "String"}, "AlarmEmail": {"Type": "String"}}, "Resources": {}})
PARAMETERS = [{"ParameterKey": "Stage", "ParameterValue": "prod"}]
DOMAIN = "example.com"
Document = dict[str, Any]


@pytest.fixture
def issuer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Document]]:
    """The URL of an issuer, and its discovery document. Tests add fields; an empty document is answered with 404."""
    document: Document = {}

    class Issuer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if document else 404)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode() if document else b"<html>")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    authority = CertificateAuthority()
    authority.trust(tmp_path, monkeypatch)
    with ThreadingHTTPServer(("127.0.0.1", 0), Issuer) as server:
        server.socket = authority.create_server_context("127.0.0.1").wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"https://127.0.0.1:{server.server_port}/tenant", document
        server.shutdown()


def test_the_key_set_url_is_read_from_the_discovery_document(issuer):
    url, document = issuer
    document |= {"issuer": url, "jwks_uri": f"{url}/keys"}
    assert discover_jwks_url(url) == f"{url}/keys"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "responds with status 404 and no OpenID Connect Discovery document"),
        ({"issuer": "https://another.example.com"}, "names the issuer 'https://another.example.com' instead of"),
        ({"issuer": "{url}"}, "contains no https URL of a key set"),
        ({"issuer": "{url}", "jwks_uri": "http://example.com/keys"}, "contains no https URL of a key set"),
    ],
)
def test_an_issuer_without_a_valid_discovery_document_is_rejected_with_a_reason(fields, reason, issuer):
    url, document = issuer
    document |= {key: value.format(url=url) for key, value in fields.items()}
    with pytest.raises(CommandError) as raised:
        discover_jwks_url(url)
    assert reason in str(raised.value)


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """CloudFormation, with stubbed responses that are returned in order."""
    monkeypatch.setattr(cloudformation, "_WAITER_CONFIG", {"Delay": 0, "MaxAttempts": 2})
    client = boto3.client(
        "cloudformation", region_name="eu-central-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )
    monkeypatch.setattr(cloudformation, "client", lambda _: client)
    with Stubber(client) as stubber, patch.dict(os.environ):  # Chalice sets a stage's variables there, permanently.
        yield stubber
        stubber.assert_no_pending_responses()


def stub_describe_stack(stubber: Stubber, status: str, *parameter_names: str) -> None:
    parameters = [{"ParameterKey": key, "ParameterValue": "kept"} for key in parameter_names]
    stack = {"StackName": "atrium-prod", "StackStatus": status, "CreationTime": 0, "Parameters": parameters}
    stubber.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": "atrium-prod"})


def stub_failure_events(stubber: Stubber, resource: str, reason: str) -> None:
    """Let CloudFormation return the events of an update in which a resource failed, newest first."""
    event = {"StackId": "id", "EventId": "id", "StackName": "atrium-prod", "Timestamp": 0}
    stubber.add_response(
        "describe_stack_events",
        {
            "StackEvents": [
                event
                | {
                    "LogicalResourceId": "Queue",
                    "ResourceStatus": "CREATE_FAILED",
                    "ResourceStatusReason": "Resource creation cancelled",
                },
                event
                | {"LogicalResourceId": resource, "ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": reason},
                event | {"LogicalResourceId": "atrium-prod", "ResourceStatus": "CREATE_IN_PROGRESS"},
                event
                | {"LogicalResourceId": "Old", "ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": "Before."},
            ]
        },
    )


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
    expected_parameters = [*PARAMETERS, {"ParameterKey": "AlarmEmail", "UsePreviousValue": True}]
    stack.add_response(
        "update_stack",
        {"StackId": "id"},
        {
            "StackName": "atrium-prod",
            "TemplateBody": json.dumps(json.loads(TEMPLATE), separators=(",", ":")),
            "Parameters": expected_parameters,
            "DisableRollback": True,
            "Capabilities": ["CAPABILITY_NAMED_IAM"],
        },
    )
    stub_describe_stack(stack, "UPDATE_COMPLETE")
    stub_describe_stack(stack, "UPDATE_COMPLETE")
    assert cloudformation.create_or_update_stack("atrium-prod", TEMPLATE, {"Stage": "prod"}) == {}


@pytest.mark.parametrize("status", ["UPDATE_ROLLBACK_FAILED", "ROLLBACK_COMPLETE"])
def test_a_stack_that_cannot_be_updated_is_left_unchanged(status, stack):
    stub_describe_stack(stack, status)
    stub_failure_events(stack, "Table", "It can't be replaced.")
    with pytest.raises(CommandError, match=rf"is in status {status}[^\n]*\n  Table: It can't be replaced\."):
        cloudformation.create_or_update_stack("atrium-prod", TEMPLATE, {"Stage": "prod"})


def test_a_stack_that_is_being_updated_is_left_unchanged(stack):
    stub_describe_stack(stack, "UPDATE_IN_PROGRESS")
    with pytest.raises(CommandError, match="Wait until it is complete"):
        cloudformation.create_or_update_stack("atrium-prod", TEMPLATE, {"Stage": "prod"})


@pytest.mark.parametrize(
    ("stack_domain", "ses_domain", "created"),
    [("", "", DOMAIN), ("", DOMAIN, ""), (DOMAIN, None, DOMAIN), ("other.example", DOMAIN, "")],
)
def test_a_mail_domain_is_created_unless_it_exists_outside_the_stack(stack_domain, ses_domain, created, monkeypatch):
    ses = boto3.client("sesv2", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
    monkeypatch.setattr(cloudformation, "client", lambda _: ses)
    monkeypatch.setattr(cloudformation, "stack_parameters", lambda _: {"MailDomain": stack_domain})
    with Stubber(ses) as stubber:
        if ses_domain:
            stubber.add_response("get_email_identity", {"IdentityType": "DOMAIN"}, {"EmailIdentity": ses_domain})
        elif ses_domain is not None:
            stubber.add_client_error("get_email_identity", "NotFoundException")
        assert cloudformation.identity_domain("atrium-prod", DOMAIN) == created
        stubber.assert_no_pending_responses()


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """Lambda, with stubbed responses that are returned in order."""
    client = boto3.client("lambda", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
    monkeypatch.setattr(deploy, "client", lambda _: client)
    with Stubber(client) as stubber, patch.dict(os.environ):  # Chalice sets a stage's variables there, permanently.
        yield stubber
        stubber.assert_no_pending_responses()


def stub_concurrency(functions: Stubber, unreserved: int) -> None:
    """Let an account have unreserved concurrent executions, besides 300 that the stage has reserved."""
    functions.add_response("get_account_settings", {"AccountLimit": {"UnreservedConcurrentExecutions": unreserved}})
    functions.add_response("get_function_concurrency", {"ReservedConcurrentExecutions": 300})
    for _ in range(7):
        functions.add_client_error("get_function_concurrency", "ResourceNotFoundException")


@pytest.mark.parametrize("unreserved", [10, 674])
def test_a_lack_of_concurrent_executions_is_reported(unreserved, functions):
    stub_concurrency(functions, unreserved)
    with pytest.raises(CommandError, match="reserves 875 concurrent executions"):
        deploy.check_concurrency(Stage("prod", "123456789012", "eu-central-1"))


def test_executions_that_a_stage_has_already_reserved_count_as_available(functions):
    stub_concurrency(functions, 675)
    deploy.check_concurrency(Stage("prod", "123456789012", "eu-central-1"))
