"""The command `bootstrap`, run in processes of its own against a simulated AWS account."""

import json
import subprocess

import pytest

from infrastructure.gateway import SMALLEST_THROTTLE, Throttle
from infrastructure.resources import table_definition
from local.paths import ROOT
from tests.infrastructure.simulated_account import (
    BOOTSTRAP,
    ENTRIES_UNTIL,
    PROD,
    RECORDS_UNTIL,
    SEALS_UNTIL,
    Account,
    copy_project,
    run_account,
)

pytestmark = pytest.mark.xdist_group("deploy")


@pytest.mark.parametrize(
    ("options", "variables", "reason"),
    [
        (("--domain", "no domain"), {}, "PLATFORMS_DOMAIN: must be a domain name"),
        (("--domain", "https://atrium.example.com", "--jwks", ""), {}, "without a scheme, port or path"),
        (("--domain", "x/y"), {}, "DOMAIN= sets PLATFORMS_DOMAIN."),
        (
            ("--jwks", "", "--issuer", "https://127.0.0.1:9"),
            {},
            "127.0.0.1:9 of ISSUER cannot be reached: connection refused.",
        ),
        (("--jwks", "", "--issuer", "https://issuer.invalid"), {}, "cannot be reached: its name cannot be resolved."),
        (("--set", "AUTH_CLAIMS_GROUPS=roles"), {}, "Do you mean AUTH_CLAIM_GROUPS? docs"),
        (("--jwks", "http://login.example.com/keys"), {}, "JWKS must be an https URL"),
        (("--public-url", "api.example.com"), {}, "PUBLIC_URL: must be an https URL"),
        (("--alarms-to", "ops"), {}, "ALARMS_TO must be an e-mail address"),
        (("--set", "AUTH_CLAIMS=email"), {}, "SET: there is no setting AUTH_CLAIMS"),
        (("--set", "DATA_KEY=x"), {}, "SET cannot change DATA_KEY: an argument or a command sets it."),
        (("--set", "AUTH_USERINFO"), {}, "SET: AUTH_USERINFO needs a value"),
        (("--set", "AUTH_USERINFO=perhaps"), {}, "AUTH_USERINFO: Input should be a valid boolean"),
        ((), {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "No AWS credentials were found"),
        ((), {"AWS_REGION": "", "AWS_DEFAULT_REGION": ""}, "No region was found"),
        ((), {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "Check AWS_REGION and the network"),
    ],
)
def test_bootstrap_reports_an_error_before_it_creates_anything(options, variables, reason, account):
    assert reason in account.run_with_error(*BOOTSTRAP, *options, **variables)
    assert account.client("cloudformation").list_stacks()["StackSummaries"] == []


def test_bootstrap_lists_all_missing_options_and_deploy_requires_a_bootstrapped_stage(account):
    error = account.run_with_error("bootstrap", "--stage", "prod", "--audience", "atrium")
    assert [option in error for option in ("ISSUER=", "DOMAIN=", "AUDIENCE=")] == [True, True, False]
    absent = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    error = account.run_with_error("bootstrap", "--stage", "prod", "--domain", "x/y", "--alarms-to", "ops", **absent)
    for text in ("ISSUER=", "AUDIENCE=", "PLATFORMS_DOMAIN: must be", "ALARMS_TO must be", "No AWS credentials"):
        assert text in error
    for command in ("deploy", "template"):
        error = account.run_with_error(command, "--stage", "dev", **absent)
        assert "make bootstrap STAGE=dev ISSUER=... AUDIENCE=... DOMAIN=..." in error
        assert "needs the credentials of an AWS account" in error
    assert "make bootstrap STAGE=prod-green\n" in account.run_with_error("template", "--stage", "prod-green")
    assert account.client("cloudformation").list_stacks()["StackSummaries"] == []


def test_bootstrap_leaves_the_bucket_of_the_template_empty(bootstrapped):
    s3, bucket = bootstrapped.client("s3"), PROD.bucket_name("templates")
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    s3.delete_bucket(Bucket=bucket)  # A repeated bootstrap, which updates the stack, creates it again.
    bootstrapped.run_checked("bootstrap", "--stage", "prod", "--alarms-to", "ops@example.com")
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    (stack,) = bootstrapped.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"]
    assert {"ParameterKey": "AlarmEmail", "ParameterValue": "ops@example.com"} in stack["Parameters"]


@pytest.mark.parametrize(("identity_exists", "created"), [(False, "mail.example.com"), (True, "")])
def test_mail_can_be_added_to_a_stage_later(identity_exists, created, tmp_path):
    with run_account(tmp_path) as account:
        if identity_exists:
            account.client("sesv2").create_email_identity(EmailIdentity="mail.example.com")
        account.run_checked(*BOOTSTRAP)
        account.run_checked("bootstrap", "--stage", "prod", "--mail-from", "atrium@mail.example.com")
        account.run_checked("bootstrap", "--stage", "prod")
        (stack,) = account.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"]
    parameters = {each["ParameterKey"]: each["ParameterValue"] for each in stack["Parameters"]}
    assert (parameters["SendsMail"], parameters["MailDomain"], parameters["AlarmEmail"]) == ("yes", created, "")


@pytest.mark.parametrize("command", ["bootstrap", "deploy", "template", "edge", "edge-secret", "delete"])
def test_make_requires_the_name_of_the_stage(command):
    for argument, code, text in (
        ("STAGE=", 2, f"Name the stage: make {command} STAGE=prod"),
        ("STAGE=prod", 0, f"infrastructure {command} --stage 'prod'"),
    ):
        make = ["make", "-n", "PYTHON=python", command, argument]
        result = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (result.returncode, text in result.stdout + result.stderr) == (code, True)


@pytest.mark.exhaustive
def test_template_needs_no_credentials_after_bootstrap(bootstrapped):
    names = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    completed = bootstrapped.run("template", "--stage", "prod", **dict.fromkeys(names, ""))
    assert completed.returncode == 0, completed.stderr
    assert "the quotas of the account were not checked. prod needs an account with at least 975" in completed.stdout
    api = json.loads((bootstrapped.project / "build/prod/out/sam.json").read_text())["Resources"]["RestAPI"]
    (method,) = api["Properties"]["MethodSettings"]
    assert Throttle(method["ThrottlingRateLimit"], method["ThrottlingBurstLimit"]) == SMALLEST_THROTTLE


@pytest.mark.exhaustive
def test_bootstrap_can_be_repeated_without_options_or_in_a_fresh_checkout(bootstrapped, tmp_path):
    def configuration_files() -> dict[str, bytes]:
        folder = bootstrapped.project / ".chalice"
        return {str(file): file.read_bytes() for file in folder.rglob("*.json")}

    before, variables = configuration_files(), bootstrapped.variables()
    assert variables["EVENTS_QUEUE_URL"] == PROD.queue_url("events.fifo")
    assert variables["DATA_KEY"].startswith("kms:")
    assert "Made the secret" not in bootstrapped.run_checked("bootstrap", "--stage", "prod")
    assert configuration_files() == before
    other = Account(copy_project(tmp_path), bootstrapped.endpoint)
    other.run_checked(*BOOTSTRAP)
    changing = ("PUBLIC_URL", ENTRIES_UNTIL, RECORDS_UNTIL, SEALS_UNTIL)
    first, second = ({k: v for k, v in a.variables().items() if k not in changing} for a in (bootstrapped, other))
    assert first == second


@pytest.mark.exhaustive
def test_bootstrap_keeps_edited_values_and_accepts_another_table_and_bucket(bootstrapped, tmp_path):
    other = Account(copy_project(tmp_path), bootstrapped.endpoint)
    config = other.config()
    config["stages"]["prod"] |= {"environment_variables": {"LOG_LEVEL": "WARNING"}, "xray": True}
    (other.project / ".chalice/config.json").write_text(json.dumps(config, indent=2) + "\n")
    table, bucket = "atrium-prod-restored", "atrium-prod-anchors-2"
    command = [*BOOTSTRAP, "--table", table]
    assert f"There is no table {table} in" in other.run_with_error(*command)
    other.client("dynamodb").create_table(**table_definition(table))
    command += ["--anchors", bucket]
    assert f"There is no bucket {bucket} in" in other.run_with_error(*command)
    other.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": PROD.region})
    other.run_checked(*command)
    other.run_checked("bootstrap", "--stage", "prod")  # Options of an earlier run are stored.
    assert other.config()["stages"]["prod"]["xray"] is True
    expected = {"LOG_LEVEL": "WARNING", "TABLE_NAME": table, "ANCHORS_BUCKET": bucket}
    assert expected.items() <= other.variables().items()
    policy = (other.project / ".chalice/policies/prod/api_handler.json").read_text()
    assert PROD.arn("dynamodb", f"table/{table}") in policy
    assert f'"arn:aws:s3:::{bucket}"' in policy
    assert f'{PROD.table_arn}"' not in policy
    assert PROD.bucket_name("anchors") not in policy

    other.run_checked("bootstrap", "--stage", "prod-green")
    other.run_checked("bootstrap", "--stage", "prod", "--set", "LOG_LEVEL=", "--set", "AUTH_OPERATOR_GROUP=")
    other.run_checked("bootstrap", "--stage", "prod-green")
    for stage in ("prod", "prod-green"):
        known = other.config()["stages"][stage]["environment_variables"]
        assert (known.get("LOG_LEVEL"), known["AUTH_OPERATOR_GROUP"]) == (None, "")
        assert known["AUTH_CLAIM_EMAIL"] == "https://x.example/email,email"
