"""The actions of which a run consists, and the strategies that draw their arguments.

The arguments are recorded in JSON. An argument that is named after a kind of record is an index (`site=0` is the newest
site), and so is `place`, which selects an organization.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.model.service_model import DELETED_INDEX

ActionFunction = Callable[..., None]

ACTION_GROUPS: Final = (
    *("organizations", "members", "invitations", "api_keys", "webhooks", "platforms", "platform_members", "spaces"),
    *("domains", "taxonomy", "sites", "pages", "leads", "reference", "event_types", "service_keys"),
    *("events", "log_streams", "proofs", "erasures", "faults"),
)

PEOPLE: Final = ("ada", "grace", "edith", "mary", "stranger", "emmy", "operator", "nobody")

record_index: Final = st.sampled_from([*[0] * 9, 1, 1, 2, DELETED_INDEX])
"""Draw the index of a record, counted from the newest, or the index that selects a deleted one.

The function of an action gets the record itself as its third argument. Without such a record it is not called.
"""

positions: Final = st.sampled_from([*[0] * 9, 1, 1, 2, DELETED_INDEX])
"""Draw the index of anything else."""

slugs: Final = st.sampled_from(["loom", "mill", "engine", "wheel"])
names: Final = st.sampled_from(["Looms", "Mills", "Engines", "Wheels and cogs", "Łódź & Ёлка"])
optional_texts: Final = st.none() | st.sampled_from(["All about it.", "Nothing\nmuch <b>."])
roles: Final = st.sampled_from(["member", "editor", "admin"])
settings: Final = st.sampled_from([{}, {"columns": 2}, {"columns": 3, "deep": {"a": [1, None]}}])

_caller_names: Final = st.sampled_from([*["ada"] * 24, *["grace"] * 4, "edith", *PEOPLE, 0, 1, 2, 3, 4])
_without_options: Final[list[dict[str, Any]]] = [{}] * 9
_request_options: Final = st.sampled_from(
    [*_without_options, {"match": "right"}, {"match": "stale"}, *({"once": n} for n in range(3))]
)
callers: Final = st.builds(lambda name, options: {"who": name, **options}, _caller_names, _request_options)
"""Draw the sender of a request, mostly an authorized one."""


operators: Final = st.builds(lambda name: {"who": name}, st.sampled_from([*["operator"] * 9, "ada", "nobody", 0]))
"""Draw the sender of a request that only operators may send, mostly an operator."""


def optional_fields(**optional: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=optional)


@dataclass(frozen=True)
class Action:
    """An action, the strategies of its arguments, and its relative frequency."""

    group: str
    function: ActionFunction
    argument_strategies: dict[str, SearchStrategy[Any]]
    weight: int = 4

    def run(self, run: Any, arguments: dict[str, Any]) -> None:
        """Run the action with these arguments, unless it is about a record and there is none."""
        positional = [arguments.pop("by")] if "by" in arguments else []
        selected = [name for name, strategy in self.argument_strategies.items() if strategy is record_index]
        positional += [run.model.pick(_KINDS_BY_ARGUMENT.get(name, name), arguments.pop(name)) for name in selected]
        if None not in positional:
            self.function(run, *positional, **arguments)


_KINDS_BY_ARGUMENT: Final = {"place": "organization", "key": "api_key"}


_ACTIONS: Final[dict[str, Action]] = {}


def action(
    *, weight: int = 4, **argument_strategies: SearchStrategy[Any]
) -> Callable[[ActionFunction], ActionFunction]:
    """Register a function as an action.

    It receives the run, `by` (but for faults), the record that it is about, and the other drawn arguments.
    """

    def declare(function: ActionFunction) -> ActionFunction:
        group = function.__module__.rpartition(".")[2]
        strategies = argument_strategies if group == "faults" else {"by": callers, **argument_strategies}
        _ACTIONS[function.__name__] = Action(group, function, strategies, weight)
        return function

    return declare


@cache
def all_actions() -> dict[str, Action]:
    for group in ACTION_GROUPS:
        import_module(f"tests.model.action_groups.{group}")
    return _ACTIONS


def steps_for_group(group: str) -> SearchStrategy[tuple[str, dict[str, Any]]]:
    actions = {name: action for name, action in all_actions().items() if action.group == group}
    weighted_names = [name for name, action in actions.items() for _ in range(action.weight)]
    return st.sampled_from(weighted_names).flatmap(
        lambda name: st.tuples(st.just(name), st.fixed_dictionaries(actions[name].argument_strategies))
    )
