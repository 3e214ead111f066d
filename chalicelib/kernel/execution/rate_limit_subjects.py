"""The subject against whose quota a request counts, one for each request.

It is the authenticated principal or, without one, the client network. An unverified request does not count for the
principal. A request that is rejected because of an exhausted quota makes no AWS call. Of operations whose volume is
limited, only failed requests count, against a quota of their own.
"""

from dataclasses import dataclass

from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.http.request import Request, Response
from chalicelib.kernel.identity.api_key_format import PREFIX
from chalicelib.kernel.identity.auth import Anonymous, UnverifiedCaller, UnverifiedCredential, authenticate
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.rate_limits.buckets import RateLimitState, with_joined_rate_limit_headers


@dataclass
class RateLimitUsage:
    """The quota against which a request counts.

    `counts_only_failures`: whether a successful request does not count. `principal_state`: the state of the principal's
    bucket, once the request counts against it.
    """

    caller: UnverifiedCaller
    network: str
    counts_only_failures: bool = False
    principal_state: RateLimitState | None = None

    @classmethod
    def authenticate_and_count_request(
        cls, request: Request, *, counts_only_failures: bool = False
    ) -> "RateLimitUsage":
        """Authenticate a request and, if its subject is known by then, count it before anything else is read.

        Raises Problem as `authenticate` does, and `rate_limited`.
        """
        network = ip_networks.client_network(request.ip)
        try:
            caller = authenticate(request)
        except Problem as problem:
            if problem.code not in ("unavailable", "rate_limited") and not _has_key(request):
                request_quota.count_and_limit_anonymous_request(network)
            raise
        usage = cls(caller, network, counts_only_failures)
        if isinstance(caller, Anonymous):
            request_quota.count_and_limit_anonymous_request(network)
        elif isinstance(caller, User) or caller.was_accepted_before(request.ip):
            usage._count_against_principal()
        return usage

    def _count_against_principal(self) -> None:
        if self.counts_only_failures:
            request_quota.check_failed_request_rate(self.caller.id)
        else:
            self.principal_state = request_quota.count_and_limit_request(self.caller.id)

    def ensure_counted_against_key(self) -> None:
        """Count the request against the quota of its key, which is verified. Raises Problem `rate_limited`."""
        if self.principal_state is None and isinstance(self.caller, UnverifiedCredential):
            self._count_against_principal()

    def count_or_refund_failure_adding_headers(self, problem: Problem) -> None:
        """Count a failed request against the quota of its key only if the key was valid."""
        if isinstance(self.caller, UnverifiedCredential) and not self.caller.is_accepted:
            if self.principal_state:
                request_quota.refund(self.caller.id)
            self.principal_state = None
            if self.caller.is_accepted is None and problem.code != "unavailable":
                request_quota.count_rejected_key(self.caller.digest, self.network)
        elif problem.code != "rate_limited":
            self.ensure_counted_against_key()
            if self.counts_only_failures and problem.code != "unavailable" and not isinstance(self.caller, Anonymous):
                request_quota.count_failed_request(self.caller.id)
        self.add_rate_limit_headers(problem)

    def add_rate_limit_headers(self, answer: Response | Problem) -> None:
        """Add the principal's remaining quota to a response or problem. Stored responses do not contain it."""
        if self.principal_state:
            answer.headers = with_joined_rate_limit_headers(answer.headers, self.principal_state)


def _has_key(request: Request) -> bool:
    """Return whether a request has a key, even an invalid one. Rejected keys are counted separately."""
    return request.headers.get("authorization", "").partition(" ")[2].strip().startswith(PREFIX)
