"""Runs the checks of `make smoke` one after the other, and prints a line for each."""

from collections.abc import Callable, Sequence
from typing import Final

from local.smoke import account_checks as account
from local.smoke import gateway_checks as gateway
from local.smoke import organization_checks as organization
from local.smoke.target import CheckFailed, CheckSkipped, Target
from local.tools.findings import Finding, Outcome

Check = tuple[str, Callable[[Target], str]]

CHECKS: Final[Sequence[Check]] = (
    ("status", gateway.check_status),
    ("address", gateway.check_address),
    ("common headers", gateway.check_common_headers),
    ("unknown path", gateway.check_unknown_path),
    ("unknown path with a token", gateway.check_unknown_path_with_token),
    ("unknown path with another credential", gateway.check_unknown_path_with_other_credential),
    ("missing credential", gateway.check_missing_credential),
    ("challenge for scripts", gateway.check_exposed_challenge),
    ("invalid token", gateway.check_invalid_token),
    ("token", gateway.check_user_token),
    ("wrong method", gateway.check_wrong_method),
    ("malformed JSON", gateway.check_malformed_json),
    ("media type", gateway.check_media_type),
    ("large body", gateway.check_large_body),
    ("invalid field", gateway.check_invalid_field),
    ("preflight request", gateway.check_preflight),
    ("compression", gateway.check_compression),
    ("conditional request", gateway.check_conditional_request),
    ("reference data", gateway.check_reference_data),
    ("latency", gateway.check_latency),
    ("event sources", account.check_event_sources),
    ("chains of functions", account.check_recursion),
    ("organization", organization.create_organization),
    ("outdated version", organization.check_stale_version),
    ("API key", organization.check_api_key),
    ("foreign organization", organization.check_foreign_api_key),
    ("webhook to itself", organization.check_webhook),
    ("log", organization.check_log),
    ("export", organization.check_export),
    ("mail", organization.check_mail),
    ("anchor", organization.check_anchor),
    ("chain of messages", organization.check_chain),
    ("dead letters", account.check_dead_letters),
    ("alarms", account.check_alarms),
)
"""The checks in their order, by name."""

DELETION: Final[Check] = ("deletion", organization.delete_organization)
"""The check that deletes the organization. It runs even if the others are interrupted."""


def run_checks(target: Target) -> int:
    """Print the result of each check, and return the exit code: 1 if one failed."""
    findings: list[Finding] = []
    try:
        findings += (_print_and_return(_run(check, target)) for check in CHECKS)
    finally:
        findings.append(_print_and_return(_run(DELETION, target)))
        target.close()
    counts = {outcome: sum(finding.outcome is outcome for finding in findings) for outcome in Outcome}
    print(
        f"\n{counts[Outcome.ACCEPTED]} checks passed, {counts[Outcome.FAILED]} failed,"
        f" {counts[Outcome.SKIPPED]} were skipped."
    )
    return 1 if counts[Outcome.FAILED] else 0


def _run(check: Check, target: Target) -> Finding:
    name, function = check
    try:
        return Finding(name, Outcome.ACCEPTED, function(target))
    except CheckSkipped as skipped:
        return Finding(name, Outcome.SKIPPED, str(skipped))
    except CheckFailed as failed:
        return Finding(name, Outcome.FAILED, str(failed), failed.remedy)
    except Exception as error:  # noqa: BLE001 - an unexpected response fails one check, and the others still run
        return Finding(name, Outcome.FAILED, f"The response was unexpected ({type(error).__name__}: {error}).")


def _print_and_return(finding: Finding) -> Finding:
    print(finding.to_text(), flush=True)
    return finding
