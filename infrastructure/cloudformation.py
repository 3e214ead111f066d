"""Create and update CloudFormation stacks, and report why they fail."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from botocore.exceptions import ClientError, WaiterError

from infrastructure.account import CommandError, client, translate_errors
from infrastructure.names import Stage
from infrastructure.template_uploads import uploaded_template

_WAITER_CONFIG: Final = {"Delay": 5, "MaxAttempts": 720}
_FAILED: Final = ("CREATE_FAILED", "UPDATE_FAILED", "DELETE_FAILED")
_UNFINISHED: Final = ("CREATE_FAILED", "UPDATE_FAILED")


def create_or_update_stack(
    name: str,
    template: str,
    parameters: Mapping[str, str],
    *,
    region: str | None = None,
    upload_for: Stage | None = None,
) -> Mapping[str, str]:
    """Create or update a stack, and return its outputs. Omitted parameters keep their values.

    `region`: the region of the stack, by default that of the command. `upload_for`: the stage whose bucket receives a
    template that may be too large for a request; by default the request contains the template. A failed creation is
    not rolled back, and the next run continues it. A failed update is rolled back. Raises CommandError with
    CloudFormation's reason for each failed resource.
    """
    with translate_errors():
        former = _describe_stack(name, region)
        if former is None:
            print(f"Creating the stack {name}. This takes a few minutes.", flush=True)
            with _template_source(template, upload_for) as source:
                client("cloudformation", region).create_stack(
                    StackName=name,
                    **source,
                    Parameters=_parameter_list(parameters),
                    DisableRollback=True,
                    EnableTerminationProtection=True,
                    Capabilities=["CAPABILITY_NAMED_IAM"],
                )
            _wait_for(name, region, "stack_create_complete")
        elif _start_update(name, region, template, parameters, former, upload_for):
            print(f"Updating the stack {name}.", flush=True)
            _wait_for(name, region, "stack_update_complete")
        else:
            print(f"The stack {name} is up to date.")
        return _outputs_of(_describe_stack(name, region) or {})


def stack_outputs(name: str) -> Mapping[str, str]:
    """Return the outputs of a stack. Raises CommandError if it does not exist."""
    with translate_errors():
        found = _describe_stack(name, None)
    if found is None:
        raise CommandError(
            f"The stack {name} does not exist in this account and region. Create it with `make bootstrap`."
        )
    return _outputs_of(found)


def stack_outputs_or_empty(name: str) -> Mapping[str, str]:
    """Return the outputs of a stack. The result is empty if it does not exist."""
    with translate_errors():
        return _outputs_of(_describe_stack(name, None) or {})


def stack_parameters(name: str, *, region: str | None = None) -> Mapping[str, str]:
    """Return the parameters of a stack. The result is empty if it does not exist."""
    with translate_errors():
        found = _describe_stack(name, region) or {}
    return {p["ParameterKey"]: p["ParameterValue"] for p in found.get("Parameters", [])}


def identity_domain(name: str, domain: str) -> str:
    """Return the domain for which the stack must create an SES identity, or an empty text if one exists elsewhere.

    SES has one identity for each domain in an account and region. An identity of another stage or service is used, but
    not managed.
    """
    if not domain or stack_parameters(name).get("MailDomain") == domain:
        return domain
    ses = client("sesv2")
    try:
        ses.get_email_identity(EmailIdentity=domain)
    except ses.exceptions.NotFoundException:
        return domain
    print(f"SES already has an identity for {domain}, which is used unchanged.")
    return ""


def _start_update(
    name: str,
    region: str | None,
    template: str,
    parameters: Mapping[str, str],
    former: Mapping[str, Any],
    upload_for: Stage | None,
) -> bool:
    status = former["StackStatus"]
    if status.endswith("_IN_PROGRESS"):
        raise CommandError(f"The stack {name} is being changed ({status}). Wait until it is complete, then try again.")
    if status in ("UPDATE_ROLLBACK_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"):
        raise CommandError(
            f"The stack {name} is in status {status}. docs/guides/deployment.md describes what to do.\n"
            f"{_failed_events(name, region, former)}"
        )
    declared = json.loads(template).get("Parameters", {})
    unchanged = [p["ParameterKey"] for p in former.get("Parameters", [])]
    same = [
        {"ParameterKey": key, "UsePreviousValue": True}
        for key in unchanged
        if key in declared and key not in parameters
    ]
    try:
        with _template_source(template, upload_for) as source:
            client("cloudformation", region).update_stack(
                StackName=name,
                **source,
                Parameters=_parameter_list(parameters) + same,
                DisableRollback=status in _UNFINISHED,
                Capabilities=["CAPABILITY_NAMED_IAM"],
            )
    except ClientError as error:
        if "No updates are to be performed" in str(error) and status not in _UNFINISHED:
            return False
        raise
    return True


def _wait_for(name: str, region: str | None, waiter_name: str) -> None:
    waiter = client("cloudformation", region).get_waiter(waiter_name)
    try:
        waiter.wait(StackName=name, WaiterConfig=_WAITER_CONFIG)
    except WaiterError:
        stack = _describe_stack(name, region) or {"StackStatus": "deleted"}
        raise CommandError(
            f"The stack {name} failed ({stack['StackStatus']}). Fix the cause, then run the command again to continue."
            f"\n{_failed_events(name, region, stack)}"
        ) from None


def _failed_events(name: str, region: str | None, stack: Mapping[str, Any]) -> str:
    paginator = client("cloudformation", region).get_paginator("describe_stack_events")
    pages = paginator.paginate(StackName=stack.get("StackId", name))
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
            break  # Earlier events belong to another operation.
    return "\n".join(reversed(failed)) or "  CloudFormation reports no reason."


def _describe_stack(name: str, region: str | None) -> Mapping[str, Any] | None:
    try:
        stacks: list[Mapping[str, Any]] = client("cloudformation", region).describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return stacks[0]


def _outputs_of(stack: Mapping[str, Any]) -> Mapping[str, str]:
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def _parameter_list(parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]


@contextmanager
def _template_source(template: str, upload_for: Stage | None) -> Iterator[dict[str, str]]:
    """Yield the argument that passes a template to CloudFormation."""
    if upload_for is None:
        yield {"TemplateBody": _minify(template)}
        return
    with uploaded_template(upload_for, _minify(template)) as url:
        yield {"TemplateURL": url}


def _minify(template: str) -> str:
    return json.dumps(json.loads(template), separators=(",", ":"))
