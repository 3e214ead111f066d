"""Checks whether Amazon SES sends a stage's mail: the account's access and standing, and the identity of the sender.

`make bootstrap` and `make doctor` report what they find. Without these checks, mail would fail only when it is sent.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

ACTIONS: Final = ("ses:GetAccount", "ses:GetEmailIdentity")
"""The permissions that the checks need."""

_DKIM_ZONE: Final = "dkim.amazonses.com"
_SUCCESS: Final = "SUCCESS"


@dataclass(frozen=True)
class MailCheck:
    """The result of one check: what it is about and what was found. `remedy`: what to do, if it is not passed.

    `is_blocking`: no mail at all is sent until that is done.
    """

    subject: str
    text: str
    remedy: str = ""
    is_blocking: bool = False

    @property
    def is_passed(self) -> bool:
        """Return whether nothing has to be done."""
        return not self.remedy


def check_sending(ses: Any, domain: str) -> Iterator[MailCheck]:
    """Yield the results for mail from a domain. `ses`: a client of `sesv2` in the region of the stage."""
    for subject, check in (("SES account", _check_account), ("SES identity", _check_identity)):
        try:
            yield from check(ses, domain)
        except (ClientError, BotoCoreError) as error:
            yield MailCheck(subject, f"SES could not be asked: {error}", f"This needs {' and '.join(ACTIONS)}.")


def _check_account(ses: Any, _: str) -> Iterator[MailCheck]:
    account = ses.get_account()
    if account["ProductionAccessEnabled"]:
        yield MailCheck("SES access", "The account has production access.")
    else:
        yield MailCheck(
            "SES access",
            "The account is in the sandbox of SES: it can send only to verified addresses, 200 mails a day.",
            "Request production access in the SES console, *Account dashboard*, in the region of the stage. AWS"
            " usually answers within a day.",
        )
    status = account.get("EnforcementStatus", "HEALTHY")
    if account["SendingEnabled"] and status != "SHUTDOWN":
        remedy = (
            ""
            if status == "HEALTHY"
            else "AWS reviews the account. The SES console, *Reputation metrics*, says why: answer in that case."
        )
        yield MailCheck("SES sending", f"Sending is enabled, and the account's status is {status}.", remedy)
    else:
        yield MailCheck(
            "SES sending",
            f"Sending is paused, and the account's status is {status}.",
            "The SES console, *Reputation metrics*, says why. If AWS paused it, answer in that case. If somebody of"
            " yours did: `aws sesv2 put-account-sending-attributes --sending-enabled`.",
            is_blocking=True,
        )


def _check_identity(ses: Any, domain: str) -> Iterator[MailCheck]:
    try:
        identity = ses.get_email_identity(EmailIdentity=domain)
    except ses.exceptions.NotFoundException:
        yield MailCheck(
            "SES identity",
            f"SES has no identity for {domain}.",
            "Run `make bootstrap` with MAIL_FROM, which creates it, in the region of the stage.",
            is_blocking=True,
        )
        return
    dkim = identity.get("DkimAttributes", {})
    if identity.get("VerifiedForSendingStatus"):
        yield MailCheck("SES identity", f"{domain} is verified.")
    else:
        yield MailCheck("SES identity", f"{domain} is not verified.", _dns_remedy(domain, dkim), is_blocking=True)
    status = dkim.get("Status")
    if identity.get("VerifiedForSendingStatus") and status != _SUCCESS:
        yield MailCheck("SES DKIM", f"Mail from {domain} is not signed: {status}.", _dns_remedy(domain, dkim))
    sender = identity.get("MailFromAttributes", {})
    if sender.get("MailFromDomain") and sender.get("MailFromDomainStatus") != _SUCCESS:
        yield MailCheck(
            "SES MAIL FROM",
            f"The MAIL FROM domain {sender['MailFromDomain']} is not verified: {sender.get('MailFromDomainStatus')}.",
            "Add its MX and TXT records to the DNS; the SES console, *Identities*, shows them. Or remove that domain.",
            is_blocking=sender.get("BehaviorOnMxFailure") == "REJECT_MESSAGE",
        )


def _dns_remedy(domain: str, dkim: Mapping[str, Any]) -> str:
    zone = dkim.get("SigningHostedZone") or _DKIM_ZONE
    records = [f"\n  {token}._domainkey.{domain} CNAME {token}.{zone}" for token in dkim.get("Tokens", ())]
    if dkim.get("SigningAttributesOrigin") == "EXTERNAL" or not records:
        return "Verify it in the SES console, *Identities*."
    return "Add these records to the DNS of the domain. SES finds them within minutes to hours:" + "".join(records)
