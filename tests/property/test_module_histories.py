"""Modules against a model, over HTTP: whatever a platform and its space say, one after the other, it is as it was said.

The model keeps what was said last, and nothing else; every change is another version and an entry, and nothing else is.
"""

import json
from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from chalicelib.features.platforms.modules.models.module_catalogue import MODULE_CATALOGUE
from tests.harness import snapshots
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found
from tests.harness.platforms import Room, make_space, run_platform

IDS: Final = ("events", "feed", "wiki", "blog")
NOTHING: Final = {"enabled": None, "locked": None, "settings": None}

ids = st.sampled_from(IDS)
flags = st.booleans()
values = st.sampled_from([0, 1, True, "x", [1], {"y": 1}, {"z": {}}])
free_form = st.dictionaries(st.sampled_from("ab"), values, max_size=2)
changes = st.fixed_dictionaries(
    {},
    optional={
        "enabled": flags | st.none(),
        "locked": flags | st.none(),
        "settings": st.dictionaries(st.sampled_from("ab"), values | st.none(), max_size=2) | st.none(),
    },
) | st.just(NOTHING)
overrides = st.fixed_dictionaries({}, optional={"enabled": flags, "settings": free_form})


def exact(value: Any) -> str:
    """A value as text that is another for any other value: to Python, 1 is True."""
    return json.dumps(value, sort_keys=True)


def patched(target: Any, patch: Any) -> Any:
    """JSON Merge Patch, as RFC 7396 has it in section 2."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = patched(target.get(name), value)
    return target


def merged(base: Json, over: Json) -> Json:
    both = {n for n in over if isinstance(over[n], dict) and isinstance(base.get(n), dict)}
    return {**base, **over, **{name: merged(base[name], over[name]) for name in both}}


class Said(RuleBasedStateMachine):
    """The service and the model, side by side. `platform`, `space`: what each says of modules, as it was sent."""

    def __init__(self, api: Api, ada: Person) -> None:
        """Begin with a space of a platform that says nothing yet."""
        super().__init__()
        self.api, self.ada = api, ada
        self.platform: dict[str, Json] = {}
        self.space: dict[str, Json] = {}
        self.organization, self.room = snapshots.once(("a space that says nothing",), self._found)
        self.told = len(log_of(api, self.organization))
        self.versions = self._versions()

    def _found(self) -> tuple[Founded, Room]:
        organization = found(self.api, self.ada)
        return organization, make_space(self.api, run_platform(self.api, organization))

    @rule(said=st.dictionaries(ids, changes, max_size=3))
    def change_modules(self, said: dict[str, Json]) -> None:
        before = exact(self.platform)
        for name, change in said.items():
            self._change(name, change)
        modules = [{"moduleId": name, **change} for name, change in said.items()]
        answer = self.api.patch(f"{self.room.platform.path}/modules", as_=self.ada, json={"modules": modules})
        self._agree(answer, 200, changed=before != exact(self.platform), at_platform=True)

    def _change(self, name: str, change: Json) -> None:
        if change == NOTHING:
            self.platform.pop(name, None)
            return
        state = patched(self.platform.get(name, {}), change)
        state = {
            n: v for n, v in state.items() if not (n == "locked" and v is False) and not (n == "settings" and not v)
        }
        if state or name not in MODULE_CATALOGUE:
            self.platform[name] = state
        else:
            self.platform.pop(name, None)

    @rule(name=ids, override=overrides)
    def override(self, name: str, override: Json) -> None:
        wanted = {"enabled": True, "settings": {}, **override}
        known = self.space.get(name)
        self.space[name] = wanted
        answer = self.api.post(f"{self.room.path}/module-overrides", as_=self.ada, json={"moduleId": name, **override})
        self._agree(answer, 200 if known else 201, changed=exact(known) != exact(wanted))

    @rule(wanted=st.dictionaries(ids, overrides, max_size=4))
    def replace(self, wanted: dict[str, Json]) -> None:
        full = {name: {"enabled": True, "settings": {}, **override} for name, override in wanted.items()}
        changed = exact(full) != exact(self.space)
        stay = {name: full[name] for name in self.space if name in full}
        self.space = stay | full
        sent = [{"moduleId": name, **override} for name, override in wanted.items()]
        answer = self.api.put(f"{self.room.path}/module-overrides", as_=self.ada, json={"overrides": sent})
        self._agree(answer, 200, changed=changed)

    @rule(name=ids)
    def inherit(self, name: str) -> None:
        known = self.space.pop(name, None)
        answer = self.api.delete(f"{self.room.path}/module-overrides/{name}", as_=self.ada)
        self._agree(answer, 204 if known else 404, changed=known is not None)

    @invariant()
    def everything_is_as_it_was_said(self) -> None:
        listed = {module["moduleId"]: module for module in self._items(f"{self.room.platform.path}/modules")}
        own = [name for name in self.platform if name not in MODULE_CATALOGUE]
        assert [*listed] == [*MODULE_CATALOGUE, *own]
        for name, module in listed.items():
            state = self.platform.get(name)
            assert exact(module["settings"]) == exact((state or {}).get("settings", {}))
            assert (module["enabled"], module["locked"], module["source"]) == (
                (state or {}).get("enabled", True),
                (state or {}).get("locked", False),
                "system" if state is None else "platform",
            )
        said = [(item["moduleId"], item["enabled"], item["settings"]) for item in self._items(self._overrides)]
        assert exact(said) == exact([(name, o["enabled"], o["settings"]) for name, o in self.space.items()])

    @invariant()
    def the_space_has_what_is_left_of_it(self) -> None:
        effective = {module["moduleId"]: module for module in self._items(f"{self.room.path}/effective-modules")}
        assert {*effective} == {*MODULE_CATALOGUE, *self.platform, *self.space}
        for name, module in effective.items():
            state, override = self.platform.get(name, {}), self.space.get(name)
            exists = name in MODULE_CATALOGUE or name in self.platform
            counts = override if exists and not state.get("locked") else None
            assert module["enabled"] is (exists and (counts or state).get("enabled", True))
            assert module["inherited"] is (counts is None)
            base = state.get("settings", {})
            assert exact(module["settings"]) == exact(merged(base, counts["settings"]) if counts else base)

    @property
    def _overrides(self) -> str:
        return f"{self.room.path}/module-overrides"

    def _items(self, path: str) -> list[Json]:
        items: list[Json] = self.api.get(path, as_=self.ada).json["items"]
        return items

    def _versions(self) -> tuple[int, int]:
        at_platform, in_space = (self.api.get(p, as_=self.ada) for p in (self.room.platform.path, self.room.path))
        return at_platform.json["version"], in_space.json["version"]

    def _agree(self, answer: Answer, status: int, *, changed: bool, at_platform: bool = False) -> None:
        assert answer.status == status, answer.text
        self.told += changed
        assert len(log_of(self.api, self.organization, limit=100)) == self.told
        at, inside = self.versions
        self.versions = (at + (changed and at_platform), inside + (changed and not at_platform))
        assert self._versions() == self.versions


def test_modules_are_as_they_were_said_last(api: Api, ada: Person) -> None:
    class Here(Said):
        def __init__(self) -> None:
            super().__init__(api, ada)

    run_state_machine_as_test(Here, settings=settings(deadline=None, max_examples=8, stateful_step_count=16))
