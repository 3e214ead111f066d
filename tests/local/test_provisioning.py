import json

import pytest

from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.settings import settings
from infrastructure.resources import MAX_RECEIVES, QUEUES, queue_setting, table
from local.server.provisioning import provision

pytestmark = pytest.mark.usefixtures("aws")


def attributes(url: str) -> dict[str, str]:
    found: dict[str, str] = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return found


def indexes(name: str) -> dict[str, str]:
    found = client("dynamodb").describe_table(TableName=name)["Table"]["GlobalSecondaryIndexes"]
    return {index["IndexName"]: index["Projection"]["ProjectionType"] for index in found}


def wanted_indexes() -> dict[str, str]:
    return {i["IndexName"]: i["Projection"]["ProjectionType"] for i in table("x")["GlobalSecondaryIndexes"]}


def test_the_table_has_its_indexes_and_its_time_to_live() -> None:
    assert provision("atrium")["table_name"] == "atrium"
    assert indexes("atrium") == wanted_indexes()
    described = client("dynamodb").describe_time_to_live(TableName="atrium")["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_gives_up_into_its_own_dead_letter_queue(queue: str) -> None:
    found = attributes(provision("atrium")[queue_setting(queue)])
    redrive = json.loads(found["RedrivePolicy"])
    dead = redrive["deadLetterTargetArn"].rpartition(":")[2]
    name, fifo, _ = queue.partition(".fifo")
    assert dead == f"atrium-{name}-dead{fifo}"
    assert redrive["maxReceiveCount"] == MAX_RECEIVES
    assert found["VisibilityTimeout"] == QUEUES[queue]["VisibilityTimeout"]
    assert found.get("FifoQueue", "false") == QUEUES[queue].get("FifoQueue", "false")
    kept = attributes(client("sqs").get_queue_url(QueueName=dead)["QueueUrl"])["MessageRetentionPeriod"]
    assert int(kept) == 14 * 24 * 60 * 60


def test_the_buckets_are_there_and_anchors_can_be_locked() -> None:
    made = provision("atrium")
    buckets = [made["anchors_bucket"], made["exports_bucket"]]
    assert sorted(b["Name"] for b in client("s3").list_buckets()["Buckets"]) == buckets
    assert buckets == ["atrium-anchors", "atrium-exports"]
    lock = client("s3").get_object_lock_configuration(Bucket="atrium-anchors")["ObjectLockConfiguration"]
    assert lock == {"ObjectLockEnabled": "Enabled"}, "what a developer makes can be removed again"


def test_doing_it_again_changes_nothing_and_loses_nothing() -> None:
    first = provision("atrium")
    client("dynamodb").put_item(TableName="atrium", Item={"pk": {"S": "a"}, "sk": {"S": "b"}})
    client("sqs").send_message(QueueUrl=first["jobs_queue_url"], MessageBody="kept")
    client("s3").put_object(Bucket=first["exports_bucket"], Key="kept", Body=b"kept")
    assert provision("atrium") == first
    assert client("dynamodb").describe_table(TableName="atrium")["Table"]["ItemCount"] == 1
    assert attributes(first["jobs_queue_url"])["ApproximateNumberOfMessages"] == "1"
    assert client("s3").list_objects_v2(Bucket=first["exports_bucket"])["KeyCount"] == 1


def test_what_is_missing_is_added() -> None:
    older = table("atrium")
    older["GlobalSecondaryIndexes"] = older["GlobalSecondaryIndexes"][:1]
    used = {"pk", "sk", "index1pk", "index1sk"}
    older["AttributeDefinitions"] = [a for a in older["AttributeDefinitions"] if a["AttributeName"] in used]
    client("dynamodb").create_table(**older)
    client("sqs").create_queue(QueueName="atrium-jobs", Attributes={"VisibilityTimeout": "1"})
    jobs = provision("atrium")["jobs_queue_url"]
    assert indexes("atrium") == wanted_indexes()
    assert attributes(jobs)["VisibilityTimeout"] == QUEUES["jobs"]["VisibilityTimeout"]
    assert "RedrivePolicy" in attributes(jobs)


def test_stages_of_different_prefixes_share_nothing() -> None:
    assert not set(provision("one").values()) & set(provision("two").values())


def identities() -> list[str]:
    return [found["IdentityName"] for found in client("sesv2").list_email_identities()["EmailIdentities"]]


def test_the_sender_of_mail_is_verified_if_one_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    provision("atrium")
    assert identities() == []
    monkeypatch.setenv("MAIL_FROM", "Atrium <mail@atrium.example>")
    settings.cache_clear()
    for _ in range(2):
        provision("atrium")
        assert identities() == ["mail@atrium.example"]
