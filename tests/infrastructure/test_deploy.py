"""The commands `bootstrap`, `deploy` and `delete`, run in processes of their own against a simulated AWS account."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from app import app
from chalicelib.kernel.core.clock import after, now
from infrastructure.deployed_functions import function_names
from infrastructure.gateway import PROBLEMS, THROTTLE
from infrastructure.policies import policies
from infrastructure.resources import table_definition
from local.paths import ROOT
from tests.harness import moto_server, project_copies
from tests.infrastructure.simulated_account import PROD, Account

PROJECT = (".chalice", "infrastructure")
BOOTSTRAP_OPTIONS = (
    *("--issuer", "https://login.example.com", "--jwks", "https://login.example.com/keys.json"),
    *("--audience", "atrium", "--domain", "atrium.example.com"),
)
ENTRIES_UNTIL = "UNAUTHENTICATED_ENTRIES_UNTIL"
SEALS_UNTIL = "SIGNING_KEY_SEALS_UNTIL"
APPLIED_MIGRATION = [{"id": "a-migration", "state": "applied", "error": None, "duration_ms": 7}]

pytestmark = pytest.mark.xdist_group("deploy")


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An empty account."""
    project = project_copies.copy_project(
        PROJECT, tmp_path_factory.mktemp("project"), "deployments", "deployed", "policies"
    )
    with moto_server.run_moto_server() as endpoint:
        yield Account(project, endpoint)


@pytest.fixture(scope="module")
def bootstrapped(account: Account) -> Account:
    """The account after `prod` was bootstrapped."""
    account.run_checked("bootstrap", "--stage", "prod", *BOOTSTRAP_OPTIONS)
    return account


@pytest.fixture(scope="module")
def deployed(bootstrapped: Account) -> Account:
    """The account after the first deployment."""
    bootstrapped.set_migration_result(APPLIED_MIGRATION)
    output = bootstrapped.run_checked("deploy", "--stage", "prod")
    assert "a-migration: applied." in output
    assert f"curl {public_url(bootstrapped)}/status" in output
    return bootstrapped


def public_url(account: Account) -> str:
    return str(account.config()["stages"]["prod"]["environment_variables"]["PUBLIC_URL"])


def test_bootstrap_lists_all_missing_options_and_creates_nothing(account):
    error = account.run_with_error("bootstrap", "--stage", "prod", "--audience", "atrium")
    assert [option in error for option in ("ISSUER=", "DOMAIN=", "AUDIENCE=")] == [True, True, False]
    assert account.client("cloudformation").list_stacks()["StackSummaries"] == []


@pytest.mark.parametrize(
    ("options", "variables", "reason"),
    [
        (("--domain", "no domain"), {}, "PLATFORMS_DOMAIN: must be a domain name"),
        (("--jwks", ""), {}, "cannot be reached"),
        (("--jwks", "http://login.example.com/keys"), {}, "JWKS must be an https URL"),
        (("--jwks", "app.py"), {}, "JWKS must be an https URL"),
        (("--public-url", "api.example.com"), {}, "PUBLIC_URL: must be an https URL"),
        (("--alarms-to", "ops"), {}, "ALARMS_TO must be an e-mail address"),
        ((), {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "No AWS credentials were found"),
        ((), {"AWS_REGION": "", "AWS_DEFAULT_REGION": ""}, "No region was found"),
        ((), {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "Check AWS_REGION and the network"),
    ],
)
def test_bootstrap_reports_an_error_before_it_creates_anything(options, variables, reason, account):
    issuer = ("--issuer", "https://127.0.0.1:9") if options == ("--jwks", "") else ()
    assert reason in account.run_with_error(
        "bootstrap", "--stage", "prod", *BOOTSTRAP_OPTIONS, *options, *issuer, **variables
    )
    assert account.client("cloudformation").list_stacks()["StackSummaries"] == []


def test_deploy_requires_a_bootstrapped_stage(account):
    assert "make bootstrap STAGE=dev" in account.run_with_error("deploy", "--stage", "dev")


@pytest.mark.parametrize("command", ["bootstrap", "deploy", "template", "delete"])
def test_make_requires_the_name_of_the_stage(command):
    environment = {name: value for name, value in os.environ.items() if name != "STAGE"}
    without_stage, with_stage = (
        subprocess.run(
            ["make", "-n", command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        for arguments in ([], ["STAGE=prod"])
    )
    assert (without_stage.returncode, f"Name the stage: make {command} STAGE=prod" in without_stage.stderr) == (2, True)
    assert (with_stage.returncode, f"infrastructure {command} --stage 'prod'" in with_stage.stdout) == (0, True)


def test_template_needs_no_credentials_after_bootstrap(bootstrapped):
    names = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    completed = bootstrapped.run("template", "--stage", "prod", **dict.fromkeys(names, ""))
    assert completed.returncode == 0, completed.stderr
    assert json.loads((bootstrapped.project / "build/prod/out/sam.json").read_text())["Resources"]["APIHandler"]


def test_bootstrap_writes_the_stage_and_can_be_repeated_without_options(bootstrapped):
    before = {file: file.read_bytes() for file in (bootstrapped.project / ".chalice").rglob("*.json")}
    variables = bootstrapped.config()["stages"]["prod"]["environment_variables"]
    assert variables["EVENTS_QUEUE_URL"] == PROD.queue_url("events.fifo")
    assert variables["DATA_KEY"].startswith("kms:")
    output = bootstrapped.run_checked("bootstrap", "--stage", "prod")
    assert "Made the secret" not in output
    assert {file: file.read_bytes() for file in (bootstrapped.project / ".chalice").rglob("*.json")} == before


def test_bootstrap_writes_the_same_configuration_into_a_fresh_checkout(bootstrapped, tmp_path_factory):
    fresh = project_copies.copy_project(
        PROJECT, tmp_path_factory.mktemp("fresh"), "deployments", "deployed", "policies"
    )
    other = Account(fresh, bootstrapped.endpoint)
    other.run_checked("bootstrap", "--stage", "prod", *BOOTSTRAP_OPTIONS)
    configurations = [
        {
            key: value
            for key, value in account.config()["stages"]["prod"]["environment_variables"].items()
            if key not in ("PUBLIC_URL", ENTRIES_UNTIL, SEALS_UNTIL)
        }
        for account in (other, bootstrapped)
    ]
    assert configurations[0] == configurations[1]


def test_bootstrap_keeps_edited_values_and_accepts_another_table_and_bucket(bootstrapped, tmp_path_factory):
    project = project_copies.copy_project(
        PROJECT, tmp_path_factory.mktemp("restored"), "deployments", "deployed", "policies"
    )
    file, other = project / ".chalice/config.json", Account(project, bootstrapped.endpoint)
    config = other.config()
    config["stages"]["prod"]["environment_variables"] |= {"LOG_LEVEL": "WARNING"}
    config["stages"]["prod"]["xray"] = True
    file.write_text(json.dumps(config, indent=2) + "\n")
    command: tuple[str, ...] = ("bootstrap", "--stage", "prod", *BOOTSTRAP_OPTIONS, "--table", "atrium-prod-restored")
    assert "There is no table atrium-prod-restored in" in other.run_with_error(*command)
    other.client("dynamodb").create_table(**table_definition("atrium-prod-restored"))
    command += ("--anchors", "atrium-prod-anchors-2")
    assert "There is no bucket atrium-prod-anchors-2 in" in other.run_with_error(*command)
    other.client("s3").create_bucket(
        Bucket="atrium-prod-anchors-2", CreateBucketConfiguration={"LocationConstraint": PROD.region}
    )
    other.run_checked(*command)
    other.run_checked("bootstrap", "--stage", "prod")  # Options of an earlier run are stored.
    stage = other.config()["stages"]["prod"]
    assert stage["xray"] is True
    assert stage["environment_variables"]["LOG_LEVEL"] == "WARNING"
    assert stage["environment_variables"]["TABLE_NAME"] == "atrium-prod-restored"
    policy = (project / ".chalice/policies/prod/api_handler.json").read_text()
    assert PROD.arn("dynamodb", "table/atrium-prod-restored") in policy
    assert f'{PROD.table_arn}"' not in policy
    assert stage["environment_variables"]["ANCHORS_BUCKET"] == "atrium-prod-anchors-2"
    assert '"arn:aws:s3:::atrium-prod-anchors-2"' in policy
    assert PROD.bucket_name("anchors") not in policy


def test_a_deployment_follows_the_configuration(deployed):
    config, resources = deployed.config(), deployed.deployed_resources()
    stage, variables = config["stages"]["prod"], config["stages"]["prod"]["environment_variables"]
    assert set(resources["functions"]) == {PROD.function_name(name) for name in function_names(app)}
    for name in function_names(app):
        function, function_config = resources["functions"][PROD.function_name(name)], config["lambda_functions"][name]
        assert function["Timeout"] == function_config["lambda_timeout"]
        assert function["MemorySize"] == function_config.get("lambda_memory_size", config["lambda_memory_size"])
        assert function["Environment"]["Variables"] == variables
        concurrency = deployed.client("lambda").get_function_concurrency(FunctionName=PROD.function_name(name))
        assert concurrency["ReservedConcurrentExecutions"] == stage["lambda_functions"][name]["reserved_concurrency"]


def test_every_role_has_only_the_policy_of_its_function(deployed):
    iam = deployed.client("iam")
    (stack,) = deployed.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"]
    key = next(output["OutputValue"] for output in stack["Outputs"] if output["OutputKey"] == "KeyArn")
    for function, policy in policies(PROD, key).items():
        role = f"atrium-prod-{function}"
        assert iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"] == []
        (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
        assert iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] == policy


def test_queue_mappings_report_failed_messages_from_the_start(deployed):
    mappings = deployed.deployed_resources()["mappings"].values()
    assert len(mappings) == 4
    assert all(mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for mapping in mappings)
    assert all(mapping["EventSourceArn"].startswith(PROD.arn("sqs", "atrium-prod-")) for mapping in mappings)


def test_the_api_has_gateway_responses_a_throttle_and_an_access_log(deployed):
    gateway, (api,) = deployed.client("apigateway"), deployed.deployed_resources()["apis"]
    responses = {
        response["responseType"]: response for response in gateway.get_gateway_responses(restApiId=api)["items"]
    }
    assert {kind: int(response["statusCode"]) for kind, response in responses.items()} == {
        kind: problem.status for kind, problem in PROBLEMS.items()
    }
    stage = gateway.get_stage(restApiId=api, stageName="prod")
    assert stage["methodSettings"]["*/*"]["throttlingRateLimit"] == THROTTLE["ThrottlingRateLimit"]
    assert stage["accessLogSettings"]["destinationArn"] == PROD.arn("logs", "log-group:/atrium/prod/access")
    assert "$context.requestId" in stage["accessLogSettings"]["format"]
    assert gateway.get_account()["cloudwatchRoleArn"].endswith(":role/atrium-gateway-logs")


def read_entries_until(account: Account) -> str:
    return str(account.config()["stages"]["prod"]["environment_variables"][ENTRIES_UNTIL])


def test_entries_without_a_mac_are_valid_until_15_minutes_after_the_deployment_that_introduces_macs(deployed):
    start = now()
    assert read_entries_until(deployed) <= start  # The first deployment has no such entries.
    jobs, variables = PROD.function_name("jobs"), deployed.config()["stages"]["prod"]["environment_variables"]
    before = {name: value for name, value in variables.items() if name != ENTRIES_UNTIL}
    deployed.client("lambda").update_function_configuration(FunctionName=jobs, Environment={"Variables": before})
    deployed.set_migration_result([])
    deployed.run_checked("deploy", "--stage", "prod")
    introduced = read_entries_until(deployed)
    assert after(start, seconds=900) <= introduced <= after(now(), seconds=900)
    deployed.run_checked("deploy", "--stage", "prod")
    assert read_entries_until(deployed) == introduced
    functions = deployed.deployed_resources()["functions"].values()
    assert {function["Environment"]["Variables"][ENTRIES_UNTIL] for function in functions} == {introduced}


def test_a_fresh_checkout_keeps_the_deadline_of_entries_without_a_mac(deployed):
    before, config = read_entries_until(deployed), deployed.config()
    del config["stages"]["prod"]["environment_variables"][ENTRIES_UNTIL]
    (deployed.project / ".chalice/config.json").write_text(json.dumps(config, indent=2) + "\n")
    deployed.set_migration_result([])
    deployed.run_checked("deploy", "--stage", "prod")
    assert read_entries_until(deployed) == before


def test_seals_of_the_signing_key_are_valid_while_functions_without_a_seal_key_are_replaced(deployed):
    start, variables = now(), deployed.config()["stages"]["prod"]["environment_variables"]
    assert SEALS_UNTIL not in variables  # The first deployment has no such seals.
    remove_settings(deployed, "SEAL_KEY", "AUDIT_PUBLIC_KEYS")
    assert "SEAL_KEY: Field required" in deployed.run_with_error("deploy", "--stage", "prod")
    deployed.run_checked("bootstrap", "--stage", "prod")
    assert deployed.config()["stages"]["prod"]["environment_variables"] == variables | {
        SEALS_UNTIL: read_seals_until(deployed)
    }
    # Otherwise `verify` would report entries as altered until the deployment.
    assert read_seals_until(deployed) > start
    before = {name: value for name, value in variables.items() if name != "SEAL_KEY"}
    deployed.client("lambda").update_function_configuration(
        FunctionName=PROD.function_name("api_handler"), Environment={"Variables": before}
    )
    deployed.set_migration_result([])
    deployed.run_checked("deploy", "--stage", "prod")
    introduced = read_seals_until(deployed)
    assert after(start, seconds=900) <= introduced <= after(now(), seconds=900)
    deployed.run_checked("deploy", "--stage", "prod")
    assert read_seals_until(deployed) == introduced
    functions = deployed.deployed_resources()["functions"].values()
    assert {function["Environment"]["Variables"][SEALS_UNTIL] for function in functions} == {introduced}


def test_a_fresh_checkout_keeps_the_deadline_of_former_seals_until_seals_are_renewed(deployed):
    introduced = read_seals_until(deployed)
    remove_settings(deployed, SEALS_UNTIL)
    deployed.set_migration_result([])
    deployed.run_checked("deploy", "--stage", "prod")
    assert read_seals_until(deployed) == introduced
    config = deployed.config()
    config["stages"]["prod"]["environment_variables"][SEALS_UNTIL] = ""  # as `renew-seals` sets it
    (deployed.project / ".chalice/config.json").write_text(json.dumps(config, indent=2) + "\n")
    deployed.run_checked("deploy", "--stage", "prod")
    assert read_seals_until(deployed) == ""
    functions = deployed.deployed_resources()["functions"].values()
    assert {function["Environment"]["Variables"].get(SEALS_UNTIL, "") for function in functions} == {""}

    remove_settings(deployed, SEALS_UNTIL)
    deployed.run_checked("deploy", "--stage", "prod")
    assert SEALS_UNTIL not in deployed.config()["stages"]["prod"]["environment_variables"]


def remove_settings(account: Account, *settings: str) -> None:
    """Remove settings from the configuration of the stage."""
    config = account.config()
    for name in settings:
        del config["stages"]["prod"]["environment_variables"][name]
    (account.project / ".chalice/config.json").write_text(json.dumps(config, indent=2) + "\n")


def read_seals_until(account: Account) -> str:
    return str(account.config()["stages"]["prod"]["environment_variables"][SEALS_UNTIL])


def test_a_second_deployment_creates_nothing(deployed):
    before = deployed.deployed_resources()
    deployed.set_migration_result([])
    assert "No migrations are pending." in deployed.run_checked("deploy", "--stage", "prod")
    after = deployed.deployed_resources()
    assert {kind: set(r) for kind, r in after.items()} == {kind: set(r) for kind, r in before.items()}
    assert all(m["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for m in after["mappings"].values())


def test_a_deployment_completes_a_killed_one_even_in_a_fresh_checkout(deployed):
    before = deployed.deployed_resources()
    shutil.rmtree(deployed.project / ".chalice/deployed")
    deleted_mapping = min(before["mappings"])
    deployed.client("lambda").delete_event_source_mapping(UUID=deleted_mapping)
    deployed.client("lambda").delete_function(FunctionName=PROD.function_name("sweep"))
    deployed.set_migration_result([])
    deployed.run_checked("deploy", "--stage", "prod")
    after = deployed.deployed_resources()
    for kind in ("functions", "apis", "rules", "roles"):
        assert set(after[kind]) == set(before[kind])
    assert len(after["mappings"]) == len(before["mappings"])
    assert set(before["mappings"]) - {deleted_mapping} <= set(after["mappings"])


def test_a_failed_migration_fails_the_deployment_with_its_error(deployed):
    deployed.set_migration_result(
        [{"id": "a-migration", "state": "failed", "error": "It met a lion.", "duration_ms": 7}]
    )
    completed = deployed.run("deploy", "--stage", "prod")
    assert completed.returncode == 1
    assert "a-migration: failed. It met a lion." in completed.stdout
    assert "Not every migration was applied." in completed.stderr


def test_a_stage_is_not_deployed_to_another_account_or_region(deployed):
    error = deployed.run_with_error("deploy", "--stage", "prod", AWS_REGION="us-east-1", AWS_DEFAULT_REGION="us-east-1")
    assert "set AWS_PROFILE or AWS_REGION" in error
    error = deployed.run_with_error(
        "bootstrap", "--stage", "prod", AWS_REGION="us-east-1", AWS_DEFAULT_REGION="us-east-1"
    )
    assert "prod is configured with the queue" in error


def test_a_second_stage_shares_the_data_of_the_first(deployed):
    deployed.run_checked("bootstrap", "--stage", "prod-green")
    deployed.set_migration_result([])
    deployed.run_checked("deploy", "--stage", "prod-green")
    resources = deployed.deployed_resources()
    assert len(resources["apis"]) == 2
    blue, green = (
        resources["functions"][name]["Environment"]["Variables"] for name in ("atrium-prod", "atrium-prod-green")
    )
    assert {key for key in blue if blue[key] != green[key]} == {"PUBLIC_URL"}
    assert len(resources["mappings"]) == 8
    deployed.run_checked("delete", "--stage", "prod-green")
    assert public_url(deployed).removeprefix("https://").partition(".")[0] in deployed.deployed_resources()["apis"]


def test_delete_removes_the_deployed_resources_and_keeps_the_data(deployed):
    deployed.run_checked("delete", "--stage", "prod")
    assert not any(deployed.deployed_resources().values())
    (stack,) = deployed.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"]
    assert stack["StackStatus"].endswith("_COMPLETE")
    assert deployed.client("dynamodb").describe_table(TableName="atrium-prod")["Table"]["TableStatus"] == "ACTIVE"


def test_chalices_own_commands_and_those_of_the_project_work_on_the_same_deployment(deployed):
    project_copies.copy_project(("app.py", "chalicelib", "openapi.json"), deployed.project)
    (deployed.project / "requirements.txt").touch()  # Libraries would be downloaded.
    deployed.run_chalice("deploy")
    by_chalice = deployed.deployed_resources()
    assert set(by_chalice["functions"]) == {PROD.function_name(name) for name in function_names(app)}
    assert not any(m.get("FunctionResponseTypes") for m in by_chalice["mappings"].values())
    deployed.run_chalice("deploy")
    assert {kind: set(r) for kind, r in deployed.deployed_resources().items()} == {
        kind: set(r) for kind, r in by_chalice.items()
    }
    deployed.set_migration_result([])
    deployed.run_checked("deploy", "--stage", "prod")
    by_project = deployed.deployed_resources()
    assert set(by_project["mappings"]) == set(by_chalice["mappings"])
    assert all(m["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for m in by_project["mappings"].values())
    deployed.run_chalice("delete")
    assert not any(deployed.deployed_resources().values())
