"""`bootstrap`, `deploy` and `delete`, as somebody types them, against AWS as moto has it."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from app import app
from chalicelib.kernel.core.clock import after, now
from infrastructure.deployed_functions import functions
from infrastructure.gateway import PROBLEMS, THROTTLE
from infrastructure.policies import policies
from infrastructure.resources import table
from local.paths import ROOT
from tests.harness import moto_server, project_copies
from tests.infrastructure.simulated_account import PROD, Cloud

PROJECT = (".chalice", "infrastructure")
GIVEN = (
    "--issuer",
    "https://login.example.com",
    "--jwks",
    "https://login.example.com/keys.json",
    "--audience",
    "atrium",
    "--domain",
    "atrium.example.com",
)
UNTIL = "UNAUTHENTICATED_ENTRIES_UNTIL"
SEALS = "SIGNING_KEY_SEALS_UNTIL"
MIGRATED = [{"id": "a-migration", "state": "applied", "error": None, "duration_ms": 7}]

pytestmark = pytest.mark.xdist_group("deploy")


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """An account with nothing in it."""
    project = project_copies.copy_project(
        PROJECT, tmp_path_factory.mktemp("project"), "deployments", "deployed", "policies"
    )
    with moto_server.run_moto_server() as endpoint:
        yield Cloud(project, endpoint)


@pytest.fixture(scope="module")
def bootstrapped(cloud: Cloud) -> Cloud:
    """The account with what `prod` keeps its data in."""
    cloud.printed("bootstrap", "--stage", "prod", *GIVEN)
    return cloud


@pytest.fixture(scope="module")
def deployed(bootstrapped: Cloud) -> Cloud:
    """The account after the first deployment."""
    bootstrapped.migrates(MIGRATED)
    said = bootstrapped.printed("deploy", "--stage", "prod")
    assert "a-migration: applied." in said
    assert f"curl {public_url(bootstrapped)}/status" in said
    return bootstrapped


def public_url(cloud: Cloud) -> str:
    return str(cloud.config()["stages"]["prod"]["environment_variables"]["PUBLIC_URL"])


def test_bootstrap_lists_all_that_it_lacks_at_once_and_makes_nothing(cloud: Cloud) -> None:
    said = cloud.refused("bootstrap", "--stage", "prod", "--audience", "atrium")
    assert [word in said for word in ("ISSUER=", "DOMAIN=", "AUDIENCE=")] == [True, True, False]
    assert cloud.client("cloudformation").list_stacks()["StackSummaries"] == []


@pytest.mark.parametrize(
    ("words", "told", "reason"),
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
def test_bootstrap_says_what_is_wrong_before_it_makes_anything(
    words: tuple[str, ...], told: dict[str, str], reason: str, cloud: Cloud
) -> None:
    issuer = ("--issuer", "https://127.0.0.1:9") if words[:1] == ("--jwks",) and not words[1] else ()
    assert reason in cloud.refused("bootstrap", "--stage", "prod", *GIVEN, *words, *issuer, **told)
    assert cloud.client("cloudformation").list_stacks()["StackSummaries"] == []


def test_deploy_wants_a_stage_that_was_bootstrapped(cloud: Cloud) -> None:
    assert "make bootstrap STAGE=dev" in cloud.refused("deploy", "--stage", "dev")


@pytest.mark.parametrize("command", ["bootstrap", "deploy", "template", "delete"])
def test_make_wants_the_name_of_the_stage(command: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "STAGE"}
    unnamed, named = (
        subprocess.run(
            ["make", "-n", command, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        for words in ([], ["STAGE=prod"])
    )
    assert (unnamed.returncode, f"Name the stage: make {command} STAGE=prod" in unnamed.stderr) == (2, True)
    assert (named.returncode, f"infrastructure {command} --stage 'prod'" in named.stdout) == (0, True)


def test_template_needs_nothing_but_what_bootstrap_wrote(bootstrapped: Cloud) -> None:
    nowhere = dict.fromkeys(["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], "")
    done = bootstrapped.run("template", "--stage", "prod", **nowhere)
    assert done.returncode == 0, done.stderr
    assert json.loads((bootstrapped.project / "build/prod/out/sam.json").read_text())["Resources"]["APIHandler"]


def test_bootstrap_writes_the_stage_and_a_second_run_changes_nothing_and_needs_nothing(bootstrapped: Cloud) -> None:
    before = {file: file.read_bytes() for file in (bootstrapped.project / ".chalice").rglob("*.json")}
    variables = bootstrapped.config()["stages"]["prod"]["environment_variables"]
    assert variables["EVENTS_QUEUE_URL"] == PROD.queue_url("events.fifo")
    assert variables["DATA_KEY"].startswith("kms:")
    said = bootstrapped.printed("bootstrap", "--stage", "prod")
    assert "Made the secret" not in said
    assert {file: file.read_bytes() for file in (bootstrapped.project / ".chalice").rglob("*.json")} == before


def test_bootstrap_writes_the_same_again_into_a_fresh_checkout(
    bootstrapped: Cloud, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fresh = project_copies.copy_project(
        PROJECT, tmp_path_factory.mktemp("fresh"), "deployments", "deployed", "policies"
    )
    other = Cloud(fresh, bootstrapped.endpoint)
    other.printed("bootstrap", "--stage", "prod", *GIVEN)
    found = [
        {
            key: value
            for key, value in c.config()["stages"]["prod"]["environment_variables"].items()
            if key not in ("PUBLIC_URL", UNTIL, SEALS)
        }
        for c in (other, bootstrapped)
    ]
    assert found[0] == found[1]


def test_bootstrap_keeps_what_somebody_wrote_there_and_may_be_told_of_another_table_and_bucket(
    bootstrapped: Cloud, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = project_copies.copy_project(
        PROJECT, tmp_path_factory.mktemp("restored"), "deployments", "deployed", "policies"
    )
    file, other = project / ".chalice/config.json", Cloud(project, bootstrapped.endpoint)
    config = other.config()
    config["stages"]["prod"]["environment_variables"] |= {"LOG_LEVEL": "WARNING"}
    config["stages"]["prod"]["xray"] = True
    file.write_text(json.dumps(config, indent=2) + "\n")
    restored: tuple[str, ...] = (*GIVEN, "--table", "atrium-prod-restored")
    assert "There is no table atrium-prod-restored in" in other.refused("bootstrap", "--stage", "prod", *restored)
    other.client("dynamodb").create_table(**table("atrium-prod-restored"))
    restored += ("--anchors", "atrium-prod-anchors-2")
    assert "There is no bucket atrium-prod-anchors-2 in" in other.refused("bootstrap", "--stage", "prod", *restored)
    other.client("s3").create_bucket(
        Bucket="atrium-prod-anchors-2", CreateBucketConfiguration={"LocationConstraint": PROD.region}
    )
    other.printed("bootstrap", "--stage", "prod", *restored)
    other.printed("bootstrap", "--stage", "prod")  # It keeps what it was told once.
    stage = other.config()["stages"]["prod"]
    assert stage["xray"] is True
    assert stage["environment_variables"]["LOG_LEVEL"] == "WARNING"
    assert stage["environment_variables"]["TABLE_NAME"] == "atrium-prod-restored"
    policy = (project / ".chalice/policies/prod/api_handler.json").read_text()
    assert PROD.arn("dynamodb", "table/atrium-prod-restored") in policy
    assert f'{PROD.table_arn}"' not in policy
    assert stage["environment_variables"]["ANCHORS_BUCKET"] == "atrium-prod-anchors-2"
    assert '"arn:aws:s3:::atrium-prod-anchors-2"' in policy
    assert PROD.bucket("anchors") not in policy


def test_a_deployment_makes_what_the_configuration_says(deployed: Cloud) -> None:
    config, made = deployed.config(), deployed.made()
    stage, variables = config["stages"]["prod"], config["stages"]["prod"]["environment_variables"]
    assert set(made["functions"]) == {PROD.function(name) for name in functions(app)}
    for name in functions(app):
        function, said = made["functions"][PROD.function(name)], config["lambda_functions"][name]
        assert function["Timeout"] == said["lambda_timeout"]
        assert function["MemorySize"] == said.get("lambda_memory_size", config["lambda_memory_size"])
        assert function["Environment"]["Variables"] == variables
        kept = deployed.client("lambda").get_function_concurrency(FunctionName=PROD.function(name))
        assert kept["ReservedConcurrentExecutions"] == stage["lambda_functions"][name]["reserved_concurrency"]


def test_every_role_has_its_functions_policy_and_no_other(deployed: Cloud) -> None:
    iam = deployed.client("iam")
    (stack,) = deployed.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"]
    key = next(output["OutputValue"] for output in stack["Outputs"] if output["OutputKey"] == "KeyArn")
    for function, policy in policies(PROD, key).items():
        role = f"atrium-prod-{function}"
        assert iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"] == []
        (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
        assert iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] == policy


def test_no_failed_message_is_lost_with_its_batch_from_the_first_moment_on(deployed: Cloud) -> None:
    mappings = deployed.made()["mappings"].values()
    assert len(mappings) == 4
    assert all(mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for mapping in mappings)
    assert all(mapping["EventSourceArn"].startswith(PROD.arn("sqs", "atrium-prod-")) for mapping in mappings)


def test_the_api_answers_as_the_service_and_is_throttled_and_logged(deployed: Cloud) -> None:
    gateway, (api,) = deployed.client("apigateway"), deployed.made()["apis"]
    answers = {answer["responseType"]: answer for answer in gateway.get_gateway_responses(restApiId=api)["items"]}
    assert {kind: int(answer["statusCode"]) for kind, answer in answers.items()} == {
        kind: problem.status for kind, problem in PROBLEMS.items()
    }
    stage = gateway.get_stage(restApiId=api, stageName="prod")
    assert stage["methodSettings"]["*/*"]["throttlingRateLimit"] == THROTTLE["ThrottlingRateLimit"]
    assert stage["accessLogSettings"]["destinationArn"] == PROD.arn("logs", "log-group:/atrium/prod/access")
    assert "$context.requestId" in stage["accessLogSettings"]["format"]
    assert gateway.get_account()["cloudwatchRoleArn"].endswith(":role/atrium-gateway-logs")


def until(cloud: Cloud) -> str:
    return str(cloud.config()["stages"]["prod"]["environment_variables"][UNTIL])


def test_entries_without_a_mac_count_for_a_quarter_of_an_hour_after_the_deployment_that_begins_with_macs(
    deployed: Cloud,
) -> None:
    moment = now()
    assert until(deployed) <= moment  # Nothing was deployed before: there were none.
    jobs, variables = PROD.function("jobs"), deployed.config()["stages"]["prod"]["environment_variables"]
    before = {name: value for name, value in variables.items() if name != UNTIL}
    deployed.client("lambda").update_function_configuration(FunctionName=jobs, Environment={"Variables": before})
    deployed.migrates([])
    deployed.printed("deploy", "--stage", "prod")
    introduced = until(deployed)
    assert after(moment, seconds=900) <= introduced <= after(now(), seconds=900)
    deployed.printed("deploy", "--stage", "prod")
    assert until(deployed) == introduced
    functions = deployed.made()["functions"].values()
    assert {function["Environment"]["Variables"][UNTIL] for function in functions} == {introduced}


def test_a_fresh_checkout_keeps_that_time(deployed: Cloud) -> None:
    kept, config = until(deployed), deployed.config()
    del config["stages"]["prod"]["environment_variables"][UNTIL]
    (deployed.project / ".chalice/config.json").write_text(json.dumps(config, indent=2) + "\n")
    deployed.migrates([])
    deployed.printed("deploy", "--stage", "prod")
    assert until(deployed) == kept


def test_seals_are_made_as_before_while_functions_are_replaced_that_know_no_key_for_seals(deployed: Cloud) -> None:
    moment, variables = now(), deployed.config()["stages"]["prod"]["environment_variables"]
    assert SEALS not in variables  # Nothing was deployed before: there are no such seals.
    as_before(deployed, "SEAL_KEY", "AUDIT_PUBLIC_KEYS")
    assert "SEAL_KEY: Field required" in deployed.refused("deploy", "--stage", "prod")
    deployed.printed("bootstrap", "--stage", "prod")
    assert deployed.config()["stages"]["prod"]["environment_variables"] == variables | {SEALS: told(deployed)}
    assert told(deployed) > moment  # So that `verify` takes no entry for an altered one until it is deployed.
    before = {name: value for name, value in variables.items() if name != "SEAL_KEY"}
    deployed.client("lambda").update_function_configuration(
        FunctionName=PROD.function("api_handler"), Environment={"Variables": before}
    )
    deployed.migrates([])
    deployed.printed("deploy", "--stage", "prod")
    introduced = told(deployed)
    assert after(moment, seconds=900) <= introduced <= after(now(), seconds=900)
    deployed.printed("deploy", "--stage", "prod")
    assert told(deployed) == introduced
    functions = deployed.made()["functions"].values()
    assert {function["Environment"]["Variables"][SEALS] for function in functions} == {introduced}


def test_a_fresh_checkout_keeps_that_time_too_until_seals_are_made_anew(deployed: Cloud) -> None:
    introduced = told(deployed)
    as_before(deployed, SEALS)
    deployed.migrates([])
    deployed.printed("deploy", "--stage", "prod")
    assert told(deployed) == introduced
    config = deployed.config()
    config["stages"]["prod"]["environment_variables"][SEALS] = ""  # as `renew-seals` leaves it
    (deployed.project / ".chalice/config.json").write_text(json.dumps(config, indent=2) + "\n")
    deployed.printed("deploy", "--stage", "prod")
    assert told(deployed) == ""
    functions = deployed.made()["functions"].values()
    assert {function["Environment"]["Variables"].get(SEALS, "") for function in functions} == {""}

    as_before(deployed, SEALS)
    deployed.printed("deploy", "--stage", "prod")
    assert SEALS not in deployed.config()["stages"]["prod"]["environment_variables"]


def as_before(cloud: Cloud, *settings: str) -> None:
    """Let the stage's configuration be one without these settings."""
    config = cloud.config()
    for name in settings:
        del config["stages"]["prod"]["environment_variables"][name]
    (cloud.project / ".chalice/config.json").write_text(json.dumps(config, indent=2) + "\n")


def told(cloud: Cloud) -> str:
    return str(cloud.config()["stages"]["prod"]["environment_variables"][SEALS])


def test_a_second_deployment_makes_nothing_new(deployed: Cloud) -> None:
    before = deployed.made()
    deployed.migrates([])
    assert "No migrations are pending." in deployed.printed("deploy", "--stage", "prod")
    after = deployed.made()
    assert {kind: set(found) for kind, found in after.items()} == {kind: set(found) for kind, found in before.items()}
    assert all(m["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for m in after["mappings"].values())


def test_a_deployment_goes_on_where_one_was_killed_even_in_a_fresh_checkout(deployed: Cloud) -> None:
    before = deployed.made()
    shutil.rmtree(deployed.project / ".chalice/deployed")
    gone = min(before["mappings"])
    deployed.client("lambda").delete_event_source_mapping(UUID=gone)
    deployed.client("lambda").delete_function(FunctionName=PROD.function("sweep"))
    deployed.migrates([])
    deployed.printed("deploy", "--stage", "prod")
    after = deployed.made()
    for kind in ("functions", "apis", "rules", "roles"):
        assert set(after[kind]) == set(before[kind])
    assert len(after["mappings"]) == len(before["mappings"])
    assert set(before["mappings"]) - {gone} <= set(after["mappings"])


def test_a_migration_that_fails_fails_the_deployment_and_says_why(deployed: Cloud) -> None:
    deployed.migrates([{"id": "a-migration", "state": "failed", "error": "It met a lion.", "duration_ms": 7}])
    done = deployed.run("deploy", "--stage", "prod")
    assert done.returncode == 1
    assert "a-migration: failed. It met a lion." in done.stdout
    assert "Not every migration was applied." in done.stderr


def test_a_stage_is_not_deployed_into_another_account_or_region(deployed: Cloud) -> None:
    said = deployed.refused("deploy", "--stage", "prod", AWS_REGION="us-east-1", AWS_DEFAULT_REGION="us-east-1")
    assert "set AWS_PROFILE or AWS_REGION" in said
    said = deployed.refused("bootstrap", "--stage", "prod", AWS_REGION="us-east-1", AWS_DEFAULT_REGION="us-east-1")
    assert "prod is configured with the queue" in said


def test_a_second_stage_works_on_the_same_data_beside_the_first(deployed: Cloud) -> None:
    deployed.printed("bootstrap", "--stage", "prod-green")
    deployed.migrates([])
    deployed.printed("deploy", "--stage", "prod-green")
    made = deployed.made()
    assert len(made["apis"]) == 2
    blue, green = (made["functions"][name]["Environment"]["Variables"] for name in ("atrium-prod", "atrium-prod-green"))
    assert {key for key in blue if blue[key] != green[key]} == {"PUBLIC_URL"}
    assert len(made["mappings"]) == 8
    deployed.printed("delete", "--stage", "prod-green")
    assert public_url(deployed).removeprefix("https://").partition(".")[0] in deployed.made()["apis"]


def test_delete_takes_what_was_deployed_and_leaves_what_holds_data(deployed: Cloud) -> None:
    deployed.printed("delete", "--stage", "prod")
    assert not any(deployed.made().values())
    (stack,) = deployed.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"]
    assert stack["StackStatus"].endswith("_COMPLETE")
    assert deployed.client("dynamodb").describe_table(TableName="atrium-prod")["Table"]["TableStatus"] == "ACTIVE"


def test_chalices_own_commands_deploy_deploy_again_and_delete_what_the_projects_go_on_with(deployed: Cloud) -> None:
    project_copies.copy_project(("app.py", "chalicelib", "openapi.json"), deployed.project)
    (deployed.project / "requirements.txt").touch()  # The libraries come over the network.
    deployed.chalice("deploy")
    made = deployed.made()
    assert set(made["functions"]) == {PROD.function(name) for name in functions(app)}
    assert not any(m.get("FunctionResponseTypes") for m in made["mappings"].values())
    deployed.chalice("deploy")
    assert {kind: set(found) for kind, found in deployed.made().items()} == {kind: set(f) for kind, f in made.items()}
    deployed.migrates([])
    deployed.printed("deploy", "--stage", "prod")
    mended = deployed.made()
    assert set(mended["mappings"]) == set(made["mappings"])
    assert all(m["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for m in mended["mappings"].values())
    deployed.chalice("delete")
    assert not any(deployed.made().values())
