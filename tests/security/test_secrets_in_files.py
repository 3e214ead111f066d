"""No file of the project contains a secret. Strings that look like secrets are listed here with a reason."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.scan import scan_file
from detect_secrets.plugins.base import BasePlugin
from detect_secrets.settings import transient_settings

from local.paths import ROOT

IGNORED: Final = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line[:1] != "#"]
"""Patterns of files that are never committed."""
EXTERNAL: Final = ("*requirements*.txt", "*/package-lock.json", "*/docs/vendor/*", "*.bin", "*.png", "*.ico")
"""Lists of hashes, and third-party files, which are pinned by a hash."""
GENERATED: Final = (
    "openapi.json",
    "chalicelib/entrypoints/docs/openapi.json",
    "chalicelib/entrypoints/docs/pages/*",
    "clients/typescript/src/generated/schema.ts",
)
"""Generated from files that are scanned themselves."""
DETECTORS: Final[list[type[BasePlugin]]] = [*get_mapping_from_secret_type_to_class().values()]
ENTROPY_DETECTORS: Final = ("Base64HighEntropyString", "HexHighEntropyString")
"""Detectors of random strings, of which the tests have many."""
MIN_ENTROPY_STRING_LENGTH: Final = 16
KEYWORD_DETECTOR: Final = "KeywordDetector"
"""The detector of words such as `secret` near strings. Ruff is better at that (S105 to S107)."""


class KnownString(NamedTuple):
    """Strings that look like secrets but are not."""

    files: str
    pattern: str
    reason: str


KNOWN: Final = [
    KnownString(
        "*", r"https://hooks\.slack\.com/services/T0+/B0+/(?:x|room|world|X+wxyz)", "a channel that does not exist"
    ),
    KnownString("chalicelib/entrypoints/openapi/examples.py", r"[\w+/-]{43,}=*(?:\\n)?", "examples of responses"),
    KnownString("chalicelib/features/**/models*", r"[0-9a-f]{64}", "SHA-256 of examples"),
    KnownString(
        "chalicelib/features/admin/migrations/logic/migration_catalogue.py",
        r"[0-9a-f]{64}",
        "SHA-256 of applied migrations",
    ),
    KnownString(
        "chalicelib/features/sites/rendering/models/renderer_version.py", r"[0-9a-f]{16}", "digests of the renderer"
    ),
    KnownString("local/generators/renderer_version.py", r"[0-9a-f]{16}", "digests of renamed code"),
    KnownString("local/generators/docs_assets.py", r"sha512-.*|[0-9a-f]{64}", "hashes of downloaded files"),
    KnownString("local/tools/chromium.py", r"sha512-.*", "the hash of a downloaded file"),
    KnownString("tests/*", r"secret|pass|password", "fake passwords in URLs that are rejected"),
    KnownString(
        "tests/kernel/identity/test_forged_tokens.py",
        r"eyJhbGciOiJFUzI1NiJ9\.e30\.",
        "an unsigned token without claims",
    ),
]


def list_files() -> Iterator[Path]:
    """Yield the committed files, except third-party ones."""
    for folder, folder_names, names in os.walk(ROOT):
        folder_path = Path(folder).relative_to(ROOT)
        folder_names[:] = [name for name in folder_names if not is_ignored(folder_path / name) and name != ".git"]
        yield from (
            folder_path / name
            for name in names
            if not is_ignored(folder_path / name) and not is_excluded(folder_path / name, EXTERNAL)
        )


def is_ignored(path: Path) -> bool:
    return any(fnmatch(path.name, pattern) or path.as_posix() == pattern for pattern in IGNORED if pattern)


def is_excluded(path: Path, patterns: tuple[str, ...]) -> bool:
    is_generated = any(fnmatch(path.as_posix(), pattern) for pattern in GENERATED)
    return is_generated or any(fnmatch(f"/{path.as_posix()}", f"*{pattern}") for pattern in patterns)


def find_secrets(paths: Iterable[Path], root: Path = ROOT, excluded_detectors: tuple[str, ...] = ()) -> list[str]:
    """Return the unknown strings in files that look like secrets."""
    detectors = [kind() for kind in DETECTORS if kind.__name__ not in (KEYWORD_DETECTOR, *excluded_detectors)]
    # Scanning line by line is slow, and most files have candidates of few detectors.
    paths_by_detectors = defaultdict(list)
    for path in paths:
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        names = (type(detector).__name__ for detector in detectors if has_candidate(detector, text))
        paths_by_detectors[tuple(names)].append(path)
    paths_by_detectors.pop((), None)
    findings = []
    for detector_names, candidates in paths_by_detectors.items():
        with transient_settings({"plugins_used": [{"name": name} for name in detector_names]}):
            findings += [(path, finding) for path in candidates for finding in scan_file(str(root / path))]
    return [
        f"{path}:{finding.line_number}: {finding.type}"
        for path, finding in findings
        if not is_known(path, str(finding.secret_value))
    ]


def has_candidate(detector: BasePlugin, text: str) -> bool:
    """Return whether a detector finds a candidate in a text. Short random strings are no candidates."""
    min_length = MIN_ENTROPY_STRING_LENGTH if type(detector).__name__ in ENTROPY_DETECTORS else 1
    return any(len(candidate) >= min_length for candidate in detector.analyze_string(text))


def is_known(path: Path, value: str) -> bool:
    return any(
        fnmatch(path.as_posix(), known_string.files) and re.fullmatch(known_string.pattern, value)
        for known_string in KNOWN
    )


def test_no_file_contains_a_secret():
    committed_files = sorted(list_files())
    tests = [path for path in committed_files if path.parts[0] == "tests"]
    findings = [
        *find_secrets(path for path in committed_files if path not in tests),
        *find_secrets(tests, excluded_detectors=ENTROPY_DETECTORS),
    ]
    assert findings == [], (
        "if it is not a secret, add it to KNOWN in tests/security/test_secrets_in_files.py, with a reason"
    )


def test_scanned_files_are_the_committed_ones():
    candidates = {path.as_posix() for path in list_files()}
    assert {"app.py", ".ci/run", "docs/operations/running.md", "tests/vectors.json"} <= candidates
    assert not [path for path in candidates if path.startswith((".venv", ".local", ".git/", "build/"))]


@pytest.mark.parametrize(
    "line",
    [
        f'KEY = "{"AKIA" + "IOSFODNN7EXAMPLF"}"',
        "-----BEGIN " + "EC PRIVATE KEY-----",
        f'TOKEN = "{"ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"}"',
        f'URL = "https://hooks.slack.com/services/{"T12345678/B12345678/abcdefghijklmnopqrstuvwx"}"',
        f'DATA_KEY = "{"q83vASNFZ4mrze8BI0VniavN7wEj" + "RWeJq83vASNFZ4k="}"',
    ],
)
def test_secret_is_detected(line, tmp_path):
    (tmp_path / "settings.py").write_text(f"{line}\n")
    assert find_secrets([Path("settings.py")], tmp_path)
