"""The Chalice stack: Chalice, a default boto3 client, Powertools' Logger and Metrics, pydantic models built at import.

Three operations on spaces are implemented as in the documentation of Chalice and Powertools. 150 further routes have a
view each, so that there are as many as in Atrium's interface. There is no Tracer: it would add 0.4 s to a cold start,
and Lambda's own tracing works without it. Tokens are verified here and not by API Gateway's authorizer, because the
keys of any OpenID Connect issuer must work. `records.py` describes what the stack does and what it leaves out.
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

from benchmarks.peers.models import (
    CREATE_MODELS,
    OUTPUT_MODELS,
    PATCH_MODELS,
    RECORD_TYPES,
    Model,
    SpaceCreate,
    SpaceOut,
    SpacePage,
)
from benchmarks.peers.records import META, ROLES, Item, build_extra_items, build_space, highest_role_index, member_keys
from benchmarks.peers.tokens import verify_bearer_token

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
def log_request(event: Any, get_response: Any) -> Any:
    """Log and count each request."""
    response = get_response(event)
    logger.info("request", extra={"method": event.method, "path": event.path, "status": response.status_code})
    metrics.add_metric(name="requests", unit=MetricUnit.Count, value=1)
    return response


@app.route("/spaces/{space_id}", methods=["GET"])
def get_space(space_id: str) -> Response:
    """Get a space."""
    user = _current_user()
    space = _get_item({"pk": f"SPACE#{space_id}", "sk": META})
    if space is None:
        raise NotFoundError("There is no such space.")
    _authorize(user, space, "member")
    return _json_response(_to_output(space))


@app.route("/platforms/{platform_id}/spaces", methods=["GET"])
def list_spaces(platform_id: str) -> Response:
    """List the spaces of a platform, by position."""
    platform = _load_platform(_current_user(), platform_id, "member")
    query = app.current_request.query_params or {}
    result = dynamodb.query(
        TableName=_TABLE,
        IndexName="gsi1",
        KeyConditionExpression="gsi1pk = :pk",
        Limit=int(query.get("limit", "25")),
        ExpressionAttributeValues={":pk": {"S": f"PLATFORM#{platform['id']}#SPACES"}},
        **({"ExclusiveStartKey": json.loads(query["cursor"])} if "cursor" in query else {}),
    )
    last_key = result.get("LastEvaluatedKey")
    items = [_to_output(_from_wire(item)) for item in result["Items"]]
    return _json_response(SpacePage(items=items, next_cursor=json.dumps(last_key) if last_key else None))


@app.route("/spaces", methods=["POST"])
def create_space() -> Response:
    """Create a space in a platform."""
    user = _current_user()
    try:
        body = SpaceCreate.model_validate(app.current_request.json_body)
    except ValidationError as error:
        return Response({"errors": error.errors(include_url=False)}, status_code=422)
    platform = _load_platform(user, str(body.platform_id), "editor")
    position = body.position if body.position is not None else _next_position(platform)
    space = build_space(body, platform, position)
    items = [space, *build_extra_items(space, user, app.current_request.context["requestId"])]
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
    return _json_response(_to_output(space), status=201)


def _current_user() -> dict[str, Any]:
    try:
        return verify_bearer_token(app.current_request.headers.get("authorization"))
    except PyJWTError as error:
        raise UnauthorizedError(str(error)) from None


def _load_platform(user: dict[str, Any], platform_id: str, role: str) -> Item:
    platform = _get_item({"pk": f"PLATFORM#{platform_id}", "sk": META})
    if platform is None:
        raise NotFoundError("There is no such platform.")
    _authorize(user, platform, role)
    return platform


def _authorize(user: dict[str, Any], record: Item, role: str) -> None:
    keys = [_to_wire(key) for key in member_keys(user["sub"], record)]
    response = dynamodb.batch_get_item(RequestItems={_TABLE: {"Keys": keys, "ConsistentRead": True}})
    role_index = highest_role_index([_from_wire(item) for item in response["Responses"][_TABLE]])
    if role_index < 0:
        raise NotFoundError("There is no such place.")
    if role_index < ROLES.index(role):
        raise ForbiddenError(f"This takes the role {role}.")


def _next_position(platform: Item) -> int:
    result = dynamodb.query(
        TableName=_TABLE,
        IndexName="gsi1",
        KeyConditionExpression="gsi1pk = :pk",
        Limit=1,
        ScanIndexForward=False,
        ExpressionAttributeValues={":pk": {"S": f"PLATFORM#{platform['id']}#SPACES"}},
    )
    return int(result["Items"][0]["position"]["N"]) + 1 if result["Items"] else 0


def _get_item(key: Item) -> Item | None:
    response = dynamodb.get_item(TableName=_TABLE, Key=_to_wire(key), ConsistentRead=True)
    return _from_wire(response["Item"]) if "Item" in response else None


def _to_wire(item: Item) -> Item:
    return {name: serializer.serialize(value) for name, value in item.items()}


def _from_wire(item: Item) -> Item:
    return {name: deserializer.deserialize(value) for name, value in item.items()}


def _to_output(space: Item) -> SpaceOut:
    return SpaceOut.model_validate(
        {field.alias or name: space[field.alias or name] for name, field in SpaceOut.model_fields.items()}
    )


def _json_response(body: Model, status: int = 200) -> Response:
    return Response(
        body.model_dump_json(by_alias=True), status_code=status, headers={"Content-Type": "application/json"}
    )


def _add_crud_routes(record_type: str) -> None:
    """Add the five usual routes of a type of record."""
    create_model, patch_model, output_model, path = (
        CREATE_MODELS[record_type],
        PATCH_MODELS[record_type],
        OUTPUT_MODELS[record_type],
        f"/{record_type.lower()}s",
    )

    def list_records() -> Any:
        result = dynamodb.query(
            TableName=_TABLE, KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": record_type}}
        )
        return [output_model.model_validate(_from_wire(item)).model_dump(mode="json") for item in result["Items"]]

    def create_record() -> Any:
        return _put_record(record_type, create_model.model_validate(app.current_request.json_body))

    def get_record(record_id: str) -> Any:
        return output_model.model_validate(_get_item({"pk": record_type, "sk": record_id})).model_dump(mode="json")

    def update_record(record_id: str) -> Any:
        return _put_record(record_type, patch_model.model_validate({"id": record_id, **app.current_request.json_body}))

    def delete_record(record_id: str) -> Any:
        dynamodb.delete_item(TableName=_TABLE, Key=_to_wire({"pk": record_type, "sk": record_id}))

    app.route(path, methods=["GET"])(list_records)
    app.route(path, methods=["POST"])(create_record)
    app.route(f"{path}/{{record_id}}", methods=["GET"])(get_record)
    app.route(f"{path}/{{record_id}}", methods=["PATCH"])(update_record)
    app.route(f"{path}/{{record_id}}", methods=["DELETE"])(delete_record)


def _put_record(record_type: str, record: Model) -> Any:
    item = record.model_dump(mode="json", by_alias=True)
    dynamodb.put_item(TableName=_TABLE, Item=_to_wire({"pk": record_type, "sk": item.get("slug") or "-", **item}))
    return item


for each in RECORD_TYPES:
    _add_crud_routes(each)
