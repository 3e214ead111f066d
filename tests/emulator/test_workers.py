"""Work of the running service's workers: mail, exports, and messages that an operator sends back to their queues."""

import base64
import gzip
import json
import re
from hashlib import sha256
from typing import Final

import boto3
import httpx
import pytest

from chalicelib.features.audit.exports.logic.verify import describe_proof, parse_omitted_runs, verify_checkpoint_note
from tests.emulator.local_stage import run_local_command
from tests.emulator.log_reader import wait_until_appended
from tests.harness.invitations import ACCEPTANCE_PATH, token_from_link
from tests.harness.memory_aws import REGION
from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

DEAD_MESSAGES: Final = 12


def emails_to(email_address, stage):
    """Return the emails to an address as the command prints them, the newest first."""
    emails = run_local_command(stage.state, "mail").stdout.split("-" * 72)
    return [email for email in emails if f"To:      {email_address}\n" in email]


def test_invitation_is_accepted_by_the_link_in_its_email(stage, create_client):
    ada, katherine = create_client("ada"), create_client("katherine")
    organization = ada.create_organization("Analytical Engines")
    body = {"email": "Katherine@example.com", "role": "editor", "message": "Bring a slide rule."}
    assert ada.post(f"/organizations/{organization}/invite", json=body).status_code == 201
    wait_until(lambda: emails_to("katherine@example.com", stage) != [])
    (email,) = emails_to("katherine@example.com", stage)
    assert "Subject: ada invites you to Analytical Engines\n" in email
    assert "Bring a slide rule." not in email  # The organization is new.
    (link,) = re.findall(r"^http\S+$", email, flags=re.MULTILINE)
    assert link.startswith(f"{stage.url}/invitation?token=")
    body = {"token": token_from_link(link), "decision": "accept"}
    acceptance = katherine.post(ACCEPTANCE_PATH, json=body).json()
    assert (acceptance["status"], acceptance["membership"]["role"]) == ("accepted", "editor")
    assert katherine.get(f"/organizations/{organization}").json()["name"] == "Analytical Engines"


def test_export_is_downloaded_and_verified_offline_and_its_url_cannot_be_altered(create_client):
    ada = create_client("ada")
    organization = ada.create_organization()
    for n in range(5):
        ada.patch(f"/organizations/{organization}", json={"companyAddress": f"{n}" * 3000})
    wait_until_appended(ada, organization)
    body = {"filters": {"type": "organization.updated"}}
    response = ada.post(f"/organizations/{organization}/audit-log/export-async", json=body)
    assert response.status_code == 202, response.text
    export_url = response.url.join(response.headers["Location"])
    wait_until(lambda: ada.get(export_url).json()["status"] == "completed", interval_seconds=0.1)
    record = ada.get(export_url).json()
    url = record["downloadUrl"]
    download = httpx.get(url, trust_env=False)
    assert (download.status_code, download.headers["Content-Type"]) == (200, "application/gzip")
    assert download.headers["Content-Disposition"].endswith('.ndjson.gz"')
    file = download.content
    assert (len(file), sha256(file).hexdigest()) == (record["sizeBytes"], record["sha256"])
    key = base64.b64decode(ada.get("/status").json()["auditPublicKey"])
    head = verify_checkpoint_note(record["checkpoint"].encode(), key)
    lines = gzip.decompress(file).splitlines(keepends=True)
    assert "5 of" in describe_proof(lines, head, parse_omitted_runs(json.dumps(record).encode()))

    for altered in (url.replace("audit-log.ndjson.gz", "audit-log.csv.gz"), url.replace("=900&", "=9000&")):
        assert altered != url
        assert httpx.get(altered, trust_env=False).status_code == 403
    # Each read creates a new URL, whose signature contains the second.
    wait_until(lambda: ada.get(export_url).json()["downloadUrl"] != url, interval_seconds=0.3)


def message_count(sqs, queue):
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = sqs.get_queue_attributes(QueueUrl=sqs.get_queue_url(QueueName=queue)["QueueUrl"], AttributeNames=names)
    return sum(map(int, attributes["Attributes"].values()))


@pytest.mark.exhaustive
def test_redriven_dead_messages_are_processed_and_every_log_is_verified(stage, create_client):
    ada, port = create_client("ada"), f"--port={stage.port}"
    organization = ada.create_organization()
    wait_until_appended(ada, organization)
    sqs = boto3.Session("local", "local", region_name=REGION).client("sqs", endpoint_url=stage.emulator_url)
    dead_letters = {"QueueUrl": sqs.get_queue_url(QueueName="atrium-events-dead.fifo")["QueueUrl"]}
    message = {"MessageBody": json.dumps({"log": organization}), "MessageGroupId": organization}
    for number in range(DEAD_MESSAGES):  # As SQS moves them there.
        sqs.send_message(**dead_letters, **message, MessageDeduplicationId=str(number))
    listing = run_local_command(stage.state, "redrive", "--queue", "events", port)
    assert (listing.returncode, message_count(sqs, "atrium-events-dead.fifo")) == (0, DEAD_MESSAGES), listing
    assert f"atrium-events-dead.fifo: {DEAD_MESSAGES}\n" in listing.stdout
    assert f"ledger.append of log {organization}: 0 pending entries" in listing.stdout
    sending = run_local_command(stage.state, "redrive", "--send", port)
    assert (sending.returncode, message_count(sqs, "atrium-events-dead.fifo")) == (0, 0), sending
    assert f"{DEAD_MESSAGES} sent back (ledger.append: 12)" in sending.stdout
    wait_until(lambda: message_count(sqs, "atrium-events.fifo") == 0, timeout_seconds=120, interval_seconds=0.1)
    assert message_count(sqs, "atrium-events-dead.fifo") == 0
    verification = run_local_command(stage.state, "verify", port)
    assert (verification.returncode, "all verified" in verification.stdout) == (0, True), verification


@pytest.mark.exhaustive
def test_the_command_finds_a_role_that_was_changed_in_the_table(stage, create_client):
    """The command runs in a process of its own, which has imported no feature."""
    ada, mary = create_client("ada"), create_client("mary")
    organization = ada.create_organization()
    ada.invite_and_accept(organization, mary, "member")
    dynamodb = boto3.Session("local", "local", region_name=REGION).resource("dynamodb", endpoint_url=stage.emulator_url)
    table = dynamodb.Table("atrium")
    key = {"pk": f"O#{organization}", "sk": f"M#{mary.user_id}"}
    member = table.get_item(Key=key)["Item"]
    table.put_item(Item={**member, "role": "admin"})
    audited = run_local_command(stage.state, "audit-records")
    table.put_item(Item=member)
    assert f"{organization}: differing organization.member {member['id']}: " in audited.stdout
    assert audited.returncode == 1
