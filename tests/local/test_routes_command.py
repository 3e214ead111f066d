"""The command `python -m local routes`: lists operations with file and line."""

import re
from pathlib import Path

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from local.__main__ import main
from local.paths import ROOT

LINE = re.compile(r"(?P<method>[A-Z]+) +(?P<path>/\S+) +(?P<file>\S+):(?P<line>\d+)")


def list_routes(capsys: pytest.CaptureFixture[str], *query: str) -> list[re.Match[str]]:
    assert main(["routes", *query]) == 0
    return [match for line in capsys.readouterr().out.splitlines() if (match := LINE.fullmatch(line))]


def test_every_operation_is_listed_with_its_file_and_line(capsys):
    rows = list_routes(capsys)
    assert len(rows) == len(all_operations())
    for row, operation in zip(rows, all_operations(), strict=True):
        assert (row["method"], row["path"]) == (operation.method, operation.path)
        lines = (ROOT / row["file"]).read_text().splitlines()[int(row["line"]) - 1 :]
        assert lines[0].startswith("@")
        first_function = next(line for line in lines if line.startswith("def "))
        assert first_function.startswith(f"def {operation.function.__name__}(")


def test_a_query_matches_path_method_or_function(capsys):
    assert {row["path"] for row in list_routes(capsys, "/by-slug")} == {"/organizations/by-slug/{slug}"}
    assert {row["method"] for row in list_routes(capsys, "DELETE")} == {"DELETE"}
    assert {row["path"] for row in list_routes(capsys, "verify_audit")} == {
        "/organizations/{organization_id}/audit-log/verify-integrity"
    }
    assert Path(list_routes(capsys, "get_organization_by_slug")[0]["file"]).name == "operations.py"


def test_a_query_without_match_fails(capsys):
    assert main(["routes", "/nowhere"]) == 1
    assert capsys.readouterr().out.strip() == ""
