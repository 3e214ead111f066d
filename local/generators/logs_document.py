"""Generates the section of `docs/operations/logs.md` that lists the queries."""

from typing import Final

from infrastructure.queries import QUERIES, Query
from local.generators.markdown import put_between

_BEGIN: Final = "<!-- queries: `make generate` -->"
_END: Final = "<!-- end of queries -->"


def write_queries_into(text: str) -> str:
    """Replace the queries between the two markers of a document. Raises ValueError if a marker is missing."""
    return put_between(text, _BEGIN, _END, "\n".join(_section(name, query) for name, query in QUERIES.items()))


def _section(name: str, query: Query) -> str:
    more = " It reads the access log, too." if query.log_groups == "everything" else ""
    return f"### {name}\n\n{query.description}.{more}\n\n```text\n{query.text}\n```\n"
