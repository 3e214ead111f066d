"""Upload templates to S3, because CloudFormation accepts at most 51,200 bytes in a request, and 1 MB from a bucket."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from botocore.exceptions import ClientError

from infrastructure.account import CommandError, client
from infrastructure.names import Stage

MAX_TEMPLATE_BYTES: Final = 51_200
"""Maximum size of a template that is sent in the request."""

MAX_UPLOADED_TEMPLATE_BYTES: Final = 1_000_000
"""Maximum size of a template that CloudFormation reads from a bucket."""

TEMPLATES: Final = "templates"
"""Purpose of the bucket, as `Stage.bucket_name` takes it."""

_KEY: Final = "template.json"
_US_EAST_1: Final = "us-east-1"  # S3 rejects this region as a LocationConstraint: it is the default.


@contextmanager
def uploaded_template(stage: Stage, template: str) -> Iterator[str]:
    """Upload a template to the stage's bucket for templates, and yield its URL. The file is deleted afterwards.

    The bucket is created if it is missing. It belongs to no stack, because the first stack is created from it.
    CloudFormation reads the template when it accepts the request, and keeps a copy.
    """
    s3, bucket = client("s3"), stage.bucket_name(TEMPLATES)
    _create_missing_bucket(s3, bucket, stage)
    s3.put_object(Bucket=bucket, Key=_KEY, Body=template.encode(), ExpectedBucketOwner=stage.account)
    try:
        yield f"https://{bucket}.s3.{stage.region}.{stage.dns_suffix}/{_KEY}"
    finally:
        s3.delete_object(Bucket=bucket, Key=_KEY, ExpectedBucketOwner=stage.account)


def _create_missing_bucket(s3: Any, bucket: str, stage: Stage) -> None:
    """Create the bucket, which S3 makes private and encrypted by default. Raises CommandError if it is a stranger's."""
    try:
        s3.head_bucket(Bucket=bucket, ExpectedBucketOwner=stage.account)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == "403":
            raise CommandError(
                f"The bucket {bucket} cannot be used: it belongs to another account, or these credentials may not use"
                " it. It is for the template of the stack."
            ) from error
        if code != "404":
            raise
        place = {} if stage.region == _US_EAST_1 else {"LocationConstraint": stage.region}
        s3.create_bucket(Bucket=bucket, **({"CreateBucketConfiguration": place} if place else {}))
