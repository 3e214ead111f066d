"""The quotas of an account: the throttle of API Gateway, and concurrent executions."""

from unittest.mock import Mock

import pytest

from infrastructure import chalice_deployment, configuration, deploy, quotas
from infrastructure.account import CommandError
from infrastructure.gateway import SMALLEST_THROTTLE, Throttle
from infrastructure.names import Stage
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


@pytest.mark.parametrize("concurrency", [10, 1_000])
def test_a_template_is_written_only_if_the_account_has_the_concurrency(concurrency, monkeypatch):
    stage, write = Stage("prod", "123456789012", "eu-central-1"), Mock(return_value=configuration.PROJECT / "build")
    functions, stubber = stubbed_client("lambda")
    missing = {"service_error_code": "ResourceNotFoundException"}
    limit = {"ConcurrentExecutions": concurrency, "UnreservedConcurrentExecutions": concurrency}
    stubber.add_response("get_account_settings", {"AccountLimit": limit})
    reserved = configuration.reserved_concurrency(stage.name)
    for _ in reserved:
        stubber.add_client_error("get_function_concurrency", **missing)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")  # The command sets it; afterwards it is restored.
    for name in ("load_stage", "load_stage_in_current_account"):
        monkeypatch.setattr(configuration, name, lambda _: stage)
    monkeypatch.setattr(deploy, "create_project", lambda _: None)
    monkeypatch.setattr(chalice_deployment, "package", write)
    monkeypatch.setattr(quotas, "client", lambda _: functions)
    monkeypatch.setattr(quotas, "read_throttle", lambda: Throttle(2_500, 1_250))
    with stubber:
        if concurrency < sum(reserved.values()) + quotas.MIN_UNRESERVED_CONCURRENCY:
            with pytest.raises(CommandError, match=r"(?s)needs 975.*CAPACITY=small"):
                deploy.package("prod")
            write.assert_not_called()
        else:
            deploy.package("prod")
            write.assert_called_once()
