"""The FastAPI stack: FastAPI with Mangum, a boto3 resource, the same models.

Three operations on spaces are implemented as in FastAPI's documentation, with dependencies and response models. 150
further routes have a function each. Like most such services it logs one line for each request with Python's logging,
and does not use Powertools. `records.py` describes what the stack does and what it leaves out.
"""

import json
import logging
import os
from typing import Annotated, Any, Final
from uuid import UUID

import boto3
from boto3.dynamodb.conditions import Key
from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request
from jwt import PyJWTError
from mangum import Mangum

from benchmarks.peers.models import (
    CREATE_MODELS,
    OUTPUT_MODELS,
    PATCH_MODELS,
    RECORD_TYPES,
    SpaceCreate,
    SpaceOut,
    SpacePage,
)
from benchmarks.peers.records import META, ROLES, Item, build_extra_items, build_space, highest_role_index, member_keys
from benchmarks.peers.tokens import verify_bearer_token

_TABLE: Final = os.environ["TABLE"]

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger("popular")
dynamodb = boto3.resource("dynamodb")
table = dynamodb.Table(_TABLE)
sqs = boto3.client("sqs")

app = FastAPI(title="popular")


def current_user(authorization: Annotated[str | None, Header()] = None) -> dict[str, Any]:
    """Return the claims of the caller."""
    try:
        return verify_bearer_token(authorization)
    except PyJWTError as error:
        raise HTTPException(401, str(error)) from None


User = Annotated[dict[str, Any], Depends(current_user)]


@app.get("/spaces/{space_id}", response_model=SpaceOut)
def get_space(space_id: UUID, user: User) -> Item:
    """Get a space."""
    space = _get_item({"pk": f"SPACE#{space_id}", "sk": META})
    if space is None:
        raise HTTPException(404, "There is no such space.")
    _authorize(user, space, "member")
    logger.info("space %s read", space_id)
    return _to_output(space)


@app.get("/platforms/{platform_id}/spaces", response_model=SpacePage)
def list_spaces(
    platform_id: UUID, user: User, limit: Annotated[int, Query(ge=1, le=100)] = 25, cursor: str | None = None
) -> Item:
    """List the spaces of a platform, by position."""
    platform = _load_platform(user, str(platform_id), "member")
    result = table.query(
        IndexName="gsi1",
        KeyConditionExpression=Key("gsi1pk").eq(f"PLATFORM#{platform['id']}#SPACES"),
        Limit=limit,
        **({"ExclusiveStartKey": json.loads(cursor)} if cursor else {}),
    )
    last_key = result.get("LastEvaluatedKey")
    logger.info("spaces of %s listed", platform_id)
    return {
        "items": [_to_output(item) for item in result["Items"]],
        "nextCursor": json.dumps(last_key) if last_key else None,
    }


@app.post("/spaces", status_code=201, response_model=SpaceOut)
def create_space(body: SpaceCreate, user: User, request: Request) -> Item:
    """Create a space in a platform."""
    platform = _load_platform(user, str(body.platform_id), "editor")
    space = build_space(body, platform, body.position if body.position is not None else _next_position(platform))
    items = [space, *build_extra_items(space, user, request.scope["aws.context"].aws_request_id)]
    client = table.meta.client
    try:
        client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": _TABLE, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}}
                for item in items
            ]
        )
    except client.exceptions.TransactionCanceledException:
        raise HTTPException(409, "The slug is taken.") from None
    sqs.send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=json.dumps({"entry": items[-1]["id"]}))
    logger.info("space %s created", space["id"])
    return _to_output(space)


def _load_platform(user: dict[str, Any], platform_id: str, role: str) -> Item:
    platform = _get_item({"pk": f"PLATFORM#{platform_id}", "sk": META})
    if platform is None:
        raise HTTPException(404, "There is no such platform.")
    _authorize(user, platform, role)
    return platform


def _authorize(user: dict[str, Any], record: Item, role: str) -> None:
    keys = member_keys(user["sub"], record)
    response = dynamodb.batch_get_item(RequestItems={_TABLE: {"Keys": keys, "ConsistentRead": True}})
    role_index = highest_role_index(response["Responses"][_TABLE])
    if role_index < 0:
        raise HTTPException(404, "There is no such place.")
    if role_index < ROLES.index(role):
        raise HTTPException(403, f"This takes the role {role}.")


def _next_position(platform: Item) -> int:
    result = table.query(
        IndexName="gsi1",
        KeyConditionExpression=Key("gsi1pk").eq(f"PLATFORM#{platform['id']}#SPACES"),
        Limit=1,
        ScanIndexForward=False,
    )
    return int(result["Items"][0]["position"]) + 1 if result["Items"] else 0


def _get_item(key: Item) -> Item | None:
    item: Item | None = table.get_item(Key=key, ConsistentRead=True).get("Item")
    return item


def _to_output(space: Item) -> Item:
    return {field.alias or name: space[field.alias or name] for name, field in SpaceOut.model_fields.items()}


def _add_crud_routes(record_type: str) -> None:
    """Add the five usual routes of a type of record."""
    create_model, patch_model, output_model, path = (
        CREATE_MODELS[record_type],
        PATCH_MODELS[record_type],
        OUTPUT_MODELS[record_type],
        f"/{record_type.lower()}s",
    )

    def list_records(_: User) -> Any:
        return table.query(KeyConditionExpression=Key("pk").eq(record_type))["Items"]

    def create_record(record: create_model, _: User) -> Any:  # type: ignore[valid-type]
        return _put_record(record_type, record)

    def get_record(record_id: UUID, _: User) -> Any:
        return _get_item({"pk": record_type, "sk": str(record_id)})

    def update_record(record_id: UUID, record: patch_model, _: User) -> Any:  # type: ignore[valid-type]
        return _put_record(record_type, record, str(record_id))

    def delete_record(record_id: UUID, _: User) -> None:
        table.delete_item(Key={"pk": record_type, "sk": str(record_id)})

    app.get(path, response_model=list[output_model])(list_records)  # type: ignore[valid-type]
    app.post(path, response_model=output_model, status_code=201)(create_record)
    app.get(f"{path}/{{record_id}}", response_model=output_model)(get_record)
    app.patch(f"{path}/{{record_id}}", response_model=output_model)(update_record)
    app.delete(f"{path}/{{record_id}}", status_code=204)(delete_record)


def _put_record(record_type: str, record: Any, record_id: str = "-") -> Item:
    item: Item = {**record.model_dump(mode="json", by_alias=True), "pk": record_type, "sk": record_id}
    table.put_item(Item=item)
    return item


for each in RECORD_TYPES:
    _add_crud_routes(each)

handler = Mangum(app, lifespan="off")
