"""Taxonomies: creation, moves, deletion and resolution of nodes, also by former paths; and attachments."""

from hypothesis import strategies as st

from tests.model.actions import action, optional_texts, record_index
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import DELETED_INDEX, NOT_FOUND, Json, ModelRecord
from tests.property.taxonomy_model import NodeChange, TaxonomyModel

letters = st.sampled_from(["a", "b", "c"])
parents = st.none() | record_index
strategies = st.sampled_from([None, "cascade", "reparent"])
_entity_numbers = st.integers(0, 2)


def taxonomy_of(platform: ModelRecord) -> TaxonomyModel:
    taxonomy = platform.internal.setdefault("taxonomy", TaxonomyModel())
    assert isinstance(taxonomy, TaxonomyModel)
    return taxonomy


def model_name(node: ModelRecord) -> str:
    return str(node.internal["model_name"])


def _predict(platform: ModelRecord, action: NodeChange) -> tuple[str | None, TaxonomyModel]:
    """Return the refusal of a taxonomy operation, if any, and the model after it."""
    (result,), updated_taxonomy = taxonomy_of(platform).after_changes(action)
    return (result if result[0] == "4" else None), updated_taxonomy


@action(weight=8, platform=record_index, letter=letters, parent=parents)
def create_taxonomy_node(run: ModelRun, by: Sender, container: ModelRecord, letter: str, parent: int | None) -> None:
    name, (parent_id, parent_name) = f"{letter}{len(run.model.records)}", _pick_parent(run, container, parent)
    refusal, updated_taxonomy = _predict(container, ("create", name, parent_name))
    body = {"platformId": container.id, "name": name, "slug": letter, "parentId": parent_id}
    expected = {**body, "kind": "term", "path": updated_taxonomy.paths.get(name)}
    if created := run.create(by, "create_taxonomy_node", "node", container, body, expected, refusal=refusal):
        container.internal["taxonomy"], created.internal["model_name"] = updated_taxonomy, name


def _pick_parent(run: ModelRun, platform: ModelRecord, parent: int | None) -> tuple[str | None, str | None]:
    """Return the id of a parent and its name in the taxonomy's model."""
    record = run.model.pick("node", parent, platform) if parent is not None else None
    return (record.id, model_name(record)) if record else (None, None)


@action(node=record_index, letter=letters)
def rename_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord, letter: str) -> None:
    _update_position(run, by, record, ("rename", model_name(record), letter), {"slug": letter})


@action(weight=6, node=record_index, parent=st.none() | st.sampled_from([0, 1, 2, 3, DELETED_INDEX]))
def move_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord, parent: int | None) -> None:
    parent_id, parent_name = _pick_parent(run, record.parent, parent)
    _update_position(run, by, record, ("move", model_name(record), parent_name), {"parentId": parent_id})


def _update_position(run: ModelRun, by: Sender, record: ModelRecord, action: NodeChange, body: Json) -> None:
    refusal, updated_taxonomy = _predict(record.parent, action)
    if response := run.request(by, "update_taxonomy_node", record, body, refusal=refusal):
        record.parent.internal["taxonomy"] = updated_taxonomy
        assert response.json["path"] == updated_taxonomy.paths[model_name(record)]
        derived_fields = ("path", "depth", "position")
        run.apply_change(by, "update_taxonomy_node", record, response, body, derived_fields=derived_fields)


@action(node=record_index, description=optional_texts)
def describe_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord, description: str | None) -> None:
    body, derived_fields = {"description": description}, ("path", "depth", "position", "parentId")
    run.update(by, "update_taxonomy_node", record, body, body, derived_fields=derived_fields)


@action(weight=2, node=record_index, strategy=strategies)
def delete_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord, strategy: str | None) -> None:
    refusal, updated_taxonomy = _predict(record.parent, ("delete", model_name(record), strategy))
    if strategy is None and run.model.list_existing("attachment", record) and refusal is None:
        refusal = "409 not_empty"
    query = {"strategy": strategy} if strategy else None
    if run.delete(by, "delete_taxonomy_node", record, refusal=refusal, query=query):
        record.parent.internal["taxonomy"] = updated_taxonomy
        for node_record in run.model.list_existing("node", record.parent):
            node_record.is_deleted = model_name(node_record) not in updated_taxonomy.nodes
            node_record.has_unseen_version = True


@action(platform=record_index)
def list_platform_taxonomy_nodes(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    if response := run.request(by, "list_platform_taxonomy_nodes", container, query={"limit": 100}):
        assert {item["id"]: item["path"] for item in response.json["items"]} == paths_of(run, container)


def paths_of(run: ModelRun, platform: ModelRecord) -> dict[str, str]:
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
    attachments = run.model.list_existing("attachment", record)
    existing = next((a for a in attachments if a.fields["entityId"] == body["entityId"]), None)
    response = run.request(by, "attach_taxonomy_node", record, body, success_status=200 if existing else None)
    if response and existing:
        assert response.json == existing.fields
    elif response:
        expected = {**body, "nodeId": record.id, "platformId": record.parent.id}
        run.add_created_record(by, "attach_taxonomy_node", "attachment", response, record, expected)


@action(weight=2, attachment=record_index)
def detach_taxonomy_node(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    run.delete(by, "detach_taxonomy_node", record)


@action(node=record_index)
def list_node_attachments(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    run.check_list(by, "list_node_attachments", record, run.model.list_existing("attachment", record))
