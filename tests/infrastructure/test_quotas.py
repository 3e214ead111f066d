"""The quotas of an account: the throttle of API Gateway, and concurrent executions."""

from infrastructure import quotas
from infrastructure.gateway import SMALLEST_THROTTLE, Throttle
from tests.infrastructure.test_bootstrap import stubbed_client


def test_the_throttle_is_that_of_the_account_and_the_smallest_one_without_the_permission(monkeypatch, capsys):
    gateway, stubber = stubbed_client("apigateway")
    monkeypatch.setattr(quotas, "client", lambda _: gateway)
    stubber.add_response("get_account", {"throttleSettings": {"rateLimit": 20_000.0, "burstLimit": 10_000}})
    stubber.add_client_error("get_account", "AccessDeniedException")
    with stubber:
        assert quotas.read_throttle() == Throttle(20_000, 10_000)
        assert quotas.read_throttle() == SMALLEST_THROTTLE
    assert "The API admits 2,500 requests per second and 1,250 at once." in capsys.readouterr().out
