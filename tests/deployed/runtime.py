"""The Python in which the emulator runs functions: what AWS Lambda's own has, and nothing else."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PROVIDED: Final = ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3")
"""The modules that the runtime brings: the AWS SDK, and what that needs."""

_INSTALLED: Final = """
import pkgutil, sys
print(*sorted(m.name for m in pkgutil.iter_modules(p for p in sys.path if p.endswith("site-packages"))))
"""


def lambda_python(folder: Path) -> Path:
    """Make such a Python in a folder, with the SDK that this process has, and return its program."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (modules,) = folder.glob("lib/python*/site-packages")
    for name in PROVIDED:
        spec = find_spec(name)
        assert spec is not None
        source = Path(str(spec.origin))
        whole = source.parent if source.name == "__init__.py" else source
        (modules / whole.name).symlink_to(whole)
    return folder / "bin" / "python"


def installed(python: Path) -> list[str]:
    """Return the modules that a Python knows beside the standard library's."""
    done = subprocess.run([python, "-c", _INSTALLED], capture_output=True, text=True, check=True)
    return done.stdout.split()
