"""What the templates are written with: names that CloudFormation fills in, and references."""

import re
from typing import Any, Final

from infrastructure.names import Stage

HERE: Final = Stage("${Stage}", "${AWS::AccountId}", "${AWS::Region}", "${AWS::Partition}")
"""The stage that the stack is made for: its names hold what `sub` leaves to CloudFormation."""


RETAINED: Final = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
"""What a resource has that outlives its stack."""


def titled(name: str) -> str:
    """Return what something is called in the template, where names have letters and digits only: `DueLag`."""
    return "".join(word.title() for word in re.split("[-_]", name))


def sub(text: str) -> dict[str, str]:
    """Return a text in which CloudFormation fills in its variables, such as a name of HERE."""
    return {"Fn::Sub": text}


def ref(name: str) -> dict[str, str]:
    """Return a reference to a parameter or a resource of the template."""
    return {"Ref": name}


def of(name: str, attribute: str) -> dict[str, list[str]]:
    """Return an attribute of a resource of the template."""
    return {"Fn::GetAtt": [name, attribute]}


def allow(who: Any, actions: list[str], resource: Any, **condition: Any) -> dict[str, Any]:
    """Return the statement of a resource's policy that allows something; `condition` by IAM's operators."""
    return _statement("Allow", who, actions, resource, condition)


def deny(actions: list[str], resource: Any, **condition: Any) -> dict[str, Any]:
    """Return the statement of a resource's policy that denies something to everyone."""
    return _statement("Deny", "*", actions, resource, condition)


def policy(*statements: dict[str, Any]) -> dict[str, Any]:
    """Return a resource's policy."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _statement(effect: str, who: Any, actions: list[str], resource: Any, condition: dict[str, Any]) -> dict[str, Any]:
    statement = {"Effect": effect, "Principal": who, "Action": actions, "Resource": resource}
    return statement | ({"Condition": condition} if condition else {})
