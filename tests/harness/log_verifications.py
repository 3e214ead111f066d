"""Verifications of all logs."""

from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Caller

PATH = "/system/log-verifications"


def post_log_verification(api: ApiClient, operator: Caller) -> ApiResponse:
    return api.post(PATH, caller=operator)


def find_or_start_log_verification(api: ApiClient, operator: Caller) -> str:
    """Return the id of a verification. Only one can run at a time, so it is started by the first call."""
    verifications = api.get_items(PATH, caller=operator)
    return str((verifications or [post_log_verification(api, operator).expect(202).json])[0]["id"])
