"""Command line `python -m infrastructure`: the commands of a stage on AWS, from bootstrap to delete."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from infrastructure.command_line import run_until_output_closes
from infrastructure.names import parse_stage_name, primary_stage_name

_ROTATABLE_SECRETS: Final = ("audit-signing-key", "seal-key", "entry-key", "data-key", "token-key", "edge-secret")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    from chalicelib.kernel.core.settings import SettingsError
    from infrastructure.account import CommandError

    chosen = _parser().parse_args(arguments)
    if region := os.environ.get("AWS_REGION"):  # boto3 reads only AWS_DEFAULT_REGION. The AWS CLI reads both.
        os.environ["AWS_DEFAULT_REGION"] = region
    try:
        exit_code: int = chosen.command(chosen)
    except (CommandError, SettingsError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. Resources that were created remain. Run the same command to continue.", file=sys.stderr)
        return 130
    return exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infrastructure", description="Atrium on AWS.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    package = commands.add_parser("package", help="build the deployment package; print its path, size and SHA-256")
    package.add_argument("--python", metavar="VERSION", help="Python version, such as 3.13 (default: the running one)")
    package.set_defaults(command=_package)

    release = commands.add_parser("release", help="tag the commit, and build its archives with checksums")
    release.set_defaults(command=_release)

    _add_bootstrap(commands.add_parser("bootstrap", help="create a stage's data resources and its configuration"))

    _add_edge(commands.add_parser("edge", help="create or update CloudFront in front of the API, for published sites"))

    _add_rotate(commands.add_parser("rotate", help="replace a secret by a new key, in three steps"))

    trail = commands.add_parser("trail", help="record writers to a stage's data that are not its functions")
    _add_stage(trail)
    trail.add_argument("--secondary", action="append", default=[], type=parse_stage_name, help="can be repeated")
    trail.set_defaults(command=_trail)

    for name, command, text in (
        ("deploy", _deploy, "deploy functions and API, and apply migrations"),
        ("template", _template, "write functions and API as a CloudFormation template"),
        ("edge-secret", _edge_secret, "print the secret that an edge of your own sends to the API"),
        ("pause", _pause, "stop the API, the schedules and the queues of a stage"),
        ("resume", _resume, "start what pause has stopped"),
        ("deployer-policy", _deployer_policy, "print the IAM policies for bootstrap, deploy and delete"),
        ("delete", _delete, "delete functions, roles and API; data resources remain"),
    ):
        staged = commands.add_parser(name, help=text)
        _add_stage(staged)
        staged.set_defaults(command=command)
    return parser


def _add_bootstrap(bootstrap: argparse.ArgumentParser) -> None:
    _add_stage(bootstrap)
    bootstrap.add_argument("--issuer", type=_text, help="`iss` of your users' tokens")
    bootstrap.add_argument("--audience", type=_text, help="`aud` or `client_id` of your users' tokens")
    bootstrap.add_argument("--domain", type=_text, help="your domain; each platform gets a subdomain of it")
    bootstrap.add_argument("--mail-from", type=_text, help="sender of mail (default: no mail)")
    bootstrap.add_argument("--alarms-to", type=_text, help="e-mail address for alarms (default: none)")
    bootstrap.add_argument("--public-url", type=_text, help="base URL for callers (default: the URL of the API)")
    bootstrap.add_argument("--jwks", type=_text, help="URL of the issuer's key set (default: from OpenID discovery)")
    bootstrap.add_argument("--table", type=_text, help="name of a restored table (default: the stack's table)")
    bootstrap.add_argument("--anchors", type=_text, help="name of a restored anchors bucket (default: the stack's)")
    bootstrap.add_argument("--capacity", type=_text, help="small or full (default: small for dev, full for prod)")
    bootstrap.add_argument("--waf-limit", type=_text, help="requests of an address in 5 minutes (0: no limit)")
    bootstrap.add_argument("--budget", type=_text, help="monthly budget of the account in US dollars (0: none)")
    bootstrap.add_argument("--backup-vault", type=_text, help="ARN of the vault for copies of backups (none: none)")
    bootstrap.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], help="another setting; can be repeated"
    )
    bootstrap.set_defaults(command=_bootstrap)


def _add_edge(edge: argparse.ArgumentParser) -> None:
    _add_stage(edge)
    edge.add_argument("--hosts", type=_text, help="hosts of sites, separated by commas (default: *.sites.DOMAIN)")
    edge.add_argument("--certificate", type=_text, help="ARN of a certificate in us-east-1 (default: request one)")
    edge.add_argument(
        "--custom-domains", action=argparse.BooleanOptionalAction, help="also serve custom domains of tenants, or not"
    )
    edge.set_defaults(command=_edge)


def _add_rotate(rotate: argparse.ArgumentParser) -> None:
    _add_stage(rotate)
    rotate.add_argument("secret", choices=_ROTATABLE_SECRETS)
    rotate.add_argument("step", choices=("begin", "switch", "finish", "return"), help="deploy after each step")
    rotate.add_argument("--at-once", action="store_true", help="do not wait until the previous key's data expires")
    rotate.set_defaults(command=_rotate)


def _add_stage(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--stage", type=parse_stage_name, required=True, help="dev, prod, or a secondary one such as prod-green"
    )


def _package(chosen: argparse.Namespace) -> int:
    from infrastructure.package import build_package, describe_package

    print(describe_package(build_package(chosen.python)))
    return 0


def _release(_: argparse.Namespace) -> int:
    from infrastructure.release import release

    print(release())
    return 0


def _text(text: str) -> str | None:
    return text.strip() or None  # make passes omitted arguments as empty texts.


def _bootstrap(chosen: argparse.Namespace) -> int:
    from infrastructure.account import CommandError
    from infrastructure.bootstrap import ARGUMENTS, bootstrap, bootstrap_secondary
    from infrastructure.safeguards import ARGUMENTS as SAFEGUARDS

    given, guarded = (
        {name: value for name in names if (value := getattr(chosen, name))} for names in (ARGUMENTS, SAFEGUARDS)
    )
    if primary_stage_name(chosen.stage) == chosen.stage:
        bootstrap(
            chosen.stage,
            given,
            further_settings=chosen.set,
            alarms_to=chosen.alarms_to,
            safeguard_arguments=guarded,
        )
    elif given or guarded or chosen.set or chosen.alarms_to:
        raise CommandError(
            f"{chosen.stage} uses the settings of {primary_stage_name(chosen.stage)}. Pass the arguments to it."
        )
    else:
        bootstrap_secondary(chosen.stage)
    return 0


def _deploy(chosen: argparse.Namespace) -> int:
    from infrastructure.deploy import deploy

    deploy(chosen.stage)
    return 0


def _template(chosen: argparse.Namespace) -> int:
    from infrastructure.deploy import package

    package(chosen.stage)
    return 0


def _edge(chosen: argparse.Namespace) -> int:
    from infrastructure.edge import create_or_update_edge

    create_or_update_edge(
        chosen.stage, hosts=chosen.hosts, certificate=chosen.certificate, custom_domains=chosen.custom_domains
    )
    return 0


def _edge_secret(chosen: argparse.Namespace) -> int:
    from infrastructure.edge import print_edge_secret

    print_edge_secret(chosen.stage)
    return 0


def _rotate(chosen: argparse.Namespace) -> int:
    from infrastructure.account import current_stage, translate_errors
    from infrastructure.secrets import rotate

    with translate_errors():
        stage = current_stage(
            primary_stage_name(chosen.stage)
        )  # A secondary stage uses the secrets of the primary one.
        print(rotate(stage, chosen.secret, chosen.step, at_once=chosen.at_once))
    return 0


def _pause(chosen: argparse.Namespace) -> int:
    from infrastructure.pausing import pause

    pause(chosen.stage)
    return 0


def _resume(chosen: argparse.Namespace) -> int:
    from infrastructure.pausing import resume

    resume(chosen.stage)
    return 0


def _trail(chosen: argparse.Namespace) -> int:
    from infrastructure.trail import create_or_update_trail

    create_or_update_trail(chosen.stage, chosen.secondary)
    return 0


def _deployer_policy(chosen: argparse.Namespace) -> int:
    from infrastructure.account import current_stage
    from infrastructure.deployer_policy import render_policies

    print(render_policies(current_stage(primary_stage_name(chosen.stage))))
    return 0


def _delete(chosen: argparse.Namespace) -> int:
    from infrastructure.deploy import delete

    delete(chosen.stage)
    return 0


if __name__ == "__main__":
    sys.exit(run_until_output_closes(main))
