"""Generates `docs/reference/access-patterns.md` from the AWS calls of each operation's example, on AWS in memory.

`python -m tests.docs.access_patterns` writes the page, as does `make generate`.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final
from uuid import uuid4

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.operations.operation import Operation
from local.generators.markdown import code, table
from local.paths import ROOT
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.standalone_tenant import standalone_tenant
from tests.catalogue.tenant_fixture import TenantFixture
from tests.docs.keys import fixed_prefix, item_name, partition_template
from tests.harness import snapshots
from tests.harness.aws_calls import Call

FILE: Final = ROOT / "docs" / "reference" / "access-patterns.md"

_HEAD: Final = """\
# AWS calls of each operation

`make generate` calls each operation once as a user and records its AWS calls. A test compares this page. A process that
handles a platform, a space or a record in them for the first time makes one more read, to load its containers.
Items and keys have the names of [table.md](table.md). Calls are made one after the other, except Queries of several
partitions for one list, which are made in parallel.

POST requests have an `Idempotency-Key` here; without one there is no *stored response*. A request with an API
key reads the pointer of the key with one `GetItem`, unless the process has cached it. Its `BatchGetItem` also reads the
record of the key. After the
transaction one message notifies the ledger. It also names the task to run next, if there is one. If the message is
lost, the sweep finds both. The requests here send mail; without `MAIL_FROM` they store none.

With `q` or `sort=name`, the lists of platforms, of sites, of marketing leads, and of the members of an organization
read the partitions of their names instead, with one Query each, and the current records with `BatchGetItem`. The
list of platforms also reads the caller's memberships of platforms, to find those of other organizations.

"""
_READS: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "s3:ListObjectVersions")
_WRITES: Final = ("dynamodb:TransactWriteItems", "dynamodb:UpdateItem")


def access_patterns_page(tenant: TenantFixture) -> str:
    """Return the document. The tenant is restored."""
    snapshot, rows = snapshots.take_snapshot(), []
    for operation in all_operations():
        snapshots.restore_snapshot(snapshot)
        rows.append(_row(operation, tenant))
    snapshots.restore_snapshot(snapshot)
    return _HEAD + table(("operation", "reads", "transaction", "messages"), rows) + "\n"


def _row(operation: Operation, tenant: TenantFixture) -> tuple[str, str, str, str]:
    headers = {"Idempotency-Key": str(uuid4())} if operation.method == "POST" else {}
    tenant.warm_caches()
    answer = call_operation(operation, tenant, headers=headers).expect(operation.success)
    calls = answer.calls.call_list
    reads = [_describe_read(call) for call in calls if call.name in _READS]
    writes = [_describe_write(call) for call in calls if call.name in _WRITES]
    messages = [_describe_message(call) for call in calls if call.name.startswith("sqs:")]
    assert len(reads) + len(writes) + len(messages) == len(calls), answer.calls.call_names
    return code(operation.id), _join_counted(reads, "; "), "; ".join(writes), "; ".join(messages)


def _describe_read(call: Call) -> str:
    parameters = call.parameters
    match call.name:
        case "dynamodb:GetItem":
            return f"`GetItem` {_item_name(parameters['Key'])}"
        case "dynamodb:BatchGetItem":
            (request,) = parameters["RequestItems"].values()
            return f"`BatchGetItem` {_join_counted(_item_name(key) for key in request['Keys'])}"
        case "s3:ListObjectVersions":
            return "`ListObjectVersions` of files"
    values, index = parameters["ExpressionAttributeValues"], parameters.get("IndexName")
    prefix = values[":sk"]["S"] if "begins_with" in parameters["KeyConditionExpression"] else ""
    shown_prefix = prefix if index else fixed_prefix(values[":pk"]["S"], prefix)
    words = [
        "`Query`",
        f"of `{index}`" if index else "",
        "count" if parameters.get("Select") == "COUNT" else "",
        code(partition_template(index, values[":pk"]["S"], prefix)),
        f"from {code(shown_prefix)}" if shown_prefix else "",
    ]
    return " ".join(filter(None, words))


def _describe_write(call: Call) -> str:
    if call.name == "dynamodb:UpdateItem":
        return f"outside the transaction: update {_item_name(call.parameters['Key'])}"
    words = {"ConditionCheck": "check", "Put": "put", "Update": "update", "Delete": "delete"}
    actions = [(kind, write) for action in call.parameters["TransactItems"] for kind, write in action.items()]
    return _join_counted(f"{words[kind]} {_item_name(write.get('Key') or write['Item'])}" for kind, write in actions)


def _describe_message(call: Call) -> str:
    name = call.name.partition(":")[2]
    if name != "SendMessage":
        return code(name)
    task_names = [code(task["task"]) for task in json.loads(call.parameters["MessageBody"]).get("then", [])]
    return ", then ".join(["notify the ledger", *task_names])


def _item_name(key: Any) -> str:
    if key["pk"]["S"] == "STATUS":
        return "a missing item"
    return item_name(key["pk"]["S"], key["sk"]["S"])


def _join_counted(names: Iterable[str], separator: str = ", ") -> str:
    return separator.join(f"{name} ({times})" if times > 1 else name for name, times in Counter(names).items())


if __name__ == "__main__":
    with standalone_tenant() as tenant:
        FILE.write_text(access_patterns_page(tenant))
