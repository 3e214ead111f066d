"""Libraries that nobody has looked at are never taken for sound."""

import json
import subprocess
from typing import Any

import pytest

from local.tools import audit_dependencies

SOUND = {"name": "certifi", "version": "1", "vulns": []}
LEAKY = {"name": "jinja2", "version": "2", "vulns": [{"id": "PYSEC-7", "fix_versions": ["2.1"]}]}
LOST = {"name": "idna", "version": "1", "vulns": [{"id": "PYSEC-8", "fix_versions": []}]}
UNKNOWN = {"name": "pyjwt", "skip_reason": "Dependency not found on PyPI and could not be audited: pyjwt (2)"}


def says(monkeypatch: pytest.MonkeyPatch, *libraries: dict[str, Any], error: str = "") -> None:
    """Let pip-audit say this of each list, and end well; or fail without a word about any library."""
    out = "" if error else json.dumps({"dependencies": libraries, "fixes": []})

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[-1].endswith(audit_dependencies.LISTS)
        return subprocess.CompletedProcess(command, int(bool(error)), out, f"warning\n{error}\n")

    monkeypatch.setattr(subprocess, "run", run)


def test_libraries_against_which_nothing_is_known_are_fine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    says(monkeypatch, SOUND)
    assert audit_dependencies.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{n}: nothing is known against its 1 libraries." for n in audit_dependencies.LISTS
    ]


def test_what_is_known_is_said_with_what_mends_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    says(monkeypatch, SOUND, LEAKY, LOST)
    assert audit_dependencies.main() == 1
    said = capsys.readouterr().out
    assert "requirements.txt: VULNERABLE: jinja2 2: PYSEC-7, mended in 2.1\n" in said
    assert "requirements.txt: VULNERABLE: idna 1: PYSEC-8, mended in nothing\n" in said


def test_an_index_without_advisories_is_no_clean_bill(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    says(monkeypatch, SOUND, UNKNOWN)
    assert audit_dependencies.main() == 1
    assert "NOT AUDITED: the index has no advisories of 1 libraries (pyjwt)." in capsys.readouterr().out


def test_nor_is_silence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    says(monkeypatch, error="ERROR: could not connect")
    assert audit_dependencies.main() == 1
    assert capsys.readouterr().out.splitlines()[0] == "requirements.txt: NOT AUDITED: ERROR: could not connect"
