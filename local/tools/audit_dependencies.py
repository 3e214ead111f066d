"""Asks PyPI which of the pinned libraries are known to be vulnerable: `python -m local.tools.audit_dependencies`.

Whoever gets no answer is told so, and fails: an index that has no advisories says nothing of any library, and pip-audit
ends well all the same.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from local.paths import ROOT

LISTS: Final = ("requirements.txt", "requirements-dev.txt", "requirements-emulator.txt")


class Findings(NamedTuple):
    """What became of the libraries of a list: how many were looked at, what is known of them, who was not known."""

    audited: int
    vulnerable: list[str]
    unaudited: list[str]


def audit(requirements: Path) -> Findings:
    """Return what PyPI's advisories say of the libraries that a list pins. Raises Unanswered if they say nothing."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
    asked = [*command, "--format=json", "--requirement", str(requirements)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    try:
        return findings(json.loads(done.stdout)["dependencies"])
    except ValueError:
        raise Unanswered(done.stderr.strip().rpartition("\n")[2]) from None


class Unanswered(Exception):
    """There was no answer; says why."""


def findings(libraries: list[dict[str, Any]]) -> Findings:
    """Return what pip-audit says of libraries."""
    known = [library for library in libraries if "skip_reason" not in library]
    vulnerable = [
        f"{each['name']} {each['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'nothing'}"
        for each in known
        for found in each["vulns"]
    ]
    return Findings(len(known), vulnerable, [each["name"] for each in libraries if each not in known])


def report(name: str, found: Findings) -> list[str]:
    """Return the lines to say of a list."""
    lines = [f"{name}: VULNERABLE: {each}" for each in found.vulnerable]
    if found.unaudited:
        some = ", ".join(found.unaudited[:3]) + (", …" if found.unaudited[3:] else "")
        lines.append(f"{name}: NOT AUDITED: the index has no advisories of {len(found.unaudited)} libraries ({some}).")
    return lines or [f"{name}: nothing is known against its {found.audited} libraries."]


def main() -> int:
    """Say what is known against the libraries of each list; return 0 if that is nothing at all, and was asked."""
    fine = True
    for name in LISTS:
        try:
            found = audit(ROOT / name)
        except Unanswered as error:
            fine = False
            print(f"{name}: NOT AUDITED: {error}")
        else:
            fine = fine and not found.vulnerable and not found.unaudited
            print(*report(name, found), sep="\n")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
