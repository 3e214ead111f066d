"""Taxonomies: creation, moves, deletion and resolution of nodes, also by former paths; and attachments."""

from hypothesis import strategies as st

from tests.model.actions import action, optional_texts, record_index
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import DELETED_INDEX, NOT_FOUND, Json, ModelRecord
from tests.property.taxonomy_model import NodeChange, TaxonomyModel

NOBODY = "01939d3c-0000-7000-8000-00000000000a"

letters = st.sampled_from(["a", "b", "c"])
parents = st.none() | record_index
strategies = st.sampled_from([None, "cascade", "reparent"])
_entity_numbers = st.integers(0, 2)


def taxonomy_of(platform: ModelRecord) -> TaxonomyModel:
    """Return the model of a platform's taxonomy."""
    grove = platform.internal.setdefault("taxonomy", TaxonomyModel())
    assert isinstance(grove, TaxonomyModel)
    return grove


def model_name(node: ModelRecord) -> str:
    """Return the name of a node in the taxonomy's model."""
    return str(node.internal["model_name"])


def _predict(platform: ModelRecord, action: NodeChange) -> tuple[str | None, TaxonomyModel]:
    """Return the refusal of a taxonomy operation, if any, and the model after it."""
    (result,), updated_taxonomy = taxonomy_of(platform).after_changes(action)
    return (result if result[0] == "4" else None), updated_taxonomy


@action(weight=8, platform=record_index, letter=letters, parent=parents)
def create_taxonomy_node(run: ModelRun, by: Sender, container: ModelRecord, letter: str, parent: int | None) -> None:
    parent_record = run.model.pick("node", parent, container) if parent is not None else None
    name = f"{letter}{len(run.model.records)}"
    refusal, updated_taxonomy = _predict(
        container, ("create", name, model_name(parent_record) if parent_record else None)
    )
    body = {
        "platformId": container.id,
        "name": name,
        "slug": letter,
        "parentId": parent_record.id if parent_record else None,
    }
    if response := run.request(by, "create_taxonomy_node", container, body=body, refusal=refusal):
        container.internal["taxonomy"] = updated_taxonomy
        created = run.add_created_record(
            "node", response, container, {**body, "kind": "term", "path": updated_taxonomy.paths[name]}
        )
        created.internal["model_name"] = name
        run.expect_entry(by, "create_taxonomy_node", created)


@action(node=record_index, letter=letters)
def rename_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord, letter: str) -> None:
    _update_position(run, by, record, ("rename", model_name(record), letter), {"slug": letter})


@action(weight=6, node=record_index, parent=st.none() | st.sampled_from([0, 1, 2, 3, DELETED_INDEX]))
def move_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord, parent: int | None) -> None:
    parent_record = run.model.pick("node", parent, record.parent) if parent is not None else None
    body = {"parentId": parent_record.id if parent_record else None}
    _update_position(
        run, by, record, ("move", model_name(record), model_name(parent_record) if parent_record else None), body
    )


def _update_position(run: ModelRun, by: Sender, record: ModelRecord, action: NodeChange, body: Json) -> None:
    refusal, updated_taxonomy = _predict(record.parent, action)
    if response := run.request(by, "update_taxonomy_node", record.parent, record, body, refusal=refusal):
        record.parent.internal["taxonomy"] = updated_taxonomy
        position_fields = {name: response.json[name] for name in ("path", "depth", "position")}
        assert position_fields["path"] == updated_taxonomy.paths[model_name(record)]
        record.fields |= position_fields
        if run.apply_change(record, response, body):
            run.expect_entry(by, "update_taxonomy_node", record)


@action(node=record_index, description=optional_texts)
def describe_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord, description: str | None) -> None:
    if response := run.request(by, "update_taxonomy_node", record.parent, record, {"description": description}):
        record.fields |= {name: response.json[name] for name in ("path", "depth", "position", "parentId")}
        if run.apply_change(record, response, {"description": description}):
            run.expect_entry(by, "update_taxonomy_node", record)


@action(weight=2, node=record_index, strategy=strategies)
def delete_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord, strategy: str | None) -> None:
    refusal, updated_taxonomy = _predict(record.parent, ("delete", model_name(record), strategy))
    if strategy is None and run.model.list_existing("attachment", record) and refusal is None:
        refusal = "409 not_empty"
    query = {"strategy": strategy} if strategy else None
    if run.request(by, "delete_taxonomy_node", record.parent, record, refusal=refusal, query=query):
        record.parent.internal["taxonomy"] = updated_taxonomy
        run.expect_entry(by, "delete_taxonomy_node", record)
        for node_record in run.model.list_existing("node", record.parent):
            node_record.is_deleted = model_name(node_record) not in updated_taxonomy.nodes
            node_record.has_unseen_version = True


@action(platform=record_index)
def list_platform_taxonomy_nodes(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    if response := run.request(by, "list_platform_taxonomy_nodes", container, query={"limit": 100}):
        assert {item["id"]: item["path"] for item in response.json["items"]} == paths_of(run, container)


def paths_of(run: ModelRun, platform: ModelRecord) -> dict[str, str]:
    """Return the paths of all nodes by id."""
    paths = taxonomy_of(platform).paths
    return {node.id: paths[model_name(node)] for node in run.model.list_existing("node", platform)}


@action(weight=6, platform=record_index, path=st.lists(letters, min_size=1, max_size=3).map("/".join))
def resolve_taxonomy_path(run: ModelRun, by: Sender, container: ModelRecord, path: str) -> None:
    node_name = taxonomy_of(container).find_by_path(path)
    refusal = None if node_name else NOT_FOUND
    if response := run.request(by, "resolve_taxonomy_path", container, refusal=refusal, query={"path": path}):
        node_fields = response.json["node"]
        assert node_fields["name"] == node_name
        assert response.json["matchedBy"] == ("path" if node_fields["path"] == path else "formerPath")


@action(node=record_index, entity=_entity_numbers)
def attach_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord, entity: int) -> None:
    body = {"entityType": "lesson", "entityId": f"01939d3c-0000-7000-8000-0000000000{entity:02}"}
    existing_attachments = [
        a for a in run.model.list_existing("attachment", record) if a.fields["entityId"] == body["entityId"]
    ]
    repeat_status = 200 if existing_attachments else None
    response = run.request(by, "attach_taxonomy_node", record.parent, record, body, success_status=repeat_status)
    if response and existing_attachments:
        assert response.json == existing_attachments[0].fields
    elif response:
        created = run.add_created_record(
            "attachment", response, record, {**body, "nodeId": record.id, "platformId": record.parent.id}
        )
        run.expect_entry(by, "attach_taxonomy_node", created)


@action(weight=2, attachment=record_index)
def detach_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    container = record.parent.container
    if run.request(by, "detach_taxonomy_node", container, record):
        run.expect_entry(by, "detach_taxonomy_node", record)
        record.is_deleted = True


@action(node=record_index)
def list_node_attachments(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "list_node_attachments", record.parent, record, query={"limit": 100}):
        assert [item["id"] for item in response.json["items"]] == [
            a.id for a in run.model.list_existing("attachment", record)
        ]
