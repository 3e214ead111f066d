"""What AWS charges, in dollars: us-east-1, on demand, without free tiers and discounts, as of November 2026.

Each was taken from the service's own page of prices, which is named; look there for another region.
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

LISTED: Final = (
    ("DynamoDB, on demand (since November 2024)", "aws.amazon.com/dynamodb/pricing/on-demand",
     "read unit 0.125, write unit 0.625 a million; 0.25 a GB and month, recovery 0.20; restore 0.15 a GB"),
    ("DynamoDB, provisioned", "aws.amazon.com/dynamodb/pricing/provisioned",
     "read unit 0.00013, write unit 0.00065 an hour"),
    ("Lambda, x86", "aws.amazon.com/lambda/pricing", "0.20 a million requests; 0.0000166667 a GB-second"),
    ("API Gateway, REST", "aws.amazon.com/api-gateway/pricing", "3.50 a million requests (the first 333 million)"),
    ("SQS", "aws.amazon.com/sqs/pricing", "0.40 a million requests, FIFO 0.50; a request is 64 KB"),
    ("S3, standard", "aws.amazon.com/s3/pricing",
     "writes and lists 0.005, reads 0.0004 a thousand; storage 0.023 a GB and month"),
    ("SES", "aws.amazon.com/ses/pricing", "0.10 a thousand mails"),
    ("KMS", "aws.amazon.com/kms/pricing", "1.00 a key and month; 0.03 for 10,000 requests"),
    ("CloudWatch", "aws.amazon.com/cloudwatch/pricing",
     "logs 0.50 a GB taken in, 0.03 a GB and month kept; a month 0.30 a metric, 0.10 one of an alarm, 3 a dashboard"),
)  # fmt: skip
"""The prices as the document lists them: of what, on which page, and how much."""
