"""Makes moto read, compare, copy and write the values of items as fast as those of any other dictionary.

Three fifths of the time that these tests take would be moto's and its client's. moto looks at the kind of each value
under up to six names wherever one is compared, weighs an item whenever it gets an attribute, sorts the whole table for
each query and copies what it finds, parses an expression for each use, and asks of all messages of a queue what time it
is for each setting that it looks up. It makes a request of the web of each call, and looks among all services for who
answers that. Both walk through the model of DynamoDB's ten types for each attribute they read or write. What is
answered stays the same. Calls are not signed where nobody looks, and none of their lines is counted as covered or not:
both take longer than the calls.
"""

import base64
import copy
import re
import sys
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
from botocore.signers import RequestSigner
from moto.core import parse, responses
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.core.parse import BaseJSONParser
from moto.core.serialize import BaseJSONSerializer
from moto.core.utils import get_service_model
from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models import table as tables
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.dynamodb.parsing import ast_nodes, expressions
from moto.dynamodb.responses import DynamoHandler
from moto.sqs import models as queues

_PLAIN: Final = frozenset({"S", "B", "BOOL"})
_UNSIGNED: Final = ("dynamodb", "sqs")
_MOST_BYTES: Final = 405_000  # what moto takes for DynamoDB's limit
_NESTED: Final = frozenset({"L", "M", "SS", "NS", "BS"})

# What moto has not typed or does not export is taken by its name.
_PARSER: Final[Any] = vars(expressions)["UpdateExpressionParser"]
_TRAVERSER: Final[Any] = vars(ast_nodes)["DepthFirstTraverser"]
_NODES: Final[Any] = (vars(ast_nodes)["Node"],)
_BODY_PARSER: Final[Any] = vars(parse)["JSONParser"]
_METHODS: Final = "method_names_from_class"

_CAST: Final[Any] = DynamoType.cast_value
_COPY: Final = DynamoType.__deepcopy__
_SIZE: Final = DynamoType.size
_SIGN: Final[Any] = RequestSigner.handler
_CALL: Final[Any] = BaseClient._make_api_call  # noqa: SLF001
_LEX: Final[Any] = ConditionExpressionParser._lex_condition_expression  # noqa: SLF001
_DYNAMODB: Final = re.compile(r"https://(?:dynamodb|[0-9]+\.ddb)\.([^.]+)\.amazonaws\.com/")
_REQUEST_ID: Final = "A" * 52
_CAMEL: Final = "camelcase_to_underscores"
_READ: Final[Any] = BaseJSONParser._parse_structure  # noqa: SLF001
_WRITE: Final = BaseJSONSerializer._serialize_type_structure  # noqa: SLF001
_QUERY: Final = Table.query
_INDEX: Final = 6  # where its name is among what follows the key
_PROCESS: Final = BotocoreStubber.process_request

_CLIENT_PARSER: Final[Any] = vars(client_parsers)["BaseJSONParser"]
_CLIENT_READ: Final[Any] = vars(_CLIENT_PARSER)["_handle_structure"]
_CLIENT_SERIALIZER: Final[Any] = vars(client_serializers)["JSONSerializer"]
_CLIENT_WRITE: Final[Any] = vars(_CLIENT_SERIALIZER)["_serialize_type_structure"]
_CLIENT_VALIDATOR: Final[Any] = vars(client_validators)["ParamValidator"]
_CLIENT_CHECK: Final[Any] = vars(_CLIENT_VALIDATOR)["_validate_structure"]


@contextmanager
def fast_moto() -> Iterator[None]:
    """Let moto be fast within the block."""
    with ExitStack() as patches:
        for owner, name, fast in (
            (DynamoType, "cast_value", property(_cast)),
            (DynamoType, "__eq__", _equal),
            (DynamoType, "__hash__", _hash),
            (DynamoType, "__deepcopy__", _copied),
            (DynamoType, "size", _size),
            (_TRAVERSER, "traverse", _traverse),
            (_PARSER, "make", staticmethod(cache(_PARSER.make))),
            (responses, _METHODS, cache(vars(responses)[_METHODS])),
            (BaseJSONSerializer, "_serialize_type_structure", _write),
            (BaseJSONParser, "_parse_structure", _read),
            (ConditionExpressionParser, "_lex_condition_expression", _lexed),
            (queues, _CAMEL, cache(vars(queues)[_CAMEL])),
            (queues, "unix_time_millis", lambda: time() * 1000),
            (BaseClient, "_make_api_call", _untraced),
            (RequestSigner, "handler", _signed),
            (Item, "__init__", _made),
            (Table, "query", _query),
            (tables, "copy", _Shared),
            (BotocoreStubber, "process_request", _processed),
            (responses, "gen_amzn_requestid_long", _numbered),
            (_CLIENT_PARSER, "_handle_structure", _client_read),
            (_CLIENT_SERIALIZER, "_serialize_type_structure", _client_written),
            (_CLIENT_VALIDATOR, "_validate_structure", _client_checked),
        ):
            patches.enter_context(patch.object(owner, name, fast))
        yield


def _cast(value: DynamoType) -> Any:
    if value.type in _PLAIN:
        return value.value
    return Decimal(value.value) if value.type == "N" else _CAST.__get__(value)


def _equal(value: DynamoType, other: DynamoType) -> bool:
    if value.type != other.type:
        return False
    return value.value == other.value or (value.type not in _PLAIN and value.cast_value == other.cast_value)


def _hash(value: DynamoType) -> int:
    return hash((value.type, value.cast_value))


def _copied(value: DynamoType, memo: dict[int, Any]) -> DynamoType:
    if value.type in _NESTED:
        return _COPY(value, memo)
    copied = DynamoType.__new__(DynamoType)
    copied.type, copied.value = value.type, value.value
    return copied


def _size(value: DynamoType) -> int:
    return len(value.value.encode()) if value.type == "S" else _SIZE(value)


def _query(table: Table, hash_key: DynamoType | None, *args: Any, **words: Any) -> Any:
    """Query a table that has but the items of the partition that is asked for or, for an index, all; in any order."""
    partitions: Any = table.items.values() if args[_INDEX] else [table.items.get(hash_key, {})]
    items = [item for partition in partitions for item in partition.values()]
    vars(table)["all_items"] = lambda: items  # One call at a time, as `transactions.py` has it.
    try:
        return _QUERY(table, hash_key, *args, **words)
    finally:
        del vars(table)["all_items"]


class _Shared:
    """Stands for the module `copy` where a query copies all it found. `transactions.py` lets no write alter an item."""

    copy = staticmethod(copy.copy)

    @staticmethod
    def deepcopy(value: Any) -> Any:
        return value


def _made(item: Item, hash_key: DynamoType, range_key: DynamoType | None, attrs: dict[str, Any]) -> None:
    item.hash_key, item.range_key, item.attrs = hash_key, range_key, LimitedSizeDict()
    for name, value in attrs.items():
        dict.__setitem__(item.attrs, name, DynamoType(value))
    if item.size() > _MOST_BYTES:
        raise ItemSizeTooLarge


def _traverse(traverser: Any, node: Any) -> Any:
    kinds = traverser.nodes_to_be_processed()
    looks = type(traverser).pre_processing_of_child is not _TRAVERSER.pre_processing_of_child

    def visit(node: Any, place: int = -1) -> Any:
        parent = node.parent
        for i, child in enumerate(node.children or ()):
            if looks:
                traverser.pre_processing_of_child(node, i)
            if _is_one_of(child.__class__, _NODES):
                visit(child, i)
        if not _is_one_of(node.__class__, kinds):
            return node
        processed = traverser.process(node)
        processed.parent = parent
        if parent:
            parent.children[place] = processed
        return processed

    return visit(node)


@cache
def _is_one_of(kind: Any, kinds: tuple[Any, ...]) -> bool:
    return issubclass(kind, kinds)


def _write(serializer: Any, serialized: Any, value: Any, shape: StructureShape, key: str) -> None:
    if shape.name == "AttributeValue":
        serialized[serializer.get_serialized_name(shape, key)] = _on_the_wire(value)
    else:
        _WRITE(serializer, serialized, value, shape, key)


def _on_the_wire(value: Any) -> Any:
    ((kind, content),) = value.items()
    if kind == "B":
        return {kind: base64.b64encode(content).decode()}
    if kind == "M":
        return {kind: {name: _on_the_wire(element) for name, element in content.items()}}
    if kind == "L":
        return {kind: [_on_the_wire(element) for element in content]}
    return value


def _read(parser: Any, shape: StructureShape, value: Any) -> Any:
    return _off_the_wire(value) if shape.name == "AttributeValue" else _READ(parser, shape, value)


def _off_the_wire(value: Any) -> Any:
    ((kind, content),) = value.items()
    if kind == "B":
        return {kind: base64.b64decode(content)}
    if kind == "M":
        return {kind: {name: _off_the_wire(element) for name, element in content.items()}}
    if kind == "L":
        return {kind: [_off_the_wire(element) for element in content]}
    return value


def _lexed(parser: ConditionExpressionParser) -> Any:
    return deque(_nodes(parser.condition_expression))


@cache
def _nodes(expression: str) -> tuple[Any, ...]:
    return tuple(_LEX(ConditionExpressionParser(expression, None, None)))


def _untraced(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        return _CALL(client, operation, parameters)
    finally:
        sys.settrace(trace)


def _signed(signer: Any, operation_name: str | None = None, request: Any = None, **words: Any) -> Any:
    if signer.signing_name not in _UNSIGNED:
        return _SIGN(signer, operation_name, request, **words)
    return None


def _client_read(parser: Any, shape: StructureShape, value: Any) -> Any:
    return _off_the_wire(value) if shape.name == "AttributeValue" else _CLIENT_READ(parser, shape, value)


def _client_written(serializer: Any, serialized: Any, value: Any, shape: StructureShape, key: str | None) -> None:
    if shape.name == "AttributeValue":
        serialized[key] = _on_the_wire(value)
    else:
        _CLIENT_WRITE(serializer, serialized, value, shape, key)


def _client_checked(validator: Any, value: Any, shape: StructureShape, errors: Any, name: str) -> None:
    # What else could be wrong with a value of this kind is that of a string.
    if not (shape.name == "AttributeValue" and _is_string(value)):
        _CLIENT_CHECK(validator, value, shape, errors, name)


def _is_string(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"S"} and isinstance(value["S"], str)


def _processed(stubber: BotocoreStubber, request: AWSPreparedRequest) -> Any:
    """Let DynamoDB answer a call at once; who answers another one is looked for as moto does it."""
    meant = _DYNAMODB.match(request.url)
    if meant is None:
        return _PROCESS(stubber, request)
    target: Any = request.headers["X-Amz-Target"]
    action = (target.decode() if isinstance(target, bytes) else target).partition(".")[2]
    return _Answering(action, meant[1], request.body).call_action()


class _Answering(DynamoHandler):
    """What answers one call of DynamoDB: what moto makes of a request of the web, made of the call itself."""

    def __init__(self, action: str, region: str, body: bytes) -> None:
        super().__init__()
        self.action, self.region, self.current_account = action, region, DEFAULT_ACCOUNT_ID
        self.querystring, self.access_key, self.is_werkzeug_request = {}, "", False
        self.headers, self.response_headers = {"Content-Type": "application/x-amz-json-1.0"}, {"server": "amazon.com"}
        operation = get_service_model(self.boto3_service_name).operation_model(action)
        self.params = _BODY_PARSER(operation).parse({"body": body})

    def _get_action(self) -> str:
        return self.action


def _numbered(headers: dict[str, Any] | None = None) -> str:
    """Give an answer an id, which nobody looks at."""
    if headers is not None:
        headers["x-amzn-requestid"] = _REQUEST_ID
    return _REQUEST_ID
