"""The commands `make edge` and `make edge-secret`: CloudFront in front of the API, for the visitors of sites."""

import time
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import SplitResult, urlsplit

from botocore.exceptions import WaiterError

from chalicelib.kernel.http.client_address import edge_secret_digest
from infrastructure import cloudformation, configuration, deployed_functions, secrets
from infrastructure.account import CommandError, client, translate_errors
from infrastructure.names import Stage, primary_stage_name

EDGE_REGION: Final = "us-east-1"
"""The region of the stack. CloudFront takes certificates from, and delivers logs in, this region only."""

_YES_NO: Final = {True: "yes", False: "no"}
_CERTIFICATE_WAITER_CONFIG: Final = {"Delay": 15, "MaxAttempts": 240}
_RECORD_POLL_SECONDS: Final = 2
_MAX_RECORD_POLLS: Final = 30


def create_or_update_edge(
    name: str, *, hosts: str | None, certificate: str | None, custom_domains: bool | None
) -> None:
    """Create or update the distribution of a stage, and print the DNS records that it needs. Raises CommandError.

    `hosts`: names separated by commas; `certificate`: ARN of a certificate for them; `custom_domains`: whether to serve
    those of tenants. Where an argument is None, the stack keeps its value, and at first gets that of
    `<slug>.sites.<PLATFORMS_DOMAIN>` without custom domains. The command can be repeated and interrupted.
    """
    stage = _load_primary_stage(name)
    variables = configuration.environment_variables(name)
    public_url = _public_url(stage, variables)
    with translate_errors():
        secret = secrets.read_edge_secrets(stage)[0]
        _require_deployed_digest(stage, secret)
        stack = f"{stage.prefix}-edge"
        former = cloudformation.stack_parameters(stack, region=EDGE_REGION)
        listed = hosts or former.get("Hosts") or f"*.sites.{variables['PLATFORMS_DOMAIN']}"
        served = [host.strip() for host in listed.split(",")]
        former_certificate = former.get("CertificateArn") if former.get("Hosts") == ",".join(served) else None
        certificate_arn = certificate or former_certificate or _find_or_request_certificate(served)
        _wait_for_certificate(certificate_arn)
    parameters = {
        "Stage": stage.name,
        "Hosts": ",".join(served),
        "CertificateArn": certificate_arn,
        "OriginDomain": public_url.netloc,
        "OriginPath": public_url.path,
        "OriginSecret": secret,
        "CustomDomains": former.get("CustomDomains", "no") if custom_domains is None else _YES_NO[custom_domains],
    }
    template = (configuration.PROJECT / "infrastructure/edge.json").read_text()
    outputs = cloudformation.create_or_update_stack(stack, template, parameters, region=EDGE_REGION)
    _print_dns_records(served, variables["PLATFORMS_DOMAIN"], outputs)


def print_edge_secret(name: str) -> None:
    """Print the secret that an edge of your own sends to the API of a stage. Raises CommandError."""
    with translate_errors():
        print(secrets.read_edge_secrets(_load_primary_stage(name))[0])


def _load_primary_stage(name: str) -> Stage:
    if primary_stage_name(name) != name:
        raise CommandError(
            f"{name} has no edge of its own. Pass STAGE={primary_stage_name(name)}: its edge follows PUBLIC_URL."
        )
    return configuration.load_stage_in_current_account(name)


def _public_url(stage: Stage, variables: Mapping[str, str]) -> SplitResult:
    if "PUBLIC_URL" not in variables:
        raise CommandError(f"{stage.name} has no PUBLIC_URL yet. Run `make deploy STAGE={stage.name}` first.")
    return urlsplit(variables["PUBLIC_URL"])


def _require_deployed_digest(stage: Stage, secret: str) -> None:
    """Raise CommandError unless the deployed API accepts the secret. Visitors would share one budget otherwise."""
    deployed = deployed_functions.function_variables(stage, "api_handler") or {}
    if edge_secret_digest(secret) not in deployed.get("EDGE_SECRET_DIGESTS", "").split(","):
        raise CommandError(
            f"The API of {stage.name} does not accept the secret of the edge yet. Run `make bootstrap"
            f" STAGE={stage.name}` and `make deploy STAGE={stage.name}`, then this command again."
        )


def _find_or_request_certificate(hosts: Sequence[str]) -> str:
    """Return the ARN of a certificate for exactly these hosts, which is valid or waits for its validation."""
    acm = client("acm", EDGE_REGION)
    usable = {"CertificateStatuses": ["ISSUED", "PENDING_VALIDATION"]}
    pages = acm.get_paginator("list_certificates").paginate(**usable)
    for found in (found for page in pages for found in page["CertificateSummaryList"]):
        described = acm.describe_certificate(CertificateArn=found["CertificateArn"])["Certificate"]
        if {*described.get("SubjectAlternativeNames", ())} == {*hosts}:
            return str(found["CertificateArn"])
    print(f"Requesting a certificate for {', '.join(hosts)}.", flush=True)
    answer = acm.request_certificate(DomainName=hosts[0], SubjectAlternativeNames=[*hosts], ValidationMethod="DNS")
    return str(answer["CertificateArn"])


def _wait_for_certificate(arn: str) -> None:
    """Print the DNS records that validate a certificate, and wait until it is valid. Raises CommandError."""
    acm = client("acm", EDGE_REGION)
    if acm.describe_certificate(CertificateArn=arn)["Certificate"]["Status"] == "ISSUED":
        return
    print("Create these DNS records, which prove to AWS that the names are yours, and keep them:")
    for record in _validation_records(arn):
        print(f"  {record['Name']} {record['Type']} {record['Value']}")
    print("Waiting until the certificate is valid. You can interrupt the command and repeat it later.", flush=True)
    try:
        acm.get_waiter("certificate_validated").wait(CertificateArn=arn, WaiterConfig=_CERTIFICATE_WAITER_CONFIG)
    except WaiterError as error:
        status = acm.describe_certificate(CertificateArn=arn)["Certificate"]["Status"]
        raise CommandError(
            f"The certificate {arn} is not valid: {status}. Check the DNS records above, then run the command again. If"
            " it cannot become valid any more, pass another one with CERTIFICATE=."
        ) from error


def _validation_records(arn: str) -> list[Mapping[str, str]]:
    """Return the DNS records of a certificate. ACM creates them within seconds after the request."""
    acm = client("acm", EDGE_REGION)
    for _ in range(_MAX_RECORD_POLLS):
        options = acm.describe_certificate(CertificateArn=arn)["Certificate"].get("DomainValidationOptions", [])
        records = [option["ResourceRecord"] for option in options if "ResourceRecord" in option]
        if records and len(records) == len(options):
            return records
        time.sleep(_RECORD_POLL_SECONDS)
    raise CommandError(f"AWS has not created the DNS records of the certificate {arn} yet. Run the command again.")


def _print_dns_records(hosts: Sequence[str], domain: str, outputs: Mapping[str, str]) -> None:
    records = dict.fromkeys(hosts, outputs["DistributionDomain"])
    if "RoutingEndpoint" in outputs:
        records[f"cname.{domain}"] = outputs["RoutingEndpoint"]
    print(f"\nThe distribution is {outputs['DistributionDomain']}. Create these DNS records:")
    for host, target in records.items():
        print(f"  {host} CNAME {target}")
    if "RoutingEndpoint" in outputs:
        distribution, group = outputs["TenantDistributionId"], outputs["ConnectionGroupId"]
        print(f"Custom domains belong to the distribution {distribution} and the connection group {group}.")
    print("docs/guides/edge.md describes these records, custom domains and the removal.")
