"""How much a page may ask of the renderer: counts of what its text makes, the same on every machine.

The renderer counts its work in *steps*: one for each position of a text that it looks at, more for what takes longer.
No count depends on time, so a page that was stored can be rendered, and one that can't is refused when it is written.
"""

from typing import Final

MAX_STEPS: Final = 100_000
MAX_CELLS: Final = 2_500
"""Of all tables of a page, with the cells that Markdown adds to short rows."""

MAX_NESTING: Final = 20
"""Of quotes, lists and emphasis in each other: twice that of lists, whose items count too."""

MAX_ADDRESS_CHARACTERS: Final = 2_048
"""Of the address of a link in Markdown, as long as that of any other link of a page; a longer one is shown as text."""

MAX_HTML_BYTES: Final = 512 * 1024
"""Of what the blocks become. With the longest menu, theme and head a page stays below 1 MiB."""


class TooComplex(Exception):
    """Some blocks ask too much of the renderer. `path`: which text it is, among them; `advice`: what can be done."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what} {advice}")
        self.path: tuple[int | str, ...] = ()


class Meter:
    """What the rendering of one page has taken so far. Each method raises TooComplex if it is too much."""

    def __init__(self) -> None:
        self.steps = 0
        self.cells = 0
        self.html_bytes = 0

    def spend(self, steps: int) -> None:
        """Count some steps."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise TooComplex(
                "All Markdown up to here has too many elements to be shown on one page.",
                "Divide it between several pages, or let a code block hold what is no text.",
            )

    def add_cell(self) -> None:
        """Count a cell of a table."""
        self.cells += 1
        if self.cells > MAX_CELLS:
            raise TooComplex(
                f"The tables of a page have at most {MAX_CELLS} cells, with those that short rows lack.",
                "Divide them between several pages, or let a file hold them that the page leads to.",
            )

    def add_html(self, size: int) -> None:
        """Count some bytes of HTML."""
        self.html_bytes += size
        if self.html_bytes > MAX_HTML_BYTES:
            raise TooComplex(
                f"What becomes of the blocks up to here has more than {MAX_HTML_BYTES} bytes of HTML.",
                "Divide the text between several pages; a link by reference repeats its whole address.",
            )

    def enter(self, level: int) -> None:
        """See that what is entered does not lie too deep in others."""
        if level > MAX_NESTING:
            raise TooComplex(
                f"Quotes, lists and emphasis are at most {MAX_NESTING} levels deep in each other; an item counts as"
                " one, and its list too.",
                "Take some of them out of the others.",
            )
