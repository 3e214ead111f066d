"""What `bootstrap` learns from an issuer, and how it tells that a stack failed."""

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
from infrastructure.account import Refused
from infrastructure.discovery import jwks_of
from infrastructure.names import Stage
from tests.harness.certificates import CertificateAuthority

TEMPLATE = json.dumps({"Parameters": {"Stage": {"Type": "String"}, "AlarmEmail": {"Type": "String"}}, "Resources": {}})
PARAMETERS = [{"ParameterKey": "Stage", "ParameterValue": "prod"}]
DOMAIN = "example.com"
Document = dict[str, Any]


@pytest.fixture
def issuer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Document]]:
    """An issuer's address, and the document that it answers with; whatever stands in it is sent."""
    document: Document = {}

    class Issuer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if document else 404)
            self.end_headers()
            self.wfile.write(json.dumps(document).encode() if document else b"<html>")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    authority = CertificateAuthority()
    authority.trust(tmp_path, monkeypatch)
    with ThreadingHTTPServer(("127.0.0.1", 0), Issuer) as server:
        server.socket = authority.create_server_context("127.0.0.1").wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"https://127.0.0.1:{server.server_port}/tenant", document
        server.shutdown()


def test_an_issuer_says_where_its_keys_are(issuer: tuple[str, Document]) -> None:
    address, document = issuer
    document |= {"issuer": address, "jwks_uri": f"{address}/keys"}
    assert jwks_of(address) == f"{address}/keys"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, "responds with status 404 and no OpenID Connect Discovery document"),
        ({"issuer": "https://another.example.com"}, "names the issuer 'https://another.example.com' instead of"),
        ({"issuer": "{address}"}, "contains no https URL of a key set"),
        ({"issuer": "{address}", "jwks_uri": "http://example.com/keys"}, "contains no https URL of a key set"),
    ],
)
def test_an_issuer_that_does_not_say_so_is_refused_with_a_reason(
    said: Document, reason: str, issuer: tuple[str, Document]
) -> None:
    address, document = issuer
    document |= {key: value.format(address=address) for key, value in said.items()}
    with pytest.raises(Refused) as refused:
        jwks_of(address)
    assert reason in str(refused.value)


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """CloudFormation, which answers what it is told to, in that order."""
    monkeypatch.setattr(cloudformation, "_OFTEN", {"Delay": 0, "MaxAttempts": 2})
    client = boto3.client(
        "cloudformation", region_name="eu-central-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )
    monkeypatch.setattr(cloudformation, "client", lambda _: client)
    with Stubber(client) as stubber, patch.dict(os.environ):  # Chalice puts a stage's variables there, and leaves them.
        yield stubber
        stubber.assert_no_pending_responses()


def described(stubber: Stubber, status: str, *parameters: str) -> None:
    found = [{"ParameterKey": key, "ParameterValue": "kept"} for key in parameters]
    stack = {"StackName": "atrium-prod", "StackStatus": status, "CreationTime": 0, "Parameters": found}
    stubber.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": "atrium-prod"})


def failed(stubber: Stubber, resource: str, reason: str) -> None:
    known = {"StackId": "id", "EventId": "id", "StackName": "atrium-prod", "Timestamp": 0}
    stubber.add_response(
        "describe_stack_events",
        {
            "StackEvents": [
                known
                | {
                    "LogicalResourceId": "Queue",
                    "ResourceStatus": "CREATE_FAILED",
                    "ResourceStatusReason": "Resource creation cancelled",
                },
                known
                | {"LogicalResourceId": resource, "ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": reason},
                known | {"LogicalResourceId": "atrium-prod", "ResourceStatus": "CREATE_IN_PROGRESS"},
                known
                | {"LogicalResourceId": "Old", "ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": "Before."},
            ]
        },
    )


def test_a_stack_that_fails_is_explained_by_what_failed_first(stack: Stubber) -> None:
    stack.add_client_error("describe_stacks", "ValidationError", "Stack with id atrium-prod does not exist")
    stack.add_response("create_stack", {"StackId": "id"})
    described(stack, "CREATE_FAILED")
    described(stack, "CREATE_FAILED")
    failed(stack, "ExportsBucket", "The bucket name is taken.")
    with pytest.raises(Refused) as refused:
        cloudformation.apply("atrium-prod", TEMPLATE, {"Stage": "prod"})
    assert str(refused.value).endswith("to continue.\n  ExportsBucket: The bucket name is taken.")


def test_a_stack_that_was_not_finished_is_gone_on_with_and_keeps_its_parameters(stack: Stubber) -> None:
    described(stack, "CREATE_FAILED", "Stage", "AlarmEmail", "NoLonger")
    wanted = [*PARAMETERS, {"ParameterKey": "AlarmEmail", "UsePreviousValue": True}]
    stack.add_response(
        "update_stack",
        {"StackId": "id"},
        {
            "StackName": "atrium-prod",
            "TemplateBody": json.dumps(json.loads(TEMPLATE), separators=(",", ":")),
            "Parameters": wanted,
            "DisableRollback": True,
            "Capabilities": ["CAPABILITY_NAMED_IAM"],
        },
    )
    described(stack, "UPDATE_COMPLETE")
    described(stack, "UPDATE_COMPLETE")
    assert cloudformation.apply("atrium-prod", TEMPLATE, {"Stage": "prod"}) == {}


@pytest.mark.parametrize("status", ["UPDATE_ROLLBACK_FAILED", "ROLLBACK_COMPLETE"])
def test_a_stack_that_is_stuck_is_left_alone(status: str, stack: Stubber) -> None:
    described(stack, status)
    failed(stack, "Table", "It can't be replaced.")
    with pytest.raises(Refused, match=rf"is in status {status}[^\n]*\n  Table: It can't be replaced\."):
        cloudformation.apply("atrium-prod", TEMPLATE, {"Stage": "prod"})


def test_a_stack_that_is_being_changed_is_waited_for(stack: Stubber) -> None:
    described(stack, "UPDATE_IN_PROGRESS")
    with pytest.raises(Refused, match="Wait until it is complete"):
        cloudformation.apply("atrium-prod", TEMPLATE, {"Stage": "prod"})


@pytest.mark.parametrize(
    ("here", "known", "made"),
    [("", "", DOMAIN), ("", DOMAIN, ""), (DOMAIN, None, DOMAIN), ("other.example", DOMAIN, "")],
)
def test_a_domain_that_ses_knows_from_elsewhere_is_not_made_again(
    here: str, known: str | None, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ses = boto3.client("sesv2", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
    monkeypatch.setattr(cloudformation, "client", lambda _: ses)
    monkeypatch.setattr(cloudformation, "parameters", lambda _: {"MailDomain": here})
    with Stubber(ses) as stubber:
        if known:
            stubber.add_response("get_email_identity", {"IdentityType": "DOMAIN"}, {"EmailIdentity": known})
        elif known is not None:
            stubber.add_client_error("get_email_identity", "NotFoundException")
        assert cloudformation.domain_to_make("atrium-prod", DOMAIN) == made
        stubber.assert_no_pending_responses()


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """Lambda, which answers what it is told to, in that order."""
    client = boto3.client("lambda", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
    monkeypatch.setattr(deploy, "client", lambda _: client)
    with Stubber(client) as stubber, patch.dict(os.environ):  # Chalice puts a stage's variables there, and leaves them.
        yield stubber
        stubber.assert_no_pending_responses()


def has_room_for(functions: Stubber, free: int) -> None:
    functions.add_response("get_account_settings", {"AccountLimit": {"UnreservedConcurrentExecutions": free}})
    functions.add_response("get_function_concurrency", {"ReservedConcurrentExecutions": 300})
    for _ in range(7):
        functions.add_client_error("get_function_concurrency", "ResourceNotFoundException")


@pytest.mark.parametrize("free", [10, 674])
def test_an_account_that_has_no_room_is_told_before_anything_is_made(free: int, functions: Stubber) -> None:
    has_room_for(functions, free)
    with pytest.raises(Refused, match="reserves 875 concurrent executions"):
        deploy.check_room(Stage("prod", "123456789012", "eu-central-1"))


def test_what_a_stage_reserves_already_is_room_for_it(functions: Stubber) -> None:
    has_room_for(functions, 675)
    deploy.check_room(Stage("prod", "123456789012", "eu-central-1"))
