"""Checks that Amazon SES sends the mail of a deployed stage, as a part of `make doctor`."""

from collections.abc import Iterator

from chalicelib.kernel.core.settings import settings
from infrastructure import mail_checks
from infrastructure.account import client
from infrastructure.policies import mail_domain
from local.tools.findings import Finding, Outcome


def check_mail(_: str | None) -> Iterator[Finding]:
    """Yield findings about SES, if the stage sends mail. The local stage has none, because it delivers no mail."""
    domain = mail_domain(settings().mail_from)
    if settings().aws_endpoint_url or not domain:
        return
    for check in mail_checks.check_sending(client("sesv2"), domain):
        failed = Outcome.REJECTED if check.is_blocking else Outcome.MISSING
        yield Finding(check.subject, Outcome.ACCEPTED if check.is_passed else failed, check.text, check.remedy)
