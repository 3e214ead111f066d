"""The robots.txt rules of a site for all crawlers, and the paths that they disallow (RFC 9309). Without I/O."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from chalicelib.features.sites.entities.sites import Site
from chalicelib.kernel.core.case_folding import ascii_lower

_ALL_CRAWLERS: Final = "*"


@dataclass(frozen=True)
class RobotsRule:
    """A rule of robots.txt: whether paths with a pattern are allowed. `*` stands for any text, a final `$` for the end.

    Matching is linear in the length of the path, whatever the pattern. A regular expression would not be.
    """

    pattern: str
    is_allowed: bool

    def matches(self, path: str) -> bool:
        """Return whether a path begins with the pattern."""
        is_anchored = self.pattern.endswith("$")
        first, *others = [unquote(piece) for piece in self.pattern.removesuffix("$").split("*")]
        if not others:
            return path == first if is_anchored else path.startswith(first)
        if not path.startswith(first):
            return False
        last = others.pop() if is_anchored else ""
        position = len(first)
        for piece in others:
            start = path.find(piece, position)
            if start < 0:
                return False
            position = start + len(piece)
        return path.endswith(last) and len(path) - len(last) >= position


def robots_rule_lines(site: Site) -> list[str]:
    """Return the lines of a published site's robots.txt, except for the address of the sitemap."""
    disallowed = site.robots.get("disallow") or [""]
    extra_lines = (site.robots.get("extra") or "").splitlines()
    return [f"User-agent: {_ALL_CRAWLERS}", *(f"Disallow: {path}".rstrip() for path in disallowed), *extra_lines]


def build_disallowed_test(site: Site) -> Callable[[str], bool]:
    """Return a function that tells whether the rules of a site for all crawlers disallow a path.

    The rule with the longest pattern decides, and of two equally long ones the one that allows the path.
    """
    rules = sorted(
        parse_rules_for_all_crawlers(robots_rule_lines(site)),
        key=lambda rule: (len(rule.pattern), rule.is_allowed),
        reverse=True,
    )

    def is_disallowed(path: str) -> bool:
        return not next((rule.is_allowed for rule in rules if rule.matches(path)), True)

    return is_disallowed


def parse_rules_for_all_crawlers(lines: Iterable[str]) -> list[RobotsRule]:
    """Return the rules in the groups of robots.txt that apply to all crawlers. A group may name several crawlers."""
    rules: list[RobotsRule] = []
    applies = follows_crawler = False
    for line in lines:
        field, _, text = line.partition("#")[0].partition(":")
        name, value = ascii_lower(field.strip()), text.strip()
        if name == "user-agent":
            applies = value == _ALL_CRAWLERS or (applies and follows_crawler)
            follows_crawler = True
        elif name in ("allow", "disallow"):
            follows_crawler = False
            if applies and value:
                rules.append(RobotsRule(value, name == "allow"))
    return rules
