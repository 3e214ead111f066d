"""Checks the pinned libraries for known vulnerabilities on PyPI: `python -m local.tools.audit_dependencies`.

A library for which the package index has no advisories counts as not audited, and fails the check. pip-audit alone
would succeed.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from local.paths import ROOT

LISTS: Final = ("requirements.txt", "requirements-dev.txt", "requirements-emulator.txt")


class Findings(NamedTuple):
    """The result for a list: the number of audited libraries, the vulnerabilities, the libraries without advisories."""

    audited: int
    vulnerable: list[str]
    unaudited: list[str]


def audit(requirements: Path) -> Findings:
    """Audit the libraries that a requirements file pins. Raises Unanswered if pip-audit reports no libraries."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
    command += ["--format=json", "--requirement", str(requirements)]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return findings(json.loads(completed.stdout)["dependencies"])
    except ValueError:
        raise Unanswered(completed.stderr.strip().rpartition("\n")[2]) from None


class Unanswered(Exception):
    """pip-audit returned no result. The message is the last line of its error output."""


def findings(libraries: list[dict[str, Any]]) -> Findings:
    """Convert the libraries in pip-audit's JSON output to findings."""
    audited = [library for library in libraries if "skip_reason" not in library]
    vulnerable = [
        f"{library['name']} {library['version']}: {vulnerability['id']}, "
        f"fixed in {', '.join(vulnerability['fix_versions']) or 'no version'}"
        for library in audited
        for vulnerability in library["vulns"]
    ]
    return Findings(len(audited), vulnerable, [library["name"] for library in libraries if library not in audited])


def report(name: str, found: Findings) -> list[str]:
    """Return the lines to print for a requirements file."""
    lines = [f"{name}: VULNERABLE: {vulnerability}" for vulnerability in found.vulnerable]
    if found.unaudited:
        names = ", ".join(found.unaudited[:3]) + (", …" if found.unaudited[3:] else "")
        lines.append(
            f"{name}: NOT AUDITED: the index has no advisories for {len(found.unaudited)} libraries ({names})."
        )
    return lines or [f"{name}: no known vulnerabilities in {found.audited} libraries."]


def main() -> int:
    """Print the findings for each requirements file. Return 0 if all libraries were audited and none is vulnerable."""
    is_clean = True
    for name in LISTS:
        try:
            found = audit(ROOT / name)
        except Unanswered as error:
            is_clean = False
            print(f"{name}: NOT AUDITED: {error}")
        else:
            is_clean = is_clean and not found.vulnerable and not found.unaudited
            print(*report(name, found), sep="\n")
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
