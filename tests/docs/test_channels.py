"""The examples, hosts and numbers of `docs/guides/channels.md` match the code."""

import json
import re

import pytest

from chalicelib.features.notifications.channels.entities import MAX_CHANNELS
from chalicelib.features.notifications.channels.logic.chat_messages import MAX_NAME_CHARACTERS
from chalicelib.features.notifications.channels.logic.provider_rules import RETRY_SECONDS, url_mismatch_reason
from local.paths import ROOT

TEXT = (ROOT / "docs/guides/channels.md").read_text()
UNITS = {"s": 1, "min": 60, "h": 3600}


def test_the_example_request_creates_a_channel(api, organization):
    method, path, body = re.findall(r"^    (POST) (\S+)\n((?:    .+\n)+)", TEXT, re.MULTILINE)[0]
    request = json.loads(body)
    answer = api.request(method, path.format(organization_id=organization.id), caller=organization.owner, json=request)
    assert answer.status == 201
    assert answer.json["config"]["webhookUrl"] in TEXT
    assert url_mismatch_reason("slack", request["config"]["webhookUrl"]) is None


@pytest.mark.parametrize(
    ("provider", "path"), [("slack", "/services/T0/B0/x"), ("discord", "/api/webhooks/1/x"), ("teams", "/workflows/1")]
)
def test_the_documented_hosts_are_accepted_for_their_provider(provider, path):
    (cell,) = re.findall(rf"^\| `{provider}` \|[^|]+\|([^|]+)\|", TEXT, re.MULTILINE)
    domains = re.findall(r"`([a-z.-]+\.com)`", cell)
    assert domains
    for domain in domains:
        host = f"example.{domain}" if "below" in cell else domain
        assert url_mismatch_reason(provider, f"https://{host}{path}") is None


def test_the_documented_retries_and_limits_are_those_of_the_code():
    (pauses,) = re.findall(r"tried again after ([^.]+?), and then given up", " ".join(TEXT.split()))
    assert [int(n) * UNITS[unit] for n, unit in re.findall(r"(\d+) (s|min|h)\b", pauses)] == list(RETRY_SECONDS)
    assert f"up to {MAX_CHANNELS} channels" in TEXT
    assert f"longer than {MAX_NAME_CHARACTERS} characters" in TEXT
