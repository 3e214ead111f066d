"""The commands `deploy` and `delete`, run in processes of their own against a simulated AWS account."""

import shutil
from fnmatch import fnmatchcase

import pytest
from chalice.app import SQSEventConfig

from app import app
from chalicelib.entrypoints.capacity import PROFILES
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.http.client_address import edge_secret_digest
from infrastructure.account import CommandError
from infrastructure.bootstrap import requested_settings
from infrastructure.deployed_functions import function_names
from infrastructure.deployer_policy import GRANTS
from infrastructure.gateway import DEFAULT_THROTTLE, PROBLEMS, SMALLEST_THROTTLE
from infrastructure.policies import policies
from infrastructure.resources import RECURSIVE_FUNCTIONS
from tests.harness import project_copies
from tests.infrastructure.simulated_account import ENTRIES_UNTIL, PROD, RECORDS_UNTIL, SEALS_UNTIL

CAPACITY = ("bootstrap", "--stage", "prod", "--capacity")

pytestmark = pytest.mark.xdist_group("deploy")


@pytest.fixture(scope="module")
def deployed(bootstrapped):
    output = bootstrapped.deploy({"id": "a-migration", "state": "applied", "error": None, "duration_ms": 7})
    assert "a-migration: applied." in output
    set_by_commands = bootstrapped.variables().keys() - {"AUTH_OPERATOR_GROUP", "AUTH_CLAIM_EMAIL"}
    assert {ENTRIES_UNTIL, "EDGE_SECRET_DIGESTS"} <= set_by_commands
    for name in set_by_commands:
        with pytest.raises(CommandError, match=f"SET cannot change {name}"):
            requested_settings({}, [f"{name}=x"])
    (digest,) = bootstrapped.variables()["EDGE_SECRET_DIGESTS"].split(",")
    assert edge_secret_digest(bootstrapped.run_checked("edge-secret", "--stage", "prod").strip()) == digest
    assert f"curl {bootstrapped.variables()['PUBLIC_URL']}/status" in output
    return bootstrapped


def test_the_deployers_policies_allow_every_call_of_bootstrap_and_deploy(deployed):
    for command in ("bootstrap", "deploy"):
        used = {iam_action(*call) for call in deployed.recorded_calls(command)} - {None}
        granted = [action for grant in GRANTS[command] for action in grant.actions]
        assert len(used) > 8
        assert {action for action in used if not any(fnmatchcase(action, pattern) for pattern in granted)} == set()


def iam_action(service, name, method):
    """Return the IAM action of a call, or None if it needs no permission."""
    if service == "sts":
        return None
    if service == "apigateway":
        return f"apigateway:{method}"
    renamed = {"Invoke": "InvokeFunction", "HeadBucket": "ListBucket"}
    return f"{service.replace('sesv2', 'ses')}:{renamed.get(name, name)}"


def test_a_deployment_follows_the_configuration(deployed):
    config, functions = deployed.config(), deployed.deployed_resources()["functions"]
    stage = config["stages"]["prod"]
    assert set(functions) == {PROD.function_name(name) for name in function_names(app)}
    for name in function_names(app):
        function, function_config = functions[PROD.function_name(name)], config["lambda_functions"][name]
        assert function["Timeout"] == function_config["lambda_timeout"]
        assert function["MemorySize"] == function_config.get("lambda_memory_size", config["lambda_memory_size"])
        assert function["Environment"]["Variables"] == stage["environment_variables"]
        concurrency = deployed.client("lambda").get_function_concurrency(FunctionName=PROD.function_name(name))
        assert concurrency["ReservedConcurrentExecutions"] == stage["lambda_functions"][name]["reserved_concurrency"]
    # The first deployment has no entries or records without a MAC, and no seals of the signing key.
    assert max(deployed.variables()[name] for name in (ENTRIES_UNTIL, RECORDS_UNTIL)) <= now()
    assert SEALS_UNTIL not in deployed.variables()


def test_every_role_has_only_the_policy_of_its_function(deployed):
    iam = deployed.client("iam")
    (stack,) = deployed.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"]
    key = next(output["OutputValue"] for output in stack["Outputs"] if output["OutputKey"] == "KeyArn")
    for function, policy in policies(PROD, key).items():
        role = f"atrium-prod-{function}"
        assert iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"] == []
        (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
        assert iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] == policy


def test_queue_mappings_report_failed_messages_and_have_no_batching_window_from_the_start(deployed):
    mappings = deployed.deployed_resources()["mappings"].values()
    assert len(mappings) == 4
    assert not any("MaximumBatchingWindowInSeconds" in mapping for mapping in mappings)
    assert all(mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for mapping in mappings)
    assert all(mapping["EventSourceArn"].startswith(PROD.arn("sqs", "atrium-prod-")) for mapping in mappings)


def recursive_loops(account):
    names = {name: PROD.function_name(name) for name in function_names(app)}
    configs = {
        name: account.client("lambda").get_function_recursion_config(FunctionName=function)
        for name, function in names.items()
    }
    return {name: config["RecursiveLoop"] for name, config in configs.items()}


def test_the_functions_that_read_queues_may_run_in_loops(deployed):
    reading = [source.name for source in app.event_sources if isinstance(source, SQSEventConfig)]
    assert sorted(reading) == sorted(RECURSIVE_FUNCTIONS)
    expected = {name: "Allow" if name in reading else "Terminate" for name in function_names(app)}
    assert recursive_loops(deployed) == expected
    jobs = PROD.function_name("jobs")
    deployed.client("lambda").put_function_recursion_config(FunctionName=jobs, RecursiveLoop="Terminate")
    deployed.deploy()
    assert recursive_loops(deployed) == expected, "functions that exist are configured, too"


def test_the_api_has_gateway_responses_compression_a_throttle_and_an_access_log(deployed):
    gateway, (api,) = deployed.client("apigateway"), deployed.deployed_resources()["apis"]
    responses = gateway.get_gateway_responses(restApiId=api)["items"]
    statuses = {response["responseType"]: int(response["statusCode"]) for response in responses}
    assert statuses == {kind: problem.status for kind, problem in PROBLEMS.items()}
    (link,) = {r["responseParameters"]["gatewayresponse.header.Link"] for r in responses if r["statusCode"] == "404"}
    assert link == "'</prod/docs>; rel=\"service-doc\"'"
    assert gateway.get_rest_api(restApiId=api)["minimumCompressionSize"] == 1024
    stage = gateway.get_stage(restApiId=api, stageName="prod")
    throttle = gateway.get_account()["throttleSettings"]
    assert throttle["rateLimit"] == SMALLEST_THROTTLE.requests_per_second < DEFAULT_THROTTLE.requests_per_second
    settings = stage["methodSettings"]["*/*"]
    assert settings["throttlingRateLimit"] == throttle["rateLimit"]
    assert settings["throttlingBurstLimit"] == throttle["burstLimit"]
    (reported,) = {r["responseParameters"].get("gatewayresponse.header.RateLimit-Policy") for r in responses} - {None}
    assert reported == "'\"gateway\";q=2500;w=1'"
    (stack,) = deployed.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"]
    assert {"ParameterKey": "RequestsPerSecond", "ParameterValue": "2500"} in stack["Parameters"]
    assert stage["accessLogSettings"]["destinationArn"] == PROD.arn("logs", "log-group:/atrium/prod/access")
    assert "$context.requestId" in stage["accessLogSettings"]["format"]
    assert gateway.get_account()["cloudwatchRoleArn"].endswith(":role/atrium-gateway-logs")


@pytest.mark.exhaustive
def test_a_stage_is_not_deployed_to_another_account_or_region(deployed):
    region = {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    assert "set AWS_PROFILE or AWS_REGION" in deployed.run_with_error("deploy", "--stage", "prod", **region)
    assert "prod is configured with the queue" in deployed.run_with_error("bootstrap", "--stage", "prod", **region)


@pytest.mark.exhaustive
def test_former_entries_and_seals_are_valid_until_15_minutes_after_their_functions_are_replaced(deployed):
    start, variables = now(), deployed.variables()
    deployed.configure("SEAL_KEY", "AUDIT_PUBLIC_KEYS")
    assert "SEAL_KEY: Field required" in deployed.run_with_error("deploy", "--stage", "prod")
    deployed.run_checked("bootstrap", "--stage", "prod")
    seals_until = deployed.variables()[SEALS_UNTIL]
    assert deployed.variables() == variables | {SEALS_UNTIL: seals_until}
    assert seals_until > start  # Otherwise `verify` would report entries as altered until the deployment.

    seconds = {ENTRIES_UNTIL: 900, SEALS_UNTIL: 900, RECORDS_UNTIL: 30 * 86_400}
    without = {
        name: {k: v for k, v in variables.items() if k not in (name, RECORDS_UNTIL)}
        for name in (ENTRIES_UNTIL, "SEAL_KEY")
    }
    deployed.set_function_variables("jobs", without[ENTRIES_UNTIL])
    deployed.set_function_variables("api_handler", without["SEAL_KEY"])
    deployed.deploy()
    introduced = {name: deployed.variables()[name] for name in seconds}
    for name, until in introduced.items():
        assert after(start, seconds=seconds[name]) <= until <= after(now(), seconds=seconds[name])

    before = deployed.deployed_resources()
    assert "No migrations are pending." in deployed.deploy()
    resources = deployed.deployed_resources()
    assert {kind: set(r) for kind, r in resources.items()} == {kind: set(r) for kind, r in before.items()}
    assert all(m["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for m in resources["mappings"].values())
    for name, until in introduced.items():
        assert deployed.variables()[name] == until
        assert deployed.function_values(name) == {until}


@pytest.mark.exhaustive
def test_a_deployment_completes_a_killed_one_even_in_a_fresh_checkout(deployed):
    before, variables = deployed.deployed_resources(), deployed.variables()
    shutil.rmtree(deployed.project / ".chalice/deployed")
    deployed.configure(ENTRIES_UNTIL, *({SEALS_UNTIL} & variables.keys()))
    deleted_mapping = min(before["mappings"])
    deployed.client("lambda").delete_event_source_mapping(UUID=deleted_mapping)
    deployed.client("lambda").delete_function(FunctionName=PROD.function_name("sweep"))
    deployed.deploy()
    resources = deployed.deployed_resources()
    for kind in ("functions", "apis", "rules", "roles"):
        assert set(resources[kind]) == set(before[kind])
    assert len(resources["mappings"]) == len(before["mappings"])
    assert set(before["mappings"]) - {deleted_mapping} <= set(resources["mappings"])
    assert deployed.variables() == variables


@pytest.mark.exhaustive
def test_renewed_seals_end_the_deadline_although_a_migration_fails(deployed):
    deployed.configure(**{SEALS_UNTIL: ""})  # as `renew-seals` sets it
    failure = {"id": "a-migration", "state": "failed", "error": "It met a lion.", "duration_ms": 7}
    deployed.set_migration_result([failure])
    completed = deployed.run("deploy", "--stage", "prod")
    assert completed.returncode == 1
    assert "a-migration: failed. It met a lion." in completed.stdout
    assert "Not every migration was applied." in completed.stderr
    assert deployed.variables()[SEALS_UNTIL] == ""
    assert deployed.function_values(SEALS_UNTIL) == {""}

    deployed.configure(SEALS_UNTIL)
    deployed.deploy()
    assert SEALS_UNTIL not in deployed.variables()


@pytest.mark.exhaustive
def test_a_second_stage_shares_the_data_of_the_first(deployed):
    deployed.run_checked("bootstrap", "--stage", "prod-green")
    deployed.deploy(stage="prod-green")
    resources = deployed.deployed_resources()
    functions = resources["functions"]
    blue, green = (functions[name]["Environment"]["Variables"] for name in ("atrium-prod", "atrium-prod-green"))
    assert {key for key in blue if blue[key] != green[key]} == {"PUBLIC_URL"}
    assert (len(resources["apis"]), len(resources["mappings"])) == (2, 8)
    deployed.run_checked("delete", "--stage", "prod-green")
    (api,) = deployed.deployed_resources()["apis"]
    assert deployed.variables()["PUBLIC_URL"].startswith(f"https://{api}.")


@pytest.mark.exhaustive
def test_delete_removes_the_deployed_resources_and_keeps_the_data(deployed):
    deployed.run_checked("delete", "--stage", "prod")
    assert not any(deployed.deployed_resources().values())
    (stack,) = deployed.client("cloudformation").describe_stacks(StackName="atrium-prod")["Stacks"]
    assert stack["StackStatus"].endswith("_COMPLETE")
    assert deployed.client("dynamodb").describe_table(TableName="atrium-prod")["Table"]["TableStatus"] == "ACTIVE"


@pytest.mark.exhaustive
def test_chalices_own_commands_and_those_of_the_project_work_on_the_same_deployment(deployed):
    project_copies.copy_project(("app.py", "chalicelib", "openapi.json"), deployed.project)
    (deployed.project / "requirements.txt").touch()  # Libraries would be downloaded.
    deployed.run_chalice("deploy")
    by_chalice = deployed.deployed_resources()
    assert set(by_chalice["functions"]) == {PROD.function_name(name) for name in function_names(app)}
    assert not any(m.get("FunctionResponseTypes") for m in by_chalice["mappings"].values())
    deployed.run_chalice("deploy")
    repeated = deployed.deployed_resources()
    assert {kind: set(r) for kind, r in repeated.items()} == {kind: set(r) for kind, r in by_chalice.items()}
    deployed.deploy()
    mappings = deployed.deployed_resources()["mappings"]
    assert set(mappings) == set(by_chalice["mappings"])
    assert all(m["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for m in mappings.values())
    deployed.run_chalice("delete")
    assert not any(deployed.deployed_resources().values())


def test_a_small_stage_reserves_nothing_and_needs_no_quota(deployed):
    functions = deployed.client("lambda")
    try:
        deployed.run_checked(*CAPACITY, "small", "--alarms-to", "ops@example.com")
        configured = deployed.config()["stages"]["prod"]["lambda_functions"]
        assert not any("reserved_concurrency" in function for function in configured.values())
        deployed.deploy()
        for name in function_names(app):
            found = functions.get_function_concurrency(FunctionName=PROD.function_name(name))
            assert "ReservedConcurrentExecutions" not in found
        mappings = functions.list_event_source_mappings()["EventSourceMappings"]
        assert {mapping["ScalingConfig"]["MaximumConcurrency"] for mapping in mappings} == {2}
    finally:
        deployed.run_checked(*CAPACITY, "full")
    configured = deployed.config()["stages"]["prod"]["lambda_functions"]
    assert {name: f["reserved_concurrency"] for name, f in configured.items()} == PROFILES["full"].reserved_concurrency
    assert "CAPACITY: Input should be" in deployed.run_with_error(*CAPACITY, "tiny")
