"""`pause` stops everything that writes to a stage's data without moving messages, and `resume` starts it again."""

from types import SimpleNamespace
from typing import Any

import pytest

from infrastructure import pausing
from infrastructure.account import CommandError
from infrastructure.policies import GRANTS
from tests.infrastructure.simulated_account import PROD, run_account_with_stage

pytestmark = pytest.mark.xdist_group("deploy")


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    """An account with a deployed stage."""
    with run_account_with_stage(tmp_path_factory.mktemp("project")) as account:
        yield account


def states(account):
    """Return the states of the mappings, those of the rules, and the reserved concurrency of each function."""
    resources, functions = account.deployed_resources(), {}
    for name in GRANTS:
        reserved = account.client("lambda").get_function_concurrency(FunctionName=PROD.function_name(name))
        functions[name] = reserved.get("ReservedConcurrentExecutions")
    mappings = {mapping["State"] for mapping in resources["mappings"].values()}
    return mappings, {rule["State"] for rule in resources["rules"].values()}, functions


def test_a_paused_stage_has_neither_queues_nor_schedules_nor_an_api_until_it_resumes(account):
    running = states(account)
    assert running[:2] == ({"Enabled"}, {"ENABLED"})
    for _ in range(2):
        assert "make resume STAGE=prod" in account.run_checked("pause", "--stage", "prod")
        # No function of a queue is throttled: Lambda would receive its messages without processing them.
        assert states(account) == ({"Disabled"}, {"DISABLED"}, running[2] | {"api_handler": 0})
    account.run_checked("resume", "--stage", "prod")
    assert states(account) == running
    account.run_checked("pause", "--stage", "prod")
    account.deploy()
    assert states(account) == ({"Disabled"}, *running[1:]), "a deployment leaves the queues to `resume`"
    account.run_checked("resume", "--stage", "prod")
    assert states(account) == running


class FakeLambda:
    """A client for which a change of a mapping takes some calls."""

    def __init__(self, calls_per_change: int) -> None:
        self.calls_per_change, self.remaining = calls_per_change, 0
        self.state, self.target, self.updates_count = "Updating", "Enabled", 0
        self.exceptions = SimpleNamespace()

    def get_paginator(self, name):
        return {"list_event_source_mappings": self}.get(name, SimpleNamespace(paginate=lambda **_: []))

    def paginate(self, **_: object) -> list[dict[str, Any]]:
        self.remaining -= 1
        if self.remaining < 0:
            self.state = self.target
        mapping = {"UUID": "1", "State": self.state, "EventSourceArn": "arn:aws:sqs:eu-central-1:1:atrium-prod-jobs"}
        return [{"EventSourceMappings": [mapping] if self.calls_per_change else []}]

    def update_event_source_mapping(self, *, UUID, Enabled):  # noqa: N803 - the names of the API
        assert (UUID, self.state in ("Enabled", "Disabled")) == ("1", True)
        self.updates_count += 1
        self.state, self.target = "Disabling", "Enabled" if Enabled else "Disabled"
        self.remaining = self.calls_per_change


@pytest.fixture
def fake_lambda(monkeypatch):
    def use(calls_per_change: int) -> FakeLambda:
        fake = FakeLambda(calls_per_change)
        monkeypatch.setattr(pausing, "client", lambda _: fake)
        monkeypatch.setattr(pausing, "GRANTS", ["jobs"])
        monkeypatch.setattr(pausing, "_POLL_SECONDS", 0)
        return fake

    return use


def test_changes_of_a_mapping_are_waited_for_and_requested_once(fake_lambda):
    fake = fake_lambda(3)
    pausing._set_mappings_and_wait(PROD, enabled=False)  # noqa: SLF001 - moto changes mappings at once
    assert (fake.state, fake.updates_count) == ("Disabled", 1)


def test_a_mapping_that_does_not_change_in_time_is_named(fake_lambda, monkeypatch):
    fake_lambda(10**6)
    monkeypatch.setattr(pausing, "_WAIT_SECONDS", 0.01)
    with pytest.raises(CommandError, match="Not every queue is disabled: atrium-prod-jobs is Disabling"):
        pausing._set_mappings_and_wait(PROD, enabled=False)  # noqa: SLF001 - moto changes mappings at once


def test_a_stage_without_functions_is_reported(fake_lambda):
    fake_lambda(0)
    with pytest.raises(CommandError, match="make deploy STAGE=prod"):
        pausing._set_mappings_and_wait(PROD, enabled=True)  # noqa: SLF001 - moto changes mappings at once
