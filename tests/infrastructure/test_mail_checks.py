"""The checks of SES that `make bootstrap` and `make doctor` make, and what they advise."""

from typing import Any, Final

import boto3
import pytest
from botocore.stub import Stubber

from infrastructure import bootstrap
from infrastructure.mail_checks import check_sending
from infrastructure.stack import build_template
from local.tools import mail_checks as doctor_mail_checks
from local.tools.findings import Outcome

DOMAIN: Final = "example.com"
ACCOUNT: Final = {"ProductionAccessEnabled": True, "SendingEnabled": True, "EnforcementStatus": "HEALTHY"}
DKIM: Final = {"Status": "SUCCESS", "Tokens": ["one", "two", "three"], "SigningAttributesOrigin": "AWS_SES"}
IDENTITY: Final = {"VerifiedForSendingStatus": True, "DkimAttributes": DKIM}
UNVERIFIED: Final = {"VerifiedForSendingStatus": False, "DkimAttributes": DKIM | {"Status": "PENDING"}}


@pytest.fixture
def ses(monkeypatch):
    """A client of SES and its stubber, which the commands use too."""
    credentials = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    client = boto3.client("sesv2", region_name="eu-central-1", **credentials)
    monkeypatch.setattr(bootstrap, "client", lambda _: client)
    monkeypatch.setattr(doctor_mail_checks, "client", lambda _: client)
    with Stubber(client) as stubber:
        yield client, stubber


def respond(stubber: Stubber, account: dict[str, Any] | str, identity: dict[str, Any] | str) -> None:
    """Let SES return these responses. A text is the code of an error."""
    for call, response in (("get_account", account), ("get_email_identity", identity)):
        if isinstance(response, str):
            stubber.add_client_error(call, response, "Not allowed.")
        else:
            stubber.add_response(call, response)


def mail_from(status: str, behaviour: str) -> dict[str, Any]:
    attributes = {
        "MailFromDomain": "bounce.example.com",
        "MailFromDomainStatus": status,
        "BehaviorOnMxFailure": behaviour,
    }
    return {**IDENTITY, "MailFromAttributes": attributes}


def test_nothing_is_wrong_with_a_verified_domain_of_an_account_with_production_access(ses):
    client, stubber = ses
    respond(stubber, ACCOUNT, mail_from("SUCCESS", "REJECT_MESSAGE"))
    checks = [*check_sending(client, DOMAIN)]
    assert [check.subject for check in checks if check.is_passed] == ["SES access", "SES sending", "SES identity"]
    assert len(checks) == 3


@pytest.mark.parametrize(
    ("account", "identity", "subject", "text", "remedy", "is_blocking"),
    [
        (ACCOUNT | {"ProductionAccessEnabled": False}, IDENTITY, "SES access", "sandbox", "Request production", False),
        (ACCOUNT | {"SendingEnabled": False}, IDENTITY, "SES sending", "paused", "put-account-sending", True),
        (ACCOUNT | {"EnforcementStatus": "SHUTDOWN"}, IDENTITY, "SES sending", "SHUTDOWN", "Reputation", True),
        (ACCOUNT | {"EnforcementStatus": "PROBATION"}, IDENTITY, "SES sending", "PROBATION", "reviews", False),
        (ACCOUNT, "NotFoundException", "SES identity", "no identity for example.com", "make bootstrap", True),
        (ACCOUNT, UNVERIFIED, "SES identity", "not verified", "two._domainkey.example.com CNAME two.dkim.", True),
        (ACCOUNT, IDENTITY | {"DkimAttributes": DKIM | {"Status": "FAILED"}}, "SES DKIM", "FAILED", "CNAME", False),
        (ACCOUNT, mail_from("PENDING", "USE_DEFAULT_VALUE"), "SES MAIL FROM", "bounce.example.com", "MX", False),
        (ACCOUNT, mail_from("FAILED", "REJECT_MESSAGE"), "SES MAIL FROM", "FAILED", "MX", True),
        ("AccessDeniedException", IDENTITY, "SES account", "AccessDenied", "ses:GetAccount", False),
        (ACCOUNT, "AccessDeniedException", "SES identity", "AccessDenied", "ses:GetEmailIdentity", False),
    ],
)
def test_each_obstacle_is_named_with_its_remedy(ses, account, identity, subject, text, remedy, is_blocking):
    client, stubber = ses
    respond(stubber, account, identity)
    (check,) = (each for each in check_sending(client, DOMAIN) if not each.is_passed)
    assert (check.subject, check.is_blocking) == (subject, is_blocking)
    assert text in check.text
    assert remedy in check.remedy


def test_bootstrap_prints_what_is_missing_and_nothing_else(ses, capsys):
    _, stubber = ses
    respond(stubber, ACCOUNT, UNVERIFIED)
    bootstrap._print_mail_obstacles(DOMAIN)  # noqa: SLF001
    bootstrap._print_mail_obstacles("")  # noqa: SLF001 - a stage without mail makes no call
    output = capsys.readouterr().out
    assert output.startswith("Mail: example.com is not verified.\n  Add these records to the DNS of the domain.")
    records = [f"  {name}._domainkey.example.com CNAME {name}.dkim.amazonses.com" for name in DKIM["Tokens"]]
    assert output.splitlines()[-3:] == records


def test_doctor_shows_the_findings_of_a_stage_that_sends_mail(ses, configure):
    _, stubber = ses
    configure(mail_from="")
    assert [*doctor_mail_checks.check_mail(None)] == []
    configure(mail_from="Atrium <mail@Example.com>")
    respond(stubber, ACCOUNT | {"ProductionAccessEnabled": False}, UNVERIFIED)
    findings = [*doctor_mail_checks.check_mail(None)]
    assert [(each.step, each.outcome) for each in findings] == [
        ("SES access", Outcome.MISSING),
        ("SES sending", Outcome.ACCEPTED),
        ("SES identity", Outcome.REJECTED),
    ]
    assert all(each.remedy for each in findings if each.outcome is not Outcome.ACCEPTED)


def test_alarms_about_mail_do_not_depend_on_who_created_the_identity():
    template = build_template(["jobs"])
    resources, conditions = template["Resources"], template["Conditions"]
    assert resources["MailIdentity"]["Condition"] == "HasIdentity"
    assert {resources[f"Mail{name}Alarm"]["Condition"] for name in ("Bounces", "Complaints")} == {"SendsMail"}
    assert conditions["SendsMail"] == {"Fn::Equals": [{"Ref": "SendsMail"}, "yes"]}
    assert "Condition" not in resources["MailFailingAlarm"]
