"""`docs/operations/logs.md` names every field of a line and no other, and the queries ask for nothing else."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Final

import pytest

from chalicelib.kernel.core.logs import _IN_MILLISECONDS
from infrastructure import access_log
from infrastructure.queries import QUERIES, REQUEST_ID, TENANT
from infrastructure.resources import LOG_RETENTION_DAYS
from local.paths import ROOT
from tests.conftest import SettingsOverride
from tests.harness.api import ApiClient
from tests.harness.log_fields import LOGS_DOCUMENT, documented_fields, log_record_errors
from tests.harness.log_records import capture_log_records
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import Receiver
from tests.harness.webhooks import create_webhook, rename_organization
from tests.harness.workers import Workers

POWERTOOLS: Final = {
    "level",
    "message",
    "timestamp",
    "service",
    "stage",
    "invocationId",
    "xray_trace_id",
    "exception",
    "exception_name",
}
OWN: Final = {"kind", "operation", "error", "requestIds", "_aws", "Latency", "Errors", "Throttles", "coldStart"}
"""What `kernel/core/logs.py` itself writes, by names that are no keywords."""
ACCESS_LOG: Final = "The access log"


def names_written() -> Iterator[str]:
    """Yield the names of all that the code reports: keywords of what writes lines, and keys of their facts."""
    for file in (ROOT / "chalicelib").rglob("*.py"):
        text = file.read_text()
        if "kernel.core.logs import" in text or "kernel/core/logs" in str(file):
            for node in ast.walk(ast.parse(text)):
                yield from _names(node)


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id="add_fields" | "log_scope" | "log_event" | "add_metrics"), keywords=keywords):
            yield from (keyword.arg for keyword in keywords if keyword.arg)
        case ast.Call(func=ast.Name(id="best_effort"), args=[ast.Constant(value=v)]):
            yield str(v)
        case ast.Call(keywords=keywords):
            extras = [k.value for k in keywords if k.arg == "extra" and isinstance(k.value, ast.Dict)]
            yield from (str(key.value) for extra in extras for key in extra.keys if isinstance(key, ast.Constant))
        case ast.Subscript(value=ast.Name(id="facts" | "log_fields"), slice=ast.Constant(value=name), ctx=ast.Store()):
            yield str(name)
        case ast.AugAssign(target=ast.Name(id="facts" | "log_fields"), value=ast.Dict(keys=keys)):
            yield from (str(key.value) for key in keys if isinstance(key, ast.Constant))


def test_it_says_how_long_logs_are_kept() -> None:
    assert f"kept for {LOG_RETENTION_DAYS} days" in (ROOT / "docs/operations/logs.md").read_text()


class TestFields:
    def test_all_that_the_code_writes_are_documented_and_no_others(self) -> None:
        said = {name for title, section in documented_fields().items() if title != ACCESS_LOG for name in section}
        assert {*names_written()} | POWERTOOLS | OWN == said

    def test_of_the_access_log_are_those_that_the_gateway_is_told(self) -> None:
        assert [*documented_fields()[ACCESS_LOG]] == [*json.loads(access_log.FORMAT)]

    @pytest.mark.usefixtures("aws")
    def test_of_the_examples_are_those_that_are_written(
        self,
        api: ApiClient,
        organization: CreatedOrganization,
        workers: Workers,
        receiver: Receiver,
        configure: SettingsOverride,
    ) -> None:
        configure(webhook_allow_private="1")
        create_webhook(api, organization, receiver)
        workers.deliver()
        with capture_log_records() as lines:
            rename_organization(api, organization, "Engines")
            workers.deliver()
            workers.run_sweep()
        (block,) = re.findall(r"^```json\n(.*?)^```", LOGS_DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
        examples = [json.loads(text) for text in block.splitlines()]
        assert [line.keys() - {"coldStart"} for line in lines] == [example.keys() for example in examples]
        assert [log_record_errors(line) for line in [*lines, *examples]] == [[]] * 2 * len(examples)


class TestMeasures:
    def test_are_described_with_their_dimensions_and_units(self) -> None:
        rows = re.findall(r"^\| `(\w+)` \| (`stage`(?:, `kind`)?) \| (\w+) \|", LOGS_DOCUMENT.read_text(), re.MULTILINE)
        of_kind = {name for name, dimensions, _ in rows if dimensions == "`stage`, `kind`"}
        assert of_kind == {"Latency", "Errors", "Throttles"}
        assert {name for name, _, _ in rows} - of_kind == {"LedgerLag", "DueLag", "AnchorsRefused", "ForgedEntries"}
        assert {name for name, _, unit in rows if unit == "milliseconds"} == _IN_MILLISECONDS


COMMANDS: Final = {
    "fields": re.compile(r"[\w@.]+(, [\w@.]+)*"),
    "filter": re.compile(r".*(=|!=|>=|>| like ).*|ispresent\(\w+\)"),
    "stats": re.compile(r"(\w+\(.+?\) as \w+,?\s*)+ ?by (\w+\(\w+\)|[\w@]+)(, [\w@]+)*", re.DOTALL),
    "sort": re.compile(r"[\w@]+ (asc|desc)"),
    "limit": re.compile(r"\d+"),
}
"""What the queries use of the language, and how."""
FUNCTIONS: Final = {"count", "pct", "max", "avg", "sum", "latest", "bin", "ispresent"}
PLATFORM: Final = {"@timestamp", "@log", "@message", "@type", "@initDuration", "@maxMemoryUsed"}
WORDS: Final = {"as", "by", "and", "like", "asc", "desc", *COMMANDS}


@pytest.mark.parametrize("name", QUERIES)
class TestAQuery:
    def test_is_made_of_commands_of_the_language(self, name: str) -> None:
        for part in QUERIES[name].text.split("| "):
            command, _, words = part.strip().partition(" ")
            assert COMMANDS[command].fullmatch(words), part

    def test_asks_for_fields_that_there_are(self, name: str) -> None:
        text = re.sub(r'"[^"]*"', "", QUERIES[name].text)
        made = {*re.findall(r" as (\w+)", text)}
        used = {*re.findall(r"@?[A-Za-z_]\w*", re.sub(r"\b\d+m\b", "", text))} - WORDS - made - FUNCTIONS
        fields = {name for section in documented_fields().values() for name in section}
        assert used <= fields | PLATFORM

    def test_compares_with_what_the_fields_can_be(self, name: str) -> None:
        compared = re.findall(r'(\w+) !?= "([^"]+)"', QUERIES[name].text)
        meanings = LOGS_DOCUMENT.read_text()
        assert all(value in (REQUEST_ID, TENANT, "REPORT") or f"`{value}`" in meanings for _, value in compared)
