"""Where a stage is on AWS, and what each of its resources is called there."""

import re
from argparse import ArgumentTypeError
from dataclasses import dataclass
from typing import Final

from infrastructure.resources import queue_name

NAMES: Final = "(dev|prod)(-[a-z0-9]{1,10})?"
"""What a deployed stage can be called: `prod`, or `prod-green` for a second one on its data."""


def named(text: str) -> str:
    """Return the name of a deployed stage as it was typed. Raises ArgumentTypeError if none is called so."""
    if not re.fullmatch(NAMES, text):
        raise ArgumentTypeError("must be dev or prod, or a second one on its data such as prod-green")
    return text


def first_of(name: str) -> str:
    """Return the stage whose data a stage works on: of `prod-green` it is `prod`, of `prod` itself."""
    return name.partition("-")[0]


@dataclass(frozen=True)
class Stage:
    """A deployed stage's place. `account` has 12 digits; several stages share an account, told apart by their names.

    `data_of` names the stage whose table, queues, buckets and keys it works on, if these are not its own; `restored`
    and `anchors` the table and the bucket of anchors, if others were put in the place of those that the stack made.
    """

    name: str
    account: str
    region: str
    partition: str = "aws"
    data_of: str = ""
    restored: str = ""
    anchors: str = ""

    @property
    def data(self) -> str:
        """The stage that the data belong to: as a rule this one."""
        return self.data_of or self.name

    @property
    def prefix(self) -> str:
        """What the names of the resources begin with that hold data: `atrium-prod`."""
        return f"atrium-{self.data}"

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.restored or self.prefix

    @property
    def table_arn(self) -> str:
        """The ARN of the table."""
        return self.arn("dynamodb", f"table/{self.table}")

    @property
    def dns_suffix(self) -> str:
        """What the addresses of AWS's services end in."""
        return "amazonaws.com.cn" if self.partition == "aws-cn" else "amazonaws.com"

    def arn(self, service: str, resource: str) -> str:
        """Return the ARN of a regional resource of this account."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def queue_arn(self, queue: str) -> str:
        """Return the ARN of one of QUEUES."""
        return self.arn("sqs", queue_name(self.prefix, queue))

    def queue_url(self, queue: str) -> str:
        """Return the address of one of QUEUES."""
        return f"https://sqs.{self.region}.{self.dns_suffix}/{self.account}/{queue_name(self.prefix, queue)}"

    def bucket(self, purpose: str) -> str:
        """Return the name of the bucket of `exports` or `anchors`; names of buckets are unique in the whole world."""
        own = f"{self.prefix}-{purpose}-{self.account}-{self.region}"
        return self.anchors or own if purpose == "anchors" else own

    def function(self, name: str) -> str:
        """Return the name of one of the app's functions, as Chalice names it: of `api_handler` it is `atrium-prod`."""
        return f"atrium-{self.name}" if name == "api_handler" else f"atrium-{self.name}-{name}"

    def log_group(self, function: str) -> str:
        """Return the name of the log group of one of the app's functions, as Lambda demands it."""
        return f"/aws/lambda/{self.function(function)}"

    @property
    def access_log(self) -> str:
        """The name of the log group of what reaches the API: `/atrium/prod/access`."""
        return f"/atrium/{self.name}/access"

    def parameter(self, secret: str) -> str:
        """Return the name of the parameter that holds a secret, wrapped: `/atrium/prod/data-key`."""
        return f"/atrium/{self.data}/{secret}"

    @property
    def key_alias(self) -> str:
        """The alias of the KMS key that wraps the stage's secrets."""
        return f"alias/{self.prefix}"
