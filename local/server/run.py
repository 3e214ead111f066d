"""The command `make run`: start the emulator, its resources, and the processes of the service."""

import fcntl
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from chalicelib.features.sites.entities.sites import sites_domain
from chalicelib.kernel.core.settings import settings
from local.paths import STATE
from local.seed.callers import Service
from local.seed.seeding import receiver_port, seed
from local.server.configuration import (
    PREFIX,
    add_settings,
    clear_cloud_variables,
    sign_in_settings,
    stub_source_settings,
    write_run_settings,
)
from local.server.dns_zone import zone_file
from local.server.emulator import COMMAND, PYTHON, emulator_environment, responds
from local.server.issuer import Issuer
from local.server.processes import Child, ProcessEnded, start_process, stop_processes
from local.server.provisioning import provision
from local.server.sign_in import DEVELOPMENT_CONSOLE_URL
from local.tools.migrate import apply_migrations

_HEALTH: Final = "/_ministack/health"
_POLL_SECONDS: Final = 0.05
READY_SECONDS: Final = 60
_STOP_SECONDS: Final = 10
_EMULATOR_STOP_SECONDS: Final = 60
_RESTARTABLE: Final = ("worker", "service")
"""Processes without state, which can be restarted."""


class RunRejected(Exception):
    """The run cannot start. The message says why and what to do."""


class Stopped(Exception):
    """The run received SIGINT or SIGTERM."""


def run(port: int, *, fresh: bool, is_seeded: bool, restarts_processes: bool = False) -> None:
    """Run the local stage on a port until SIGINT or SIGTERM.

    `is_seeded`: add the sample company and a receiver of its webhooks. `restarts_processes`: restart the
    processes of requests and of queues when they end, as Lambda does.

    Raises RunRejected or SettingsError before a process is started, MigrationsFailed before the service is started,
    ProcessEnded if a process ends unexpectedly, and SeedFailed if the sample company cannot be added.
    """
    began = time.monotonic()
    signal.signal(signal.SIGTERM, _raise_stopped)
    signal.signal(signal.SIGINT, _raise_stopped)
    children: list[Child] = []
    try:
        clear_cloud_variables()
        folder, lock = STATE / str(port), _lock_port(port)
        if is_seeded:
            _require_free_port(receiver_port(port))
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        emulator_port = free_port()
        settings_file = write_run_settings(folder, endpoint=_local_url(emulator_port), public_url=_local_url(port))
        children.append(_start_emulator(emulator_port, folder, lock))
        _wait_until(lambda: responds(emulator_port, _HEALTH), children)
        add_settings(settings_file, provision(PREFIX))
        apply_migrations()
        for name, module in _list_processes(port, settings_file, is_seeded=is_seeded):
            children.append(_start(name, module, folder))
        _wait_until(lambda: responds(port, "/status"), children)
        print(ready_message(port, folder, time.monotonic() - began), flush=True)
        if is_seeded:
            print(seed(Service.at_url(_local_url(port))), flush=True)
        _watch(children, _RESTARTABLE if restarts_processes else ())
    except Stopped:
        print("Stopping, and saving the data.", flush=True)
    finally:
        _stop_all(children)


def _list_processes(port: int, settings_file: Path, *, is_seeded: bool) -> list[tuple[str, list[str]]]:
    """Return the names and modules of the service and of what surrounds it, after adding settings with their ports."""
    # Selected late, because a connection of the migrations could occupy a free port.
    dns_port, sources_port, sign_in_port = free_port(), free_port(), free_port()
    sign_in = sign_in_settings(_local_url(sign_in_port))
    further_settings = {**stub_source_settings(_local_url(sources_port)), **sign_in}
    add_settings(settings_file, {"dns_nameservers": f"127.0.0.1:{dns_port}", **further_settings})
    modules = {
        "nameserver": ["local.server.dns_server", str(dns_port), str(zone_file(port))],
        "sources": ["local.server.stub_sources", str(sources_port)],
    }
    if sign_in:
        console_urls = [f"{_local_url(port)}/console", DEVELOPMENT_CONSOLE_URL]
        modules["sign-in"] = ["local.server.sign_in", str(sign_in_port), *console_urls]
    modules |= {"worker": ["local.server.event_source_emulator"], "service": ["local.server.api", str(port)]}
    if is_seeded:
        modules["receiver"] = ["local", "receive", "--port", str(receiver_port(port))]
    return [*modules.items()]


def _raise_stopped(*_: object) -> NoReturn:
    raise Stopped


def _lock_port(port: int) -> int:
    """Lock the port's state for this run and its emulator, which can still save after this process has ended."""
    if not PYTHON.exists():
        raise RunRejected("The emulator is not installed. Run `make run`, or `make .venv-emulator/installed` once.")
    STATE.mkdir(parents=True, exist_ok=True)
    lock = os.open(STATE / f"{port}.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _check_port(port)
    except OSError:
        raise RunRejected(
            f"Port {port} is in use, or its last run is still saving. Try `make run PORT={port + 1}`."
        ) from None
    return lock


def _require_free_port(port: int) -> None:
    """Raise RunRejected if another program listens on the port of the webhook receiver."""
    try:
        _check_port(port)
    except OSError:
        detail = f"Port {port} is in use, where this run would receive webhooks. Stop the program that uses it,"
        raise RunRejected(f"{detail} or select another port: `make run SEED=1 PORT=`.") from None


def _check_port(port: int) -> None:
    """Raise OSError if a port is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


def free_port() -> int:
    """Return a port that is free for TCP and UDP."""
    while True:
        with socket.socket() as probe, socket.socket(type=socket.SOCK_DGRAM) as other:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
            with suppress(OSError):
                other.bind(("127.0.0.1", port))
                return port


def _local_url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def _start_emulator(port: int, folder: Path, lock: int) -> Child:
    variables = emulator_environment(port, folder / "emulator")
    return start_process("emulator", COMMAND, folder / "emulator.log", variables, keep_open=[lock])


def _start(name: str, module: Sequence[str], folder: Path) -> Child:
    return start_process(name, [sys.executable, "-m", *module], folder / f"{name}.log", os.environ)


def _wait_until(reached: Callable[[], bool], children: Sequence[Child]) -> None:
    """Wait until a condition is true. Raises ProcessEnded if a process ends, or after READY_SECONDS."""
    deadline = time.monotonic() + READY_SECONDS
    while not reached():
        _check_children(children)
        if time.monotonic() > deadline:
            raise ProcessEnded(
                f"The {children[-1].name} did not respond within {READY_SECONDS} s. See {children[-1].log}."
            )


def _watch(children: list[Child], restartable: Collection[str]) -> NoReturn:
    """Wait for a signal. Restart processes that may end; raise ProcessEnded for the others."""
    while True:
        for at, child in enumerate(children):
            if child.name in restartable and child.process.poll() is not None:
                children[at] = child.restart()
        _check_children([child for child in children if child.name not in restartable])


def _check_children(children: Sequence[Child]) -> None:
    for child in children:
        child.check_running()
    time.sleep(_POLL_SECONDS)


def _stop_all(children: Sequence[Child]) -> None:
    """Stop the emulator last, so that it saves all changes."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop_processes(children[1:], _STOP_SECONDS)
    stop_processes(children[:1], _EMULATOR_STOP_SECONDS)


def ready_message(port: int, folder: Path, seconds: float) -> str:
    """Return the message with URLs and a first request, which is printed when the run is ready."""
    url = _local_url(port)
    create = f"curl -s {url}/organizations -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json'"
    return f"""
Atrium is ready after {seconds:.1f} s.

  console  {url}/console
  API      {url}
  docs     {url}/docs
  sites    http://<slug>.{sites_domain()}:{port}
  logs     {os.path.relpath(folder)}/*.log
  mail     .venv/bin/python -m local mail
  DNS      .venv/bin/python -m local dns list

  TOKEN={_token_expression()}
  ID=$({create} -d '{{"name": "Demo"}}' | .venv/bin/python -c 'import json, sys; print(json.load(sys.stdin)["id"])')
  curl -s {url}/organizations -H "Authorization: Bearer $TOKEN"
  curl -s {url}/organizations/$ID/audit-log/verify-integrity -H "Authorization: Bearer $TOKEN"

Ctrl-C stops everything and saves the data. `make run FRESH=1` starts empty.
"""


def _token_expression() -> str:
    """Return a shell expression for a token, or a placeholder if another issuer is configured."""
    if Issuer().is_trusted_by(settings().model_dump()):
        return "$(.venv/bin/python -m local token --name demo)"
    return f"<a token of {settings().auth_issuer}>"
