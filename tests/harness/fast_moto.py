"""Patches moto and botocore for speed. Without the patches they would take three fifths of the tests' time.

- Values of items are compared, copied and measured without repeated lookups of their types.
- An item is measured once instead of after each attribute.
- A query reads only the requested partition, and does not copy its results.
- Parsed expressions and converted names are cached. Expressions that only set and remove attributes are evaluated by
  `fast_updates.py`.
- A call of DynamoDB skips the HTTP request (`direct_calls.py`). If a test interferes with the call, the request skips
  moto's search for the service that handles it.
- Attribute values are serialized and parsed without traversing the service model.
- Calls of DynamoDB and SQS are not signed.
- The client's quota of retries is unlimited, because direct calls would not refill it.

Responses stay the same.
"""

import base64
import copy
import re
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from functools import cache
from time import time
from typing import Any, Final
from unittest.mock import patch

from botocore import parsers as client_parsers
from botocore import serialize as client_serializers
from botocore import validate as client_validators
from botocore.awsrequest import AWSPreparedRequest
from botocore.client import BaseClient
from botocore.model import StructureShape
from botocore.retries.quota import RetryQuota
from botocore.signers import RequestSigner
from moto.core import parse, responses
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.parse import BaseJSONParser
from moto.core.serialize import BaseJSONSerializer
from moto.core.utils import get_service_model
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models import table as tables
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing import ast_nodes
from moto.sqs import models as queues

from tests.harness import fast_updates
from tests.harness.direct_calls import RequestHandler, call_untraced

_SCALAR_TYPES: Final = frozenset({"S", "B", "BOOL"})
_UNSIGNED: Final = ("dynamodb", "sqs")
_NESTED_TYPES: Final = frozenset({"L", "M", "SS", "NS", "BS"})

# Names that moto does not type or export.
_TRAVERSER: Final[Any] = vars(ast_nodes)["DepthFirstTraverser"]
_NODES: Final[Any] = (vars(ast_nodes)["Node"],)
_BODY_PARSER: Final[Any] = vars(parse)["JSONParser"]
_METHODS: Final = "method_names_from_class"

_CAST: Final[Any] = DynamoType.cast_value
_COPY: Final = DynamoType.__deepcopy__
_SIZE: Final = DynamoType.size
_SIGN: Final[Any] = RequestSigner.handler
_LEX: Final[Any] = ConditionExpressionParser._lex_condition_expression  # noqa: SLF001
_DYNAMODB: Final = re.compile(r"https://(?:dynamodb|[0-9]+\.ddb)\.([^.]+)\.amazonaws\.com/")
_REQUEST_ID: Final = "A" * 52
_CAMEL: Final = "camelcase_to_underscores"
_READ: Final[Any] = BaseJSONParser._parse_structure  # noqa: SLF001
_WRITE: Final = BaseJSONSerializer._serialize_type_structure  # noqa: SLF001
_QUERY: Final = Table.query
_INDEX_NAME_POSITION: Final = 6  # the position of the index name among the arguments after the key
_PROCESS: Final = BotocoreStubber.process_request

_CLIENT_PARSER: Final[Any] = vars(client_parsers)["BaseJSONParser"]
_CLIENT_READ: Final[Any] = vars(_CLIENT_PARSER)["_handle_structure"]
_CLIENT_SERIALIZER: Final[Any] = vars(client_serializers)["JSONSerializer"]
_CLIENT_WRITE: Final[Any] = vars(_CLIENT_SERIALIZER)["_serialize_type_structure"]
_CLIENT_VALIDATOR: Final[Any] = vars(client_validators)["ParamValidator"]
_CLIENT_CHECK: Final[Any] = vars(_CLIENT_VALIDATOR)["_validate_structure"]


@contextmanager
def fast_moto() -> Iterator[None]:
    """Apply the patches within the block."""
    with ExitStack() as patches:
        for owner, name, fast in (
            (DynamoType, "cast_value", property(_cast)),
            (DynamoType, "__eq__", _equal),
            (DynamoType, "__hash__", _hash),
            (DynamoType, "__deepcopy__", _copy),
            (DynamoType, "size", _size),
            (_TRAVERSER, "traverse", _traverse),
            (responses, _METHODS, cache(vars(responses)[_METHODS])),
            (BaseJSONSerializer, "_serialize_type_structure", _write),
            (BaseJSONParser, "_parse_structure", _read),
            (ConditionExpressionParser, "_lex_condition_expression", _lex),
            (queues, _CAMEL, cache(vars(queues)[_CAMEL])),
            (queues, "unix_time_millis", lambda: time() * 1000),
            (BaseClient, "_make_api_call", call_untraced),
            (RequestSigner, "handler", _sign),
            (RetryQuota, "acquire", lambda *_: True),
            (Item, "__init__", _init_item),
            (Table, "query", _query),
            (tables, "copy", _ShallowCopy),
            (BotocoreStubber, "process_request", _process_request),
            (responses, "gen_amzn_requestid_long", _constant_request_id),
            (_CLIENT_PARSER, "_handle_structure", _client_parse),
            (_CLIENT_SERIALIZER, "_serialize_type_structure", _client_serialize),
            (_CLIENT_VALIDATOR, "_validate_structure", _client_validate),
            *fast_updates.patches(),
        ):
            patches.enter_context(patch.object(owner, name, fast))
        yield


def _cast(value: DynamoType) -> Any:
    if value.type in _SCALAR_TYPES:
        return value.value
    return Decimal(value.value) if value.type == "N" else _CAST.__get__(value)


def _equal(value: DynamoType, other: DynamoType) -> bool:
    if value.type != other.type:
        return False
    return value.value == other.value or (value.type not in _SCALAR_TYPES and value.cast_value == other.cast_value)


def _hash(value: DynamoType) -> int:
    return hash((value.type, value.cast_value))


def _copy(value: DynamoType, memo: dict[int, Any]) -> DynamoType:
    if value.type in _NESTED_TYPES:
        return _COPY(value, memo)
    copied = DynamoType.__new__(DynamoType)
    copied.type, copied.value = value.type, value.value
    return copied


def _size(value: DynamoType) -> int:
    return len(value.value.encode()) if value.type == "S" else _SIZE(value)


def _query(table: Table, hash_key: DynamoType | None, *args: Any, **options: Any) -> Any:
    """Query only the items of the partition or, for an index, all items, unsorted."""
    partitions: Any = table.items.values() if args[_INDEX_NAME_POSITION] else [table.items.get(hash_key, {})]
    items = [item for partition in partitions for item in partition.values()]
    vars(table)["all_items"] = lambda: items  # `transactions.py` allows one call at a time.
    try:
        return _QUERY(table, hash_key, *args, **options)
    finally:
        del vars(table)["all_items"]


class _ShallowCopy:
    """Replaces the module `copy` in queries. `transactions.py` ensures that no write changes an item."""

    copy = staticmethod(copy.copy)

    @staticmethod
    def deepcopy(value: Any) -> Any:
        return value


def _init_item(item: Item, hash_key: DynamoType, range_key: DynamoType | None, attrs: dict[str, Any]) -> None:
    item.hash_key, item.range_key, item.attrs = hash_key, range_key, LimitedSizeDict()
    for name, value in attrs.items():
        dict.__setitem__(item.attrs, name, DynamoType(value))
    if item.size() > fast_updates.MAX_ITEM_BYTES:
        raise ItemSizeTooLarge


def _traverse(traverser: Any, node: Any) -> Any:
    kinds = traverser.nodes_to_be_processed()
    has_pre_processing = type(traverser).pre_processing_of_child is not _TRAVERSER.pre_processing_of_child

    def visit(node: Any, position: int = -1) -> Any:
        parent = node.parent
        for i, child in enumerate(node.children or ()):
            if has_pre_processing:
                traverser.pre_processing_of_child(node, i)
            if _is_one_of(child.__class__, _NODES):
                visit(child, i)
        if not _is_one_of(node.__class__, kinds):
            return node
        processed = traverser.process(node)
        processed.parent = parent
        if parent:
            parent.children[position] = processed
        return processed

    return visit(node)


@cache
def _is_one_of(kind: Any, kinds: tuple[Any, ...]) -> bool:
    return issubclass(kind, kinds)


def _write(serializer: Any, serialized: Any, value: Any, shape: StructureShape, key: str) -> None:
    if shape.name == "AttributeValue":
        serialized[serializer.get_serialized_name(shape, key)] = _to_wire(value)
    else:
        _WRITE(serializer, serialized, value, shape, key)


def _to_wire(value: Any) -> Any:
    ((kind, content),) = value.items()
    if kind == "B":
        return {kind: base64.b64encode(content).decode()}
    if kind == "M":
        return {kind: {name: _to_wire(element) for name, element in content.items()}}
    if kind == "L":
        return {kind: [_to_wire(element) for element in content]}
    return value


def _read(parser: Any, shape: StructureShape, value: Any) -> Any:
    return _from_wire(value) if shape.name == "AttributeValue" else _READ(parser, shape, value)


def _from_wire(value: Any) -> Any:
    ((kind, content),) = value.items()
    if kind == "B":
        return {kind: base64.b64decode(content)}
    if kind == "M":
        return {kind: {name: _from_wire(element) for name, element in content.items()}}
    if kind == "L":
        return {kind: [_from_wire(element) for element in content]}
    return value


def _lex(parser: ConditionExpressionParser) -> Any:
    return deque(_cached_nodes(parser.condition_expression))


@cache
def _cached_nodes(expression: str) -> tuple[Any, ...]:
    return tuple(_LEX(ConditionExpressionParser(expression, None, None)))


def _sign(signer: Any, operation_name: str | None = None, request: Any = None, **options: Any) -> Any:
    if signer.signing_name not in _UNSIGNED:
        return _SIGN(signer, operation_name, request, **options)
    return None


def _client_parse(parser: Any, shape: StructureShape, value: Any) -> Any:
    return _from_wire(value) if shape.name == "AttributeValue" else _CLIENT_READ(parser, shape, value)


def _client_serialize(serializer: Any, serialized: Any, value: Any, shape: StructureShape, key: str | None) -> None:
    if shape.name == "AttributeValue":
        serialized[key] = _to_wire(value)
    else:
        _CLIENT_WRITE(serializer, serialized, value, shape, key)


def _client_validate(validator: Any, value: Any, shape: StructureShape, errors: Any, name: str) -> None:
    # A string value needs no further validation.
    if not (shape.name == "AttributeValue" and _is_string(value)):
        _CLIENT_CHECK(validator, value, shape, errors, name)


def _is_string(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"S"} and isinstance(value["S"], str)


def _process_request(stubber: BotocoreStubber, request: AWSPreparedRequest) -> Any:
    """Call the handler of DynamoDB directly. Other calls are handled by moto."""
    endpoint = _DYNAMODB.match(request.url)
    if endpoint is None:
        return _PROCESS(stubber, request)
    target: Any = request.headers["X-Amz-Target"]
    action = (target.decode() if isinstance(target, bytes) else target).partition(".")[2]
    operation = get_service_model("dynamodb").operation_model(action)
    return RequestHandler(action, endpoint[1], _BODY_PARSER(operation).parse({"body": request.body})).call_action()


def _constant_request_id(headers: dict[str, Any] | None = None) -> str:
    """Set a constant request id, because no test uses it."""
    if headers is not None:
        headers["x-amzn-requestid"] = _REQUEST_ID
    return _REQUEST_ID
