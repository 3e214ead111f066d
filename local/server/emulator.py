"""The AWS emulator, in a virtual environment of its own. It saves its state only at a graceful stop."""

import os
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from local.paths import ROOT

PYTHON: Final = ROOT / ".venv-emulator" / "bin" / "python"
COMMAND: Final = (str(PYTHON), "-m", "ministack")


def emulator_environment(port: int, folder: Path) -> Mapping[str, str]:
    """Return the emulator's environment. It does not inherit the service's variables, such as `LOG_LEVEL`."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "TMPDIR": str(folder),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        # The service signs presigned URLs with these credentials, and the emulator verifies them.
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "PERSIST_STATE": "1",
        "STATE_DIR": str(folder / "state"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(folder / "s3"),
        "LOG_LEVEL": "WARNING",
        # Disable listeners on fixed ports, which would conflict between runs, and containers.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "DOCKER_HOST": f"unix://{folder / 'no-docker'}",
    }


def responds(port: int, path: str) -> bool:
    """Return whether a server on this machine responds to a GET request."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        connection.getresponse().read()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return True
