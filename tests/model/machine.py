"""The machine: it tells stories, a rule for each noun, and holds the service against the model after every step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from hypothesis.stateful import RuleBasedStateMachine, rule

from local.paths import ROOT
from tests.model.actions import NOUNS, steps_of
from tests.model.invariants import end
from tests.model.story import Story

FAILED: Final = ROOT / "build/model/failed.json"
"""The steps of the run that failed last: when Hypothesis is done with shrinking it, the shortest."""


def machine(begin: Callable[[], Story]) -> type[RuleBasedStateMachine]:
    """Return a machine whose every run begins with a story."""

    class Teller(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.story = begin()
            self.failed = False

        def take(self, step: tuple[str, Any]) -> None:
            self.failed = True
            with kept(self.story):
                self.story.do(*step)
            self.failed = False

        def teardown(self) -> None:
            if not self.failed:
                with kept(self.story):
                    end(self.story)

    for noun in NOUNS:
        setattr(Teller, noun, rule(step=steps_of(noun))(_of(noun)))
    return Teller


def _of(noun: str) -> Callable[[Any, tuple[str, Any]], None]:
    def taken(self: Any, step: tuple[str, Any]) -> None:
        self.take(step)

    taken.__name__ = noun
    return taken


@contextmanager
def kept(story: Story) -> Iterator[None]:
    """Write the steps of a story down if it goes wrong within the block."""
    try:
        yield
    except BaseException as wrong:
        FAILED.parent.mkdir(parents=True, exist_ok=True)
        FAILED.write_text(story.told() + "\n")
        wrong.add_note(f"The steps are in {FAILED}. Keep them: tests/model/regressions/<what went wrong>.json")
        raise
