"""The Python environment in which the emulator runs functions, with the same modules as AWS Lambda's."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

RUNTIME_MODULES: Final = ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3")
"""The modules of the Lambda runtime: the AWS SDK and its dependencies."""

_LIST_MODULES_SCRIPT: Final = """
import pkgutil, sys
print(*sorted(m.name for m in pkgutil.iter_modules(p for p in sys.path if p.endswith("site-packages"))))
"""


def lambda_python(folder: Path) -> Path:
    """Create the environment in a folder, with the SDK of this process, and return its Python executable."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (modules,) = folder.glob("lib/python*/site-packages")
    for name in RUNTIME_MODULES:
        spec = find_spec(name)
        assert spec is not None
        source = Path(str(spec.origin))
        package_path = source.parent if source.name == "__init__.py" else source
        (modules / package_path.name).symlink_to(package_path)
    return folder / "bin" / "python"


def list_installed_modules(python: Path) -> list[str]:
    """Return the modules of a Python environment besides those of the standard library."""
    result = subprocess.run([python, "-c", _LIST_MODULES_SCRIPT], capture_output=True, text=True, check=True)
    return result.stdout.split()
