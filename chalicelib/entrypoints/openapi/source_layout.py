"""The lines of generated source: what fits in a line is one, and anything else has a line for each of its parts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

_WIDTH: Final = 80
"""The width of samples, which the reference shows beside the text."""


@dataclass(frozen=True)
class Enclosed:
    """Parts between brackets. `padding` is what is between a bracket and a part in the same line."""

    opening: str
    parts: tuple["Source", ...]
    closing: str
    padding: str = ""


Source = str | Enclosed


def enclosed(opening: str, parts: Iterable[Source], closing: str, *, padding: str = "") -> Enclosed:
    """Return parts between brackets."""
    return Enclosed(opening, tuple(parts), closing, padding)


def labelled(label: str, source: Source) -> Source:
    """Return source after a label, such as the name of an argument."""
    return label + source if isinstance(source, str) else replace(source, opening=label + source.opening)


def lay_out(source: Source, step: int, indent: int = 0) -> str:
    """Return the lines of source, indented by steps. The first line has no indent: it follows other text."""
    line = _in_one_line(source)
    if isinstance(source, str) or fits(line, indent):
        return line
    inner = indent + step
    lines = "".join(f"{' ' * inner}{lay_out(part, step, inner)},\n" for part in source.parts)
    return f"{source.opening}\n{lines}{' ' * indent}{source.closing}"


def fits(line: str, indent: int = 0) -> bool:
    """Return whether a line is short enough."""
    return indent + len(line) <= _WIDTH


def _in_one_line(source: Source) -> str:
    if isinstance(source, str):
        return source
    padding = source.padding if source.parts else ""
    return f"{source.opening}{padding}{', '.join(map(_in_one_line, source.parts))}{padding}{source.closing}"
