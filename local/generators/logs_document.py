"""The queries of `docs/operations/logs.md`, said by the queries themselves."""

from typing import Final

from infrastructure.queries import QUERIES, Query
from local.generators.markdown import put_between

_BEGIN: Final = "<!-- queries: `make generate` -->"
_END: Final = "<!-- end of queries -->"


def written_into(text: str) -> str:
    """Return a document with the queries between its two marks. Raises ValueError if it has none."""
    return put_between(text, _BEGIN, _END, "\n".join(_section(name, query) for name, query in QUERIES.items()))


def _section(name: str, query: Query) -> str:
    more = " It reads the access log, too." if query.log_groups == "everything" else ""
    return f"### {name}\n\n{query.answers}.{more}\n\n```text\n{query.text}\n```\n"
