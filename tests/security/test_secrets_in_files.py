"""No file of the project holds a secret: what looks like one is an example, and is named here with why it is none."""

import os
import re
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
"""What never gets into the project's history."""
PINNED: Final = ("*requirements*.txt", "*/package-lock.json", "*/docs/vendor/*", "*.bin", "*.png", "*.ico")
"""Lists of hashes, and what others made, which is held by its hash."""
GENERATED: Final = ("openapi.json", "chalicelib/entrypoints/docs/openapi.json")
"""Made of `chalicelib`, which is looked at itself."""
DETECTORS: Final[list[type[BasePlugin]]] = [*get_mapping_from_secret_type_to_class().values()]
BY_CHANCE: Final = ("Base64HighEntropyString", "HexHighEntropyString")
"""Detectors of what looks drawn at random: tests are full of that, and of what they make up to be refused."""
LEAST_BY_CHANCE: Final = 16
BY_NAME: Final = "KeywordDetector"
"""Takes whatever stands beside a word such as `secret` for one. Ruff does that better (S105 to S107)."""


class Known(NamedTuple):
    """What looks like a secret in files, and is none."""

    files: str
    looks: str
    why: str


KNOWN: Final = [
    Known("*", r"https://hooks\.slack\.com/services/T0+/B0+/(?:x|room|world|X+wxyz)", "a room that there is not"),
    Known("chalicelib/entrypoints/openapi/examples.py", r"[\w+/-]{43,}=*(?:\\n)?", "made of examples of answers"),
    Known("chalicelib/features/**/models*", r"[0-9a-f]{64}", "SHA-256 of examples"),
    Known(
        "chalicelib/features/admin/migrations/logic/migration_catalogue.py",
        r"[0-9a-f]{64}",
        "SHA-256 of what was applied",
    ),
    Known("chalicelib/features/sites/rendering/models/renderer_version.py", r"[0-9a-f]{16}", "digests of the renderer"),
    Known("local/generators/renderer_version.py", r"[0-9a-f]{16}", "digests of renamed code"),
    Known("local/generators/docs_assets.py", r"sha512-.*|[0-9a-f]{64}", "hashes of what is fetched"),
    Known("tests/*", r"secret|pass|password", "passwords of nobody, in addresses that are refused"),
    Known("tests/kernel/test_token_attacks.py", r"eyJhbGciOiJFUzI1NiJ9\.e30\.", "a token that says nothing, unsigned"),
]


def files() -> Iterator[Path]:
    """Yield the files that are kept, but for those that others made."""
    for folder, below, names in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        below[:] = [name for name in below if not ignored(here / name) and name != ".git"]
        yield from (here / name for name in names if not ignored(here / name) and not is_like(here / name, PINNED))


def ignored(path: Path) -> bool:
    return any(fnmatch(path.name, pattern) or path.as_posix() == pattern for pattern in IGNORED if pattern)


def is_like(path: Path, patterns: tuple[str, ...]) -> bool:
    return path.as_posix() in GENERATED or any(fnmatch(f"/{path.as_posix()}", f"*{pattern}") for pattern in patterns)


def secrets_in(paths: Iterable[Path], root: Path = ROOT, left_out: tuple[str, ...] = ()) -> list[str]:
    """Return what in files looks like a secret and isn't known to be none."""
    kinds = [kind for kind in DETECTORS if kind.__name__ not in (BY_NAME, *left_out)]
    # To look line by line takes long; most files have nothing that would be looked at twice.
    detectors = [kind() for kind in kinds]
    texts = {path: (root / path).read_text(encoding="utf-8", errors="replace") for path in paths}
    looked_at = [path for path, text in texts.items() if any(finds(each, text) for each in detectors)]
    with transient_settings({"plugins_used": [{"name": kind.__name__} for kind in kinds]}):
        found = [(path, each) for path in looked_at for each in scan_file(str(root / path))]
    return [f"{path}:{e.line_number}: {e.type}" for path, e in found if not is_known(path, str(e.secret_value))]


def finds(detector: BasePlugin, text: str) -> bool:
    """Return whether a detector would look twice at a text: at a short word that was drawn at random it would not."""
    least = LEAST_BY_CHANCE if type(detector).__name__ in BY_CHANCE else 1
    return any(len(found) >= least for found in detector.analyze_string(text))


def is_known(path: Path, value: str) -> bool:
    return any(fnmatch(path.as_posix(), known.files) and re.fullmatch(known.looks, value) for known in KNOWN)


def test_no_file_contains_a_secret() -> None:
    kept = sorted(files())
    tests = [path for path in kept if path.parts[0] == "tests"]
    found = [*secrets_in(path for path in kept if path not in tests), *secrets_in(tests, left_out=BY_CHANCE)]
    assert found == [], "if it is none, name it in KNOWN of tests/security/test_secrets_in_files.py, with why"


def test_scanned_files_are_the_committed_ones() -> None:
    looked_at = {path.as_posix() for path in files()}
    assert {"app.py", ".ci/run", "docs/operations/running.md", "tests/vectors.json"} <= looked_at
    assert not [path for path in looked_at if path.startswith((".venv", ".local", ".git/", "build/"))]


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
def test_secret_is_detected(line: str, tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text(f"{line}\n")
    assert secrets_in([Path("settings.py")], tmp_path)
