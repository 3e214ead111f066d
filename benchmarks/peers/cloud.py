"""The AWS of the stacks: tables, queues, wrapped keys, and an organization with a platform of fifty spaces."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import boto3
import certifi

from benchmarks.peers.fake_aws import FakeAws
from benchmarks.peers.stacks import Stack
from chalicelib.kernel.core import aws
from chalicelib.kernel.core.settings import settings
from local.server.provisioning import provision
from tests.harness import data_keys, moto_server
from tests.harness.callers import AUDIENCE, Issuer, Person
from tests.harness.callers import ISSUER as OF_TOKENS
from tests.harness.certificates import CertificateAuthority
from tests.harness.threaded_servers import serve_in_thread

REGION: Final = "us-east-1"
EVENTS_QUEUE: Final = "peers-events"
PEERS: Final = ("usual", "popular")
ORGANIZATION_ID: Final = "0193a5e0-0000-7000-8000-000000000001"
PLATFORM_ID: Final = "0193a5e0-0000-7000-8000-000000000002"


@dataclass(frozen=True)
class PreparedAws:
    """The fake AWS, and the stacks' environment variables for it. `ada` owns the organization."""

    fake_aws: FakeAws
    settings: Mapping[str, str]
    ada: Person

    def environment(self, stack: Stack) -> Mapping[str, str]:
        """Return the environment variables of a stack's function."""
        return {**self.settings, "AWS_LAMBDA_FUNCTION_NAME": stack.table_name}


@contextmanager
def prepare_aws(folder: Path) -> Iterator[PreparedAws]:
    """Provide an AWS within the block. It contains only the organization and the platform of the peers."""
    issuer, authority = Issuer(folder), CertificateAuthority()
    ada = issuer.create_person("ada", "Ada Lovelace")
    with moto_server.run_moto_server() as origin:
        resource_settings = _provision_atrium(origin)
        queue_url = _provision_peers(origin, ada)
        fake_aws = FakeAws(origin, issuer.jwks.read_bytes(), authority.create_server_context("127.0.0.1"))
        with serve_in_thread(fake_aws):
            yield PreparedAws(
                fake_aws,
                {**resource_settings, **_client_settings(fake_aws, authority, folder), "QUEUE_URL": queue_url},
                ada,
            )


def _client_settings(fake_aws: FakeAws, authority: CertificateAuthority, folder: Path) -> dict[str, str]:
    # Use as many authorities as Lambda has, because reading them is a part of a cold start.
    ca_bundle = folder / "trusted.pem"
    ca_bundle.write_text(Path(certifi.where()).read_text() + authority.write_certificate(folder).read_text())
    return {
        "AWS_ENDPOINT_URL": fake_aws.url,
        "AWS_CA_BUNDLE": str(ca_bundle),
        "SSL_CERT_FILE": str(ca_bundle),
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
        "LANG": "en_US.UTF-8",
        "LAMBDA_TASK_ROOT": "/var/task",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AUTH_JWKS": f"{fake_aws.url}/jwks.json",
        "AUTH_ISSUER": OF_TOKENS,
        "AUTH_AUDIENCE": AUDIENCE,
        "STAGE": "prod",
        "PUBLIC_URL": "https://api.atrium.example",
        "PLATFORMS_DOMAIN": "atrium.example",
        "REQUESTS_PER_MINUTE": "1000000",
        "NETWORK_REQUESTS_PER_MINUTE": "1000000",
    }


def _provision_atrium(origin: str) -> dict[str, str]:
    """Create Atrium's resources, and return their settings."""
    connection = {"AWS_ENDPOINT_URL": origin, "STAGE": "local", "SETTINGS_FILE": "", "AWS_REGION": REGION}
    keys = dict.fromkeys(("AUDIT_SIGNING_KEY", "SEAL_KEY", "ENTRY_KEY", "DATA_KEY", "TOKEN_KEY"), "A" * 43 + "=")
    keys["AUDIT_PUBLIC_KEYS"] = data_keys.public_keys_of(keys["AUDIT_SIGNING_KEY"])
    with patch.dict(os.environ, connection | keys):
        _reset_caches()
        resource_settings = {**provision("atrium"), **data_keys.create_wrapped_key_settings()}
    _reset_caches()
    return {name.upper(): value for name, value in resource_settings.items()}


def _reset_caches() -> None:
    settings.cache_clear()
    aws.reset_clients()


def _provision_peers(origin: str, ada: Person) -> str:
    """Create the peers' tables, each with an organization and a platform, and return the URL of their queue."""
    session = boto3.Session("bench", "bench", region_name=REGION)
    dynamodb = session.resource("dynamodb", endpoint_url=origin)
    for name in PEERS:
        table = dynamodb.create_table(TableName=name, **_table_definition())
        member = {"pk": f"ORG#{ORGANIZATION_ID}", "sk": f"MEMBER#{ada.id}", "role": "owner", "userId": ada.id}
        platform = {
            "pk": f"PLATFORM#{PLATFORM_ID}",
            "sk": "META",
            "id": PLATFORM_ID,
            "organizationId": ORGANIZATION_ID,
            "name": "Mill",
        }
        for item in (member, platform):
            table.put_item(Item=item)
    queue_url: str = session.client("sqs", endpoint_url=origin).create_queue(QueueName=EVENTS_QUEUE)["QueueUrl"]
    return queue_url


def _table_definition() -> dict[str, Any]:
    keys = [("pk", "sk"), ("gsi1pk", "gsi1sk")]
    schemas = [[{"AttributeName": p, "KeyType": "HASH"}, {"AttributeName": s, "KeyType": "RANGE"}] for p, s in keys]
    return {
        "KeySchema": schemas[0],
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for pair in keys for name in pair],
        "GlobalSecondaryIndexes": [
            {"IndexName": "gsi1", "KeySchema": schemas[1], "Projection": {"ProjectionType": "ALL"}}
        ],
    }
