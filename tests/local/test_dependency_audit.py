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


def stub_pip_audit(monkeypatch: pytest.MonkeyPatch, *libraries: dict[str, Any], error: str = "") -> None:
    """Let pip-audit report these libraries for each list and succeed, or fail with an error and no output."""
    output = "" if error else json.dumps({"dependencies": libraries, "fixes": []})

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[-1].endswith(audit_dependencies.REQUIREMENTS_FILES)
        return subprocess.CompletedProcess(command, int(bool(error)), output, f"warning\n{error}\n")

    monkeypatch.setattr(subprocess, "run", run)


def test_libraries_without_known_vulnerabilities_pass(monkeypatch, capsys):
    stub_pip_audit(monkeypatch, SOUND)
    assert audit_dependencies.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{name}: no known vulnerabilities in 1 libraries." for name in audit_dependencies.REQUIREMENTS_FILES
    ]


def test_vulnerabilities_are_printed_with_the_versions_that_fix_them(monkeypatch, capsys):
    stub_pip_audit(monkeypatch, SOUND, FIXABLE, UNFIXED)
    assert audit_dependencies.main() == 1
    output = capsys.readouterr().out
    assert "requirements.txt: VULNERABLE: jinja2 2: PYSEC-7, fixed in 2.1\n" in output
    assert "requirements.txt: VULNERABLE: idna 1: PYSEC-8, fixed in no version\n" in output


def test_a_library_without_advisories_in_the_index_fails(monkeypatch, capsys):
    stub_pip_audit(monkeypatch, SOUND, UNKNOWN)
    assert audit_dependencies.main() == 1
    assert "NOT AUDITED: the index has no advisories for 1 libraries (pyjwt)." in capsys.readouterr().out


def test_an_audit_without_output_fails(monkeypatch, capsys):
    stub_pip_audit(monkeypatch, error="ERROR: could not connect")
    assert audit_dependencies.main() == 1
    assert capsys.readouterr().out.splitlines()[0] == "requirements.txt: NOT AUDITED: ERROR: could not connect"
