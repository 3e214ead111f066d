"""A function starts with settings that are right; the packager needs none."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def importing_the_app(**environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "COVERAGE_PROCESS_CONFIG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", "import app"],
        cwd=ROOT,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_on_lambda_a_wrong_setting_ends_the_start_with_its_name() -> None:
    start = importing_the_app(AWS_LAMBDA_FUNCTION_NAME="atrium-prod", STAGE="prod")
    assert start.returncode != 0
    assert "AUDIT_SIGNING_KEY: Field required" in start.stderr


def test_packaging_imports_the_app_without_any_setting() -> None:
    assert importing_the_app().returncode == 0
