"""`docs/operations/logs.md` documents exactly the fields of log records, and the queries use only these."""

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
from tests.harness.log_fields import LOGS_DOCUMENT, documented_fields, log_record_errors
from tests.harness.log_records import capture_log_records
from tests.harness.webhooks import create_webhook, rename_organization

POWERTOOLS_FIELDS: Final = {
    *("level", "message", "timestamp", "service", "stage", "invocationId"),
    *("xray_trace_id", "exception", "exception_name"),
}
FIELDS_OF_LOGS_MODULE: Final = {
    *("kind", "operation", "error", "requestIds", "_aws", "Latency", "Errors", "Throttles", "coldStart"),
}
"""Fields that `kernel/core/logs.py` writes without keyword arguments."""
ACCESS_LOG_TITLE: Final = "The access log"


def logged_field_names() -> Iterator[str]:
    """Yield the field names in the code: keyword arguments of the logging functions, and keys of dictionaries."""
    for file in (ROOT / "chalicelib").rglob("*.py"):
        text = file.read_text()
        if "kernel.core.logs import" in text or "kernel/core/logs" in str(file):
            for node in ast.walk(ast.parse(text)):
                yield from _names(node)


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(
            func=ast.Name(id="add_fields" | "write_log_record_of_block" | "log_event" | "add_metrics"),
            keywords=keywords,
        ):
            yield from (keyword.arg for keyword in keywords if keyword.arg)
        case ast.Call(func=ast.Name(id="log_and_ignore_aws_errors"), args=[ast.Constant(value=v)]):
            yield str(v)
        case ast.Call(keywords=keywords):
            extras = [k.value for k in keywords if k.arg == "extra" and isinstance(k.value, ast.Dict)]
            yield from (str(key.value) for extra in extras for key in extra.keys if isinstance(key, ast.Constant))
        case ast.Subscript(value=ast.Name(id="log_fields"), slice=ast.Constant(value=name), ctx=ast.Store()):
            yield str(name)
        case ast.AugAssign(target=ast.Name(id="log_fields"), value=ast.Dict(keys=keys)):
            yield from (str(key.value) for key in keys if isinstance(key, ast.Constant))


def test_the_document_states_the_retention_of_logs():
    assert f"kept for {LOG_RETENTION_DAYS} days" in (ROOT / "docs/operations/logs.md").read_text()


class TestFields:
    def test_documented_fields_are_those_that_the_code_writes(self):
        documented_names = {
            name for title, section in documented_fields().items() if title != ACCESS_LOG_TITLE for name in section
        }
        assert {*logged_field_names()} | POWERTOOLS_FIELDS | FIELDS_OF_LOGS_MODULE == documented_names

    def test_documented_fields_of_the_access_log_are_those_of_its_format(self):
        assert [*documented_fields()[ACCESS_LOG_TITLE]] == [*json.loads(access_log.FORMAT)]

    @pytest.mark.usefixtures("aws")
    def test_examples_have_the_fields_of_real_records(self, api, organization, workers, receiver, configure):
        configure(webhook_allow_private="1")
        create_webhook(api, organization, receiver)
        workers.deliver()
        with capture_log_records() as records:
            rename_organization(api, organization, "Engines")
            workers.deliver()
            workers.run_sweep()
        (block,) = re.findall(r"^```json\n(.*?)^```", LOGS_DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
        examples = [json.loads(text) for text in block.splitlines()]
        assert [record.keys() - {"coldStart"} for record in records] == [example.keys() for example in examples]
        assert [log_record_errors(record) for record in [*records, *examples]] == [[]] * 2 * len(examples)


class TestMetrics:
    def test_metrics_are_documented_with_their_dimensions_and_units(self):
        rows = re.findall(r"^\| `(\w+)` \| (`stage`(?:, `kind`)?) \| (\w+) \|", LOGS_DOCUMENT.read_text(), re.MULTILINE)
        metrics_by_kind = {name for name, dimensions, _ in rows if dimensions == "`stage`, `kind`"}
        assert metrics_by_kind == {"Latency", "Errors", "Throttles"}
        altered_data = {"AnchorsRefused", "AnchorsRewritten", "ForgedEntries", "ReconciliationFindings", "TilesRefused"}
        witness_metrics = {"WitnessesRefused", "WitnessesSilent"}
        other_metrics = {"LedgerLag", "DueLag", "MailFailures", *altered_data, *witness_metrics}
        assert {name for name, _, _ in rows} - metrics_by_kind == other_metrics
        assert {name for name, _, unit in rows if unit == "milliseconds"} == _IN_MILLISECONDS


COMMAND_SYNTAX: Final = {
    "fields": re.compile(r"[\w@.]+(, [\w@.]+)*"),
    "filter": re.compile(r".*(=|!=|>=|>| like ).*|ispresent\(\w+\)"),
    "stats": re.compile(r"(\w+\(.+?\) as \w+,?\s*)+ ?by (\w+\(\w+\)|[\w@]+)(, [\w@]+)*", re.DOTALL),
    "sort": re.compile(r"[\w@]+ (asc|desc)"),
    "limit": re.compile(r"\d+"),
}
"""The commands of the query language that the queries use, and their syntax."""
QUERY_FUNCTIONS: Final = {"count", "pct", "max", "avg", "sum", "latest", "bin", "ispresent"}
CLOUDWATCH_FIELDS: Final = {"@timestamp", "@log", "@message", "@type", "@initDuration", "@maxMemoryUsed"}
KEYWORDS: Final = {"as", "by", "and", "like", "asc", "desc", *COMMAND_SYNTAX}


@pytest.mark.parametrize("name", QUERIES)
class TestQuery:
    def test_commands_follow_the_syntax(self, name):
        for part in QUERIES[name].text.split("| "):
            command, _, arguments = part.strip().partition(" ")
            assert COMMAND_SYNTAX[command].fullmatch(arguments), part

    def test_fields_are_documented(self, name):
        text = re.sub(r'"[^"]*"', "", QUERIES[name].text)
        aliases = {*re.findall(r" as (\w+)", text)}
        used_names = (
            {*re.findall(r"@?[A-Za-z_]\w*", re.sub(r"\b\d+m\b", "", text))} - KEYWORDS - aliases - QUERY_FUNCTIONS
        )
        fields = {name for section in documented_fields().values() for name in section}
        assert used_names <= fields | CLOUDWATCH_FIELDS

    def test_compared_values_are_documented(self, name):
        comparisons = re.findall(r'(\w+) !?= "([^"]+)"', QUERIES[name].text)
        text = LOGS_DOCUMENT.read_text()
        assert all(value in (REQUEST_ID, TENANT, "REPORT") or f"`{value}`" in text for _, value in comparisons)
