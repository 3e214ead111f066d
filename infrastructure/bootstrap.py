"""The command `make bootstrap`: create a stage's data resources, and write its settings and policies."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.settings import EMAIL_PATTERN, validate_settings
from infrastructure import access_log, cloudformation, configuration, secrets
from infrastructure.account import Refused, client, explained, stage_here
from infrastructure.discovery import jwks_of
from infrastructure.names import Stage, first_of
from infrastructure.policies import mail_domain, policies
from infrastructure.resources import QUEUES, queue_setting

ARGUMENTS: Final = {
    "issuer": "AUTH_ISSUER",
    "audience": "AUTH_AUDIENCE",
    "domain": "PLATFORMS_DOMAIN",
    "mail_from": "MAIL_FROM",
    "public_url": "PUBLIC_URL",
    "jwks": "AUTH_JWKS",
    "table": "TABLE_NAME",
    "anchors": "ANCHORS_BUCKET",
}
"""The setting for each argument."""

_NEEDED: Final = {
    "AUTH_ISSUER": "ISSUER=https://...  the `iss` of your users' tokens",
    "AUTH_AUDIENCE": "AUDIENCE=...        the `aud` of your users' tokens",
    "PLATFORMS_DOMAIN": "DOMAIN=...          your domain; each platform gets a subdomain of it",
}
_MADE_SECONDS: Final = 900
"""How long the ledger accepts entry MACs of the signing key, until `make deploy` sets the time."""

_NOT_MADE_YET: Final = dict.fromkeys(secrets.SECRETS.values(), "kms:bm90IG1hZGUgeWV0") | {
    "AUDIT_PUBLIC_KEYS": to_base64(bytes(32))
}


def bootstrap(name: str, given: Mapping[str, str], *, alarms_to: str | None = None) -> None:
    """Create or update a stage's data resources, and write its settings and policies.

    `given`: values of ARGUMENTS. Omitted arguments keep their stored values. Raises Refused, and SettingsError if a
    setting would be invalid; then nothing was created.
    """
    known = configuration.variables(name)
    answers = {ARGUMENTS[argument]: value for argument, value in given.items()}
    _need({**known, **answers})
    _check(answers.get("AUTH_JWKS"), alarms_to)
    if "AUTH_JWKS" not in (answers if "AUTH_ISSUER" in answers else known | answers):
        answers["AUTH_JWKS"] = jwks_of({**known, **answers}["AUTH_ISSUER"])
    stage = _stage(name, known, answers)
    wanted = places(stage) | answers
    validate_settings({key.lower(): value for key, value in (known | _NOT_MADE_YET | wanted).items()})
    found = _made(stage, (known | wanted).get("MAIL_FROM", ""), alarms_to)
    _write(stage, known | wanted | found | _former_seals(known))
    print(f"\nWrote .chalice/config.json and .chalice/policies/{name}/. Commit them: they contain no secrets. Next:")
    print(f"    make deploy STAGE={name}")


def second(name: str) -> None:
    """Configure a secondary stage such as prod-green: its own functions and API, with the data of the primary stage.

    Raises Refused, and SettingsError if the settings of the primary stage are invalid.
    """
    data_of = first_of(name)
    known = configuration.variables(data_of)
    stage = replace(configuration.here(data_of), name=name, data_of=data_of)
    configuration.begin(name, like=data_of)
    with explained():
        access_log.make_log_groups(stage)
    _write(stage, {key: value for key, value in known.items() if key != "PUBLIC_URL"})
    print(f"{name} uses the table, queues and keys of {data_of}. Next:\n    make deploy STAGE={name}")


def _need(known: Mapping[str, str]) -> None:
    if missing := [text for setting, text in _NEEDED.items() if not known.get(setting)]:
        raise Refused("Missing arguments, which the first bootstrap requires:\n  " + "\n  ".join(missing))


def _check(jwks: str | None, alarms_to: str | None) -> None:
    if jwks and not jwks.startswith("https://"):
        raise Refused(f"JWKS must be an https URL such as https://login.example.com/keys; {jwks} is not.")
    if alarms_to and not EMAIL_PATTERN.fullmatch(alarms_to):
        raise Refused(f"ALARMS_TO must be an e-mail address such as ops@example.com; {alarms_to} is not.")


def _stage(name: str, known: Mapping[str, str], answers: Mapping[str, str]) -> Stage:
    here = stage_here(name)
    stage = configuration.stored_in(here, {**known, **answers})
    former = known.get("EVENTS_QUEUE_URL")
    if former and former != stage.queue_url("events.fifo"):
        raise Refused(
            f"{name} is configured with the queue {former}. These credentials and this region belong to"
            f" {stage.queue_url('events.fifo')}. Check AWS_PROFILE and AWS_REGION."
        )
    with explained():
        _look_for(stage)
    print(f"{name}: account {here.account}, region {here.region}.", flush=True)
    return stage


def _look_for(stage: Stage) -> None:
    """Raise Refused if a restored table or bucket does not exist."""
    place = f"in {stage.account}, {stage.region}"
    if stage.restored:
        try:
            client("dynamodb").describe_table(TableName=stage.restored)
        except client("dynamodb").exceptions.ResourceNotFoundException:
            raise Refused(f"There is no table {stage.restored} {place}: check TABLE=.") from None
    if stage.anchors:
        try:
            client("s3").head_bucket(Bucket=stage.anchors, ExpectedBucketOwner=stage.account)
        except client("s3").exceptions.ClientError as error:
            why = error.response["Error"]["Code"]
            raise Refused(f"There is no bucket {stage.anchors} {place} ({why}): check ANCHORS=.") from None


def places(stage: Stage) -> dict[str, str]:
    """Return the settings that name a stage's data resources."""
    return {
        "STAGE": stage.data,
        "TABLE_NAME": stage.table,
        **{queue_setting(queue).upper(): stage.queue_url(queue) for queue in QUEUES},
        "EXPORTS_BUCKET": stage.bucket("exports"),
        "ANCHORS_BUCKET": stage.bucket("anchors"),
    }


def _made(stage: Stage, mail_from: str, alarms_to: str | None) -> dict[str, str]:
    template = (configuration.PROJECT / "infrastructure/stack.json").read_text()
    with explained():
        access_log.make_role(stage)
        domain = cloudformation.domain_to_make(stage.prefix, mail_domain(mail_from))
    parameters = {"Stage": stage.name, "MailDomain": domain} | ({"AlarmEmail": alarms_to} if alarms_to else {})
    _say_records(cloudformation.apply(stage.prefix, template, parameters))
    with explained():
        for secret in secrets.create(stage):
            print(f"Created the secret {secret}.")
        access_log.allow(stage)
        found = secrets.read(stage)
        return {**found, "AUDIT_PUBLIC_KEYS": secrets.public_keys(found["AUDIT_SIGNING_KEY"])}


def _former_seals(known: Mapping[str, str]) -> dict[str, str]:
    """Accept entry MACs of the signing key on a stage without SEAL_KEY, until `make deploy` sets the time."""
    begins = "AUDIT_SIGNING_KEY" in known and "SEAL_KEY" not in known
    return {configuration.FORMER_SEALS: after(now(), seconds=_MADE_SECONDS)} if begins else {}


def _say_records(outputs: Mapping[str, str]) -> None:
    records = [
        f"  {outputs[f'DkimName{n}']} CNAME {outputs[f'DkimValue{n}']}" for n in "123" if f"DkimName{n}" in outputs
    ]
    if records:
        print("To send mail, add these records to the DNS of its domain:", *records, sep="\n")


def _write(stage: Stage, found: Mapping[str, str]) -> None:
    key = cloudformation.outputs(stage.prefix)["KeyArn"]
    for function, policy in policies(stage, key, found.get("MAIL_FROM", "")).items():
        configuration.write_whole(configuration.CHALICE / f"policies/{stage.name}/{function}.json", policy)
    configuration.write(stage.name, {key: value for key, value in found.items() if value})
