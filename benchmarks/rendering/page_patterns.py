"""Pages for the benchmark of the renderer: patterns that are repeated until a page is full, as an attacker would do."""

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from pydantic_core import to_json

from chalicelib.features.sites.pages.models.blocks import MAX_BLOCKS
from chalicelib.features.sites.pages.models.schemas import MAX_BLOCKS_BYTES

Block = dict[str, Any]
Page = list[Block]

_URL: Final = "/" + "x" * 2000
_ACCENTED: Final = "/" + "é" * 600
_PROSE: Final = "The engine weaves algebraic patterns, just as the loom weaves flowers and leaves. "

PATTERNS: Final = {
    # Realistic content.
    "prose": _PROSE * 6 + "\n\n",
    "article": f"## The mill\n\n{_PROSE * 4}It **works**, as [she](https://a.example/b) *said*.\n\n- one\n- two\n\n",
    "table of numbers": "| Year | Looms |\n|---|--:|\n" + "| 1843 | 12 |\n" * 30 + "\n",
    # Tables: missing cells, existing cells, rows that resemble a table.
    "wide table": "|" * 257 + "\n" + "|-" * 256 + "|\n" + "|\n" * 300 + "\n",
    "many tables": "|a|b|c|\n|-|-|-|\n|a|b|c|\n\n",
    "rows of dashes": "-|" * 500 + "\n",
    "pipes": "a|b|c\n",
    # References: a repeated URL, many references, and text that resembles one.
    "one reference": f"[a]: {_URL}\n\n" + "[a] " * 3000,
    "references in order": "".join(f"[{n}]: {_URL}{n}\n" for n in range(60))
    + "\n"
    + "".join(f"[{n % 60}] " for n in range(3000)),
    "reference with a title": f'[a]: /b "{"t" * 2000}"\n\n' + "[a] " * 3000,
    "empty reference": f"[a]: {_URL}\n\n" + "[][a] " * 3000,
    "picture by reference": f"[a]: {_URL}\n\n" + "![][a] " * 3000,
    "definitions": '[a]: b "\n',
    "open definition": "[a\n",
    "definitions that end late": "[a]: b '\n" + "c\n" * 40,
    # Brackets.
    "brackets": "[",
    "pictures": "![",
    "closing brackets": "]",
    "nested links": "[a](",
    "nested pictures": "![a](/b",
    "pictures in pictures": "![" * 15 + "a" + "](/b)" * 15 + " ",
    "both brackets": "[]",
    "brackets in order": "[[]]",
    "destinations": "[a](x",
    "destinations in brackets": "[a](<b",
    "titles": '[a](/b "',
    "other titles": "[a](/b '",
    "parentheses": "[a](" + "(" * 31,
    "links": "[a](/b) ",
    "links without words": "[](/b) ",
    "labels": "[a][b] ",
    "long addresses": f"[a]({_URL}) ",
    "encoded addresses": f"[a]({_ACCENTED}) ",
    "too long": f"[a](/{_URL}) ",
    # Delimiters.
    "emphasis": "*a* ",
    "open emphasis": "*a ",
    "strong": "**a** ",
    "mixed": "*a**b**c* ",
    "rule of three": "a***b*c**",
    "under": "_a_ ",
    "strikes": "~~a~~",
    "mixed strikes": "a*b_c~~d~~",
    "around": "_*~~a~~*_ ",
    "deep": "**a *b ",
    "closed deep": "*a " * 200 + "b*" * 200 + " ",
    "emoji": "😀*",
    "punctuation": "*.*!",
    # Code, entities, escapes, autolinks.
    "code": "`a` ",
    "backticks": "`",
    "growing backticks": "".join("`" * n + " " for n in range(1, 60)),
    "entities": "&amp;",
    "numbers": "&#x1F600;",
    "ampersands": "&",
    "less": "<",
    "quotes": '"',
    "escapes": "\\*",
    "autolinks": "<http://a.b>",
    "addresses": "<a@b.cd> ",
    "open autolinks": "<a:b",
    "html": "<b>",
    "comments": "<!--",
    # Blocks.
    "lines": "a\n",
    "paragraphs": "a\n\n",
    "breaks": "\\\n",
    "spaces": "a  \n",
    "headings": "# a\n",
    "setext": "a\n=\n",
    "rules": "---\n",
    "spaced rules": "* * *\n",
    "almost rules": "- - - x",
    "list": "- a\n",
    "numbered": "1. a\n2) b\n",
    "loose list": "- a\n\n",
    "nested list": "- a\n  - b\n    - c\n",
    "list in a line": "- - - - a\n",
    "quote": "> a\n\n",
    "lazy quote": "> a\nb\n",
    "nested quote": "> > > > a\n",
    "quotes and lists": "> - a\n>   - b\n",
    "fences": "```\n",
    "closed fences": "~~~\na\n~~~\n",
    "indented": "    a\n\n",
    "empty lines": "\n",
    "tabs": "\t",
    "blanks": " ",
    "indented list": "- a\n\n      b\n",
    "plus": "+\n",
    "quote of fences": "> ```\n\n",
    "letters": "a",
    "umlauts": "é ",
}

FRAGMENTS: Final = [
    "[",
    "]",
    "(",
    ")",
    "!",
    "*",
    "**",
    "_",
    "~~",
    "`",
    "``",
    "<",
    ">",
    "&",
    "&amp;",
    "\\",
    "|",
    "|-|\n",
    "-|",
    "\n",
    "\n\n",
    "    ",
    "  ",
    " ",
    "- ",
    "1. ",
    "> ",
    "# ",
    "---\n",
    "```\n",
    "===\n",
    ":",
    '"',
    "'",
    "a",
    "é",
    "😀",
    "[a]",
    "[a]: /b\n",
    "](/b)",
    "![",
    "<http://a>",
    "a@b.c",
    "\t",
    "0",
    ".",
    ";",
    "{",
    "/",
    "]:",
    "](",
    '[a](/b "c")',
]


def build_text_page(pattern: str) -> Page:
    """Return a page with one text block."""
    return _fill_page(lambda text: [{"id": "a", "type": "text", "text": text}], pattern)


def build_texts_page(pattern: str) -> Page:
    """Return a page with the maximum number of text blocks."""
    return _fill_blocks(lambda number, text: {"id": f"a{number}", "type": "text", "text": text}, pattern)


def build_headings_page(pattern: str) -> Page:
    """Return a page with the maximum number of headings."""
    return _fill_blocks(lambda number, text: {"id": f"a{number}", "type": "heading", "level": 2, "text": text}, pattern)


def build_list_page(pattern: str) -> Page:
    """Return a page with one list, each item of which is the pattern."""
    count = (MAX_BLOCKS_BYTES - 100) // (len(to_json(pattern)) + 1)
    return [{"id": "a", "type": "list", "ordered": False, "items": [pattern] * count}]


def build_code_page(pattern: str) -> Page:
    """Return a page with one code block."""
    return _fill_page(lambda text: [{"id": "a", "type": "code", "text": text, "language": None}], pattern)


def build_columns_page(pattern: str) -> Page:
    """Return a page with nested columns."""

    def build(text: str) -> Page:
        inner: Page = [{"id": "z", "type": "text", "text": text}]
        for level in range(3):
            inner = [{"id": f"c{level}", "type": "columns", "columns": [inner]}]
        return inner

    return _fill_page(build, pattern)


PAGE_BUILDERS: Final = (
    build_text_page,
    build_texts_page,
    build_headings_page,
    build_list_page,
    build_code_page,
    build_columns_page,
)


def known_pages() -> Iterator[tuple[str, Page]]:
    """Yield the pages of all patterns, each of the maximum size that can be stored."""
    for name, pattern in PATTERNS.items():
        for kind in PAGE_BUILDERS:
            yield f"{name} ({kind.__name__})", kind(pattern)


def random_pattern(seed: int) -> str:
    """Return a random pattern."""
    generator = random.Random(seed)  # noqa: S311 - a repeatable search
    parts = [
        generator.choice(FRAGMENTS) * generator.choice((1, 1, 1, 2, 5, 20)) for _ in range(generator.randint(1, 6))
    ]
    return "".join(parts)


def _fill_page(build: Callable[[str], Page], pattern: str) -> Page:
    """Return the largest page that can be built from the repeated pattern."""
    count = MAX_BLOCKS_BYTES // max(1, len(to_json(pattern)) - 2)
    while count > 1 and len(to_json(build(pattern * count))) > MAX_BLOCKS_BYTES:
        count = count * 63 // 64
    return build(pattern * count)


def _fill_blocks(build: Callable[[int, str], Block], pattern: str) -> Page:
    repetitions = (MAX_BLOCKS_BYTES // MAX_BLOCKS - 60) // max(1, len(to_json(pattern)) - 2)
    page = [build(number, pattern * max(repetitions, 1)) for number in range(MAX_BLOCKS)]
    return page[: MAX_BLOCKS * MAX_BLOCKS_BYTES // max(MAX_BLOCKS_BYTES, len(to_json(page)))]
