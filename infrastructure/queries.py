"""CloudWatch Logs Insights queries for operators. docs/operations/logs.md describes the fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

LogGroups = Literal["functions", "everything"]
"""Log groups of a query: those of all functions, or also the API's access log."""

REQUEST_ID: Final = "REQUEST-ID"
TENANT: Final = "ORGANIZATION-ID"


@dataclass(frozen=True)
class Query:
    """A query, its description and its log groups. REQUEST_ID and TENANT in it are placeholders."""

    description: str
    text: str
    log_groups: LogGroups = "functions"


QUERIES: Final[Mapping[str, Query]] = {
    "one-request": Query(
        "All log records of one request, from the gateway to the webhook",
        f"""fields @timestamp, @log, message, operation, path, status, problem, error, eventId, subscriberId, outcome
| filter @message like "{REQUEST_ID}"
| sort @timestamp asc
| limit 1000""",
        "everything",
    ),
    "slowest-operations": Query(
        "Latency of each operation in milliseconds, slowest first",
        """filter kind = "request"
| stats count(*) as requests, pct(Latency, 50) as p50, pct(Latency, 99) as p99, max(Latency) as longest by operation
| sort p99 desc
| limit 50""",
    ),
    "errors-by-problem": Query(
        "Failed requests by problem code",
        """filter kind = "request" and status >= 400
| stats count(*) as requests by status, problem, operation
| sort requests desc
| limit 100""",
    ),
    "refused-callers": Query(
        "Users and API keys that exceeded their requests per minute, by id",
        """filter kind = "request" and ispresent(limited)
| stats count(*) as requests, latest(requestId) as lastRequest by limited, principal, operation
| sort requests desc
| limit 50""",
    ),
    "faults": Query(
        "The latest errors of the service, with stack traces",
        """fields @timestamp, message, kind, operation, tenant, requestId, requestIds.0, exception_name, exception
| filter level = "ERROR"
| sort @timestamp desc
| limit 100""",
    ),
    "failing-messages": Query(
        "Which work fails, and how close it is to the dead-letter queues",
        """filter kind = "message" and Errors = 1
| stats count(*) as failures, max(receives) as receives, latest(error) as lastError by operation
| sort failures desc""",
    ),
    "throttles": Query(
        "Throttled AWS calls, by operation or task",
        """filter Throttles > 0
| stats sum(Throttles) as throttled, count(*) as lines by bin(5m), kind, operation
| sort throttled desc
| limit 100""",
    ),
    "aws-calls": Query(
        "AWS calls of each operation and task",
        """filter ispresent(awsCalls)
| stats avg(awsCalls) as calls, max(awsCalls) as most, count(*) as lines by kind, operation
| sort calls desc
| limit 200""",
    ),
    "ledger-lag": Query(
        "How long committed entries waited to be appended, by log, in milliseconds",
        """filter ispresent(LedgerLag)
| stats max(LedgerLag) as longest, pct(LedgerLag, 50) as p50, count(*) as lines by tenant
| sort longest desc
| limit 50""",
    ),
    "due-lag": Query(
        "Delay of scheduled tasks in milliseconds, and how many the sweep queued",
        """filter operation = "sweep"
| stats max(DueLag) as longest, sum(queued) as queued, count(*) as sweeps by bin(5m)""",
    ),
    "failed-deliveries": Query(
        "Failed deliveries by webhook and channel",
        """filter message = "attempt" and outcome != "succeeded"
| stats count(*) as attempts, latest(status) as lastStatus, latest(failure) as lastFailure, max(ageMs) as oldest
    by tenant, subscriberId, outcome
| sort attempts desc
| limit 100""",
    ),
    "failing-streams": Query(
        "Failed batches by log stream",
        """filter message = "streamBatch" and outcome != "succeeded"
| stats count(*) as attempts, latest(status) as lastStatus, latest(failure) as lastFailure, max(ageMs) as oldest
    by tenant, streamId, destination
| sort attempts desc
| limit 100""",
    ),
    "delivery-lag": Query(
        "Time from the commit to the first delivery attempt, in milliseconds",
        """filter message = "attempt" and attempt = 1
| stats pct(ageMs, 50) as p50, pct(ageMs, 99) as p99, max(ageMs) as longest, count(*) as attempts by bin(5m)""",
    ),
    "cold-starts": Query(
        "Cold starts and memory use by function",
        """filter @type = "REPORT"
| stats count(*) as invocations, count(@initDuration) as coldStarts, pct(@initDuration, 50) as startMs,
    max(@initDuration) as longestStartMs, max(@maxMemoryUsed / 1000 / 1000) as usedMb by @log""",
    ),
    "one-organization": Query(
        "Traffic of one organization",
        f"""filter tenant = "{TENANT}"
| stats count(*) as lines, pct(Latency, 50) as p50, pct(Latency, 99) as p99, sum(awsCalls) as calls,
    sum(Errors) as errors by kind, operation
| sort lines desc""",
    ),
    "busiest-organizations": Query(
        "Organizations with the most requests",
        """filter kind = "request" and ispresent(tenant)
| stats count(*) as requests, sum(Latency) as workMs, sum(awsCalls) as calls by tenant
| sort requests desc
| limit 50""",
    ),
}
"""The queries by name."""
