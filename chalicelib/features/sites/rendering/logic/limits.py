"""Limits of the work and output of the renderer, counted in a way that does not depend on the machine.

The renderer counts its work in *steps*: one for each position of a text, and more for expensive operations. No count
depends on time, so a stored page can always be rendered, and a page that cannot be rendered is rejected when it is
written.
"""

from typing import Final

MAX_STEPS: Final = 100_000
"""Steps of the rendering of a page."""

MAX_CELLS: Final = 2_500
"""Cells of all tables of a page, including those that Markdown adds to short rows."""

MAX_NESTING: Final = 20
"""Nesting of quotes, lists and emphasis. A list counts as two levels, since its items count, too."""

MAX_ADDRESS_CHARACTERS: Final = 2_048
"""Length of a URL in Markdown, as for any other link of a page. A link with a longer URL is shown as text."""

MAX_HTML_BYTES: Final = 512 * 1024
"""Size of the rendered blocks. With the largest menu, theme and head a page stays below 1 MiB."""


class TooComplex(Exception):
    """Blocks exceed a limit of the renderer. `path`: of the text among the blocks; `advice`: what the author can do."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what} {advice}")
        self.path: tuple[int | str, ...] = ()


class Meter:
    """Counts the work and output of the rendering of one page. Each method raises TooComplex above the limit."""

    def __init__(self) -> None:
        self.steps = 0
        self.cells = 0
        self.html_bytes = 0

    def spend(self, steps: int) -> None:
        """Count steps."""
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
        """Count bytes of HTML."""
        self.html_bytes += size
        if self.html_bytes > MAX_HTML_BYTES:
            raise TooComplex(
                f"What becomes of the blocks up to here has more than {MAX_HTML_BYTES} bytes of HTML.",
                "Divide the text between several pages; a link by reference repeats its whole address.",
            )

    def reject_excess_nesting(self, level: int) -> None:
        """Check the level of nesting of an element."""
        if level > MAX_NESTING:
            raise TooComplex(
                f"Quotes, lists and emphasis are at most {MAX_NESTING} levels deep in each other; an item counts as"
                " one, and its list too.",
                "Take some of them out of the others.",
            )
