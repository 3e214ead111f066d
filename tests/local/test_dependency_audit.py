"""The audit of the pinned libraries. A library without advisories in the index never passes it."""

import json
import subprocess
from typing import Any

import pytest

from local.tools import audit_dependencies

SOUND = {"name": "certifi", "version": "1", "vulns": []}
FIXABLE = {"name": "jinja2", "version": "2", "vulns": [{"id": "PYSEC-7", "fix_versions": ["2.1"]}]}
UNFIXED = {"name": "idna", "version": "1", "vulns": [{"id": "PYSEC-8", "fix_versions": []}]}
UNKNOWN = {"name": "pyjwt", "skip_reason": "Dependency not found on PyPI and could not be audited: pyjwt (2)"}


@pytest.mark.parametrize(
    ("libraries", "error", "lines"),
    [
        ([SOUND], "", ["no known vulnerabilities in 1 libraries."]),
        (
            [SOUND, FIXABLE, UNFIXED],
            "",
            ["VULNERABLE: jinja2 2: PYSEC-7, fixed in 2.1", "VULNERABLE: idna 1: PYSEC-8, fixed in no version"],
        ),
        ([SOUND, UNKNOWN], "", ["NOT AUDITED: the index has no advisories for 1 libraries (pyjwt)."]),
        ([], "ERROR: could not connect", ["NOT AUDITED: ERROR: could not connect"]),
    ],
)
def test_only_libraries_without_known_vulnerabilities_pass(libraries, error, lines, monkeypatch, capsys):
    report = "" if error else json.dumps({"dependencies": libraries, "fixes": []})

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[-1].endswith(audit_dependencies.REQUIREMENTS_FILES)
        return subprocess.CompletedProcess(command, int(bool(error)), report, f"warning\n{error}\n")

    monkeypatch.setattr(subprocess, "run", run)
    assert audit_dependencies.main() == (libraries != [SOUND])
    printed = capsys.readouterr().out.splitlines()
    expected = [f"{name}: {line}" for name in audit_dependencies.REQUIREMENTS_FILES for line in lines]
    assert [line for line in printed if line in expected] == expected
    assert libraries != [SOUND] or printed == expected
