"""The usual stack: Chalice, a default boto3 client, Powertools' Logger and Metrics, pydantic models built at import.

Three operations on spaces are written out, as Chalice's and Powertools' documentation show it; 150 more routes have a
view each, so that there are as many as the interface of Atrium lists. There is no Tracer: it would take 0.4 s of a cold
start more, and Lambda's own tracing works without it. A token is verified here and not by API Gateway's authorizer,
because keys of any OpenID Connect issuer have to do. What it does and leaves out otherwise: `records.py`.
"""

import json
import os
from typing import Any, Final

import boto3
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from chalice.app import (
    Chalice,
    ConflictError,
    ConvertToMiddleware,
    ForbiddenError,
    NotFoundError,
    Response,
    UnauthorizedError,
)
from jwt import PyJWTError
from pydantic import ValidationError

from benchmarks.peers.models import BODIES, NOUNS, PATCHES, SHOWN, Model, SpaceCreate, SpaceOut, SpacePage
from benchmarks.peers.records import META, ROLES, Item, extra_items, highest, member_keys, new_space
from benchmarks.peers.tokens import verified

_TABLE: Final = os.environ["TABLE"]

logger = Logger(service="usual")
metrics = Metrics(namespace="usual", service="usual")
dynamodb = boto3.client("dynamodb")
sqs = boto3.client("sqs")
serializer, deserializer = TypeSerializer(), TypeDeserializer()

app = Chalice(app_name="usual")
app.register_middleware(
    ConvertToMiddleware(logger.inject_lambda_context(correlation_id_path="requestContext.requestId"))
)
app.register_middleware(ConvertToMiddleware(metrics.log_metrics(capture_cold_start_metric=True)))


@app.middleware("http")
def report(event: Any, get_response: Any) -> Any:
    """Log each request, and count it."""
    response = get_response(event)
    logger.info("request", extra={"method": event.method, "path": event.path, "status": response.status_code})
    metrics.add_metric(name="requests", unit=MetricUnit.Count, value=1)
    return response


@app.route("/spaces/{space_id}", methods=["GET"])
def get_space(space_id: str) -> Response:
    """Get a space."""
    user = _user()
    space = _get({"pk": f"SPACE#{space_id}", "sk": META})
    if space is None:
        raise NotFoundError("There is no such space.")
    _authorize(user, space, "member")
    return _answer(_shown(space))


@app.route("/platforms/{platform_id}/spaces", methods=["GET"])
def list_spaces(platform_id: str) -> Response:
    """List the spaces of a platform, by position."""
    platform = _platform(_user(), platform_id, "member")
    query = app.current_request.query_params or {}
    found = dynamodb.query(
        TableName=_TABLE,
        IndexName="gsi1",
        KeyConditionExpression="gsi1pk = :pk",
        Limit=int(query.get("limit", "25")),
        ExpressionAttributeValues={":pk": {"S": f"PLATFORM#{platform['id']}#SPACES"}},
        **({"ExclusiveStartKey": json.loads(query["cursor"])} if "cursor" in query else {}),
    )
    last = found.get("LastEvaluatedKey")
    items = [_shown(_from_wire(item)) for item in found["Items"]]
    return _answer(SpacePage(items=items, next_cursor=json.dumps(last) if last else None))


@app.route("/spaces", methods=["POST"])
def create_space() -> Response:
    """Create a space in a platform."""
    user = _user()
    try:
        body = SpaceCreate.model_validate(app.current_request.json_body)
    except ValidationError as error:
        return Response({"errors": error.errors(include_url=False)}, status_code=422)
    platform = _platform(user, str(body.platform_id), "editor")
    position = body.position if body.position is not None else _next_position(platform)
    space = new_space(body, platform, position)
    items = [space, *extra_items(space, user, app.current_request.context["requestId"])]
    try:
        dynamodb.transact_write_items(
            TransactItems=[
                {
                    "Put": {
                        "TableName": _TABLE,
                        "Item": _to_wire(item),
                        "ConditionExpression": "attribute_not_exists(pk)",
                    }
                }
                for item in items
            ]
        )
    except dynamodb.exceptions.TransactionCanceledException:
        raise ConflictError("The slug is taken.") from None
    sqs.send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=json.dumps({"entry": items[-1]["id"]}))
    return _answer(_shown(space), status=201)


def _user() -> dict[str, Any]:
    try:
        return verified(app.current_request.headers.get("authorization"))
    except PyJWTError as error:
        raise UnauthorizedError(str(error)) from None


def _platform(user: dict[str, Any], platform_id: str, role: str) -> Item:
    platform = _get({"pk": f"PLATFORM#{platform_id}", "sk": META})
    if platform is None:
        raise NotFoundError("There is no such platform.")
    _authorize(user, platform, role)
    return platform


def _authorize(user: dict[str, Any], place: Item, role: str) -> None:
    keys = [_to_wire(key) for key in member_keys(user["sub"], place)]
    answer = dynamodb.batch_get_item(RequestItems={_TABLE: {"Keys": keys, "ConsistentRead": True}})
    has = highest([_from_wire(item) for item in answer["Responses"][_TABLE]])
    if has < 0:
        raise NotFoundError("There is no such place.")
    if has < ROLES.index(role):
        raise ForbiddenError(f"This takes the role {role}.")


def _next_position(platform: Item) -> int:
    found = dynamodb.query(
        TableName=_TABLE,
        IndexName="gsi1",
        KeyConditionExpression="gsi1pk = :pk",
        Limit=1,
        ScanIndexForward=False,
        ExpressionAttributeValues={":pk": {"S": f"PLATFORM#{platform['id']}#SPACES"}},
    )
    return int(found["Items"][0]["position"]["N"]) + 1 if found["Items"] else 0


def _get(key: Item) -> Item | None:
    answer = dynamodb.get_item(TableName=_TABLE, Key=_to_wire(key), ConsistentRead=True)
    return _from_wire(answer["Item"]) if "Item" in answer else None


def _to_wire(item: Item) -> Item:
    return {name: serializer.serialize(value) for name, value in item.items()}


def _from_wire(item: Item) -> Item:
    return {name: deserializer.deserialize(value) for name, value in item.items()}


def _shown(space: Item) -> SpaceOut:
    return SpaceOut.model_validate(
        {field.alias or name: space[field.alias or name] for name, field in SpaceOut.model_fields.items()}
    )


def _answer(body: Model, status: int = 200) -> Response:
    return Response(
        body.model_dump_json(by_alias=True), status_code=status, headers={"Content-Type": "application/json"}
    )


def _mount(noun: str) -> None:
    """Mount the five usual routes of a noun."""
    body, patch, shown, path = BODIES[noun], PATCHES[noun], SHOWN[noun], f"/{noun.lower()}s"

    def listed() -> Any:
        found = dynamodb.query(
            TableName=_TABLE, KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": noun}}
        )
        return [shown.model_validate(_from_wire(item)).model_dump(mode="json") for item in found["Items"]]

    def created() -> Any:
        return _put(noun, body.model_validate(app.current_request.json_body))

    def read(record_id: str) -> Any:
        return shown.model_validate(_get({"pk": noun, "sk": record_id})).model_dump(mode="json")

    def changed(record_id: str) -> Any:
        return _put(noun, patch.model_validate({"id": record_id, **app.current_request.json_body}))

    def removed(record_id: str) -> Any:
        dynamodb.delete_item(TableName=_TABLE, Key=_to_wire({"pk": noun, "sk": record_id}))

    app.route(path, methods=["GET"])(listed)
    app.route(path, methods=["POST"])(created)
    app.route(f"{path}/{{record_id}}", methods=["GET"])(read)
    app.route(f"{path}/{{record_id}}", methods=["PATCH"])(changed)
    app.route(f"{path}/{{record_id}}", methods=["DELETE"])(removed)


def _put(noun: str, record: Model) -> Any:
    item = record.model_dump(mode="json", by_alias=True)
    dynamodb.put_item(TableName=_TABLE, Item=_to_wire({"pk": noun, "sk": item.get("slug") or "-", **item}))
    return item


for each in NOUNS:
    _mount(each)
