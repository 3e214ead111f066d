"""`docs/reference/access-patterns.md`: what each operation asked of AWS when its example was called on AWS in memory.

`python -m tests.docs.access_patterns` writes it; `make generate` does so.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final
from uuid import uuid4

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operations.operation import Operation
from local.generators.markdown import code, table
from local.paths import ROOT
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.standalone_tenant import standalone_tenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.docs.keys import fixed, item_name, partition
from tests.harness import snapshots
from tests.harness.aws_calls import Call

FILE: Final = ROOT / "docs" / "reference" / "access-patterns.md"

_HEAD: Final = """\
# What each operation asks of AWS

Measured by `make generate`, which calls each operation once as a user and writes down what it asked; a test compares.
A process that meets a platform, a space or a record in one for the first time reads once more, to find what is above.
Names of items and keys are those of [table.md](table.md). Each call waits for the one before it; only Queries
of several partitions for one list are made side by side.

A POST is sent with an `Idempotency-Key`; without one there is no *stored answer*. An API key instead of a token
costs one `GetItem` of its pointer until the process knows it, and its record in the `BatchGetItem`. After the
transaction the log is woken by one message, which also names the task to be run then, if there is one; should that fail
the sweep finds both. Here mail is sent; without `MAIL_FROM` no mail is put.

"""


def document(world: TenantFixture) -> str:
    """Return the document; the world is left as it was."""
    snapshot, rows = snapshots.take_snapshot(), []
    for operation in operations():
        snapshots.restore_snapshot(snapshot)
        rows.append(_row(operation, world))
    snapshots.restore_snapshot(snapshot)
    return _HEAD + table(("operation", "reads", "one transaction", "then"), rows) + "\n"


def _row(operation: Operation, world: TenantFixture) -> tuple[str, str, str, str]:
    headers = {"Idempotency-Key": str(uuid4())} if operation.method == "POST" else {}
    world.warm_caches()
    answer = call_operation(operation, world, headers=headers)
    assert answer.status == operation.success, answer.text
    calls = answer.calls.call_list
    reads = [_read(call) for call in calls if call.name in _READS]
    writes = [_WRITES[call.name](call) for call in calls if call.name in _WRITES]
    others = [_other(call) for call in calls if call.name.startswith("sqs:")]
    assert len(reads) + len(writes) + len(others) == len(calls), answer.calls.call_names
    return code(operation.id), _counted(reads, "; "), "; ".join(writes), "; ".join(others)


def _read(call: Call) -> str:
    return _READS[call.name](call.parameters)


def _got(parameters: Any) -> str:
    return f"`GetItem` {_item(parameters['Key'])}"


def _batch_got(parameters: Any) -> str:
    (wanted,) = parameters["RequestItems"].values()
    return f"`BatchGetItem` {_counted(_item(key) for key in wanted['Keys'])}"


def _queried(parameters: Any) -> str:
    values, index = parameters["ExpressionAttributeValues"], parameters.get("IndexName")
    begins = values[":sk"]["S"] if "begins_with" in parameters["KeyConditionExpression"] else ""
    shown = begins if index else fixed(values[":pk"]["S"], begins)
    words = [
        "`Query`",
        f"of `{index}`" if index else "",
        "counting" if parameters.get("Select") == "COUNT" else "",
        code(partition(index, values[":pk"]["S"], begins)),
        f"from {code(shown)}" if shown else "",
    ]
    return " ".join(filter(None, words))


def _listed(_parameters: Any) -> str:
    return "`ListObjectsV2` of files"


_READS: Final = {
    "dynamodb:GetItem": _got,
    "dynamodb:BatchGetItem": _batch_got,
    "dynamodb:Query": _queried,
    "s3:ListObjectsV2": _listed,
}


def _written(call: Call) -> str:
    return _counted(_action(action) for action in call.parameters["TransactItems"])


def _updated(call: Call) -> str:
    return f"by itself: update {_item(call.parameters['Key'])}"


_WRITES: Final = {"dynamodb:TransactWriteItems": _written, "dynamodb:UpdateItem": _updated}


def _action(action: Any) -> str:
    ((kind, write),) = action.items()
    words = {"ConditionCheck": "check", "Put": "put", "Update": "update", "Delete": "delete"}
    return f"{words[kind]} {_item(write.get('Key') or write['Item'])}"


def _other(call: Call) -> str:
    name = call.name.partition(":")[2]
    if name != "SendMessage":
        return code(name)
    started = [code(task["task"]) for task in json.loads(call.parameters["MessageBody"]).get("then", [])]
    return ", then ".join(["wake the log", *started])


def _item(key: Any) -> str:
    if key["pk"]["S"] == "STATUS":
        return "an item that is not there"
    return item_name(key["pk"]["S"], key["sk"]["S"])


def _counted(names: Iterable[str], between: str = ", ") -> str:
    return between.join(f"{name} ({times})" if times > 1 else name for name, times in Counter(names).items())


if __name__ == "__main__":
    with standalone_tenant() as world:
        FILE.write_text(document(world))
