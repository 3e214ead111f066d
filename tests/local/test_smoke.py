"""`make smoke` detects a service that behaves in another way, and deletes its organization whatever happens."""

import json
from types import SimpleNamespace

import httpx
import pytest

from infrastructure.names import Stage
from local.smoke import account_checks, organization_checks, runner
from local.smoke import target as targets
from local.smoke.target import CheckFailed, CheckSkipped, Target
from local.tools import mail_checks
from local.tools.findings import Finding, Outcome

ORGANIZATION = {"id": "01a220d1-7fa6-73e4-8c90-e7743d0e949e"}
RESPONSES = (
    httpx.Response(200, json={}),
    httpx.Response(200, text="<html>"),
    httpx.Response(403, json={"message": "Missing Authentication Token"}),
    httpx.Response(500, json={"detail": "It failed."}),
)


@pytest.fixture
def create_target(monkeypatch):
    """A function that returns a service that always responds in the same way."""
    monkeypatch.setattr(targets, "_POLL_SECONDS", 0)
    for name in ("_MAX_WAIT_SECONDS", "_NOTIFICATION_SECONDS"):
        monkeypatch.setattr(organization_checks, name, 0)

    def create(response: httpx.Response | Exception, organization: dict[str, str] = ORGANIZATION) -> Target:
        def respond(request: httpx.Request) -> httpx.Response:
            if isinstance(response, Exception):
                raise response
            return httpx.Response(response.status_code, headers=response.headers, content=response.content)

        transport = httpx.MockTransport(respond)
        http = httpx.Client(base_url="http://smoke.test", transport=transport)
        return Target(http, "token", organization=organization, api_key={"key": "atr_x"})

    return create


@pytest.mark.usefixtures("run_settings")
@pytest.mark.parametrize("response", [*RESPONSES, httpx.ConnectError("refused")])
def test_no_check_of_requests_passes_against_another_service(response, create_target, capsys):
    calls_no_service = {account_checks.check_dead_letters, organization_checks.check_chain}
    for check in (*runner.CHECKS, runner.DELETION):
        if check[1] not in calls_no_service:
            outcome = runner._run(check, create_target(response)).outcome  # noqa: SLF001
            assert outcome in (Outcome.FAILED, Outcome.SKIPPED), check[0]


def test_an_unexpected_problem_is_shown_with_its_detail(create_target):
    with pytest.raises(CheckFailed, match=r"responded with 500, not 200\. It failed\.") as failed:
        create_target(RESPONSES[-1]).send("GET", "/status")
    assert failed.value.remedy == ""


def test_checks_without_an_organization_are_skipped(create_target):
    with pytest.raises(CheckSkipped, match="could not be created"):
        organization_checks.check_stale_version(create_target(RESPONSES[0], {}))


def test_the_organization_is_deleted_after_an_interruption(create_target, monkeypatch, capsys):
    def interrupt(_: Target) -> str:
        raise KeyboardInterrupt

    def delete(_: Target) -> str:
        deleted.append(True)
        return "It is gone."

    deleted: list[bool] = []
    monkeypatch.setattr(runner, "CHECKS", [("first", lambda _: "It works."), ("second", interrupt)])
    monkeypatch.setattr(runner, "DELETION", ("deletion", delete))
    with pytest.raises(KeyboardInterrupt):
        runner.run_checks(create_target(RESPONSES[0]))
    assert deleted == [True]
    assert capsys.readouterr().out.splitlines() == ["ok        first: It works.", "ok        deletion: It is gone."]


@pytest.mark.parametrize(("error", "exit_code"), [(None, 0), (CheckSkipped("No."), 0), (CheckFailed("No.", "Do."), 1)])
def test_the_exit_code_tells_whether_a_check_failed(error, exit_code, create_target, monkeypatch, capsys):
    def check(_: Target) -> str:
        if error:
            raise error
        return "Yes."

    monkeypatch.setattr(runner, "CHECKS", [("one", check)])
    monkeypatch.setattr(runner, "DELETION", ("deletion", lambda _: "It is gone."))
    assert runner.run_checks(create_target(RESPONSES[0])) == exit_code
    output = capsys.readouterr().out
    assert ("FAILED    one: No.\n          Do.\n" in output) == bool(exit_code)


def stage_client(service: str, **responses: object) -> object:
    """A client of AWS that gives these responses."""

    class Client:
        def __getattr__(self, name: str) -> object:
            return lambda **_: json.loads(json.dumps(responses[name]))

        def get_paginator(self, name: str) -> object:
            return self

        def paginate(self, **_: str) -> list[object]:
            return [responses["page"]]

    return lambda asked: Client() if asked == service else pytest.fail(asked)


MAPPING = {
    "EventSourceArn": "arn:aws:sqs:eu-central-1:123456789012:atrium-prod-jobs",
    "State": "Enabled",
    "FunctionResponseTypes": ["ReportBatchItemFailures"],
}


@pytest.fixture
def stage_target():
    """A target that is a deployed stage."""
    with httpx.Client() as http:
        yield Target(http, "token", Stage("prod", "123456789012", "eu-central-1"))


@pytest.mark.parametrize(
    ("mappings", "text"),
    [
        ([MAPPING], None),
        ([], "have 0 event sources"),
        ([MAPPING | {"State": "Disabled"}], "atrium-prod-jobs is Disabled"),
        ([MAPPING | {"FunctionResponseTypes": []}], "atrium-prod-jobs loses failed messages"),
    ],
)
def test_event_sources_must_be_enabled_and_report_failed_messages(mappings, text, stage_target, monkeypatch):
    lambdas = stage_client("lambda", list_event_source_mappings={"EventSourceMappings": mappings})
    monkeypatch.setattr(account_checks, "client", lambdas)
    assert_check(account_checks.check_event_sources, stage_target, text)


@pytest.mark.parametrize(("setting", "text"), [("Allow", None), ("Terminate", "events, jobs, deliveries")])
def test_functions_of_queues_must_allow_recursion(setting, text, stage_target, monkeypatch):
    lambdas = stage_client("lambda", get_function_recursion_config={"RecursiveLoop": setting})
    monkeypatch.setattr(account_checks, "client", lambdas)
    assert_check(account_checks.check_recursion, stage_target, text)


@pytest.mark.parametrize(
    ("states", "text"), [(["OK", "INSUFFICIENT_DATA"], None), (["OK", "ALARM"], "atrium-prod-1"), ([], "No alarm")]
)
def test_no_alarm_may_be_active(states, text, stage_target, monkeypatch):
    monkeypatch.setattr(account_checks, "_ALARM_SECONDS", 0)
    alarms = [{"AlarmName": f"atrium-prod-{number}", "StateValue": state} for number, state in enumerate(states)]
    monkeypatch.setattr(account_checks, "client", stage_client("cloudwatch", page={"MetricAlarms": alarms}))
    assert_check(account_checks.check_alarms, stage_target, text)


def test_alarms_may_end_during_the_check(stage_target, monkeypatch):
    monkeypatch.setattr(targets, "_POLL_SECONDS", 0)
    states = iter(["ALARM", "ALARM", "ALARM", "OK"])

    def read_pages(**_: str) -> list[object]:
        return [{"MetricAlarms": [{"AlarmName": "atrium-prod-anchor-missing", "StateValue": next(states)}]}]

    paginator = SimpleNamespace(paginate=read_pages)
    monkeypatch.setattr(account_checks, "client", lambda _: SimpleNamespace(get_paginator=lambda _: paginator))
    assert_check(account_checks.check_alarms, stage_target, None)


@pytest.mark.usefixtures("run_settings")
def test_no_mail_is_sent_that_ses_would_refuse(create_target, configure, monkeypatch):
    configure(mail_from="Atrium <mail@example.com>")
    finding = Finding("SES identity", Outcome.REJECTED, "example.com is not verified.", "Add these records.")
    monkeypatch.setattr(mail_checks, "check_mail", lambda _: [finding])
    with pytest.raises(CheckFailed, match=r"^example\.com is not verified\.$") as failed:
        organization_checks.check_mail(create_target(httpx.ConnectError("must not be called")))
    assert failed.value.remedy == "Add these records."


def assert_check(check, target, text):
    """Assert that a check passes, or that it fails with this text."""
    if text is None:
        assert check(target)
    else:
        with pytest.raises(CheckFailed, match=text):
            check(target)
