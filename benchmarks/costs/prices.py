"""Prices of AWS in dollars: us-east-1, on demand, without free tiers and discounts, as of November 2026.

They were not verified against AWS's pricing pages. Check the listed page before you rely on a price, and for another
region.
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
WAF_ACL_MONTH: Final = 5.0
WAF_RULE_MONTH: Final = 1.0
WAF_REQUEST: Final = 0.60 / 1e6
BACKUP_TABLE_GB_MONTH: Final = 0.10
BACKUP_BUCKET_GB_MONTH: Final = 0.05
TRANSFER_OUT_GB: Final = 0.09

PRICE_ROWS: Final = (
    (
        "DynamoDB, on demand (since November 2024)",
        "aws.amazon.com/dynamodb/pricing/on-demand",
        (
            f"read unit {1e6 * DYNAMODB_READ_UNIT:g}, write unit {1e6 * DYNAMODB_WRITE_UNIT:g} per million;"
            f" {DYNAMODB_GB_MONTH:.2f} per GB and month, recovery {DYNAMODB_RECOVERY_GB_MONTH:.2f};"
            f" restore {DYNAMODB_RESTORE_GB:.2f} per GB"
        ),
    ),
    (
        "DynamoDB, provisioned",
        "aws.amazon.com/dynamodb/pricing/provisioned",
        f"read unit {DYNAMODB_PROVISIONED_READ_HOUR:g}, write unit {DYNAMODB_PROVISIONED_WRITE_HOUR:g} per hour",
    ),
    (
        "Lambda, x86",
        "aws.amazon.com/lambda/pricing",
        f"{1e6 * LAMBDA_REQUEST:.2f} per million requests; {LAMBDA_GB_SECOND:.10f} per GB-second",
    ),
    (
        "API Gateway, REST",
        "aws.amazon.com/api-gateway/pricing",
        f"{1e6 * API_REQUEST:.2f} per million requests (the first 333 million)",
    ),
    (
        "SQS",
        "aws.amazon.com/sqs/pricing",
        f"{1e6 * SQS_STANDARD:.2f} per million requests, FIFO {1e6 * SQS_FIFO:.2f}; a request has up to 64 KB",
    ),
    (
        "S3, standard",
        "aws.amazon.com/s3/pricing",
        f"writes and lists {1e3 * S3_PUT:g}, reads {1e3 * S3_GET:g} per thousand; storage 0.023 per GB and month",
    ),
    ("SES", "aws.amazon.com/ses/pricing", f"{1e3 * SES_MAIL:.2f} per thousand emails"),
    (
        "KMS",
        "aws.amazon.com/kms/pricing",
        f"{KMS_KEY_MONTH:.2f} per key and month; {1e4 * KMS_REQUEST:.2f} for 10,000 requests",
    ),
    (
        "CloudWatch",
        "aws.amazon.com/cloudwatch/pricing",
        (
            f"logs {LOGS_GB:.2f} per GB ingested, 0.03 per GB and month stored; per month {METRIC_MONTH:.2f} for"
            f" a metric, {ALARM_METRIC_MONTH:.2f} for a metric of an alarm, {DASHBOARD_MONTH:g} for a dashboard"
        ),
    ),
    (
        "WAF",
        "aws.amazon.com/waf/pricing",
        (
            f"per month {WAF_ACL_MONTH:.2f} for a web ACL, {WAF_RULE_MONTH:.2f} for a rule;"
            f" {1e6 * WAF_REQUEST:.2f} per million requests"
        ),
    ),
    (
        "AWS Backup",
        "aws.amazon.com/backup/pricing",
        (
            f"per GB and month {BACKUP_TABLE_GB_MONTH:.2f} of a table, {BACKUP_BUCKET_GB_MONTH:.2f} of a bucket;"
            " copies to another region also cost data transfer"
        ),
    ),
)
"""The prices as rows of the page: the service, its pricing page, and the prices."""
