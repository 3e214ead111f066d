"""The optional stack `atrium-<stage>-safeguards`: a rate rule of AWS WAF, a budget, and copies of backups.

`make bootstrap` creates it when one of its arguments is first given. `make deploy` associates the web ACL with the API.
"""

import re
import time
from collections.abc import Iterator, Mapping
from typing import Final

from infrastructure import cloudformation, configuration, secrets
from infrastructure.account import client, translate_errors
from infrastructure.names import Stage
from infrastructure.safeguards_template import UNSET, VAULT_ARN_PATTERN
from infrastructure.web_firewall import MAX_REQUEST_LIMIT, MIN_REQUEST_LIMIT

ARGUMENTS: Final[Mapping[str, str]] = {
    "waf_limit": "RequestLimit",
    "budget": "MonthlyBudget",
    "backup_vault": "CopyVaultArn",
}
"""The parameter of the stack for each argument."""

_ASSOCIATION_ATTEMPTS: Final = 13
"""How often the web ACL is associated with an API that AWS WAF does not find yet: for a minute."""

_ASSOCIATION_PAUSE_SECONDS: Final = 5.0
"""The time between these attempts."""

_NONE: Final = ("0", "none")
_BACKED_UP: Final = ("DynamoDB", "S3")
_OPT_IN_COMMAND: Final = (
    "aws backup update-region-settings --resource-type-opt-in-preference DynamoDB=true,S3=true"
    " --resource-type-management-preference DynamoDB=true"
)


def find_invalid_arguments(given: Mapping[str, str]) -> Iterator[str]:
    """Yield which arguments are invalid. Each may be `0` or `none`, which removes its safeguard."""
    wanted = {name: text for name, text in given.items() if text not in _NONE}
    limit, budget, vault = (wanted.get(name) for name in ARGUMENTS)
    if limit and not (limit.isdecimal() and MIN_REQUEST_LIMIT <= int(limit) <= MAX_REQUEST_LIMIT):
        yield f"WAF_LIMIT must be a number of requests from {MIN_REQUEST_LIMIT} on, or 0 for no limit; {limit} is not."
    if budget and not re.fullmatch(r"[1-9][0-9]{0,8}", budget):
        yield f"BUDGET must be a whole number of US dollars, or 0 for no budget; {budget} is not."
    if vault and not re.fullmatch(VAULT_ARN_PATTERN, vault):
        yield f"BACKUP_VAULT must be the ARN of a backup vault, or none; {vault} is not."


def find_missing_backup_settings(stage: Stage, given: Mapping[str, str]) -> Iterator[str]:
    """Yield what the account lacks for copies of backups, if the arguments ask for them. Raises ClientError."""
    vault = given.get("backup_vault", "none")
    if vault in _NONE or vault == cloudformation.stack_parameters(_stack_name(stage)).get("CopyVaultArn"):
        return
    settings = client("backup").describe_region_settings()
    admitted = settings.get("ResourceTypeOptInPreference", {})
    managed = settings.get("ResourceTypeManagementPreference", {})
    if not (all(admitted.get(kind) for kind in _BACKED_UP) and managed.get("DynamoDB")):
        yield (
            f"BACKUP_VAULT: AWS Backup does not yet copy tables and buckets of this account in {stage.region}. Run:\n"
            f"    {_OPT_IN_COMMAND}"
        )


def create_or_update_safeguards(stage: Stage, given: Mapping[str, str], alarms_to: str | None) -> None:
    """Create or update the stack if it exists or an argument asks for it. Raises CommandError.

    `given`: values of ARGUMENTS. What is omitted keeps its value.
    """
    requested = {ARGUMENTS[name]: UNSET[ARGUMENTS[name]] if text in _NONE else text for name, text in given.items()}
    former = cloudformation.stack_parameters(_stack_name(stage))
    chosen = UNSET | {name: former[name] for name in UNSET if name in former} | requested
    if not former and chosen == UNSET:
        return
    limits_addresses = chosen["RequestLimit"] != UNSET["RequestLimit"]
    with translate_errors():
        if not limits_addresses:
            _dissociate_web_acl(stage)
    email = alarms_to or cloudformation.stack_parameters(stage.prefix).get("AlarmEmail", "")
    stage_parameters = _stage_parameters(stage, email, limits_addresses=limits_addresses)
    template = (configuration.PROJECT / "infrastructure/safeguards.json").read_text()
    cloudformation.create_or_update_stack(_stack_name(stage), template, chosen | stage_parameters)
    if not email and chosen != UNSET | {"RequestLimit": chosen["RequestLimit"]}:
        print(f"Nobody gets notices of {_stack_name(stage)} yet: pass ALARMS_TO=, or subscribe to its topic.")


def associate_web_acl(stage: Stage, api: str) -> None:
    """Associate the web ACL of a stage, if it has one, with its API. Raises ClientError.

    AWS WAF finds a web ACL and an API only some seconds after they were created.
    """
    web_acl = _web_acl_arn(stage)
    if not web_acl:
        return
    gateway_stage = configuration.gateway_stage(stage.name)
    resource = f"arn:{stage.partition}:apigateway:{stage.region}::/restapis/{api}/stages/{gateway_stage}"
    waf = client("wafv2")
    for _ in range(_ASSOCIATION_ATTEMPTS - 1):
        try:
            waf.associate_web_acl(WebACLArn=web_acl, ResourceArn=resource)
        except (waf.exceptions.WAFUnavailableEntityException, waf.exceptions.WAFNonexistentItemException):
            time.sleep(_ASSOCIATION_PAUSE_SECONDS)
        else:
            return
    waf.associate_web_acl(WebACLArn=web_acl, ResourceArn=resource)


def _stack_name(stage: Stage) -> str:
    return f"{stage.prefix}-safeguards"


def _stage_parameters(stage: Stage, email: str, *, limits_addresses: bool) -> dict[str, str]:
    edge_secrets = secrets.read_edge_secrets(stage) if limits_addresses else [""]  # Only the rate rule needs them.
    return {
        "Stage": stage.name,
        "AlarmEmail": email,
        "EdgeSecret": edge_secrets[0],
        "FormerEdgeSecret": edge_secrets[-1],
        "TableArn": stage.table_arn,
        "AnchorsBucketArn": f"arn:{stage.partition}:s3:::{stage.bucket_name('anchors')}",
    }


def _web_acl_arn(stage: Stage) -> str:
    return cloudformation.stack_outputs_or_empty(_stack_name(stage)).get("WebAclArn", "")


def _dissociate_web_acl(stage: Stage) -> None:
    # WAF does not delete a web ACL that an API uses.
    if web_acl := _web_acl_arn(stage):
        waf = client("wafv2")
        for resource in waf.list_resources_for_web_acl(WebACLArn=web_acl, ResourceType="API_GATEWAY")["ResourceArns"]:
            waf.disassociate_web_acl(ResourceArn=resource)
