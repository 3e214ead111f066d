"""A function starts only with valid settings. Packaging needs no settings."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def import_app(**environment: str) -> subprocess.CompletedProcess[str]:
    """Import the app in a process that has only these environment variables and those that Python needs."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "COVERAGE_PROCESS_CONFIG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", "import app"],
        cwd=ROOT,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_setting_fails_the_start_on_lambda_with_its_name():
    completed = import_app(AWS_LAMBDA_FUNCTION_NAME="atrium-prod", STAGE="prod")
    assert completed.returncode != 0
    assert "AUDIT_SIGNING_KEY: Field required" in completed.stderr


def test_the_app_can_be_imported_without_settings_for_packaging():
    assert import_app().returncode == 0
