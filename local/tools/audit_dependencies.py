"""Checks the pinned libraries for known vulnerabilities on PyPI: `python -m local.tools.audit_dependencies`.

A library for which the package index has no advisories counts as not audited, and fails the check. pip-audit alone
would succeed.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from chalicelib.kernel.core.counts import describe_count
from local.paths import ROOT

REQUIREMENTS_FILES: Final = ("requirements.txt", "requirements-dev.txt", "requirements-emulator.txt")


class Findings(NamedTuple):
    """The result for a list: the number of audited libraries, the vulnerabilities, the libraries without advisories."""

    audited_count: int
    vulnerabilities: list[str]
    unaudited_names: list[str]


def audit(requirements: Path) -> Findings:
    """Audit the libraries that a requirements file pins. Raises AuditFailed if pip-audit reports no libraries."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
    command += ["--format=json", "--requirement", str(requirements)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return parse_findings(json.loads(completed.stdout)["dependencies"])
    except ValueError:
        raise AuditFailed(completed.stderr.strip().rpartition("\n")[2]) from None


class AuditFailed(Exception):
    """pip-audit returned no result. The message is the last line of its error output."""


def parse_findings(libraries: list[dict[str, Any]]) -> Findings:
    """Convert the libraries in pip-audit's JSON output to findings."""
    audited = [library for library in libraries if "skip_reason" not in library]
    vulnerable = [
        f"{library['name']} {library['version']}: {vulnerability['id']}, "
        f"fixed in {', '.join(vulnerability['fix_versions']) or 'no version'}"
        for library in audited
        for vulnerability in library["vulns"]
    ]
    return Findings(len(audited), vulnerable, [library["name"] for library in libraries if library not in audited])


def format_findings(name: str, findings: Findings) -> list[str]:
    """Return the lines to print for a requirements file."""
    lines = [f"{name}: VULNERABLE: {vulnerability}" for vulnerability in findings.vulnerabilities]
    if findings.unaudited_names:
        names = ", ".join(findings.unaudited_names[:3]) + (", …" if findings.unaudited_names[3:] else "")
        count = describe_count(len(findings.unaudited_names), "library", "libraries")
        lines.append(f"{name}: NOT AUDITED: the index has no advisories for {count} ({names}).")
    audited = describe_count(findings.audited_count, "library", "libraries")
    return lines or [f"{name}: no known vulnerabilities in {audited}."]


def main() -> int:
    """Print the findings for each requirements file. Return 0 if all libraries were audited and none is vulnerable."""
    is_clean = True
    for name in REQUIREMENTS_FILES:
        try:
            found = audit(ROOT / name)
        except AuditFailed as error:
            is_clean = False
            print(f"{name}: NOT AUDITED: {error}")
        else:
            is_clean = is_clean and not found.vulnerabilities and not found.unaudited_names
            print(*format_findings(name, found), sep="\n")
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
