"""What AWS charges, in dollars: us-east-1, on demand, without free tiers and discounts, as of November 2026.

They were not held against AWS's own pages of prices, which are named: look there before you rely on one, and for
another region.
"""

from typing import Final

REGION: Final = "us-east-1"
AS_OF: Final = "November 2026"

DYNAMODB_READ_UNIT: Final = 0.125 / 1e6
DYNAMODB_WRITE_UNIT: Final = 0.625 / 1e6
DYNAMODB_GB_MONTH: Final = 0.25
DYNAMODB_RECOVERY_GB_MONTH: Final = 0.20
DYNAMODB_RESTORE_GB: Final = 0.15
DYNAMODB_PROVISIONED_READ_HOUR: Final = 0.00013
DYNAMODB_PROVISIONED_WRITE_HOUR: Final = 0.00065
LAMBDA_REQUEST: Final = 0.20 / 1e6
LAMBDA_GB_SECOND: Final = 0.0000166667
API_REQUEST: Final = 3.50 / 1e6
SQS_STANDARD: Final = 0.40 / 1e6
SQS_FIFO: Final = 0.50 / 1e6
S3_PUT: Final = 0.005 / 1e3
S3_GET: Final = 0.0004 / 1e3
SES_MAIL: Final = 0.10 / 1e3
KMS_KEY_MONTH: Final = 1.0
KMS_REQUEST: Final = 0.03 / 1e4
LOGS_GB: Final = 0.50
METRIC_MONTH: Final = 0.30
ALARM_METRIC_MONTH: Final = 0.10
DASHBOARD_MONTH: Final = 3.0

PRICE_ROWS: Final = (
    (
        "DynamoDB, on demand (since November 2024)",
        "aws.amazon.com/dynamodb/pricing/on-demand",
        (
            f"read unit {1e6 * DYNAMODB_READ_UNIT:g}, write unit {1e6 * DYNAMODB_WRITE_UNIT:g} a million;"
            f" {DYNAMODB_GB_MONTH:.2f} a GB and month, recovery {DYNAMODB_RECOVERY_GB_MONTH:.2f};"
            f" restore {DYNAMODB_RESTORE_GB:.2f} a GB"
        ),
    ),
    (
        "DynamoDB, provisioned",
        "aws.amazon.com/dynamodb/pricing/provisioned",
        f"read unit {DYNAMODB_PROVISIONED_READ_HOUR:g}, write unit {DYNAMODB_PROVISIONED_WRITE_HOUR:g} an hour",
    ),
    (
        "Lambda, x86",
        "aws.amazon.com/lambda/pricing",
        f"{1e6 * LAMBDA_REQUEST:.2f} a million requests; {LAMBDA_GB_SECOND:.10f} a GB-second",
    ),
    (
        "API Gateway, REST",
        "aws.amazon.com/api-gateway/pricing",
        f"{1e6 * API_REQUEST:.2f} a million requests (the first 333 million)",
    ),
    (
        "SQS",
        "aws.amazon.com/sqs/pricing",
        f"{1e6 * SQS_STANDARD:.2f} a million requests, FIFO {1e6 * SQS_FIFO:.2f}; a request is 64 KB",
    ),
    (
        "S3, standard",
        "aws.amazon.com/s3/pricing",
        f"writes and lists {1e3 * S3_PUT:g}, reads {1e3 * S3_GET:g} a thousand; storage 0.023 a GB and month",
    ),
    ("SES", "aws.amazon.com/ses/pricing", f"{1e3 * SES_MAIL:.2f} a thousand mails"),
    (
        "KMS",
        "aws.amazon.com/kms/pricing",
        f"{KMS_KEY_MONTH:.2f} a key and month; {1e4 * KMS_REQUEST:.2f} for 10,000 requests",
    ),
    (
        "CloudWatch",
        "aws.amazon.com/cloudwatch/pricing",
        (
            f"logs {LOGS_GB:.2f} a GB taken in, 0.03 a GB and month kept; a month {METRIC_MONTH:.2f} a metric,"
            f" {ALARM_METRIC_MONTH:.2f} one of an alarm, {DASHBOARD_MONTH:g} a dashboard"
        ),
    ),
)
"""The prices as the document lists them: of what, on which page, and how much."""
