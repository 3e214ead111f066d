"""Helpers for CloudFormation templates: intrinsic functions, policies and names with pseudo parameters."""

import re
from typing import Any, Final

from infrastructure.names import Stage

TEMPLATE_STAGE: Final = Stage("${Stage}", "${AWS::AccountId}", "${AWS::Region}", "${AWS::Partition}")
"""The stage of a template. Its names contain variables that CloudFormation substitutes in `sub`."""

RETAINED: Final = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
"""Attributes of a resource that remains when its stack is deleted."""


def logical_id(name: str) -> str:
    """Return a logical id, which has only letters and digits: `due-lag` becomes `DueLag`."""
    return "".join(word.title() for word in re.split("[-_]", name))


def sub(text: str) -> dict[str, str]:
    """Return a text in which CloudFormation substitutes variables, such as a name of TEMPLATE_STAGE."""
    return {"Fn::Sub": text}


def ref(name: str) -> dict[str, str]:
    """Return a reference to a parameter or a resource of the template."""
    return {"Ref": name}


def get_att(name: str, attribute: str) -> dict[str, list[str]]:
    """Return an attribute of a resource of the template."""
    return {"Fn::GetAtt": [name, attribute]}


def allow_statement(principal: Any, actions: list[str], resource: Any, **condition: Any) -> dict[str, Any]:
    """Return a statement of a resource policy that allows actions. `condition`: by IAM condition operator."""
    return _statement("Allow", principal, actions, resource, condition)


def deny_statement(actions: list[str], resource: Any, **condition: Any) -> dict[str, Any]:
    """Return a statement of a resource policy that denies actions to everyone."""
    return _statement("Deny", "*", actions, resource, condition)


def policy_document(*statements: dict[str, Any]) -> dict[str, Any]:
    """Return a policy document."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _statement(
    effect: str, principal: Any, actions: list[str], resource: Any, condition: dict[str, Any]
) -> dict[str, Any]:
    statement = {"Effect": effect, "Principal": principal, "Action": actions, "Resource": resource}
    return statement | ({"Condition": condition} if condition else {})
