"""Builds what is deployed: app and pinned libraries, compiled, in one zip that is the same wherever it is made.

The libraries are those of requirements.txt, as wheels for Lambda's Linux; boto3 is the runtime's. Python files are
there compiled only: nothing is compiled when a function starts, and it takes half the room. docs/guides/deployment.md
says more.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from email.parser import BytesHeaderParser
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import chalice
from elftools.elf.elffile import ELFFile
from uv import find_uv_bin

from infrastructure import archive, models
from infrastructure.account import Refused
from infrastructure.configuration import PROJECT

FOLDER: Final = PROJECT / "build" / "package"
LAMBDA_PYTHONS: Final = ("3.11", "3.12", "3.13")
MOST_BYTES: Final = 12_000_000

_PLATFORM: Final = "x86_64-manylinux2014"  # Python 3.11 has glibc 2.26 on Lambda, later ones 2.34.
_TASK: Final = "/var/task"
_LEFT_OUT: Final = (
    "bin",
    "**/py.typed",
    "**/*.pyi",
    "**/*.h",
    "**/tests",
    ".lock",
    # They make bindings of C; cryptography loads what is made, by `_cffi_backend` alone.
    "cffi",
    "pycparser*",
    # What Atrium imports never leads there.
    "annotated_types/test_cases.py",
    "cryptography/fernet.py",
    "cryptography/hazmat/asn1",
    "cryptography/hazmat/primitives/serialization/pkcs*.py",
    "cryptography/hazmat/primitives/twofactor",
    "cryptography/x509/ocsp.py",
    "dns/*zone*.py",
    "dns/_asyncio_backend.py",
    "dns/_trio_backend.py",
    "dns/asyncresolver.py",
    "dns/btree.py",
    "dns/dnssec.py",
    "dns/dnssecalgs",
    "dns/e164.py",
    "dns/namedict.py",
    "dns/quic/_[!_]*.py",
    # Records of these types would be read as generic ones; only A, AAAA, CNAME and TXT are asked for.
    "dns/rdtypes/ANY/[!CDNOPST_]*.py",
    "dns/rdtypes/IN/[DIKNPW]*.py",
    "dns/tsigkeyring.py",
    "dns/update.py",
    "dns/versioned.py",
    "dns/win32util.py",
    "httpcore/_*/http2.py",
    "httpcore/_*/socks_proxy.py",
    "idna/cli.py",
    "idna/codec.py",
    "jinja2/ext.py",
    "jinja2/meta.py",
    "jinja2/nativetypes.py",
    "jinja2/sandbox.py",
    "markdown_it/cli",
    "markdown_it/tree.py",
    "publicsuffixlist/test*",
    "publicsuffixlist/update.py",
    "pydantic/color.py",
    "pydantic/experimental",
    "pydantic/mypy.py",
    "pydantic/v1",
    "urllib3/contrib",
    "urllib3/http2/connection.py",
    "aws_lambda_powertools/event_handler",
    "aws_lambda_powertools/metrics/provider/datadog",
    *(
        f"aws_lambda_powertools/utilities/{name}"
        for name in (
            "auth_alpha",
            "circuit_breaker",
            "data_classes/*authorizer*",
            "data_classes/*mq_event.py",
            "data_classes/cognito*",
            "data_classes/iot*",
            "data_masking",
            "feature_flags",
            "idempotency",
            "kafka",
            "metadata",
            "parameters",
            "parser/envelopes",
            "parser/models/a*.py",
            "parser/models/bedrock*.py",
            "parser/models/cloudform*.py",
            "parser/models/cognito.py",
            "parser/models/event_bridge.py",
            "parser/models/iot*.py",
            "parser/models/kinesis_*.py",
            "parser/models/lambda*.py",
            "parser/models/s3*.py",
            "parser/models/s[en]s.py",
            "parser/models/transfer*.py",
            "parser/models/vpc*.py",
            "streaming",
            "validation",
        )
    ),
)
_LICENCES: Final = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*")


def running() -> str:
    """Return the version of the Python at work, such as 3.11."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def build(python_version: str | None = None, into: Path = FOLDER) -> Path:
    """Build the package for a version of Python, or for the one at work, and return its zip.

    Raises Refused if that Python or a library can't be had, or if the package is too large.
    """
    version = python_version or running()
    python = interpreter(version)
    with TemporaryDirectory(prefix="atrium-package-") as folder:
        task = Path(folder) / "task"
        _install(task, version)
        _leave_out(task)
        _add_ours(task)
        _compile(task, python)
        into.mkdir(parents=True, exist_ok=True)
        file = into / f"atrium-python{version}.zip"
        archive.write(task, file)
    if file.stat().st_size > MOST_BYTES:
        raise Refused(f"{file} has {file.stat().st_size} bytes, more than {MOST_BYTES}: leave out what nobody needs.")
    return file


def described(file: Path) -> str:
    """Return a line about a package: where it is, its size in bytes, its SHA-256."""
    return f"{file}  {file.stat().st_size} bytes  sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}"


def interpreter(version: str) -> str:
    """Return where the Python of a version is on this machine. Raises Refused if Lambda or this machine hasn't it."""
    if version not in LAMBDA_PYTHONS:
        raise Refused(f"Atrium runs on Python {', '.join(LAMBDA_PYTHONS)} of AWS Lambda, not on {version}.")
    if version == running():
        return sys.executable
    folders = [os.environ.get("PATH", ""), *map(str, _of_pyenv())]
    found = _uv("python", "find", "--system", "--no-python-downloads", version, PATH=os.pathsep.join(folders))
    if found.returncode != 0:
        raise Refused(
            f"There is no Python {version} on this machine, which has to compile what it is to run:"
            f" install it, or let `.venv/bin/uv python install {version}` or `pyenv install {version}` do so."
        )
    return found.stdout.strip()


def _of_pyenv() -> list[Path]:
    # uv looks on the path and at its own; pyenv puts there what it was told to use here, and often nothing at all.
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return sorted(root.glob("versions/*/bin"))


def _uv(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 (fixed arguments)
        [find_uv_bin(), *words], env=os.environ | environment, capture_output=True, text=True, check=False
    )


def _install(task: Path, version: str) -> None:
    done = _uv(
        "pip",
        "install",
        "--target",
        str(task),
        "--requirement",
        str(PROJECT / "requirements.txt"),
        "--require-hashes",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--python-platform",
        _PLATFORM,
        "--python-version",
        version,
        "--link-mode",
        "copy",
        "--no-config",
    )
    if done.returncode != 0:
        raise Refused(f"The libraries for Python {version} can't be had.\n{done.stderr}")


def _leave_out(task: Path) -> None:
    for pattern in _LEFT_OUT:
        for found in list(task.glob(pattern)):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    for about in task.glob("*.dist-info"):
        _shorten(about)
    for library in task.rglob("*.so"):
        library.write_bytes(_without_symbols(library.read_bytes()))


def _shorten(about: Path) -> None:
    """Leave a library's name and version, for whoever looks for vulnerable ones, and the licences that demand it."""
    headers = BytesHeaderParser().parsebytes((about / "METADATA").read_bytes())
    for file in [file for file in about.rglob("*") if file.is_file()]:
        if not any(file.match(pattern) for pattern in _LICENCES):
            file.unlink()
    remaining = [(name, value) for name, value in headers.items() if name in ("Metadata-Version", "Name", "Version")]
    (about / "METADATA").write_text("".join(f"{name}: {value}\n" for name, value in remaining))


def _without_symbols(library: bytes) -> bytes:
    """Return a shared library without symbols for debuggers: zeros take no room in a zip, and it loads as before."""
    cleared = bytearray(library)
    for section in ELFFile(BytesIO(library)).iter_sections():
        if section.name in (".symtab", ".strtab"):
            begin, size = section["sh_offset"], section["sh_size"]
            cleared[begin : begin + size] = bytes(size)
    return bytes(cleared)


def _add_ours(task: Path) -> None:
    left_out = shutil.ignore_patterns("__pycache__", "openapi")
    shutil.copytree(PROJECT / "chalicelib", task / "chalicelib", ignore=left_out)
    shutil.copy(PROJECT / "app.py", task)
    models.write(task / "aws_models")
    (task / "chalice").mkdir()
    for name in ("__init__.py", "app.py"):  # As Chalice's own packager does: it is nothing else at run time.
        shutil.copy(Path(chalice.__file__).with_name(name), task / "chalice")


def _compile(task: Path, python: str) -> None:
    """Put what a Python makes of each module in its place.

    It leaves out docstrings, asserts, and the columns of lines, which show nothing without the source.
    """
    done = subprocess.run(  # noqa: S603 (fixed arguments)
        [
            python,
            "-X",
            "no_debug_ranges",
            "-m",
            "compileall",
            "-q",
            "-f",
            "-b",
            "-o",
            "2",
            "-s",
            str(task),
            "-p",
            _TASK,
            "--invalidation-mode",
            "unchecked-hash",
            str(task),
        ],
        env={"PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1"},
        cwd=task,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Refused(f"{python} can't compile what is to be packaged.\n{done.stdout}{done.stderr}")
    for source in list(task.rglob("*.py")):
        if source != task / "app.py":  # Whoever deploys looks for it; where both are, Python takes the source.
            source.unlink()
