"""Taxonomies: nodes planted, moved, felled and found, also by former paths; and what they are put on."""

from hypothesis import strategies as st

from tests.model.actions import deed, texts, which
from tests.model.entities import GONE, NOT_FOUND, Json, Thing
from tests.model.story import By, Story
from tests.property.taxonomy_model import Deed, Grove

NOBODY = "01939d3c-0000-7000-8000-00000000000a"

letters = st.sampled_from(["a", "b", "c"])
parents = st.none() | which
strategies = st.sampled_from([None, "cascade", "reparent"])
_of_their_own = st.integers(0, 2)


def grove_of(platform: Thing) -> Grove:
    """Return the model of a platform's taxonomy."""
    grove = platform.hidden.setdefault("grove", Grove())
    assert isinstance(grove, Grove)
    return grove


def called(node: Thing) -> str:
    """Return what the model of the taxonomy calls a node."""
    return str(node.hidden["called"])


def _tried(platform: Thing, deed: Deed) -> tuple[str | None, Grove]:
    """Return with what a deed is refused, if it is, and what is there if it is not."""
    (answered,), then = grove_of(platform).after(deed)
    return (answered if answered[0] == "4" else None), then


@deed(often=8, platform=which, letter=letters, parent=parents)
def create_taxonomy_node(story: Story, by: By, platform: int, letter: str, parent: int | None) -> None:
    place = story.model.pick("platform", platform)
    if place is None:
        return
    above = story.model.pick("node", parent, place) if parent is not None else None
    name = f"{letter}{len(story.model.things)}"
    unless, then = _tried(place, ("create", name, called(above) if above else None))
    body = {"platformId": place.id, "name": name, "slug": letter, "parentId": above.id if above else None}
    if answer := story.ask(by, "create_taxonomy_node", place, body=body, unless=unless):
        place.hidden["grove"] = then
        made = story.makes("node", answer, place, {**body, "kind": "term", "path": then.paths[name]})
        made.hidden["called"] = name
        story.tells(by, "create_taxonomy_node", made)


@deed(node=which, letter=letters)
def rename_taxonomy_node(story: Story, by: By, node: int, letter: str) -> None:
    if known := story.model.pick("node", node):
        _place(story, by, known, ("rename", called(known), letter), {"slug": letter})


@deed(often=6, node=which, parent=st.none() | st.sampled_from([0, 1, 2, 3, GONE]))
def move_taxonomy_node(story: Story, by: By, node: int, parent: int | None) -> None:
    if known := story.model.pick("node", node):
        above = story.model.pick("node", parent, known.within) if parent is not None else None
        body = {"parentId": above.id if above else None}
        _place(story, by, known, ("move", called(known), called(above) if above else None), body)


def _place(story: Story, by: By, known: Thing, deed: Deed, body: Json) -> None:
    assert known.within
    unless, then = _tried(known.within, deed)
    if answer := story.ask(by, "update_taxonomy_node", known.within, known, body, unless=unless):
        known.within.hidden["grove"] = then
        here = {name: answer.json[name] for name in ("path", "depth", "position")}
        assert here["path"] == then.paths[called(known)]
        known.shown |= here
        if story.changes(known, answer, body):
            story.tells(by, "update_taxonomy_node", known)


@deed(node=which, description=texts)
def describe_taxonomy_node(story: Story, by: By, node: int, description: str | None) -> None:
    known = story.model.pick("node", node)
    if known and (answer := story.ask(by, "update_taxonomy_node", known.within, known, {"description": description})):
        known.shown |= {name: answer.json[name] for name in ("path", "depth", "position", "parentId")}
        if story.changes(known, answer, {"description": description}):
            story.tells(by, "update_taxonomy_node", known)


@deed(often=2, node=which, strategy=strategies)
def delete_taxonomy_node(story: Story, by: By, node: int, strategy: str | None) -> None:
    known = story.model.pick("node", node)
    if known is None or known.within is None:
        return
    unless, then = _tried(known.within, ("delete", called(known), strategy))
    if strategy is None and story.model.of("attachment", known) and unless is None:
        unless = "409 not_empty"
    query = {"strategy": strategy} if strategy else None
    if story.ask(by, "delete_taxonomy_node", known.within, known, unless=unless, query=query):
        known.within.hidden["grove"] = then
        story.tells(by, "delete_taxonomy_node", known)
        for each in story.model.of("node", known.within):
            each.gone = called(each) not in then.nodes
            each.touched = True


@deed(platform=which)
def list_platform_taxonomy_nodes(story: Story, by: By, platform: int) -> None:
    place = story.model.pick("platform", platform)
    if place and (answer := story.ask(by, "list_platform_taxonomy_nodes", place, query={"limit": 100})):
        assert {item["id"]: item["path"] for item in answer.json["items"]} == paths_of(story, place)


def paths_of(story: Story, platform: Thing) -> dict[str, str]:
    """Return where each node is, by its id."""
    paths = grove_of(platform).paths
    return {node.id: paths[called(node)] for node in story.model.of("node", platform)}


@deed(often=6, platform=which, path=st.lists(letters, min_size=1, max_size=3).map("/".join))
def resolve_taxonomy_path(story: Story, by: By, platform: int, path: str) -> None:
    place = story.model.pick("platform", platform)
    if place is None:
        return
    there = grove_of(place).found(path)
    unless = None if there else NOT_FOUND
    if answer := story.ask(by, "resolve_taxonomy_path", place, unless=unless, query={"path": path}):
        found = answer.json["node"]
        assert found["name"] == there
        assert answer.json["matchedBy"] == ("path" if found["path"] == path else "formerPath")


@deed(node=which, entity=_of_their_own)
def attach_taxonomy_node(story: Story, by: By, node: int, entity: int) -> None:
    known = story.model.pick("node", node)
    if known is None:
        return
    body = {"entityType": "lesson", "entityId": f"01939d3c-0000-7000-8000-0000000000{entity:02}"}
    present = [a for a in story.model.of("attachment", known) if a.shown["entityId"] == body["entityId"]]
    again = 200 if present else None
    answer = story.ask(by, "attach_taxonomy_node", known.within, known, body, success=again)
    if answer and present:
        assert answer.json == present[0].shown
    elif answer:
        assert known.within
        made = story.makes("attachment", answer, known, {**body, "nodeId": known.id, "platformId": known.within.id})
        story.tells(by, "attach_taxonomy_node", made)


@deed(often=2, attachment=which)
def detach_taxonomy_node(story: Story, by: By, attachment: int) -> None:
    known = story.model.pick("attachment", attachment)
    if known and known.within:
        place = known.within.within
        if story.ask(by, "detach_taxonomy_node", place, known):
            story.tells(by, "detach_taxonomy_node", known)
            known.gone = True


@deed(node=which)
def list_node_attachments(story: Story, by: By, node: int) -> None:
    known = story.model.pick("node", node)
    if known and (answer := story.ask(by, "list_node_attachments", known.within, known, query={"limit": 100})):
        assert [item["id"] for item in answer.json["items"]] == [a.id for a in story.model.of("attachment", known)]
