"""The access log of the API: API Gateway writes a JSON line for each request, including rejected ones.

API Gateway writes logs with one IAM role for each account and region. The first stage creates it.
"""

import json
from contextlib import suppress
from typing import Any, Final

from botocore.exceptions import ClientError

from infrastructure.account import client
from infrastructure.deployed_functions import function_names
from infrastructure.names import Stage
from infrastructure.resources import LOG_RETENTION_DAYS

ROLE_NAME: Final = "atrium-gateway-logs"

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
"""Format of a line of the access log. It omits the query and the headers, because they can contain secrets."""

_TRUST: Final = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "apigateway.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}
CANNOT_LOG_MESSAGE: Final = (
    "API Gateway cannot write logs in this account and region yet ({}). The deployment continues without an access log."
    " Every `make bootstrap` and `make deploy` tries again. docs/guides/deployment.md lists the requirements."
)
"""Message if API Gateway cannot write logs. The placeholder is the reason."""


def create_logging_role(stage: Stage) -> None:
    """Create the role unless API Gateway has one. `allow` reports a failure."""
    with suppress(ClientError):
        if client("apigateway").get_account().get("cloudwatchRoleArn"):
            return
        iam = client("iam")
        with suppress(iam.exceptions.EntityAlreadyExistsException):
            iam.create_role(
                RoleName=ROLE_NAME,
                AssumeRolePolicyDocument=json.dumps(_TRUST),
                Description="Lets API Gateway write its logs, for every API of the account.",
            )
        policy = f"arn:{stage.partition}:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"
        iam.attach_role_policy(RoleName=ROLE_NAME, PolicyArn=policy)


def enable_logging(stage: Stage) -> None:
    """Configure API Gateway to write logs in this account and region. Print a message if AWS rejects that.

    AWS rejects a role that was created moments ago.
    """
    role = f"arn:{stage.partition}:iam::{stage.account}:role/{ROLE_NAME}"
    patch = [{"op": "replace", "path": "/cloudwatchRoleArn", "value": role}]
    try:
        if not client("apigateway").get_account().get("cloudwatchRoleArn"):
            client("apigateway").update_account(patchOperations=patch)
    except ClientError as error:
        print(CANNOT_LOG_MESSAGE.format(error.response["Error"].get("Message") or error))


def create_log_groups(stage: Stage) -> None:
    """Create the log groups of a secondary stage. The stack contains those of a primary one."""
    from app import app

    logs = client("logs")
    for group in (stage.access_log_group, *map(stage.log_group_name, function_names(app))):
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_group(logGroupName=group)
        logs.put_retention_policy(logGroupName=group, retentionInDays=LOG_RETENTION_DAYS)


def access_log_patch_operations(stage: Stage) -> list[dict[str, Any]]:
    """Return the patch operations of UpdateStage that enable a stage's access log."""
    destination = stage.arn("logs", f"log-group:{stage.access_log_group}")
    values = {"destinationArn": destination, "format": FORMAT}
    return [{"op": "replace", "path": f"/accessLogSettings/{key}", "value": value} for key, value in values.items()]
