"""The table in `docs/guides/deployment.md` of what each function may do, said by the policies' own source."""

import re
from typing import Final

from infrastructure.policies import GRANTS, Grant
from local.generators.markdown import code, put_between, table

_BEGIN: Final = "<!-- permissions: `make generate` -->"
_END: Final = "<!-- end of permissions -->"


def written_into(text: str) -> str:
    """Return a document with the table between its two marks. Raises ValueError if it has none."""
    return put_between(text, _BEGIN, _END, _permissions())


def _permissions() -> str:
    rows = [
        (code(function), _why(grant), _actions(grant), _where(grant))
        for function in GRANTS
        for grant in GRANTS[function]
    ]
    return table(("function", "to", "may", "on"), rows)


def _why(grant: Grant) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", grant.why).lower()


def _actions(grant: Grant) -> str:
    return ", ".join(map(code, grant.actions))


def _where(grant: Grant) -> str:
    """Return the kinds of resources with the names of each: index due, index1; then secrets or keys' prefixes."""
    named: dict[str, list[str]] = {}
    for kind, _, name in (resource.partition(" ") for resource in grant.resources):
        named.setdefault(kind, []).extend([code(name)] if name else [])
    purposes = ", ".join(map(code, grant.purposes))
    where = "; ".join(f"{kind} {', '.join(names)}".strip() for kind, names in named.items())
    prefixes = ", ".join(map(code, grant.prefixes))
    where += f", keys that begin with {prefixes}" if prefixes else ""
    return f"{where}, for {purposes}" if purposes else where
