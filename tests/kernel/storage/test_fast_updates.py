"""The harness evaluates simple update expressions as moto does."""

import pytest
from botocore.exceptions import ClientError

from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings
from tests.harness import memory_aws
from tests.harness.fast_updates import Assignments

pytestmark = pytest.mark.usefixtures("aws")

UPDATES = {
    "set": ("SET #a = :x, #b = :y", {"#a": "one", "#b": "new"}, {":x": {"S": "é"}, ":y": {"L": [{"N": "1"}]}}),
    "remove": ("REMOVE #a, #b", {"#a": "one", "#b": "missing"}, {}),
    "set and remove": ("SET #a = :x REMOVE #b", {"#a": "new", "#b": "one"}, {":x": {"BOOL": True}}),
    "increment": ("SET #a = if_not_exists(#a, :x) + :x", {"#a": "one"}, {":x": {"N": "1"}}),
    "undefined name": ("SET #a = :x, #b = :x", {"#a": "one"}, {":x": {"S": "é"}}),
    "undefined value": ("SET #a = :x, #b = :y", {"#a": "one", "#b": "two"}, {":x": {"S": "é"}}),
    "same attribute": ("SET #a = :x REMOVE #b", {"#a": "one", "#b": "one"}, {":x": {"S": "é"}}),
    "key": ("SET #a = :x", {"#a": "sk"}, {":x": {"S": "é"}}),
    "too large": ("SET #a = :x", {"#a": "one"}, {":x": {"S": "é" * 210_000}}),
}


@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES)
def test_an_update_has_the_same_result_as_in_moto(update, monkeypatch):
    result = run_update(*update)
    monkeypatch.setattr(Assignments, "are_valid", lambda *_: False)
    assert result == run_update(*update)


def run_update(expression, names, values):
    """Update an item in a transaction. Returns the stored item or the error."""
    memory_aws.put_item({"pk": "A", "sk": "#", "one": 1})
    update = {"TableName": settings().table_name, "Key": {"pk": {"S": "A"}, "sk": {"S": "#"}}}
    update |= {"UpdateExpression": expression, "ExpressionAttributeNames": names}
    update |= {"ExpressionAttributeValues": values} if values else {}
    try:
        aws.client("dynamodb").transact_write_items(TransactItems=[{"Update": update}])
    except ClientError as error:
        return error.response["Error"], error.response.get("CancellationReasons")
    return memory_aws.all_items()
