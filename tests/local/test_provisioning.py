"""The tables, queues and buckets of the local stage in the emulator."""

import json

import pytest

from chalicelib.kernel.core.aws import client
from chalicelib.kernel.core.settings import settings
from infrastructure.resources import MAX_RECEIVES, QUEUES, queue_setting, table_definition
from local.server.provisioning import provision

pytestmark = pytest.mark.usefixtures("aws")


def queue_attributes(url):
    return client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]


def index_projections(table):
    return {index["IndexName"]: index["Projection"]["ProjectionType"] for index in table["GlobalSecondaryIndexes"]}


def has_all_indexes(name):
    table = client("dynamodb").describe_table(TableName=name)["Table"]
    return index_projections(table) == index_projections(table_definition("x"))


def test_the_table_has_its_indexes_and_its_ttl():
    assert provision("atrium")["table_name"] == "atrium"
    assert has_all_indexes("atrium")
    described = client("dynamodb").describe_time_to_live(TableName="atrium")["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ttl"}


@pytest.mark.parametrize("queue", QUEUES)
def test_each_queue_has_its_own_dead_letter_queue(queue):
    attributes = queue_attributes(provision("atrium")[queue_setting(queue)])
    redrive_policy = json.loads(attributes["RedrivePolicy"])
    dead_letter_queue = redrive_policy["deadLetterTargetArn"].rpartition(":")[2]
    name, fifo, _ = queue.partition(".fifo")
    assert dead_letter_queue == f"atrium-{name}-dead{fifo}"
    assert redrive_policy["maxReceiveCount"] == MAX_RECEIVES
    assert attributes["VisibilityTimeout"] == QUEUES[queue]["VisibilityTimeout"]
    assert attributes.get("FifoQueue", "false") == QUEUES[queue].get("FifoQueue", "false")
    dead_letters = queue_attributes(client("sqs").get_queue_url(QueueName=dead_letter_queue)["QueueUrl"])
    assert int(dead_letters["MessageRetentionPeriod"]) == 14 * 24 * 60 * 60


def test_the_buckets_exist_and_that_of_anchors_supports_object_lock():
    provisioned = provision("atrium")
    assert not set(provisioned.values()) & set(provision("another").values())
    assert (provisioned["anchors_bucket"], provisioned["exports_bucket"]) == ("atrium-anchors", "atrium-exports")
    buckets = {bucket["Name"] for bucket in client("s3").list_buckets()["Buckets"]}
    assert buckets == {f"{prefix}-{purpose}" for prefix in ("atrium", "another") for purpose in ("anchors", "exports")}
    lock = client("s3").get_object_lock_configuration(Bucket="atrium-anchors")["ObjectLockConfiguration"]
    assert lock == {"ObjectLockEnabled": "Enabled"}, "anchors of the local stage must stay removable"


def test_a_second_provisioning_changes_nothing():
    first = provision("atrium")
    client("dynamodb").put_item(TableName="atrium", Item={"pk": {"S": "a"}, "sk": {"S": "b"}})
    client("sqs").send_message(QueueUrl=first["jobs_queue_url"], MessageBody="kept")
    client("s3").put_object(Bucket=first["exports_bucket"], Key="kept", Body=b"kept")
    assert provision("atrium") == first
    assert client("dynamodb").describe_table(TableName="atrium")["Table"]["ItemCount"] == 1
    assert queue_attributes(first["jobs_queue_url"])["ApproximateNumberOfMessages"] == "1"
    assert client("s3").list_objects_v2(Bucket=first["exports_bucket"])["KeyCount"] == 1


def test_missing_indexes_and_attributes_are_added():
    older_table = table_definition("atrium")
    older_table["GlobalSecondaryIndexes"] = older_table["GlobalSecondaryIndexes"][:1]
    keys, attributes = {"pk", "sk", "index1pk", "index1sk"}, older_table["AttributeDefinitions"]
    older_table["AttributeDefinitions"] = [a for a in attributes if a["AttributeName"] in keys]
    client("dynamodb").create_table(**older_table)
    client("sqs").create_queue(QueueName="atrium-jobs", Attributes={"VisibilityTimeout": "1"})
    jobs = provision("atrium")["jobs_queue_url"]
    assert has_all_indexes("atrium")
    assert queue_attributes(jobs)["VisibilityTimeout"] == QUEUES["jobs"]["VisibilityTimeout"]
    assert "RedrivePolicy" in queue_attributes(jobs)


def email_identities():
    return [identity["IdentityName"] for identity in client("sesv2").list_email_identities()["EmailIdentities"]]


def test_the_sender_of_mail_is_verified_if_it_is_set(monkeypatch):
    provision("atrium")
    assert email_identities() == []
    monkeypatch.setenv("MAIL_FROM", "Atrium <mail@atrium.example>")
    settings.cache_clear()
    for _ in range(2):
        provision("atrium")
        assert email_identities() == ["mail@atrium.example"]
