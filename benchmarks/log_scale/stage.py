"""The environment of the benchmark: emulators of AWS, the service's settings, and an owner who sends requests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.log_scale.disk_table import DiskTable
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import table
from local.server.configuration import PREFIX
from local.server.emulator import COMMAND, emulator_environment, responds
from local.server.processes import start_process, stop_processes
from local.server.provisioning import provision
from local.server.run import READY_SECONDS, free_port
from tests.harness.callers import Issuer, Person
from tests.harness.waiting import wait_until

_CREDENTIAL_VARIABLES: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_TABLE_FILE_VARIABLE: Final = "LOG_SCALE_TABLE"
_STOP_SECONDS: Final = 30
_AWS_READ_TIMEOUT_SECONDS: Final = 300


@contextmanager
def run_stage(dynamodb_url: str | None) -> Iterator[Person]:
    """Provide queues, buckets and a table within the block, and yield the owner.

    New processes use them too if they call `prepare_process`. The table is at `dynamodb_url`, where it remains. Without
    a URL it is a temporary file.
    """
    import_module("tests.conftest")  # Set the test settings of this process.
    with TemporaryDirectory() as folder:
        port, issuer = free_port(), Issuer(Path(folder))
        variables = emulator_environment(port, Path(folder) / "aws")
        emulator = start_process("emulator", COMMAND, Path(folder) / "emulator.log", variables)
        try:
            wait_until(lambda: responds(port, "/_ministack/health"), READY_SECONDS)
            _set_endpoint_variables(f"http://127.0.0.1:{port}", dynamodb_url)
            os.environ |= {} if dynamodb_url else {_TABLE_FILE_VARIABLE: str(Path(folder) / "table.sqlite")}
            os.environ.update({name: variables[name] for name in _CREDENTIAL_VARIABLES} | issuer.settings())
            os.environ.update({name.upper(): value for name, value in provision(PREFIX).items()})
            settings.cache_clear()
            prepare_process()
            yield issuer.create_person("ada", "Ada Lovelace")
        finally:
            stop_processes([emulator], _STOP_SECONDS)


def _set_endpoint_variables(emulator_url: str, dynamodb_url: str | None) -> None:
    # The service's settings have one endpoint for all of AWS; botocore's have one for each service.
    urls = {"DYNAMODB": dynamodb_url or emulator_url, "SQS": emulator_url, "S3": emulator_url}
    os.environ.update({f"AWS_ENDPOINT_URL_{service}": address for service, address in urls.items()})
    _extend_timeouts()
    settings.cache_clear()


def prepare_process() -> None:
    """Configure this process to use the benchmark's table."""
    _extend_timeouts()
    if file := os.environ.get(_TABLE_FILE_VARIABLE):
        disk_table = DiskTable(Path(file))
        table._dynamodb_client = lambda: disk_table  # noqa: SLF001 - the only access of the service to the table


def _extend_timeouts() -> None:
    # An emulator counts all items to describe a table, and shares the machine with the benchmark.
    for service in aws._TIMEOUTS:  # noqa: SLF001 - no other caller needs such a time-out
        aws._TIMEOUTS[service] = (1, _AWS_READ_TIMEOUT_SECONDS)  # noqa: SLF001
