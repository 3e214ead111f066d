"""The command `make bootstrap`: create a stage's data resources, and write its settings and policies."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from chalicelib.entrypoints.capacity import PROFILES
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.core.nearest_names import ask_whether_meant, find_nearest_names
from chalicelib.kernel.core.settings import EMAIL_PATTERN, SettingsError, parse_settings, settings_model
from chalicelib.kernel.identity.discovery import discovery_url
from infrastructure import access_log, cloudformation, configuration, mail_checks, safeguards, secrets
from infrastructure.account import CommandError, client, current_stage, translate_errors
from infrastructure.alarms import RATE_PARAMETER
from infrastructure.discovery import discover_console_origins, discover_jwks_url
from infrastructure.names import Stage, primary_stage_name
from infrastructure.policies import mail_domain, policies
from infrastructure.quotas import read_throttle
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
    "capacity": "CAPACITY",
}
"""The setting for each argument."""

_MANAGED_SETTINGS: Final = frozenset(
    {
        *ARGUMENTS.values(),
        *secrets.SECRETS.values(),
        *(queue_setting(queue).upper() for queue in QUEUES),
        *("STAGE", "AWS_ENDPOINT_URL", "EXPORTS_BUCKET", "CONSOLE_ISSUER_ORIGINS"),
        *("AUDIT_PUBLIC_KEYS", "AUDIT_FORMER_PUBLIC_KEYS", "EDGE_SECRET_DIGESTS"),
        *configuration.UPGRADE_SETTINGS,
    }
)
"""Settings that have an argument of their own, or that the commands set. SET cannot change them."""

_REQUIRED_ARGUMENTS: Final = {
    "AUTH_ISSUER": "ISSUER=https://...  the `iss` of your users' tokens",
    "AUTH_AUDIENCE": "AUDIENCE=...        the `aud` of your users' tokens",
    "PLATFORMS_DOMAIN": "DOMAIN=...          your domain; each platform gets a subdomain of it",
}
_SETTINGS_REFERENCE: Final = "docs/reference/settings.md lists all."
_FORMER_SEALS_SECONDS: Final = 900
"""How long the ledger accepts entry MACs of the signing key, until `make deploy` sets the time."""

_PLACEHOLDER_SECRETS: Final = dict.fromkeys(secrets.SECRETS.values(), "kms:bm90IG1hZGUgeWV0") | {
    "AUDIT_PUBLIC_KEYS": to_base64(bytes(32))
}
_PLACEHOLDER_STAGE: Final = Stage("prod", "000000000000", "eu-central-1", "aws")
_PLACEHOLDER_ARGUMENTS: Final = {
    "AUTH_ISSUER": "https://issuer.invalid",
    "AUTH_AUDIENCE": "atrium",
    "AUTH_JWKS": "https://issuer.invalid/keys",
    "PLATFORMS_DOMAIN": "atrium.invalid",
}


def bootstrap(
    name: str,
    arguments: Mapping[str, str],
    *,
    further_settings: Sequence[str] = (),
    alarms_to: str | None = None,
    safeguard_arguments: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Create or update a stage's data resources, and write its settings and policies.

    `arguments`: values of ARGUMENTS. `further_settings`: other settings as `NAME=value`. `safeguard_arguments`:
    values of `safeguards.ARGUMENTS`. What is omitted keeps its stored value. An empty value removes the setting, unless
    it is valid and differs from the default: then it is stored. Raises CommandError, and SettingsError if a setting
    would be invalid; then nothing was created.
    """
    requested = requested_settings(arguments, further_settings)
    removed = {setting for setting, value in requested.items() if not (value or _differs_when_empty(setting))}
    requested = {setting: value for setting, value in requested.items() if setting not in removed}
    stored = configuration.environment_variables(name)
    stored = {setting: value for setting, value in stored.items() if setting not in removed}
    here = _check_preconditions(name, stored, requested, alarms_to, safeguard_arguments)
    if "AUTH_JWKS" not in (requested if "AUTH_ISSUER" in requested else stored | requested):
        requested["AUTH_JWKS"] = discover_jwks_url({**stored, **requested}["AUTH_ISSUER"])
    requested |= _discovered_console_origins(stored | requested)
    stage = _locate_stage(here, stored, requested)
    new_settings = data_settings(stage) | requested
    parse_settings({key.lower(): value for key, value in (stored | _PLACEHOLDER_SECRETS | new_settings).items()})
    secret_settings = _create_resources(stage, (stored | new_settings).get("MAIL_FROM", ""), alarms_to)
    _write_configuration(stage, stored | new_settings | secret_settings | _former_seals_setting(stored), removed)
    if "CAPACITY" in requested:
        configuration.reserve_concurrency(name, PROFILES[requested["CAPACITY"]].reserved_concurrency)
    safeguards.create_or_update_safeguards(stage, safeguard_arguments, alarms_to)
    print(f"\nWrote .chalice/config.json and .chalice/policies/{name}/. Commit them: they contain no secrets. Next:")
    print(f"    make deploy STAGE={name}")


def _discovered_console_origins(all_settings: Mapping[str, str]) -> dict[str, str]:
    """Return the setting with the origins of the console's issuer, if the console has a client. Raises CommandError."""
    if not all_settings.get("CONSOLE_CLIENT_ID"):
        return {}
    url = all_settings.get("CONSOLE_DISCOVERY_URL") or discovery_url(all_settings["AUTH_ISSUER"])
    return {"CONSOLE_ISSUER_ORIGINS": discover_console_origins(url)}


def requested_settings(arguments: Mapping[str, str], further_settings: Sequence[str]) -> dict[str, str]:
    """Return the settings that a call of `bootstrap` changes. Raises CommandError for one that SET cannot change."""
    requested = {ARGUMENTS[argument]: value for argument, value in arguments.items()}
    for text in further_settings:
        name, separator, value = text.partition("=")
        if name.lower() not in settings_model().model_fields or name != name.upper():
            changeable = {field.upper() for field in settings_model().model_fields} - _MANAGED_SETTINGS
            question = ask_whether_meant(find_nearest_names(name, changeable))
            raise CommandError(
                " ".join(filter(None, (f"SET: there is no setting {name}.", question, _SETTINGS_REFERENCE)))
            )
        if name in _MANAGED_SETTINGS:
            raise CommandError(f"SET cannot change {name}: an argument or a command sets it.")
        if not separator:
            raise CommandError(
                f"SET: {name} needs a value, as in SET='{name}=value'. SET='{name}=' returns to the default."
            )
        requested[name] = value
    return requested


def _differs_when_empty(setting: str) -> bool:
    """Return whether an empty value of a setting is valid and has another meaning than its default."""
    field = settings_model().model_fields.get(setting.lower())
    if field is None or not (isinstance(field.default, str) and field.default):
        return False
    try:
        parse_settings({name.lower(): value for name, value in (_PLACEHOLDER_SECRETS | {setting: ""}).items()})
    except SettingsError:
        return False
    return True


def placeholder_environment() -> dict[str, str]:
    """Return valid settings of a stage, as `bootstrap` writes them with only its required arguments."""
    return _PLACEHOLDER_SECRETS | _PLACEHOLDER_ARGUMENTS | data_settings(_PLACEHOLDER_STAGE)


def bootstrap_secondary(name: str) -> None:
    """Configure a secondary stage such as prod-green: its own functions and API, with the data of the primary stage.

    Raises CommandError, and SettingsError if the settings of the primary stage are invalid.
    """
    data_of = primary_stage_name(name)
    known = configuration.environment_variables(data_of)
    removed = {setting.upper() for setting in settings_model().model_fields} - known.keys() - _MANAGED_SETTINGS
    stage = replace(configuration.load_stage_in_current_account(data_of), name=name, primary_stage=data_of)
    configuration.add_stage(name, template_stage=data_of)
    with translate_errors():
        access_log.create_log_groups(stage)
    _write_configuration(stage, {key: value for key, value in known.items() if key != "PUBLIC_URL"}, removed)
    print(f"{name} uses the table, queues and keys of {data_of}. Next:\n    make deploy STAGE={name}")


def _check_preconditions(
    name: str,
    stored: Mapping[str, str],
    requested: Mapping[str, str],
    alarms_to: str | None,
    safeguard_arguments: Mapping[str, str],
) -> Stage:
    """Return the stage in the current account. Raises CommandError with everything that is missing or invalid."""
    problems = [
        *_find_missing_arguments({**stored, **requested}),
        *_find_invalid_arguments(requested.get("AUTH_JWKS"), alarms_to),
        *safeguards.find_invalid_arguments(safeguard_arguments),
        *_find_invalid_settings(name, {**stored, **requested}),
    ]
    try:
        here = current_stage(name)
        with translate_errors():
            problems.extend(safeguards.find_missing_backup_settings(here, safeguard_arguments))
    except CommandError as error:
        raise CommandError("\n".join([*problems, str(error)])) from None
    if problems:
        raise CommandError("\n".join(problems))
    return here


def _find_missing_arguments(known: Mapping[str, str]) -> Iterator[str]:
    if missing := [text for setting, text in _REQUIRED_ARGUMENTS.items() if not known.get(setting)]:
        yield "Missing arguments, which the first bootstrap requires:\n  " + "\n  ".join(missing)


def _find_invalid_arguments(jwks: str | None, alarms_to: str | None) -> Iterator[str]:
    if jwks and not jwks.startswith("https://"):
        yield f"JWKS must be an https URL such as https://login.example.com/keys; {jwks} is not."
    if alarms_to and not EMAIL_PATTERN.fullmatch(alarms_to):
        yield f"ALARMS_TO must be an e-mail address such as ops@example.com; {alarms_to} is not."


def _find_invalid_settings(name: str, known: Mapping[str, str]) -> Iterator[str]:
    """Yield which settings are invalid. Placeholders replace those that are missing, or that the account determines."""
    known = {setting: value for setting, value in known.items() if value or setting not in _PLACEHOLDER_ARGUMENTS}
    known = {**_PLACEHOLDER_ARGUMENTS, **known, **_PLACEHOLDER_SECRETS, **data_settings(_PLACEHOLDER_STAGE)}
    known |= {"STAGE": name, "AUTH_JWKS": _PLACEHOLDER_ARGUMENTS["AUTH_JWKS"]}  # JWKS is checked as an argument.
    try:
        parse_settings({setting.lower(): value for setting, value in known.items()})
    except SettingsError as error:
        origins = [f"{argument.upper()}= sets {setting}" for argument, setting in ARGUMENTS.items()]
        named = [origin for origin in origins if f"{origin.rpartition(' ')[2]}: " in str(error)]
        yield f"{error} {', '.join(named)}." if named else str(error)


def _locate_stage(here: Stage, known: Mapping[str, str], answers: Mapping[str, str]) -> Stage:
    stage = configuration.with_restored_resources(here, {**known, **answers})
    former = known.get("EVENTS_QUEUE_URL")
    if former and former != stage.queue_url("events.fifo"):
        raise CommandError(
            f"{here.name} is configured with the queue {former}. These credentials and this region belong to"
            f" {stage.queue_url('events.fifo')}. Check AWS_PROFILE and AWS_REGION."
        )
    with translate_errors():
        _check_restored_resources(stage)
    print(f"{here.name}: account {here.account}, region {here.region}.", flush=True)
    return stage


def _check_restored_resources(stage: Stage) -> None:
    """Raise CommandError if a restored table or bucket does not exist."""
    place = f"in {stage.account}, {stage.region}"
    if stage.restored_table:
        try:
            client("dynamodb").describe_table(TableName=stage.restored_table)
        except client("dynamodb").exceptions.ResourceNotFoundException:
            raise CommandError(f"There is no table {stage.restored_table} {place}: check TABLE=.") from None
    if stage.restored_anchors_bucket:
        try:
            client("s3").head_bucket(Bucket=stage.restored_anchors_bucket, ExpectedBucketOwner=stage.account)
        except client("s3").exceptions.ClientError as error:
            why = error.response["Error"]["Code"]
            raise CommandError(
                f"There is no bucket {stage.restored_anchors_bucket} {place} ({why}): check ANCHORS=."
            ) from None


def data_settings(stage: Stage) -> dict[str, str]:
    """Return the settings that name a stage's data resources."""
    return {
        "STAGE": stage.data_stage,
        "TABLE_NAME": stage.table_name,
        **{queue_setting(queue).upper(): stage.queue_url(queue) for queue in QUEUES},
        "EXPORTS_BUCKET": stage.bucket_name("exports"),
        "ANCHORS_BUCKET": stage.bucket_name("anchors"),
    }


def _create_resources(stage: Stage, mail_from: str, alarms_to: str | None) -> dict[str, str]:
    template = (configuration.PROJECT / "infrastructure/stack.json").read_text()
    with translate_errors():
        access_log.create_logging_role(stage)
        identity = cloudformation.identity_domain(stage.prefix, mail_domain(mail_from))
    parameters = {"Stage": stage.name, "MailDomain": identity, "SendsMail": "yes" if mail_from else "no"}
    parameters |= {RATE_PARAMETER: str(read_throttle().requests_per_second)}
    parameters |= {"AlarmEmail": alarms_to} if alarms_to else {}
    cloudformation.create_or_update_stack(stage.prefix, template, parameters, upload_for=stage)
    _print_mail_obstacles(mail_domain(mail_from))
    with translate_errors():
        for secret in secrets.create_missing_secrets(stage):
            print(f"Created the secret {secret}.")
        access_log.enable_logging(stage)
        found = secrets.read_settings(stage)
        return {
            **found,
            "AUDIT_PUBLIC_KEYS": secrets.public_keys_setting(found["AUDIT_SIGNING_KEY"]),
            "EDGE_SECRET_DIGESTS": secrets.edge_secret_digests_setting(secrets.read_edge_secrets(stage)),
        }


def _former_seals_setting(known: Mapping[str, str]) -> dict[str, str]:
    """Accept entry MACs of the signing key on a stage without SEAL_KEY, until `make deploy` sets the time."""
    begins = "AUDIT_SIGNING_KEY" in known and "SEAL_KEY" not in known
    return {configuration.FORMER_SEALS_SETTING: after(now(), seconds=_FORMER_SEALS_SECONDS)} if begins else {}


def _print_mail_obstacles(domain: str) -> None:
    for check in mail_checks.check_sending(client("sesv2"), domain) if domain else ():
        if not check.is_passed:
            print(f"Mail: {check.text}\n  {check.remedy}", flush=True)


def _write_configuration(stage: Stage, variables: Mapping[str, str], removed: Collection[str]) -> None:
    key = cloudformation.stack_outputs(stage.prefix)["KeyArn"]
    for function, policy in policies(stage, key, variables.get("MAIL_FROM", "")).items():
        configuration.write_json(configuration.CHALICE_FOLDER / f"policies/{stage.name}/{function}.json", policy)
    values = {key: value for key, value in variables.items() if value or _differs_when_empty(key)}
    configuration.update_variables(stage.name, values, removed)
