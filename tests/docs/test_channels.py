"""`docs/guides/channels.md` says what integration channels do."""

import json
import re

import pytest

from chalicelib.features.notifications.channels.entities import MAX_CHANNELS
from chalicelib.features.notifications.channels.logic.chat_messages import MAX_NAME_CHARACTERS
from chalicelib.features.notifications.channels.logic.provider_rules import RETRY_SECONDS, url_mismatch_reason
from local.paths import ROOT
from tests.harness.api import ApiClient
from tests.harness.organizations import CreatedOrganization

TEXT = (ROOT / "docs/guides/channels.md").read_text()
UNITS = {"s": 1, "min": 60, "h": 3600}


def test_the_channel_that_it_makes_can_be_made(api: ApiClient, organization: CreatedOrganization) -> None:
    method, path, body = re.findall(r"^    (POST) (\S+)\n((?:    .+\n)+)", TEXT, re.MULTILINE)[0]
    sent = json.loads(body)
    answer = api.request(method, path.format(organization_id=organization.id), caller=organization.owner, json=sent)
    assert answer.status == 201
    assert answer.json["config"]["webhookUrl"] in TEXT
    assert url_mismatch_reason("slack", sent["config"]["webhookUrl"]) is None


@pytest.mark.parametrize(
    ("provider", "path"), [("slack", "/services/T0/B0/x"), ("discord", "/api/webhooks/1/x"), ("teams", "/workflows/1")]
)
def test_the_hosts_are_the_providers_own(provider: str, path: str) -> None:
    (cell,) = re.findall(rf"^\| `{provider}` \|[^|]+\|([^|]+)\|", TEXT, re.MULTILINE)
    names = re.findall(r"`([a-z.-]+\.com)`", cell)
    assert names
    for name in names:
        host = f"example.{name}" if "below" in cell else name
        assert url_mismatch_reason(provider, f"https://{host}{path}") is None  # type: ignore[arg-type]


def test_its_numbers_are_those_of_the_code() -> None:
    (pauses,) = re.findall(r"tried again after ([^.]+?), and then given up", " ".join(TEXT.split()))
    assert [int(n) * UNITS[unit] for n, unit in re.findall(r"(\d+) (s|min|h)\b", pauses)] == list(RETRY_SECONDS)
    assert f"up to {MAX_CHANNELS} channels" in TEXT
    assert f"longer than {MAX_NAME_CHARACTERS} characters" in TEXT
