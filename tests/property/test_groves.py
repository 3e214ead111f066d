"""A taxonomy against its model: whatever two people do to it at once, it is as if one had come after the other.

What one of them does is done in the midst of what the other does, between any two of its calls.
"""

from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.harness import snapshots
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.faults import overtaken
from tests.harness.organizations import found
from tests.harness.platforms import Running, run_platform
from tests.harness.workers import Workers
from tests.property.taxonomy_model import Deed, Grove

SLUGS: Final = ("a", "b", "c", "d")
NOBODY: Final = "01939d3c-0000-7000-8000-00000000000a"

slugs = st.sampled_from(SLUGS)
which = st.integers(0, 7)
"""Of the nodes that were ever made, counted from the last."""

creations = st.tuples(st.just("create"), slugs, st.none() | which)
moves = st.tuples(st.just("move"), which, st.none() | which)
renamings = st.tuples(st.just("rename"), which, slugs)
deletions = st.tuples(st.just("delete"), which, st.sampled_from([None, "cascade", "reparent"]))
deeds = creations | moves | moves | renamings | deletions


Drawn = tuple[str, object, object]


class World(RuleBasedStateMachine):
    """The service and the model, side by side."""

    def __init__(self, api: Api, workers: Workers, owner: Person) -> None:
        """Begin with an empty taxonomy."""
        super().__init__()
        self.api, self.workers, self.owner = api, workers, owner
        self.model, self.ids = Grove(), dict[str, str]()
        self.paths: list[str] = []
        self.made = 0
        self.platform: Running = snapshots.once(("an empty taxonomy",), lambda: run_platform(api, found(api, owner)))

    @rule(drawn=creations)
    def plant(self, drawn: Drawn) -> None:
        self.one(drawn)

    @rule(drawn=deeds)
    def one(self, drawn: Drawn) -> None:
        deed = self._deed(drawn)
        answers, self.model = self.model.after(deed)
        assert [self._do(deed)] == answers

    @rule(one=deeds, other=deeds, at=st.integers(1, 6))
    def two_at_once(self, one: Drawn, other: Drawn, at: int) -> None:
        first, second = self._deed(one), self._deed(other)
        answered: list[str] = []
        with overtaken(lambda: answered.append(self._do(second)), at=at) as overtaking:
            told = self._do(first)
        if overtaking.hit is None:
            answered.append(self._do(second))
        (in_order, then), (overtook, since) = self.model.after(first, second), self.model.after(second, first)
        outcomes = [(in_order, then), (overtook[::-1], since)]
        fitting = [grove for answers, grove in outcomes if answers == [told, *answered]]
        assert fitting, f"{first} and {second} were answered {[told, *answered]}"
        # Both orders may fit, and lead to the same paths by way of others.
        self.model = next((grove for grove in fitting[1:] if not self._faults(grove)), fitting[0])

    @rule()
    def settle(self) -> None:
        self.workers.settle()

    @invariant()
    def all_are_where_the_model_says(self) -> None:
        assert not self._faults(self.model)
        self.paths += [path for path in self.model.paths.values() if path not in self.paths]

    def _faults(self, model: Grove) -> list[str]:
        """What is not as a model says."""
        listed, tree, expected = self._listed(), self._in_tree(), model.paths
        found = [f"{name}: {places}" for name, places in (("list", listed), ("tree", tree)) if places != expected]
        for path in dict.fromkeys([*self.paths, *expected.values()][-12:]):
            name, resolved = model.found(path), self._resolved(path)
            wanted = name and (name, expected[name], "path" if path == expected[name] else "formerPath")
            if resolved != wanted:
                found.append(f"{path}: {resolved}, not {wanted}")
        return found

    def _resolved(self, path: str) -> tuple[str, str, str] | None:
        """Return the name, the path and the kind of match of the node that a path leads to; None of no node."""
        answer = self.api.get(f"{self.platform.path}/taxonomy-resolve", as_=self.owner, query={"path": path})
        assert answer.status in (200, 404), path
        if answer.status == 404:
            return None
        node = answer.json["node"]
        return self._called(node["id"]), node["path"], answer.json["matchedBy"]

    def _deed(self, drawn: Drawn) -> Deed:
        what, node, how = drawn
        if what == "create":
            self.made += 1
            return what, f"{node}{self.made}", self._name(how)
        name = self._name(node) or "nobody"
        return what, name, self._name(how) if what == "move" else str(how) if how else None

    def _name(self, which: object) -> str | None:
        names = [*self.ids][::-1]
        return names[which % len(names)] if isinstance(which, int) and names else None

    def _do(self, deed: Deed) -> str:
        what, name, how = deed
        path = f"/taxonomy-nodes/{self.ids.get(name, NOBODY)}"
        match what:
            case "create":
                return self._create(name, how)
            case "move":
                answer = self.api.patch(path, as_=self.owner, json={"parentId": self.ids[how] if how else None})
            case "rename":
                answer = self.api.patch(path, as_=self.owner, json={"slug": how})
            case _:
                answer = self.api.delete(path, as_=self.owner, query={"strategy": how} if how else None)
        return self._told(answer)

    def _create(self, name: str, parent: str | None) -> str:
        body = {"platformId": self.platform.id, "name": name, "slug": name[0]}
        body |= {"parentId": self.ids[parent]} if parent else {}
        answer = self.api.post("/taxonomy-nodes", as_=self.owner, json=body)
        if answer.status == 201:
            self.ids[name] = answer.json["id"]
        return self._told(answer)

    @staticmethod
    def _told(answer: Answer) -> str:
        return answer.code if answer.status >= 400 else str(answer.status)

    def _called(self, node_id: str) -> str:
        return next(name for name, known in self.ids.items() if known == node_id)

    def _listed(self) -> dict[str, str]:
        items = self.api.items(f"{self.platform.path}/taxonomy-nodes", as_=self.owner, query={"limit": 100})
        return {self._called(item["id"]): item["path"] for item in items}

    def _in_tree(self) -> dict[str, str]:
        tree = self.api.get(f"{self.platform.path}/taxonomy-tree", as_=self.owner).json
        branches: list[Json] = tree["items"]
        for branch in branches:  # which grows meanwhile
            branches.extend(branch["children"])
        return {self._called(branch["id"]): branch["path"] for branch in branches}


def test_a_taxonomy_is_what_was_made_of_it(api: Api, workers: Workers, ada: Person) -> None:
    class Here(World):
        def __init__(self) -> None:
            super().__init__(api, workers, ada)

    run_state_machine_as_test(Here, settings=settings(deadline=None, max_examples=6, stateful_step_count=20))
