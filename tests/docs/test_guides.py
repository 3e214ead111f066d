"""The guides match the code: on channels, secrets, anonymous callers, AWS calls of each operation, and limits."""

import json
import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.notifications.channels.entities import MAX_CHANNELS
from chalicelib.features.notifications.channels.logic.application_messages import MAX_TEXT_CHARACTERS
from chalicelib.features.notifications.channels.logic.display_names import MAX_NAME_CHARACTERS
from chalicelib.features.notifications.channels.logic.provider_rules import RETRY_SECONDS, url_mismatch_reason
from chalicelib.kernel.core.settings import Settings
from chalicelib.kernel.operations.access_rules import RequireRole
from infrastructure.__main__ import _parser
from infrastructure.secrets import EDGE_SECRET, FINISH_DELAYS, SECRETS, format_days
from local.__main__ import _parser as _local_parser
from local.generators.limits_document import limits_page, numeric_constants
from local.paths import ROOT
from tests.docs import access_patterns
from tests.docs.keys import item_name, partition_template
from tests.harness.generated_files import require_current_file

CHANNELS = (ROOT / "docs/guides/channels.md").read_text()
UNITS = {"s": 1, "min": 60, "h": 3600}

SECRETS_CHAPTER = (ROOT / "docs/operations/running.md").read_text().partition("## Secrets")[2].partition("\n## ")[0]
COMMAND = re.compile(r"^ +\.venv/bin/python -m (infrastructure|local) (.*?)(?:  #.*)?$", re.MULTILINE)

ANY_COMMAND: Final = re.compile(r"\.venv/bin/python -m (infrastructure|local) ([^`\n\\]+)")
PAGES_WITH_COMMANDS: Final = [
    page for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if ANY_COMMAND.search(page.read_text())
]

ANONYMOUS_CALLERS: Final = (ROOT / "docs/operations/anonymous-callers.md").read_text()
ANONYMOUS_ROWS: Final = dict(re.findall(r"^\| `(\w+)` \| (.+ \| .+) \|$", ANONYMOUS_CALLERS, re.MULTILINE))
ANONYMOUS_OPERATIONS: Final = [
    o for o in all_operations() if o.allows_anonymous or (isinstance(o.access, RequireRole) and o.access.if_published)
]
"""The operations that accept requests without a credential."""
MUTATIONS_WITH_CREDENTIAL: Final = frozenset({"accept_invitation"})
"""Anonymous operations that change something only with a credential. Rate limits count that credential."""


def test_the_example_request_creates_a_channel(api, organization):
    method, path, body = re.findall(r"^    (POST) (\S+)\n((?:    .+\n)+)", CHANNELS, re.MULTILINE)[0]
    request = json.loads(body)
    answer = api.request(method, path.format(organization_id=organization.id), caller=organization.owner, json=request)
    assert answer.status == 201
    assert answer.json["config"]["webhookUrl"] in CHANNELS
    assert url_mismatch_reason("slack", request["config"]["webhookUrl"]) is None


@pytest.mark.parametrize(
    ("provider", "path"), [("slack", "/services/T0/B0/x"), ("discord", "/api/webhooks/1/x"), ("teams", "/workflows/1")]
)
def test_the_documented_hosts_are_accepted_for_their_provider(provider, path):
    (cell,) = re.findall(rf"^\| `{provider}` \|[^|]+\|([^|]+)\|", CHANNELS, re.MULTILINE)
    domains = re.findall(r"`([a-z.-]+\.com)`", cell)
    assert domains
    for domain in domains:
        host = f"example.{domain}" if "below" in cell else domain
        assert url_mismatch_reason(provider, f"https://{host}{path}") is None


def test_the_documented_retries_and_limits_are_those_of_the_code():
    (pauses,) = re.findall(r"tried again after ([^.]+?), and then given up", " ".join(CHANNELS.split()))
    assert [int(n) * UNITS[unit] for n, unit in re.findall(r"(\d+) (s|min|h)\b", pauses)] == list(RETRY_SECONDS)
    assert f"up to {MAX_CHANNELS} channels" in CHANNELS
    assert f"longer than {MAX_NAME_CHARACTERS} characters" in CHANNELS
    assert f"more than {MAX_TEXT_CHARACTERS} characters" in CHANNELS


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.name)
def test_every_documented_command_of_the_project_exists(page):
    parsers = {"infrastructure": _parser(), "local": _local_parser()}
    for program, text in ANY_COMMAND.findall(page.read_text()):
        arguments = shlex.split(re.split(r"[|>&<)]", text, maxsplit=1)[0], comments=True)
        parsers[program].parse_args(arguments)


def test_the_commands_of_a_rotation_exist_and_are_in_the_order_of_the_steps():
    parsers = {"infrastructure": _parser(), "local": _local_parser()}
    commands = [
        parsers[program].parse_args(shlex.split(arguments)) for program, arguments in COMMAND.findall(SECRETS_CHAPTER)
    ]
    steps = [getattr(command, "step", command.command.__name__) for command in commands]
    assert steps == ["begin", "switch", "finish", "_renew_seals", "_reseal", "return"]


def test_the_table_of_secrets_lists_the_setting_and_waiting_time_of_every_secret():
    rows = {
        cells[0]: cells
        for line in SECRETS_CHAPTER.splitlines()
        if (cells := [c.strip() for c in line.split("|")[1:-1]])
    }
    for secret, setting in (*SECRETS.items(), (EDGE_SECRET, "EDGE_SECRET_DIGESTS")):
        row = rows[f"`/atrium/prod/{secret}`"]
        assert row[1].startswith(f"`{setting}`")
        wait, _ = FINISH_DELAYS[secret]
        assert row[4].startswith(format_days(wait) if wait else "not at all")


def test_the_rows_on_anonymous_callers_are_their_operations():
    assert [*ANONYMOUS_ROWS] == sorted(operation.id for operation in ANONYMOUS_OPERATIONS)


@pytest.mark.parametrize("operation", ANONYMOUS_OPERATIONS, ids=lambda operation: operation.id)
def test_the_row_states_the_rate_limits_for_each_network_which_a_mutation_has(operation):
    if operation.emits_events and operation.id not in MUTATIONS_WITH_CREDENTIAL:
        assert [each for each in operation.rate_limits if each.per == "network"]
    for rate_limit in operation.rate_limits:
        text = f"{rate_limit.limit} times in {rate_limit.seconds} s for each client network"
        assert text in ANONYMOUS_ROWS[operation.id]


def test_the_default_limit_of_anonymous_requests_is_documented():
    default = Settings.model_fields["network_requests_per_minute"].default
    assert f"{default:,} such requests a minute" in ANONYMOUS_CALLERS


def test_the_committed_access_patterns_equal_the_measured_ones(tenant):
    require_current_file(access_patterns.FILE, access_patterns.access_patterns_page(tenant), "make generate")


def is_explained(file: Path, name: str) -> bool:
    """Return whether a number needs a meaning: other modules use it, or it limits what callers send."""
    is_of_request = {"models", "entities", "http"} & {*file.relative_to(ROOT).with_suffix("").parts}
    return not name.startswith("_") or bool(is_of_request and name.startswith(("_MAX_", "_MIN_")))


def test_the_table_of_limits_gives_the_meaning_of_every_limit_that_callers_can_meet():
    files = sorted((ROOT / "chalicelib").rglob("*.py"))
    numbers = [(file, name, text) for file in files for name, _, text in numeric_constants(file)]
    assert [
        f"{file.relative_to(ROOT)}: {name}" for file, name, text in numbers if not text and is_explained(file, name)
    ] == []
    rows = [line.split("|") for line in limits_page().splitlines() if line.startswith("| `")]
    assert [name for _, name, _, meaning, *_ in rows if not meaning.strip()] == []
    names = {name.strip(" `") for _, name, *_ in rows}
    assert {"MAX_BODY_BYTES", "MAX_WEBHOOKS", "SKEW_SECONDS"} <= names
    assert not names & {"HTTP_OK", "NO_CONTENT", "TRANSIENT_STATUSES"}


def test_every_operation_has_a_row_of_access_patterns():
    rows = [line.split("`")[1] for line in access_patterns.FILE.read_text().splitlines() if line.startswith("| `")]
    assert rows == [operation.id for operation in all_operations()]


def test_undocumented_items_and_partitions_raise_lookup_error():
    with pytest.raises(LookupError, match="has no item X#1 / #"):
        item_name("X#1", "#")
    with pytest.raises(LookupError, match="has no partition X#1 of index1"):
        partition_template("index1", "X#1")
