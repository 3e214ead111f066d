"""A deployed stage, and the names of its AWS resources."""

import re
from argparse import ArgumentTypeError
from dataclasses import dataclass
from typing import Final

from infrastructure.resources import queue_name

STAGE_NAME_PATTERN: Final = "(dev|prod)(-[a-z0-9]{1,10})?"
"""Pattern of stage names: `prod`, or `prod-green` for a secondary stage that uses the data of `prod`."""


def parse_stage_name(text: str) -> str:
    """Return a stage name from the command line. Raises ArgumentTypeError if it is invalid."""
    if not re.fullmatch(STAGE_NAME_PATTERN, text):
        raise ArgumentTypeError("must be dev, prod, or a secondary stage such as prod-green")
    return text


def primary_stage_name(name: str) -> str:
    """Return the name of the primary stage, whose data a stage uses: `prod` for `prod-green` and for `prod`."""
    return name.partition("-")[0]


@dataclass(frozen=True)
class Stage:
    """A deployed stage in an AWS account (12 digits) and region. An account can contain several stages.

    `data_of`: the primary stage, if this is a secondary one; it owns the table, queues, buckets and keys. `restored`
    and `anchors`: the table and the anchors bucket that replace those of the stack.
    """

    name: str
    account: str
    region: str
    partition: str = "aws"
    primary_stage: str = ""
    restored_table: str = ""
    restored_anchors_bucket: str = ""

    @property
    def data_stage(self) -> str:
        """The name of the stage that owns the data."""
        return self.primary_stage or self.name

    @property
    def prefix(self) -> str:
        """The prefix of the names of data resources: `atrium-prod`."""
        return f"atrium-{self.data_stage}"

    @property
    def table_name(self) -> str:
        """The name of the table."""
        return self.restored_table or self.prefix

    @property
    def table_arn(self) -> str:
        """The ARN of the table."""
        return self.arn("dynamodb", f"table/{self.table_name}")

    @property
    def dns_suffix(self) -> str:
        """The domain suffix of AWS services."""
        return "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a regional resource of this account."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def queue_arn(self, queue: str) -> str:
        """Return the ARN of one of QUEUES."""
        return self.arn("sqs", queue_name(self.prefix, queue))

    def queue_url(self, queue: str) -> str:
        """Return the URL of one of QUEUES."""
        return f"https://sqs.{self.region}.{self.dns_suffix}/{self.account}/{queue_name(self.prefix, queue)}"

    def bucket_name(self, purpose: str) -> str:
        """Return the globally unique name of the bucket for `exports` or `anchors`."""
        own = f"{self.prefix}-{purpose}-{self.account}-{self.region}"
        return self.restored_anchors_bucket or own if purpose == "anchors" else own

    def function_name(self, name: str) -> str:
        """Return the name of a function, as Chalice names it: `atrium-prod` for `api_handler`."""
        return f"atrium-{self.name}" if name == "api_handler" else f"atrium-{self.name}-{name}"

    def log_group_name(self, function: str) -> str:
        """Return the name of a function's log group, as Lambda requires it."""
        return f"/aws/lambda/{self.function_name(function)}"

    @property
    def access_log_group(self) -> str:
        """The name of the log group of the API's access log: `/atrium/prod/access`."""
        return f"/atrium/{self.name}/access"

    def parameter_name(self, secret: str) -> str:
        """Return the name of the parameter with an encrypted secret: `/atrium/prod/data-key`."""
        return f"/atrium/{self.data_stage}/{secret}"

    @property
    def key_alias(self) -> str:
        """The alias of the KMS key that encrypts the stage's secrets."""
        return f"alias/{self.prefix}"
