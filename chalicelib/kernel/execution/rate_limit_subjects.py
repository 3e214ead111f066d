"""The subject against whose quota a request counts, one for each request.

It is the authenticated principal, such as a user, a key or a signed link, or, without one, the client network. An
unverified request does not count for the principal. A request that is rejected because of an exhausted quota makes no
AWS call.

Requests of operations whose volume is limited count only if they write nothing and the service did not cause that. They
count against a quota of their own: that of the principal or, for a service key, of the key in one organization. So
faults in the events of one organization do not block those of another.
"""

from dataclasses import dataclass

from chalicelib.kernel.core import ip_networks
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.http.request import Request, Response
from chalicelib.kernel.identity.api_key_format import PREFIX
from chalicelib.kernel.identity.auth import Anonymous, UnverifiedCaller, UnverifiedCredential, authenticate
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.identity.signed_links import LinkHolder
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.grants import ServiceCredential
from chalicelib.kernel.rate_limits import request_quota
from chalicelib.kernel.rate_limits.buckets import RateLimitState, with_joined_rate_limit_headers


@dataclass
class RateLimitUsage:
    """The quota against which a request counts.

    `is_admitted`: whether the quota of the principal admitted the request. `principal_state`: the state of the
    principal's bucket, once the request counts against it.
    """

    operation: Operation
    request: Request
    caller: UnverifiedCaller
    network: str
    is_admitted: bool = False
    principal_state: RateLimitState | None = None

    @classmethod
    def authenticate_and_count_request(cls, operation: Operation, request: Request) -> "RateLimitUsage":
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
        usage = cls(operation, request, caller, network)
        if isinstance(caller, Anonymous):
            request_quota.count_and_limit_anonymous_request(network)
        elif isinstance(caller, User | LinkHolder) or caller.was_accepted_before(request.ip):
            usage._count_against_principal()
        return usage

    def _count_against_principal(self) -> None:
        if self.operation.volume_limits:
            request_quota.check_failed_request_rate(self.caller.id, self._organization_of_service_key)
        else:
            self.principal_state = request_quota.count_and_limit_request(self.caller.id)
        self.is_admitted = True

    @property
    def _organization_of_service_key(self) -> str:
        """The organization in the path of a service key's request, or an empty text."""
        caller, rule = self.caller, self.operation.access
        is_service_key = isinstance(caller, UnverifiedCredential) and caller.record_type is ServiceCredential
        if not (is_service_key and isinstance(rule, RequireRole)):
            return ""
        is_valid = self.operation.has_valid_path_parameters(self.request.parameters)
        return self.request.parameters[rule.container_or_record_parameter] if is_valid else ""

    def ensure_counted_against_key(self) -> None:
        """Count the request against the quota of its key, which is verified. Raises Problem `rate_limited`."""
        if not self.is_admitted and isinstance(self.caller, UnverifiedCredential):
            self._count_against_principal()

    def count_or_refund_failure_adding_headers(self, problem: Problem) -> None:
        """Count a failed request against the quota of its key only if the key was valid.

        A key that this process accepted before counts as valid until its record is read.
        """
        if isinstance(self.caller, UnverifiedCredential) and not self._is_key_valid(self.caller):
            if self.principal_state:
                request_quota.refund(self.caller.id, self.principal_state)
            self.principal_state = None
            if self.caller.is_accepted is None and problem.code != "unavailable":
                request_quota.count_rejected_key(self.caller.digest, self.network)
        else:
            if problem.code != "rate_limited":
                self.ensure_counted_against_key()
            if not problem.is_server_error and problem.code != "conflict":
                self._count_request_without_write()
        self.add_rate_limit_headers(problem)

    def _is_key_valid(self, key: UnverifiedCredential) -> bool:
        return self.is_admitted if key.is_accepted is None else key.is_accepted

    def count_replay(self, response: Response) -> None:
        """Count a request that got the stored response to an earlier one, if requests that write do not count."""
        if response.is_replay:
            self._count_request_without_write()

    def _count_request_without_write(self) -> None:
        if self.operation.volume_limits and self.is_admitted:
            request_quota.count_failed_request(self.caller.id, self._organization_of_service_key)

    def add_rate_limit_headers(self, answer: Response | Problem) -> None:
        """Add the principal's remaining quota to a response or problem. Stored responses do not contain it."""
        if self.principal_state:
            answer.headers = with_joined_rate_limit_headers(answer.headers, self.principal_state)


def _has_key(request: Request) -> bool:
    """Return whether a request has a key, even an invalid one. Rejected keys are counted separately."""
    return request.headers.get("authorization", "").partition(" ")[2].strip().startswith(PREFIX)
