"""Markdown for generated documents."""

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Each row has a cell for each column."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in lines)


def put_between(document: str, begin: str, end: str, text: str) -> str:
    """Replace the text between two marker lines of a document. Raises ValueError if a marker is missing."""
    before, begin_line, rest = document.partition(f"{begin}\n")
    _, end_line, after = rest.partition(end)
    if not begin_line or not end_line:
        raise ValueError(f"the document lacks {begin!r} or {end!r}")
    return f"{before}{begin_line}{text}\n{end_line}{after}"


def code(text: str) -> str:
    """Format text as code. Return an empty text unchanged."""
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
