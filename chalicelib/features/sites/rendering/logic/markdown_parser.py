"""A Markdown parser that stays within the limits of a page.

markdown-it-py has no limits: the cells added to a table, a URL repeated by a thousand references, brackets that search
for each other. Here its rules, states and helpers count their work, so parsing ends early for any text.
"""

import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Final, Literal

from markdown_it import MarkdownIt, helpers
from markdown_it.parser_block import ParserBlock
from markdown_it.parser_inline import ParserInline
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline, text
from markdown_it.token import Token

from chalicelib.features.sites.rendering.logic.limits import MAX_ADDRESS_CHARACTERS, MAX_NESTING, Meter
from chalicelib.kernel.http.fields import LINK

TEXT_STEPS: Final = 25
"""Steps that each text costs, in addition to those for its length."""

TOKEN_STEPS: Final = 4
"""Steps to create and show each text and each token, in addition to reading."""

_POSITION_STEPS: Final = 2
_CHARACTERS_READ_PER_STEP: Final = 32
_CHARACTERS_PER_STEP: Final = 8
_ENCODED_STEPS: Final = 6
_LINK_STEPS: Final = 10
_DELIMITER_STEPS: Final = 4
_LINKS: Final = ("link_open", "image")
_CELLS: Final = ("th_open", "td_open")
_CLOSING: Final = {'"': '"', "'": "'", "(": ")"}
_DESTINATION: Final = re.compile(r"<[^\n<>]*|[^\x00-\x20\x7f]*")
_DELIMITER_ROW: Final = "|-:"
_RULE: Final = "-*_"
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")


def create_parser(meter: Meter) -> MarkdownIt:
    """Return a Markdown parser that counts its work. Its methods raise TooComplex above the limit."""
    return _Markdown(meter).enable(["table", "strikethrough"])


class _Markdown(MarkdownIt):
    """CommonMark without HTML, and with only the links that a page may contain."""

    def __init__(self, meter: Meter) -> None:
        super().__init__("commonmark", {"html": False})
        self._meter, self._normalized = meter, dict[str, str]()
        self.block, self.inline = _Blocks(meter), _Inlines(meter)
        # The library would drop deeper content. The meter rejects it before.
        self.configure("commonmark", {"html": False, "maxNesting": MAX_NESTING + 1})
        # HTML is not accepted, so these rules would only cost time at each line and each `<`.
        self.disable(["html_block", "html_inline"])
        self.helpers = _metered_link_helpers(meter)  # type: ignore[assignment]

    def normalizeLink(self, url: str) -> str:
        """Return the URL of a link, from the cache or at a cost that depends on its length."""
        if len(url) > MAX_ADDRESS_CHARACTERS:
            return ""
        if url not in self._normalized:
            self._meter.spend(len(url) // 2 + _ENCODED_STEPS * len(_NOT_ASCII.findall(url)))
            self._normalized[url] = super().normalizeLink(url)
        return self._normalized[url]

    def normalizeLinkText(self, link: str) -> str:
        """Return a URL for display."""
        self._meter.spend(_LINK_STEPS + len(link) // 2)
        return super().normalizeLinkText(link)

    def validateLink(self, url: str) -> bool:
        """Return whether a page may link to the URL."""
        return bool(LINK.fullmatch(url))


class _Blocks(ParserBlock):
    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter
        _count_rule_steps(self.ruler, meter, 1, _STEPS_BY_RULE)

    def parse(self, src: str, md: MarkdownIt, env: Any, outTokens: list[Token]) -> list[Token] | None:
        if not src:
            return None
        self._meter.spend(len(src) // _CHARACTERS_READ_PER_STEP + 2 * src.count("\n"))
        state = _BlockState(src, md, env, outTokens)
        state.meter = self._meter
        self.tokenize(state, state.line, state.lineMax)
        return state.tokens

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:
        self._meter.reject_excess_nesting(state.level)
        super().tokenize(state, startLine, endLine)


class _Inlines(ParserInline):
    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter
        self.ruler.at("text", self._metered_text_rule)

    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        self._meter.spend(TEXT_STEPS + len(src) // _CHARACTERS_READ_PER_STEP)
        state = _InlineState(src, md, env, tokens)
        state.meter = self._meter
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        for token in state.tokens:
            self._meter.reject_excess_nesting(token.level)
        return state.tokens

    def skipToken(self, state: StateInline) -> None:
        self._meter.spend(1)
        super().skipToken(state)

    def _metered_text_rule(self, state: StateInline, silent: bool) -> bool:
        """Parse plain text. It is the first rule, so it runs once at each position."""
        self._meter.spend(_POSITION_STEPS)
        return text(state, silent)


class _BlockState(StateBlock):
    meter: Meter

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        self.meter.spend(TOKEN_STEPS)
        if ttype in _CELLS:
            self.meter.add_cell()
        return super().push(ttype, tag, nesting)


class _InlineState(StateInline):
    meter: Meter

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        self.meter.spend(TOKEN_STEPS)
        if ttype in _LINKS:
            self.meter.spend(_LINK_STEPS)
        return super().push(ttype, tag, nesting)

    def scanDelims(self, start: int, canSplitWord: bool) -> Any:
        self.meter.spend(_DELIMITER_STEPS)
        return super().scanDelims(start, canSplitWord)

    def pushPending(self) -> Token:
        self.meter.spend(TOKEN_STEPS)
        return super().pushPending()


def _count_rule_steps(
    ruler: Ruler[Any], meter: Meter, steps: int, steps_by_rule: Mapping[str, Callable[..., int]]
) -> None:
    """Make the rules of a ruler count their steps before they run: `steps`, or `steps_by_rule` by name."""

    def counting(rule: Callable[..., bool]) -> Callable[..., bool]:
        def counted(state: Any, *words: Any) -> bool:
            meter.spend(steps)
            return rule(state, *words)

        return counted

    def counting_more(rule: Callable[..., bool], steps_of: Callable[..., int]) -> Callable[..., bool]:
        def counted(state: Any, *words: Any) -> bool:
            meter.spend(steps_of(state, *words))
            return rule(state, *words)

        return counted

    for rule in ruler.__rules__:
        rule.fn = counting_more(rule.fn, steps_by_rule[rule.name]) if rule.name in steps_by_rule else counting(rule.fn)


def _steps_of_table(state: StateBlock, line: int, end: int, _silent: bool) -> int:
    if line + 1 < end and _line_starts_with_any(_DELIMITER_ROW, state, line + 1):
        return 1 + (state.eMarks[line + 1] - state.bMarks[line]) // 2
    return 1


def _steps_of_horizontal_rule(state: StateBlock, line: int, _end: int, _silent: bool) -> int:
    if _line_starts_with_any(_RULE, state, line):
        return 1 + (state.eMarks[line] - state.bMarks[line]) // _CHARACTERS_PER_STEP
    return 1


_STEPS_BY_RULE: Final = {"table": _steps_of_table, "hr": _steps_of_horizontal_rule}
"""Rules that look at more of a line than how it begins, and what they take then."""


def _line_starts_with_any(marks: str, state: StateBlock, line: int) -> bool:
    at = state.bMarks[line] + state.tShift[line]
    return at < state.eMarks[line] and state.src[at] in marks


def _metered_link_helpers(meter: Meter) -> SimpleNamespace:
    """Return the library's helpers, which count the characters that they look through."""

    def destination(text: str, start: int, end: int) -> Any:
        seen = _DESTINATION.match(text, start, end)
        meter.spend((seen.end() - start if seen else 0) // _CHARACTERS_PER_STEP)
        return helpers.parseLinkDestination(text, start, end)

    def title(text: str, start: int, end: int, before: Any = None) -> Any:
        closing = before.marker if before else _CLOSING.get(text[start : min(start + 1, end)])
        if closing:
            mark = closing if isinstance(closing, str) else chr(closing)
            at = text.find(mark, start + (before is None), end)
            meter.spend((at if at >= 0 else end) // _CHARACTERS_PER_STEP - start // _CHARACTERS_PER_STEP)
        return helpers.parseLinkTitle(text, start, end, before)

    return SimpleNamespace(
        parseLinkLabel=helpers.parseLinkLabel, parseLinkDestination=destination, parseLinkTitle=title
    )
