"""Checks of the whole service with one organization, which they create and delete."""

import hashlib
import json
from http import HTTPStatus
from typing import Any, Final
from uuid import uuid4

from chalicelib.features.admin.chain_tests.entities import ChainTest
from chalicelib.features.admin.chain_tests.logic import start_chain_test
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files, table
from infrastructure.account import client
from local.server.event_source_emulator import scheduled_event
from local.smoke.target import (
    LIST_DEAD_LETTERS,
    CheckFailed,
    CheckSkipped,
    Target,
    fail_on_aws_errors,
    require,
    require_problem,
    wait_for,
)
from local.tools import mail_checks
from local.tools.findings import Outcome
from local.tools.run_schedule import run_schedule

_MAX_WAIT_SECONDS: Final = 90
_NOTIFICATION_SECONDS: Final = 30
_CHAIN_TURNS: Final = 20
"""Messages in a chain, more than the 16 after which Lambda ends a chain that the functions do not allow."""

_ANCHORING_SCHEDULE: Final = "anchor"

_SIMULATOR: Final = "simulator.amazonses.com"
"""The domain whose addresses receive mail for tests, also in the sandbox of SES."""

_QUEUES_REMEDY: Final = f"{LIST_DEAD_LETTERS} shows the failed messages, and `/status` what is waiting."


def create_organization(target: Target) -> str:
    """Check that a record can be created, and that a repeated request creates no second one."""
    body, headers = {"name": f"Smoke test {uuid4()}"}, {"Idempotency-Key": str(uuid4())}
    created = target.send("POST", "/organizations", json=body, headers=headers, status=HTTPStatus.CREATED)
    target.organization = created.json()
    repeated = target.send("POST", "/organizations", json=body, headers=headers, status=HTTPStatus.CREATED)
    require(repeated.content == created.content, "The repeated request has another response.")
    require(repeated.headers.get("Idempotency-Replayed") == "true", "Idempotency-Replayed is missing.")
    return f"{target.organization['id']} was created once by two requests with one Idempotency-Key."


def check_stale_version(target: Target) -> str:
    """Check that a change of an outdated version is refused."""
    headers = {"If-Match": '"outdated"'}
    response = target.request(
        "PATCH", target.organization_path, credential=target.token, json={"name": "Smoke test"}, headers=headers
    )
    require_problem(response, 412, "precondition_failed")
    return "If-Match with an outdated ETag is 412."


def check_api_key(target: Target) -> str:
    """Check that an API key works, and that its use is recorded."""
    path = f"{target.organization_path}/api-keys"
    body = {"name": "Smoke test", "scopes": ["admin"]}
    target.api_key = target.send("POST", path, json=body, status=HTTPStatus.CREATED).json()
    used = target.request("GET", target.organization_path, credential=target.api_key["key"], status=HTTPStatus.OK)
    require(used.json()["id"] == target.organization["id"], "The key reads another organization.")
    path = f"{path}/{target.api_key['id']}"
    used_at = wait_for(
        lambda: target.send("GET", path).json()["lastUsedAt"], _NOTIFICATION_SECONDS, "Its use was not recorded."
    )
    return f"A key works, and was last used at {used_at}."


def check_foreign_api_key(target: Target) -> str:
    """Check that a key reads nothing outside its organization."""
    if not target.api_key:
        raise CheckSkipped("It needs the API key, which could not be created.")
    response = target.request("GET", f"/organizations/{uuid4()}", credential=target.api_key["key"])
    require_problem(response, 404, "not_found")
    return "Another organization is 404 for the key."


def check_webhook(target: Target) -> str:
    """Check that the service can send a webhook to itself, at once and from a queue."""
    body = {"url": f"{target.url}/organizations", "events": ["organization.updated"]}
    path = f"{target.organization_path}/webhooks"
    webhook = target.send("POST", path, json=body, status=HTTPStatus.CREATED).json()
    path = f"{path}/{webhook['id']}"
    tested = target.send("POST", f"{path}/test").json()
    require(
        tested["statusCode"] == HTTPStatus.UNAUTHORIZED,
        f"The service did not reach itself: {tested['error'] or tested['statusCode']}.",
        "Check PUBLIC_URL, and that the functions have internet access.",
    )
    target.send("PATCH", target.organization_path, json={"supportEmail": "smoke@example.com"})
    attempt = wait_for(lambda: _first_attempt(target, path), _MAX_WAIT_SECONDS, "No event arrived.", _QUEUES_REMEDY)
    require(attempt["statusCode"] == HTTPStatus.UNAUTHORIZED, f"An event failed: {attempt['error']}.")
    target.send("DELETE", path, status=HTTPStatus.NO_CONTENT)
    return f"A test and an event reached {body['url']}, which requires a credential, as it should."


def check_log(target: Target) -> str:
    """Check that the ledger appends the entries to the log, and that the log is valid."""

    def read_appended_log() -> dict[str, Any] | None:
        report: dict[str, Any] = target.send("GET", f"{target.organization_path}/audit-log/verify-integrity").json()
        return report if report["pendingEntries"] == 0 and report["treeSize"] else None

    report = wait_for(read_appended_log, _MAX_WAIT_SECONDS, "Entries stayed pending.", _QUEUES_REMEDY)
    require(report["valid"], f"The log is not valid: {report['failure']}.", "docs/operations/running.md")
    return f"{report['treeSize']} entries lead to its signed root."


def check_export(target: Target) -> str:
    """Check that a job exports the log to a file that can be downloaded."""
    path = f"{target.organization_path}/audit-log/export-async"
    started = target.send("POST", path, json={"format": "ndjson"}, status=HTTPStatus.ACCEPTED).json()

    def read_ended_export() -> dict[str, Any] | None:
        export: dict[str, Any] = target.send("GET", f"{path}/{started['id']}").json()
        return export if export["status"] in ("completed", "failed") else None

    export = wait_for(read_ended_export, _MAX_WAIT_SECONDS, "The export did not end.", _QUEUES_REMEDY)
    require(export["status"] == "completed", f"The export failed: {export['error']}.")
    # The link is signed, so another credential would be refused.
    content = target.request("GET", export["downloadUrl"], status=HTTPStatus.OK).content
    require(hashlib.sha256(content).hexdigest() == export["sha256"], "The file has another SHA-256 than the export.")
    return f"{export['entryCount']} entries were exported and downloaded."


def check_mail(target: Target) -> str:
    """Check that SES accepts a mail, to an address of its simulator.

    None is sent if SES would refuse it. That would keep the alarm `mail-failing` active for hours.
    """
    if not settings().mail_from:
        raise CheckSkipped("MAIL_FROM is not set, so no mail is sent.")
    for finding in mail_checks.check_mail(None):
        require(finding.outcome is not Outcome.REJECTED, finding.text, finding.remedy)
    path = f"{target.organization_path}/invitations"
    body = {"email": f"success+{uuid4().hex[:12]}@{_SIMULATOR}"}
    invited = target.send("POST", f"{target.organization_path}/invite", json=body, status=HTTPStatus.CREATED).json()
    require(not invited["mailWithheld"], f"The mail is withheld: {invited['mailWithheld']}.")
    sent_at = wait_for(
        lambda: target.send("GET", f"{path}/{invited['id']}").json()["sentAt"],
        _MAX_WAIT_SECONDS,
        "The mail was not sent.",
        "`make doctor STAGE=...` checks SES, and docs/operations/running.md describes the alarms for mail.",
    )
    return f"SES accepted a mail to its simulator at {sent_at}."


def check_anchor(target: Target) -> str:
    """Check that the log's head is stored in the bucket of anchors."""
    if not settings().anchors_bucket:
        raise CheckSkipped("ANCHORS_BUCKET is not set.")
    run_anchoring(target)
    prefix = f"{target.organization['id']}/"
    anchor = wait_for(
        lambda: files.find_original_of_first_key(settings().anchors_bucket or "", prefix),
        _MAX_WAIT_SECONDS,
        "The log was not anchored.",
        _QUEUES_REMEDY,
    )
    return f"The head is stored as {anchor.key}."


def check_chain(target: Target) -> str:
    """Check that Lambda does not end a chain of queue messages."""
    organization_id = target.organization_path.rpartition("/")[2]
    with fail_on_aws_errors():
        test = start_chain_test(organization_id, _CHAIN_TURNS)

    def read_finished_test() -> ChainTest | None:
        item = table.get(test.item_key)
        stored = ChainTest.from_item(item) if item else None
        return stored if stored and stored.lease_until is None else None

    remedy = "The function `jobs` must allow recursion: run `make deploy`."
    missing = f"A chain of {_CHAIN_TURNS} messages did not run to its end."
    finished = wait_for(read_finished_test, _MAX_WAIT_SECONDS, missing, remedy)
    require(finished.longest_chain >= _CHAIN_TURNS, f"{missing} The longest one had {finished.longest_chain}.", remedy)
    return f"A chain of {_CHAIN_TURNS} messages ran to its end."


def delete_organization(target: Target) -> str:
    """Check that the organization is gone as soon as it is deleted."""
    target.send("DELETE", target.organization_path, status=HTTPStatus.NO_CONTENT)
    require_problem(target.request("GET", target.organization_path, credential=target.token), 404, "not_found")
    return "It is 404 at once, and is purged after 30 days."


def run_anchoring(target: Target) -> None:
    """Run the hourly schedule that anchors logs now. Raises CheckFailed."""
    if target.stage is None:
        run_schedule(_ANCHORING_SCHEDULE, target.port)
        return
    with fail_on_aws_errors():
        response = client("lambda").invoke(
            FunctionName=target.stage.function_name(_ANCHORING_SCHEDULE),
            Payload=json.dumps(scheduled_event(_ANCHORING_SCHEDULE)).encode(),
        )
    if error_kind := response.get("FunctionError"):
        raise CheckFailed(f"The schedule failed ({error_kind}): {response['Payload'].read().decode()[:300]}")


def _first_attempt(target: Target, webhook_path: str) -> dict[str, Any] | None:
    for delivery in target.send("GET", f"{webhook_path}/deliveries").json()["items"]:
        if delivery["eventType"] == "organization.updated" and delivery["attempts"]:
            attempt: dict[str, Any] = delivery["attempts"][0]
            return attempt
    return None
