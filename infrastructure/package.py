"""Build the deployment package: the app and its pinned libraries, compiled, in a reproducible zip.

The libraries are those of requirements.txt, as wheels for Lambda's Linux; boto3 is part of the Lambda runtime. The
package contains only compiled Python files, so functions start faster and the package is half the size.
docs/guides/deployment.md has details.
"""

import hashlib
import json
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

from infrastructure import archive, botocore_models
from infrastructure.account import CommandError
from infrastructure.configuration import PROJECT

FOLDER: Final = PROJECT / "build" / "package"
LAMBDA_PYTHONS: Final = ("3.11", "3.12", "3.13")
MAX_BYTES: Final = 20_000_000

_PLATFORM: Final = "x86_64-manylinux2014"  # On Lambda, Python 3.11 has glibc 2.26, and later versions have 2.34.
_TASK_FOLDER: Final = "/var/task"
_OPENAPI_DOCUMENT: Final = "chalicelib/entrypoints/docs/openapi.json"
_EXCLUDED: Final = (
    "bin",
    "**/py.typed",
    "**/*.pyi",
    "**/*.h",
    "**/tests",
    ".lock",
    # Only necessary to build C bindings; cryptography loads built ones through `_cffi_backend`.
    "cffi",
    "pycparser*",
    # No import of Atrium reaches these.
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
    # dnspython reads records of these types as generic ones. Atrium queries A, AAAA, CNAME and TXT.
    "dns/rdtypes/ANY/[!CDNOPST_]*.py",
    "dns/rdtypes/ANY/C[!N]*.py",
    "dns/rdtypes/ANY/D[LS][VY]*.py",
    "dns/rdtypes/ANY/N[IS][!.]*.py",
    "dns/rdtypes/ANY/OPENPGPKEY.py",
    "dns/rdtypes/ANY/S[MPS]*.py",
    "dns/rdtypes/ANY/TLSA.py",
    "dns/rdtypes/IN/[DIKNPW]*.py",
    "dns/rdtypes/IN/APL.py",
    "dns/rdtypes/IN/S[RV]*.py",
    "dns/rdtypes/IN/HTTPS.py",
    "dns/rdtypes/euibase.py",
    "dns/rdtypes/mxbase.py",
    "dns/rdtypes/tlsabase.py",
    "dns/tsigkeyring.py",
    "dns/update.py",
    "dns/versioned.py",
    "dns/win32util.py",
    "httpcore/_*/http2.py",
    "httpcore/_backends/anyio.py",
    "httpcore/_backends/trio.py",
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


def running_python_version() -> str:
    """Return the version of the running Python, such as 3.11."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def build_package(python_version: str | None = None, folder: Path = FOLDER) -> Path:
    """Build the package for a version of Python, by default the running one, and return the zip file.

    Raises CommandError if that Python or a library is not available, or if the package is too large.
    """
    version = python_version or running_python_version()
    python = find_python(version)
    with TemporaryDirectory(prefix="atrium-package-") as temporary:
        task = Path(temporary) / "task"
        _install_libraries(task, version)
        _remove_excluded(task)
        _add_app(task)
        _compile(task, python)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"atrium-python{version}.zip"
        archive.write_zip(task, file)
    if file.stat().st_size > MAX_BYTES:
        raise CommandError(f"{file} has {file.stat().st_size} bytes, more than {MAX_BYTES}. Exclude unused files.")
    return file


def describe_package(file: Path) -> str:
    """Return a line with a package's path, size in bytes and SHA-256."""
    return f"{file}  {file.stat().st_size} bytes  sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}"


def find_python(version: str) -> str:
    """Return the path of a Python version. Raises CommandError if Lambda or this machine does not have it."""
    if version not in LAMBDA_PYTHONS:
        raise CommandError(f"AWS Lambda runs Atrium on Python {', '.join(LAMBDA_PYTHONS)}, not on {version}.")
    if version == running_python_version():
        return sys.executable
    folders = [os.environ.get("PATH", ""), *map(str, _pyenv_folders())]
    found = _uv("python", "find", "--system", "--no-python-downloads", version, PATH=os.pathsep.join(folders))
    if found.returncode != 0:
        raise CommandError(
            f"Python {version} is not installed on this machine, but must compile the package. Install it, for"
            f" example with `.venv/bin/uv python install {version}` or `pyenv install {version}`."
        )
    return found.stdout.strip()


def _pyenv_folders() -> list[Path]:
    # uv searches PATH and its own installations. Often pyenv has none of its versions in PATH.
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return sorted(root.glob("versions/*/bin"))


def _uv(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 (fixed arguments)
        [find_uv_bin(), *arguments], env=os.environ | environment, capture_output=True, text=True, check=False
    )


def _install_libraries(task: Path, version: str) -> None:
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
        raise CommandError(f"The libraries for Python {version} cannot be installed.\n{done.stderr}")


def _remove_excluded(task: Path) -> None:
    for pattern in _EXCLUDED:
        for found in list(task.glob(pattern)):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    for about in task.glob("*.dist-info"):
        _reduce_metadata(about)
    for library in task.rglob("*.so"):
        library.write_bytes(_clear_symbols(library.read_bytes()))


def _reduce_metadata(about: Path) -> None:
    """Remove a library's metadata except its name and version, for vulnerability scanners, and its licences."""
    headers = BytesHeaderParser().parsebytes((about / "METADATA").read_bytes())
    for file in [file for file in about.rglob("*") if file.is_file()]:
        if not any(file.match(pattern) for pattern in _LICENCES):
            file.unlink()
    remaining = [(name, value) for name, value in headers.items() if name in ("Metadata-Version", "Name", "Version")]
    (about / "METADATA").write_text("".join(f"{name}: {value}\n" for name, value in remaining))


def _clear_symbols(library: bytes) -> bytes:
    """Return a shared library with its debugging symbols set to zeros, which compress well."""
    cleared = bytearray(library)
    for section in ELFFile(BytesIO(library)).iter_sections():
        if section.name in (".symtab", ".strtab"):
            begin, size = section["sh_offset"], section["sh_size"]
            cleared[begin : begin + size] = bytes(size)
    return bytes(cleared)


def _add_app(task: Path) -> None:
    left_out = shutil.ignore_patterns("__pycache__", "openapi")
    shutil.copytree(PROJECT / "chalicelib", task / "chalicelib", ignore=left_out)
    document = task / _OPENAPI_DOCUMENT  # Without indentation, it has little more than half of its size.
    document.write_text(json.dumps(json.loads(document.read_text()), ensure_ascii=False, separators=(",", ":")))
    shutil.copy(PROJECT / "app.py", task)
    botocore_models.write_models(task / "aws_models")
    (task / "chalice").mkdir()
    for name in ("__init__.py", "app.py"):  # Chalice's own packager includes the same files.
        shutil.copy(Path(chalice.__file__).with_name(name), task / "chalice")


def _compile(task: Path, python: str) -> None:
    """Replace each module by its bytecode, without docstrings, assertions and column numbers."""
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
            _TASK_FOLDER,
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
        raise CommandError(f"{python} cannot compile the package.\n{done.stdout}{done.stderr}")
    for source in list(task.rglob("*.py")):
        if source != task / "app.py":  # Chalice requires app.py, and Python prefers a source file.
            source.unlink()
