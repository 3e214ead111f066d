"""What API Gateway writes about each request that it takes, the refused ones too, as lines of JSON.

Writing takes a role that belongs to the account and region, not to an API: whoever comes first makes it.
"""

import json
from contextlib import suppress
from typing import Any, Final

from botocore.exceptions import ClientError

from infrastructure.account import client
from infrastructure.deployed_functions import functions
from infrastructure.names import Stage
from infrastructure.resources import LOG_RETENTION_DAYS

ROLE: Final = "atrium-gateway-logs"

FORMAT: Final = json.dumps(
    {
        "requestId": "$context.requestId",
        "extendedRequestId": "$context.extendedRequestId",
        "invocationId": "$context.integration.requestId",
        "time": "$context.requestTimeEpoch",
        "method": "$context.httpMethod",
        "path": "$context.path",
        "status": "$context.status",
        "responseLength": "$context.responseLength",
        "latencyMs": "$context.responseLatency",
        "integrationLatencyMs": "$context.integrationLatency",
        "refusedAs": "$context.error.responseType",
        "ip": "$context.identity.sourceIp",
        "userAgent": "$context.identity.userAgent",
    }
)
"""A line of the access log; it has neither query nor headers, where a secret could be."""

_TRUST: Final = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "apigateway.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}
ADVICE: Final = (
    "API Gateway may not write logs in this account and region yet ({}). `make deploy` goes on without. It is tried"
    " again by every `make bootstrap` and `make deploy`; docs/guides/deployment.md says what it takes."
)
"""What is said where logs can't be written, with the reason."""


def make_role(stage: Stage) -> None:
    """Make the role, unless the account's gateway has one; where that is refused, `allow` says so."""
    with suppress(ClientError):
        if client("apigateway").get_account().get("cloudwatchRoleArn"):
            return
        iam = client("iam")
        with suppress(iam.exceptions.EntityAlreadyExistsException):
            iam.create_role(
                RoleName=ROLE,
                AssumeRolePolicyDocument=json.dumps(_TRUST),
                Description="Lets API Gateway write its logs, for every API of the account.",
            )
        policy = f"arn:{stage.partition}:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"
        iam.attach_role_policy(RoleName=ROLE, PolicyArn=policy)


def allow(stage: Stage) -> None:
    """Let API Gateway write logs in this account and region, unless it may; where that is refused, say so and go on.

    A role that was made a moment ago is not taken yet.
    """
    role = f"arn:{stage.partition}:iam::{stage.account}:role/{ROLE}"
    patch = [{"op": "replace", "path": "/cloudwatchRoleArn", "value": role}]
    try:
        if not client("apigateway").get_account().get("cloudwatchRoleArn"):
            client("apigateway").update_account(patchOperations=patch)
    except ClientError as error:
        print(ADVICE.format(error.response["Error"].get("Message") or error))


def make_log_groups(stage: Stage) -> None:
    """Make the log groups of a second stage's functions and API; those of a first one come with its stack."""
    from app import app

    logs = client("logs")
    for group in (stage.access_log, *map(stage.log_group, functions(app))):
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_group(logGroupName=group)
        logs.put_retention_policy(logGroupName=group, retentionInDays=LOG_RETENTION_DAYS)


def patches(stage: Stage) -> list[dict[str, Any]]:
    """Return the operations of UpdateStage that turn a stage's access log on."""
    destination = stage.arn("logs", f"log-group:{stage.access_log}")
    values = {"destinationArn": destination, "format": FORMAT}
    return [{"op": "replace", "path": f"/accessLogSettings/{key}", "value": value} for key, value in values.items()]
