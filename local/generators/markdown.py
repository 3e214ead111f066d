"""The little Markdown that generated documents need."""

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a row has a cell for each column."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def put_between(document: str, begin: str, end: str, text: str) -> str:
    """Return a document with this text between two of its lines. Raises ValueError if it does not have them."""
    before, first, rest = document.partition(f"{begin}\n")
    _, last, after = rest.partition(end)
    if not first or not last:
        raise ValueError(f"the document has no place between {begin!r} and {end!r}")
    return f"{before}{first}{text}\n{last}{after}"


def code(text: str) -> str:
    """Return text as code, or nothing if there is none."""
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
