"""Command line `python -m local`: run, seed, token, mail, dns, receive, tick, doctor, verify, smoke and more."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final
from uuid import UUID

from infrastructure.command_line import run_until_output_closes
from infrastructure.names import parse_stage_name
from local.argument_types import port, status
from local.server.issuer import TOKEN_LIFETIME_SECONDS

_INTERRUPTED: Final = 130
"""Exit code of a command that Ctrl-C ended."""


class _CommandRefused(Exception):
    """The message says why a command did not run or stopped."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code. It is 1 if the command was refused, and the reason is printed."""
    chosen = _parser().parse_args(arguments)
    try:
        exit_code: int = chosen.command(chosen)
    except _CommandRefused as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    return exit_code


_DEFAULT_RUN: Final = "of which run (default: of the one that was started last)"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description="The local stage of Atrium.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands.add_parser("run", help="run everything until Ctrl-C"))
    _add_token(commands.add_parser("token", help="print a user's token"))
    _add_mail(commands.add_parser("mail", help="print the mail of a run, newest first"))
    _add_dns(commands.add_parser("dns", help="change the DNS records of a run, for custom domains"))
    _add_receive(commands.add_parser("receive", help="receive webhooks and print them, until Ctrl-C"))
    _add_tick(commands.add_parser("tick", help="run a schedule now: sweep, anchor"))
    _add_redrive(commands.add_parser("redrive", help="show dead letters of a run or a stage, or send them back"))
    _add_verify(commands.add_parser("verify", help="verify every log of a run or a stage"))
    for name, command, text in (
        ("seed", _seed, "add the sample company to a run; existing data stays"),
        ("migrate", _migrate, "apply the pending migrations of a run"),
    ):
        command_of_run = commands.add_parser(name, help=text)
        command_of_run.add_argument("--port", type=port, help=_DEFAULT_RUN)
        command_of_run.set_defaults(command=command)
    for name, command, text in (
        ("reseal", _reseal, "encrypt secrets with the current DATA_KEY"),
        ("renew-seals", _renew_seals, "replace entry MACs with ones of the current SEAL_KEY"),
        ("reanchor", _reanchor, "schedule an anchor for every log without one"),
        ("doctor", _doctor, "check the issuer and a token from stdin, of a run or a stage"),
        ("smoke", _smoke, "check a run, or a stage with a user's token from stdin, from outside"),
    ):
        command_of_stage = commands.add_parser(name, help=text)
        _add_stage_or_run(command_of_stage)
        command_of_stage.set_defaults(command=command)
    _add_audit(commands.add_parser("audit-records", help="compare the records of all organizations with their logs"))
    _add_provision(commands.add_parser("provision", help="create table, queues and buckets in a running emulator"))
    routes = commands.add_parser("routes", help="list the operations with file and line")
    routes.add_argument("query", nargs="?", default="", help="part of a path, a method or a function's name")
    routes.set_defaults(command=_routes)
    return parser


def _add_token(token: argparse.ArgumentParser) -> None:
    token.add_argument("--name", required=True, help="name of the user; equal names mean the same user")
    token.add_argument("--email", help="verified e-mail address (default: NAME@example.com)")
    token.add_argument("--sub", type=UUID, help="user id (default: derived from the name)")
    token.add_argument("--full-name", help="full name (default: NAME)")
    token.add_argument("--operator", action="store_true", help="make the user an operator of the service")
    token.add_argument(
        "--expires-in", type=int, default=TOKEN_LIFETIME_SECONDS, metavar="SECONDS", help="default: 12 hours"
    )
    token.set_defaults(command=_token)


def _add_mail(mail: argparse.ArgumentParser) -> None:
    mail.add_argument("--port", type=port, help=_DEFAULT_RUN)
    mail.add_argument("--html", action="store_true", help="print the HTML of the newest message")
    mail.set_defaults(command=_mail)


def _add_receive(receive: argparse.ArgumentParser) -> None:
    receive.add_argument("--port", type=port, default=9471, help="port to listen on (default: %(default)s)")
    receive.add_argument(
        "--status", type=status, default=204, help="status of the responses: 503 for an outage (default: %(default)s)"
    )
    receive.set_defaults(command=_receive)


def _add_tick(tick: argparse.ArgumentParser) -> None:
    tick.add_argument("schedule", help="name of the schedule in app.py")
    tick.add_argument("--port", type=port, help=_DEFAULT_RUN)
    tick.set_defaults(command=_tick)


def _add_audit(audit: argparse.ArgumentParser) -> None:
    _add_stage_or_run(audit)
    purpose = audit.add_mutually_exclusive_group()
    purpose.add_argument("--renew", action="store_true", help="first add MACs to records of releases without them")
    purpose.add_argument(
        "--accept",
        nargs=3,
        metavar=("ORGANIZATION_ID", "TYPE", "ID"),
        help="accept the finding about a record after its investigation, instead of comparing all records",
    )
    audit.set_defaults(command=_audit_records)


def _add_provision(provision: argparse.ArgumentParser) -> None:
    provision.add_argument(
        "--endpoint", default="http://127.0.0.1:4566", help="URL of the emulator (default: %(default)s)"
    )
    provision.set_defaults(command=_provision)


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("--port", type=port, default=8000, help="port of the service (default: 8000)")
    run.add_argument("--fresh", action="store_true", help="delete the stored data of earlier runs on this port")
    run.add_argument("--seed", action="store_true", help="add the sample company, and receive its webhooks")
    run.add_argument("--revive", action="store_true", help="restart the processes of requests and queues when they end")
    run.set_defaults(command=_run)


def _add_dns(dns: argparse.ArgumentParser) -> None:
    types = ("A", "AAAA", "CNAME", "TXT")
    dns.add_argument("--port", type=port, help=_DEFAULT_RUN)
    dns.set_defaults(command=_dns)
    actions = dns.add_subparsers(required=True, metavar="ACTION", dest="action")
    put = actions.add_parser("set", help="replace the records of a name and type")
    put.add_argument("name")
    put.add_argument("type", choices=types, type=str.upper)
    put.add_argument("values", nargs="+", metavar="value")
    remove = actions.add_parser("remove", help="remove the records of a name, optionally of one type")
    remove.add_argument("name")
    remove.add_argument("type", choices=types, type=str.upper, nargs="?")
    actions.add_parser("list", help="print all records")


def _add_redrive(redrive: argparse.ArgumentParser) -> None:
    _add_stage_or_run(redrive)
    queues = ("events", "jobs", "deliveries", "deliveries-slow")
    redrive.add_argument("--queue", choices=queues, action="append", help="only this queue; can be repeated")
    redrive.add_argument(
        "--most", type=int, default=20, help="number of messages to show per queue (default: %(default)s)"
    )
    redrive.add_argument("--send", action="store_true", help="send the messages back to their queues")
    redrive.set_defaults(command=_redrive)


def _add_verify(verify: argparse.ArgumentParser) -> None:
    _add_stage_or_run(verify)
    verify.add_argument("--anchors", metavar="BUCKET", help="bucket of the anchors (default: from the settings)")
    verify.add_argument(
        "--after", default="", metavar="PLACE", help="continue after the position that an earlier call printed"
    )
    verify.set_defaults(command=_verify)


def _add_stage_or_run(parser: argparse.ArgumentParser) -> None:
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--stage", type=parse_stage_name, help="a deployed stage in .chalice/config.json (default: a run)"
    )
    place.add_argument("--port", type=port, help=_DEFAULT_RUN)


@contextmanager
def _refuse_on(*errors: type[Exception]) -> Iterator[None]:
    """End the command with the message of an exception of these types, without a traceback."""
    try:
        yield
    except errors as error:
        raise _CommandRefused(error) from error


def _run(chosen: argparse.Namespace) -> int:
    from chalicelib.kernel.core.settings import SettingsError
    from local.seed.callers import SeedFailed
    from local.server.processes import ProcessEnded
    from local.server.run import RunRejected, run
    from local.tools.migrate import MigrationsFailed

    with _refuse_on(RunRejected, SettingsError, ProcessEnded, MigrationsFailed, SeedFailed):
        run(chosen.port, fresh=chosen.fresh, is_seeded=chosen.seed, restarts_processes=chosen.revive)
    return 0


def _seed(chosen: argparse.Namespace) -> int:
    from local.seed.callers import SeedFailed, Service
    from local.seed.seeding import seed, service_url_of_run

    with _refuse_on(SeedFailed):
        print(seed(Service.at_url(service_url_of_run(chosen.port))))
    return 0


def _token(chosen: argparse.Namespace) -> int:
    from local.server.issuer import Issuer, Person, explain_rejection_of_tokens_or_none

    if warning := explain_rejection_of_tokens_or_none():
        print(warning, file=sys.stderr)
    person = Person(chosen.name, chosen.email, chosen.sub, chosen.operator, chosen.full_name)
    print(Issuer().create_token(person, chosen.expires_in))
    return 0


def _mail(chosen: argparse.Namespace) -> int:
    from local.tools.mail import EmulatorNotFound, fetch_sent_emails, format_emails

    with _refuse_on(EmulatorNotFound):
        mails = fetch_sent_emails(chosen.port)
    if not mails:
        print("No mail has been sent yet.", file=sys.stderr)
        return 1
    print(mails[0].html if chosen.html else format_emails(mails))
    return 0


def _dns(chosen: argparse.Namespace) -> int:
    from local.server import dns_zone

    with _refuse_on(dns_zone.DnsZoneError):
        file = dns_zone.zone_file_of_run(chosen.port)
        if chosen.action == "set":
            dns_zone.set_values(file, chosen.name, chosen.type, chosen.values)
        elif chosen.action == "remove":
            dns_zone.remove_values(file, chosen.name, chosen.type)
        else:
            print("".join(f"{line}\n" for line in dns_zone.format_records(file)), end="")
    return 0


def _receive(chosen: argparse.Namespace) -> int:
    from local.tools.webhook_receiver import PortInUse, create_receiver

    with _refuse_on(PortInUse), suppress(KeyboardInterrupt), create_receiver(chosen.port, chosen.status) as server:
        server.serve_forever()
    return 0


def _tick(chosen: argparse.Namespace) -> int:
    from chalicelib.kernel.core.settings import SettingsError
    from local.tools.run_schedule import ScheduleNotRun, run_schedule

    with _refuse_on(ScheduleNotRun, SettingsError):
        print(f"{chosen.schedule}: {run_schedule(chosen.schedule, chosen.port)} queued.")
    return 0


def _migrate(chosen: argparse.Namespace) -> int:
    from chalicelib.kernel.core.settings import SettingsError
    from local.tools.migrate import MigrationsFailed, migrate_run

    with _refuse_on(MigrationsFailed, SettingsError):
        migrate_run(chosen.port)
    return 0


def _redrive(chosen: argparse.Namespace) -> int:
    from local.tools.redrive import RedriveFailed, redrive

    return _run_resumable(
        chosen, lambda: redrive(chosen.queue or (), send=chosen.send, max_shown=chosen.most), RedriveFailed
    )


def _reseal(chosen: argparse.Namespace) -> int:
    from local.tools.reencrypt import ReencryptionFailed, reencrypt_secrets

    return _run_resumable(chosen, lambda: reencrypt_secrets(chosen.stage), ReencryptionFailed)


def _renew_seals(chosen: argparse.Namespace) -> int:
    from local.tools.renew_seals import RenewalFailed, renew_entry_macs

    return _run_resumable(chosen, lambda: renew_entry_macs(chosen.stage), RenewalFailed)


def _reanchor(chosen: argparse.Namespace) -> int:
    from local.tools.schedule_anchors import ReanchorFailed, schedule_first_anchors

    return _run_resumable(chosen, schedule_first_anchors, ReanchorFailed)


def _audit_records(chosen: argparse.Namespace) -> int:
    from local.tools.audit_records import AuditFailed, RecordReference, accept_finding, audit_records

    if chosen.accept:
        return _run_resumable(chosen, lambda: accept_finding(RecordReference(*chosen.accept)), AuditFailed)
    return _run_resumable(chosen, lambda: audit_records(renews_macs=chosen.renew), AuditFailed)


def _run_resumable(chosen: argparse.Namespace, work: Callable[[], None], refused: type[Exception]) -> int:
    """Run resumable work on a run or a stage, and return the exit code."""
    from chalicelib.kernel.core.settings import SettingsError
    from infrastructure.account import CommandError

    try:
        with _refuse_on(SettingsError, CommandError, refused):
            _use_stage_or_run(chosen)
            work()
    except KeyboardInterrupt:
        print("Interrupted. Run the same command to continue.", file=sys.stderr)
        return _INTERRUPTED
    return 0


def _verify(chosen: argparse.Namespace) -> int:
    from chalicelib.kernel.core.settings import SettingsError
    from infrastructure.account import CommandError
    from local.tools.verify_logs import VerificationNotRun, verify_logs

    with _refuse_on(SettingsError, CommandError, VerificationNotRun):
        _use_stage_or_run(chosen)
        return 0 if verify_logs(chosen.after, chosen.anchors) else 1


def _use_stage_or_run(chosen: argparse.Namespace) -> None:
    """Use the settings of a run or a stage in this process.

    Raises SettingsError, and CommandError without credentials for the stage's account.
    """
    from infrastructure.configuration import load_stage_in_current_account
    from local.server.configuration import use_stage_or_run

    use_stage_or_run(chosen.stage, chosen.port)
    if chosen.stage:
        load_stage_in_current_account(chosen.stage)


def _provision(chosen: argparse.Namespace) -> int:
    from botocore.exceptions import EndpointConnectionError

    from chalicelib.kernel.core.settings import SettingsError
    from local.paths import STATE
    from local.server.configuration import PREFIX, add_settings, clear_cloud_variables, write_run_settings
    from local.server.provisioning import provision
    from local.tools.migrate import MigrationsFailed, apply_migrations

    with _refuse_on(SettingsError, EndpointConnectionError, MigrationsFailed):
        clear_cloud_variables()
        file = write_run_settings(STATE / "provisioned", endpoint=chosen.endpoint, public_url="http://127.0.0.1:8000")
        add_settings(file, provision(PREFIX))
        apply_migrations()
    print("Ready for `.venv/bin/chalice local --stage local`.")
    return 0


def _doctor(chosen: argparse.Namespace) -> int:
    from chalicelib.kernel.core.settings import SettingsError
    from local.server.configuration import use_stage_or_run
    from local.tools.doctor import diagnose, read_token_or_none

    with _refuse_on(SettingsError):
        use_stage_or_run(chosen.stage, chosen.port)
        return diagnose(read_token_or_none())


def _smoke(chosen: argparse.Namespace) -> int:
    from chalicelib.kernel.core.settings import SettingsError
    from infrastructure.account import CommandError
    from local.smoke.runner import run_checks
    from local.smoke.target import find_target

    with _refuse_on(SettingsError, CommandError):
        _use_stage_or_run(chosen)
        return run_checks(find_target(chosen.stage, chosen.port))


def _routes(chosen: argparse.Namespace) -> int:
    from local.tools.routes import list_routes

    lines = list(list_routes(chosen.query))
    print("\n".join(lines))
    return 0 if lines else 1


if __name__ == "__main__":
    sys.exit(run_until_output_closes(main))
