"""Generates the tables in `docs/guides/deployment.md` that list the permissions of functions and deployers."""

import re
from typing import Final

from infrastructure import deployer_policy
from infrastructure.policies import GRANTS, Grant
from local.generators.markdown import code, put_between, table

_BEGIN: Final = "<!-- permissions: `make generate` -->"
_END: Final = "<!-- end of permissions -->"
_DEPLOYER_BEGIN: Final = "<!-- deployers: `make generate` -->"
_DEPLOYER_END: Final = "<!-- end of deployers -->"


def write_table_into(text: str) -> str:
    """Replace the tables of functions and of deployers in a document. Raises ValueError if a marker is missing."""
    functions = put_between(text, _BEGIN, _END, _permissions())
    return put_between(functions, _DEPLOYER_BEGIN, _DEPLOYER_END, _deployer_permissions())


def _permissions() -> str:
    rows = [
        (code(function), _purpose_text(grant), _actions(grant), _resources_text(grant))
        for function in GRANTS
        for grant in GRANTS[function]
    ]
    return table(("function", "to", "may", "on"), rows)


def _deployer_permissions() -> str:
    rows = [
        (_command_text(command), grant.note, ", ".join(map(code, grant.actions)), ", ".join(grant.resources))
        for command, grants in deployer_policy.GRANTS.items()
        for grant in grants
    ]
    return table(("command", "for", "may", "on"), rows)


def _command_text(command: str) -> str:
    """Return `bootstrap with safeguards` as a command and a condition: only its first word is the command."""
    name, _, condition = command.partition(" ")
    return " ".join(filter(None, (code(f"make {name}"), condition)))


def _purpose_text(grant: Grant) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", grant.statement_id).lower()


def _actions(grant: Grant) -> str:
    return ", ".join(map(code, grant.actions))


def _resources_text(grant: Grant) -> str:
    """Return the resources, such as `index due, index1`, with the prefixes of keys and the purposes of secrets."""
    names_by_kind: dict[str, list[str]] = {}
    for kind, _, name in (resource.partition(" ") for resource in grant.resources):
        names_by_kind.setdefault(kind, []).extend([code(name)] if name else [])
    purposes = ", ".join(map(code, grant.purposes))
    text = "; ".join(f"{kind} {', '.join(names)}".strip() for kind, names in names_by_kind.items())
    prefixes = ", ".join(map(code, grant.prefixes))
    text += f", keys that begin with {prefixes}" if prefixes else ""
    return f"{text}, for {purposes}" if purposes else text
