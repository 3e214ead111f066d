"""Usage: against whose limit a request counts. Each counts against one only.

That is the principal it authenticated as or, if it did not, the network of its client. Whoever can't prove to be a
principal costs them nothing; and what is refused because nothing is left costs no call of AWS.
"""

from dataclasses import dataclass

from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.http.request import Request, Response
from chalicelib.kernel.identity.api_key_format import PREFIX
from chalicelib.kernel.identity.auth import Anonymous, UnverifiedApiKey, authenticate
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.rate_limits.buckets import RateLimitState, merge_rate_limit_headers


@dataclass
class RateLimitUsage:
    """What one request counts against. `share`: what its principal has left, once it is counted as theirs."""

    caller: User | UnverifiedApiKey | Anonymous
    network: str
    share: RateLimitState | None = None

    @classmethod
    def begin(cls, request: Request) -> "RateLimitUsage":
        """Return the usage of a request, counted before anything else is read, as far as it is known whose it is.

        Raises Problem as `credential` does, and `rate_limited`.
        """
        network = ip_networks.client_network(request.ip)
        try:
            caller = authenticate(request)
        except Problem as problem:
            if problem.code not in ("unavailable", "rate_limited") and not _has_api_key(request):
                request_quota.check_anonymous_rate(network)
            raise
        usage = cls(caller, network)
        if isinstance(caller, Anonymous):
            request_quota.check_anonymous_rate(network)
        elif isinstance(caller, User) or caller.verify(request.ip):
            usage.share = request_quota.check_request_rate(caller.id)
        return usage

    def accept(self) -> None:
        """Count the request as its API key's, now that this holds. Raises Problem `rate_limited`."""
        if self.share is None and isinstance(self.caller, UnverifiedApiKey):
            self.share = request_quota.check_request_rate(self.caller.id)

    def refuse(self, problem: Problem) -> None:
        """Let a request that is answered with a problem count as its API key's only if that was found to hold."""
        if isinstance(self.caller, UnverifiedApiKey) and not self.caller.accepted:
            if self.share:
                request_quota.give_back(self.caller.id)
            self.share = None
            if self.caller.accepted is None and problem.code != "unavailable":
                request_quota.count_refused(self.caller.digest, self.network)
        elif problem.code != "rate_limited":
            self.accept()
        problem.headers = merge_rate_limit_headers(problem.headers, self.share) if self.share else problem.headers

    def add_headers(self, response: Response) -> None:
        """Let an answer say what the principal has left. It is not kept with one that may be asked for again."""
        if self.share:
            response.headers = merge_rate_limit_headers(response.headers, self.share)


def _has_api_key(request: Request) -> bool:
    """Return whether a request came with an API key, be it a wrong one: what is refused of those is counted there."""
    return request.headers.get("authorization", "").partition(" ")[2].strip().startswith(PREFIX)
