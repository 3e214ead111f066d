"""Quotas of the AWS account: the rate of its APIs, and the concurrent executions of its functions."""

from typing import Final

from botocore.exceptions import ClientError

from infrastructure import configuration
from infrastructure.account import CommandError, client, translate_errors
from infrastructure.gateway import SMALLEST_THROTTLE, Throttle
from infrastructure.names import Stage

MIN_UNRESERVED_CONCURRENCY: Final = 100
"""Concurrent executions that AWS keeps unreserved in each account."""


def read_throttle() -> Throttle:
    """Return the throttle quota of API Gateway in the account and region, or the smallest one if AWS refuses that."""
    with translate_errors():
        try:
            found = client("apigateway").get_account()["throttleSettings"]
        except ClientError as error:
            print(f"API Gateway's quota could not be read ({error}). The API admits {SMALLEST_THROTTLE.describe()}.")
            return SMALLEST_THROTTLE
    return Throttle(int(found["rateLimit"]), int(found["burstLimit"]))


def describe_requirements(stage: Stage) -> str:
    """Return what a stage requires of an account whose quotas are unknown, and which throttle its API has."""
    reserved = sum(configuration.reserved_concurrency(stage.name).values())
    needs = (
        f"an account with at least {reserved + MIN_UNRESERVED_CONCURRENCY} concurrent executions in {stage.region}"
        f" (`aws lambda get-account-settings`): it reserves {reserved}, and {MIN_UNRESERVED_CONCURRENCY} must stay"
        " unreserved"
        if reserved
        else "no particular quota of concurrent executions"
    )
    return (
        f"So the quotas of the account were not checked. {stage.name} needs {needs}. Its API admits"
        f" {SMALLEST_THROTTLE.describe()}, which every region allows."
    )


def check_concurrency(stage: Stage) -> None:
    """Raise CommandError if the account has less unreserved concurrency than the stage reserves."""
    wanted = configuration.reserved_concurrency(stage.name)
    try:
        limits = client("lambda").get_account_settings()["AccountLimit"]
        held = sum(_reserved_concurrency(stage.function_name(name)) for name in wanted)
    except ClientError:
        return  # Without this permission, Lambda itself reports a lack of concurrency.
    needed, free = sum(wanted.values()) + MIN_UNRESERVED_CONCURRENCY, limits["UnreservedConcurrentExecutions"] + held
    if wanted and free < needed:
        raise CommandError(
            f"{stage.name} reserves {sum(wanted.values())} concurrent executions, and {MIN_UNRESERVED_CONCURRENCY} must"
            f" stay unreserved, so it needs {needed}. This account has {limits['ConcurrentExecutions']} in"
            f" {stage.region}, of which {free} are available to the stage. Either request more:\n"
            "    aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384"
            f" --region {stage.region} --desired-value {limits['ConcurrentExecutions'] + needed - free}\n"
            "or let the stage reserve none, which suffices for a few users:\n"
            f"    make bootstrap STAGE={stage.data_stage} CAPACITY=small"
        )


def _reserved_concurrency(function: str) -> int:
    try:
        return int(client("lambda").get_function_concurrency(FunctionName=function)["ReservedConcurrentExecutions"])
    except (KeyError, client("lambda").exceptions.ResourceNotFoundException):
        return 0
