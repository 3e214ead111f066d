"""A taxonomy matches its model after concurrent changes of two users, in either order.

The second change is made between any two AWS calls of the first.
"""

from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.harness import snapshots
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Person
from tests.harness.faults import run_before_call
from tests.harness.organizations import create_organization
from tests.harness.platforms import CreatedPlatform, create_platform
from tests.harness.workers import Workers
from tests.property.taxonomy_model import NodeChange, TaxonomyModel

SLUGS: Final = ("a", "b", "c", "d")
UNKNOWN_NODE_ID: Final = "01939d3c-0000-7000-8000-00000000000a"

slugs = st.sampled_from(SLUGS)
recent_index = st.integers(0, 7)
"""An index of the nodes that were ever created, newest first."""

creations = st.tuples(st.just("create"), slugs, st.none() | recent_index)
moves = st.tuples(st.just("move"), recent_index, st.none() | recent_index)
renames = st.tuples(st.just("rename"), recent_index, slugs)
deletions = st.tuples(st.just("delete"), recent_index, st.sampled_from([None, "cascade", "reparent"]))
changes = creations | moves | moves | renames | deletions


DrawnChange = tuple[str, object, object]


class TaxonomyMachine(RuleBasedStateMachine):
    """Compares the service with the model."""

    def __init__(self, api: ApiClient, workers: Workers, owner: Person) -> None:
        """Start with an empty taxonomy."""
        super().__init__()
        self.api, self.workers, self.owner = api, workers, owner
        self.model, self.ids = TaxonomyModel(), dict[str, str]()
        self.paths: list[str] = []
        self.created_count = 0
        self.platform: CreatedPlatform = snapshots.create_or_restore(
            ("an empty taxonomy",), lambda: create_platform(api, create_organization(api, owner))
        )

    @rule(drawn=creations)
    def create_node(self, drawn: DrawnChange) -> None:
        self.change_node(drawn)

    @rule(drawn=changes)
    def change_node(self, drawn: DrawnChange) -> None:
        change = self._build_change(drawn)
        expected, self.model = self.model.after_changes(change)
        assert [self._apply(change)] == expected

    @rule(first_drawn=changes, second_drawn=changes, at=st.integers(1, 6))
    def change_concurrently(self, first_drawn: DrawnChange, second_drawn: DrawnChange, at: int) -> None:
        first, second = self._build_change(first_drawn), self._build_change(second_drawn)
        responses: list[str] = []
        with run_before_call(lambda: responses.append(self._apply(second)), call_number=at) as overtaking:
            first_response = self._apply(first)
        if overtaking.interrupted_call is None:
            responses.append(self._apply(second))
        in_order_responses, in_order_tree = self.model.after_changes(first, second)
        reversed_responses, reversed_tree = self.model.after_changes(second, first)
        outcomes = [(in_order_responses, in_order_tree), (reversed_responses[::-1], reversed_tree)]
        matching = [tree for expected, tree in outcomes if expected == [first_response, *responses]]
        assert matching, f"{first} and {second} were answered {[first_response, *responses]}"
        # Both orders may match, with equal paths that former paths reach in different ways.
        self.model = next((tree for tree in matching[1:] if not self._find_differences(tree)), matching[0])

    @rule()
    def settle(self) -> None:
        self.workers.run_until_idle()

    @invariant()
    def the_service_matches_the_model(self) -> None:
        assert not self._find_differences(self.model)
        self.paths += [path for path in self.model.paths.values() if path not in self.paths]

    def _find_differences(self, model: TaxonomyModel) -> list[str]:
        """Return the differences between the service and a model."""
        listed, tree, expected = self._list_paths(), self._tree_paths(), model.paths
        differences = [f"{name}: {paths}" for name, paths in (("list", listed), ("tree", tree)) if paths != expected]
        for path in dict.fromkeys([*self.paths, *expected.values()][-12:]):
            name, resolved = model.find_by_path(path), self._resolve(path)
            expected_match = name and (name, expected[name], "path" if path == expected[name] else "formerPath")
            if resolved != expected_match:
                differences.append(f"{path}: {resolved}, not {expected_match}")
        return differences

    def _resolve(self, path: str) -> tuple[str, str, str] | None:
        """Return name, path and kind of match of the node at a path, or None."""
        response = self.api.get(f"{self.platform.path}/taxonomy-resolve", caller=self.owner, query={"path": path})
        assert response.status in (200, 404), path
        if response.status == 404:
            return None
        node = response.json["node"]
        return self._name_of(node["id"]), node["path"], response.json["matchedBy"]

    def _build_change(self, drawn: DrawnChange) -> NodeChange:
        action, node, argument = drawn
        if action == "create":
            self.created_count += 1
            return action, f"{node}{self.created_count}", self._name_at(argument)
        name = self._name_at(node) or "nobody"
        return action, name, self._name_at(argument) if action == "move" else str(argument) if argument else None

    def _name_at(self, recent_index: object) -> str | None:
        names = [*self.ids][::-1]
        return names[recent_index % len(names)] if isinstance(recent_index, int) and names else None

    def _apply(self, change: NodeChange) -> str:
        action, name, argument = change
        path = f"/taxonomy-nodes/{self.ids.get(name, UNKNOWN_NODE_ID)}"
        match action:
            case "create":
                return self._create(name, argument)
            case "move":
                body = {"parentId": self.ids[argument] if argument else None}
                response = self.api.patch(path, caller=self.owner, json=body)
            case "rename":
                response = self.api.patch(path, caller=self.owner, json={"slug": argument})
            case _:
                response = self.api.delete(path, caller=self.owner, query={"strategy": argument} if argument else None)
        return self._response_text(response)

    def _create(self, name: str, parent: str | None) -> str:
        body = {"platformId": self.platform.id, "name": name, "slug": name[0]}
        body |= {"parentId": self.ids[parent]} if parent else {}
        response = self.api.post("/taxonomy-nodes", caller=self.owner, json=body)
        if response.status == 201:
            self.ids[name] = response.json["id"]
        return self._response_text(response)

    @staticmethod
    def _response_text(response: ApiResponse) -> str:
        return response.status_and_code if response.status >= 400 else str(response.status)

    def _name_of(self, node_id: str) -> str:
        return next(name for name, known_id in self.ids.items() if known_id == node_id)

    def _list_paths(self) -> dict[str, str]:
        items = self.api.get_items(f"{self.platform.path}/taxonomy-nodes", caller=self.owner, query={"limit": 100})
        return {self._name_of(item["id"]): item["path"] for item in items}

    def _tree_paths(self) -> dict[str, str]:
        tree = self.api.get(f"{self.platform.path}/taxonomy-tree", caller=self.owner).json
        branches: list[Json] = tree["items"]
        for branch in branches:  # The list grows during the iteration.
            branches.extend(branch["children"])
        return {self._name_of(branch["id"]): branch["path"] for branch in branches}


def test_a_taxonomy_matches_its_model_after_any_changes(api, workers, ada):
    effort = settings(deadline=None, max_examples=5, stateful_step_count=15)
    run_state_machine_as_test(lambda: TaxonomyMachine(api, workers, ada), settings=effort)  # type: ignore[arg-type]
