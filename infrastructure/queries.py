"""Queries of CloudWatch Logs Insights for whoever operates a stage; docs/operations/logs.md describes their fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

LogGroups = Literal["functions", "everything"]
"""The groups of all functions; or also the API's access log."""

REQUEST_ID: Final = "REQUEST-ID"
TENANT: Final = "ORGANIZATION-ID"


@dataclass(frozen=True)
class Query:
    """A query, what it answers, and which log groups it reads. REQUEST_ID and TENANT in it stand for one's own."""

    answers: str
    text: str
    log_groups: LogGroups = "functions"


QUERIES: Final[Mapping[str, Query]] = {
    "one-request": Query(
        "What one request led to, from the gateway to the webhook",
        f"""fields @timestamp, @log, message, operation, path, status, problem, error, eventId, subscriberId, outcome
| filter @message like "{REQUEST_ID}"
| sort @timestamp asc
| limit 1000""",
        "everything",
    ),
    "slowest-operations": Query(
        "How long each operation takes, the slowest first, in milliseconds",
        """filter kind = "request"
| stats count(*) as requests, pct(Latency, 50) as p50, pct(Latency, 99) as p99, max(Latency) as longest by operation
| sort p99 desc
| limit 50""",
    ),
    "errors-by-problem": Query(
        "What callers were refused or could not be given, by the code of the problem",
        """filter kind = "request" and status >= 400
| stats count(*) as requests by status, problem, operation
| sort requests desc
| limit 100""",
    ),
    "refused-callers": Query(
        "Who made more requests than a minute allows: users and API keys by their ids",
        """filter kind = "request" and ispresent(limited)
| stats count(*) as requests, latest(requestId) as lastRequest by limited, principal, operation
| sort requests desc
| limit 50""",
    ),
    "faults": Query(
        "The latest errors of the service's own, with their traces",
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
        "What AWS refused for being too much at once, by what asked for it",
        """filter Throttles > 0
| stats sum(Throttles) as throttled, count(*) as lines by bin(5m), kind, operation
| sort throttled desc
| limit 100""",
    ),
    "aws-calls": Query(
        "How many calls of AWS each operation and task makes",
        """filter ispresent(awsCalls)
| stats avg(awsCalls) as calls, max(awsCalls) as most, count(*) as lines by kind, operation
| sort calls desc
| limit 200""",
    ),
    "ledger-lag": Query(
        "How long committed entries waited for their place in their log, and in which logs, in milliseconds",
        """filter ispresent(LedgerLag)
| stats max(LedgerLag) as longest, pct(LedgerLag, 50) as p50, count(*) as lines by tenant
| sort longest desc
| limit 50""",
    ),
    "due-lag": Query(
        "How late the sweep found what was due, in milliseconds, and how much it queued",
        """filter operation = "sweep"
| stats max(DueLag) as longest, sum(queued) as queued, count(*) as sweeps by bin(5m)""",
    ),
    "failed-deliveries": Query(
        "Which webhooks and channels did not take what they were sent",
        """filter message = "attempt" and outcome != "succeeded"
| stats count(*) as attempts, latest(status) as lastStatus, latest(failure) as lastFailure, max(ageMs) as oldest
    by tenant, subscriberId, outcome
| sort attempts desc
| limit 100""",
    ),
    "delivery-lag": Query(
        "How long after the commit events arrive, at the first attempt, in milliseconds",
        """filter message = "attempt" and attempt = 1
| stats pct(ageMs, 50) as p50, pct(ageMs, 99) as p99, max(ageMs) as longest, count(*) as attempts by bin(5m)""",
    ),
    "cold-starts": Query(
        "How often new processes start, how long that takes, and how much memory is used, by function",
        """filter @type = "REPORT"
| stats count(*) as invocations, count(@initDuration) as coldStarts, pct(@initDuration, 50) as startMs,
    max(@initDuration) as longestStartMs, max(@maxMemoryUsed / 1000 / 1000) as usedMb by @log""",
    ),
    "one-organization": Query(
        "What an organization's traffic is",
        f"""filter tenant = "{TENANT}"
| stats count(*) as lines, pct(Latency, 50) as p50, pct(Latency, 99) as p99, sum(awsCalls) as calls,
    sum(Errors) as errors by kind, operation
| sort lines desc""",
    ),
    "busiest-organizations": Query(
        "Which organizations ask most",
        """filter kind = "request" and ispresent(tenant)
| stats count(*) as requests, sum(Latency) as workMs, sum(awsCalls) as calls by tenant
| sort requests desc
| limit 50""",
    ),
}
"""Each query by its name."""
