"""`python -m infrastructure`: bootstrap, package, deploy, template, rotate, delete."""

import argparse
import os
import sys
from collections.abc import Sequence

from infrastructure.names import first_of, named


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command and return the exit code."""
    from chalicelib.kernel.core.settings import SettingsError
    from infrastructure.account import Refused

    chosen = _parser().parse_args(arguments)
    if region := os.environ.get("AWS_REGION"):  # The AWS CLI takes either name, this one first; boto3 the other only.
        os.environ["AWS_DEFAULT_REGION"] = region
    try:
        exit_code: int = chosen.command(chosen)
    except (Refused, SettingsError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. What was made stays; the same command goes on from there.", file=sys.stderr)
        return 130
    return exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infrastructure", description="Atrium on AWS.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    package = commands.add_parser("package", help="build the zip that is deployed; print its path, size and SHA-256")
    package.add_argument("--python", metavar="VERSION", help="which it is for, such as 3.13 (default: the one at work)")
    package.set_defaults(command=_package)

    _add_bootstrap(commands.add_parser("bootstrap", help="make what a stage keeps its data in, and its configuration"))

    deploy = commands.add_parser("deploy", help="bring functions and API up to date, and apply migrations")
    _add_stage(deploy)
    deploy.set_defaults(command=_deploy)

    template = commands.add_parser("template", help="write functions and API as a template, for pipelines")
    _add_stage(template)
    template.set_defaults(command=_template)

    _add_rotate(commands.add_parser("rotate", help="let a new key follow a secret, in three steps"))

    delete = commands.add_parser("delete", help="take functions, roles and API away; what holds data stays")
    _add_stage(delete)
    delete.set_defaults(command=_delete)
    return parser


def _add_bootstrap(bootstrap: argparse.ArgumentParser) -> None:
    _add_stage(bootstrap)
    bootstrap.add_argument("--issuer", type=_text, help="what your users' tokens carry as iss")
    bootstrap.add_argument("--audience", type=_text, help="what they carry as aud or client_id")
    bootstrap.add_argument("--domain", type=_text, help="a domain of yours; each platform has its own below it")
    bootstrap.add_argument("--mail-from", type=_text, help="sender of mail (default: none is sent)")
    bootstrap.add_argument("--alarms-to", type=_text, help="e-mail address that alarms go to (default: nobody)")
    bootstrap.add_argument("--public-url", type=_text, help="where callers reach it (default: the API's own address)")
    bootstrap.add_argument("--jwks", type=_text, help="where the issuer's keys are (default: as the issuer says)")
    bootstrap.add_argument("--table", type=_text, help="another table, after a restore (default: the stack's)")
    bootstrap.add_argument("--anchors", type=_text, help="another bucket of anchors, likewise")
    bootstrap.set_defaults(command=_bootstrap)


def _add_rotate(rotate: argparse.ArgumentParser) -> None:
    _add_stage(rotate)
    rotate.add_argument("secret", choices=("audit-signing-key", "seal-key", "entry-key", "data-key", "token-key"))
    rotate.add_argument("step", choices=("begin", "switch", "finish", "return"), help="deploy after each")
    rotate.add_argument("--at-once", action="store_true", help="finish before what the former key has made ends")
    rotate.set_defaults(command=_rotate)


def _add_stage(command: argparse.ArgumentParser) -> None:
    command.add_argument("--stage", type=named, required=True, help="dev, prod, or a second one such as prod-green")


def _package(chosen: argparse.Namespace) -> int:
    from infrastructure.package import build, described

    print(described(build(chosen.python)))
    return 0


def _text(text: str) -> str | None:
    return text.strip() or None  # make hands over what was not given, too.


def _bootstrap(chosen: argparse.Namespace) -> int:
    from infrastructure.account import Refused
    from infrastructure.bootstrap import ARGUMENTS, bootstrap, second

    given = {name: value for name in ARGUMENTS if (value := getattr(chosen, name))}
    if first_of(chosen.stage) == chosen.stage:
        bootstrap(chosen.stage, given, alarms_to=chosen.alarms_to)
    elif given or chosen.alarms_to:
        raise Refused(f"{chosen.stage} takes its settings from {first_of(chosen.stage)}: give these to that one.")
    else:
        second(chosen.stage)
    return 0


def _deploy(chosen: argparse.Namespace) -> int:
    from infrastructure.deploy import deploy

    deploy(chosen.stage)
    return 0


def _template(chosen: argparse.Namespace) -> int:
    from infrastructure.deploy import package

    package(chosen.stage)
    return 0


def _rotate(chosen: argparse.Namespace) -> int:
    from infrastructure.account import explained, stage_here
    from infrastructure.secrets import rotate

    with explained():
        stage = stage_here(first_of(chosen.stage))  # A second stage has the secrets of the first.
        print(rotate(stage, chosen.secret, chosen.step, at_once=chosen.at_once))
    return 0


def _delete(chosen: argparse.Namespace) -> int:
    from infrastructure.deploy import delete

    delete(chosen.stage)
    return 0


if __name__ == "__main__":
    sys.exit(main())
