"""A stack of CloudFormation: made, brought up to date, and explained when it fails."""

import json
from collections.abc import Mapping
from typing import Any, Final

from botocore.exceptions import ClientError, WaiterError

from infrastructure.account import Refused, client, explained

_OFTEN: Final = {"Delay": 5, "MaxAttempts": 720}
_FAILED: Final = ("CREATE_FAILED", "UPDATE_FAILED", "DELETE_FAILED")
_UNFINISHED: Final = ("CREATE_FAILED", "UPDATE_FAILED")


def apply(name: str, template: str, parameters: Mapping[str, str]) -> Mapping[str, str]:
    """Let a stack be as the template says, and return its outputs; a parameter that is not given keeps its value.

    What a failed creation has made stays, and is where the next one goes on; a failed update is taken back. Raises
    Refused with what CloudFormation said of each resource.
    """
    with explained():
        former = _found(name)
        if former is None:
            print(f"Making the stack {name}: a few minutes.", flush=True)
            client("cloudformation").create_stack(
                StackName=name,
                TemplateBody=_small(template),
                Parameters=_given(parameters),
                DisableRollback=True,
                EnableTerminationProtection=True,
                Capabilities=["CAPABILITY_NAMED_IAM"],
            )
            _wait(name, "stack_create_complete")
        elif _updated(name, template, parameters, former):
            print(f"Bringing the stack {name} up to date.", flush=True)
            _wait(name, "stack_update_complete")
        else:
            print(f"The stack {name} is up to date.")
        return _outputs(_found(name) or {})


def outputs(name: str) -> Mapping[str, str]:
    """Return what a stack puts out. Raises Refused if there is none."""
    with explained():
        found = _found(name)
    if found is None:
        raise Refused(f"There is no stack {name} in this account and region. `make bootstrap` makes it.")
    return _outputs(found)


def parameters(name: str) -> Mapping[str, str]:
    """Return the values of a stack's parameters; none if there is no such stack."""
    with explained():
        found = _found(name) or {}
    return {p["ParameterKey"]: p["ParameterValue"] for p in found.get("Parameters", [])}


def domain_to_make(name: str, domain: str) -> str:
    """Return the domain that the stack is to make known to SES; none if SES knows it from elsewhere.

    SES knows a domain once in an account and region. That of another stage or service is used, and left to it.
    """
    if not domain or parameters(name).get("MailDomain") == domain:
        return domain
    ses = client("sesv2")
    try:
        ses.get_email_identity(EmailIdentity=domain)
    except ses.exceptions.NotFoundException:
        return domain
    print(f"SES knows {domain} already: it is used as it is.")
    return ""


def _updated(name: str, template: str, parameters: Mapping[str, str], former: Mapping[str, Any]) -> bool:
    status = former["StackStatus"]
    if status.endswith("_IN_PROGRESS"):
        raise Refused(f"The stack {name} is being changed ({status}). Wait until that is done, then try again.")
    if status in ("UPDATE_ROLLBACK_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"):
        raise Refused(
            f"The stack {name} is stuck in {status}: docs/guides/deployment.md says what to do.\n"
            f"{_events(name, former)}"
        )
    declared = json.loads(template).get("Parameters", {})
    unchanged = [p["ParameterKey"] for p in former.get("Parameters", [])]
    same = [
        {"ParameterKey": key, "UsePreviousValue": True}
        for key in unchanged
        if key in declared and key not in parameters
    ]
    try:
        client("cloudformation").update_stack(
            StackName=name,
            TemplateBody=_small(template),
            Parameters=_given(parameters) + same,
            DisableRollback=status in _UNFINISHED,
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
    except ClientError as error:
        if "No updates are to be performed" in str(error) and status not in _UNFINISHED:
            return False
        raise
    return True


def _wait(name: str, what: str) -> None:
    waiter = client("cloudformation").get_waiter(what)
    try:
        waiter.wait(StackName=name, WaiterConfig=_OFTEN)
    except WaiterError:
        stack = _found(name) or {"StackStatus": "deleted"}
        raise Refused(
            f"The stack {name} was not finished ({stack['StackStatus']}). Once this is mended, try again: it goes on"
            f" from here.\n{_events(name, stack)}"
        ) from None


def _events(name: str, stack: Mapping[str, Any]) -> str:
    pages = (
        client("cloudformation").get_paginator("describe_stack_events").paginate(StackName=stack.get("StackId", name))
    )
    failed = []
    for event in (event for page in pages for event in page["StackEvents"]):
        if event["ResourceStatus"] in _FAILED and "cancelled" not in event.get("ResourceStatusReason", ""):
            failed.append(
                f"  {event['LogicalResourceId']}: {event.get('ResourceStatusReason', event['ResourceStatus'])}"
            )
        if event["LogicalResourceId"] == name and event["ResourceStatus"] in (
            "CREATE_IN_PROGRESS",
            "UPDATE_IN_PROGRESS",
        ):
            break  # What was before is of another attempt.
    return "\n".join(reversed(failed)) or "  CloudFormation gives no reason."


def _found(name: str) -> Mapping[str, Any] | None:
    try:
        stacks: list[Mapping[str, Any]] = client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return stacks[0]


def _outputs(stack: Mapping[str, Any]) -> Mapping[str, str]:
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def _given(parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]


def _small(template: str) -> str:
    return json.dumps(json.loads(template), separators=(",", ":"))
