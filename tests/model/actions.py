"""The deeds: all that can happen in a story, each with what is drawn for it; by nouns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.model.entities import GONE

Deed = Callable[..., None]

NOUNS: Final = (
    "organizations",
    "members",
    "invitations",
    "api_keys",
    "webhooks",
    "platforms",
    "platform_members",
    "spaces",
    "domains",
    "taxonomy",
    "sites",
    "pages",
    "leads",
    "reference",
    "mishaps",
)

PEOPLE: Final = ("ada", "grace", "edith", "mary", "stranger", "emmy", "operator", "nobody")

which: Final = st.sampled_from([*[0] * 9, 1, 1, 2, GONE])
"""One of those there are, counted from the last, or one that is gone."""

slugs: Final = st.sampled_from(["loom", "mill", "engine", "wheel"])
names: Final = st.sampled_from(["Looms", "Mills", "Engines", "Wheels and cogs", "Łódź & Ёлка"])
texts: Final = st.none() | st.sampled_from(["All about it.", "Nothing\nmuch <b>."])
roles: Final = st.sampled_from(["member", "editor", "admin"])
settings: Final = st.sampled_from([{}, {"columns": 2}, {"columns": 3, "deep": {"a": [1, None]}}])

_who: Final = st.sampled_from([*["ada"] * 24, *["grace"] * 4, "edith", *PEOPLE, 0, 1, 2, 3, 4])
_plainly: Final[list[dict[str, Any]]] = [{}] * 9
_how: Final = st.sampled_from([*_plainly, {"match": "right"}, {"match": "stale"}, *({"once": n} for n in range(3))])
callers: Final = st.builds(lambda who, how: {"who": who, **how}, _who, _how)
"""How a step asks: mostly as somebody who may."""


def some(**optional: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    """Draw a body with some of these fields."""
    return st.fixed_dictionaries({}, optional=optional)


@dataclass(frozen=True)
class Drawn:
    """A deed, and what is drawn for it."""

    noun: str
    function: Deed
    words: dict[str, SearchStrategy[Any]]
    often: int = 4


_DEEDS: Final[dict[str, Drawn]] = {}


def deed(*, often: int = 4, **words: SearchStrategy[Any]) -> Callable[[Deed], Deed]:
    """Let a function be a deed: it takes the story, `by`, and what is drawn for it. `often`: how often it is drawn."""

    def declare(function: Deed) -> Deed:
        noun = function.__module__.rpartition(".")[2]
        drawn = words if noun == "mishaps" else {"by": callers, **words}
        _DEEDS[function.__name__] = Drawn(noun, function, drawn, often)
        return function

    return declare


@cache
def all_deeds() -> dict[str, Drawn]:
    """Return all deeds by their names."""
    for noun in NOUNS:
        import_module(f"tests.model.nouns.{noun}")
    return _DEEDS


def steps_of(noun: str) -> SearchStrategy[tuple[str, dict[str, Any]]]:
    """Draw a step that has to do with a noun."""
    of_noun = {name: drawn for name, drawn in all_deeds().items() if drawn.noun == noun}
    drawn_as_often = [name for name, drawn in of_noun.items() for _ in range(drawn.often)]
    return st.sampled_from(drawn_as_often).flatmap(
        lambda name: st.tuples(st.just(name), st.fixed_dictionaries(of_noun[name].words))
    )
