"""The commands `bootstrap`, `deploy` and `delete`, run in processes of their own against a simulated AWS account."""

import json
import shutil
import subprocess
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
from infrastructure.gateway import DEFAULT_THROTTLE, PROBLEMS, SMALLEST_THROTTLE, Throttle
from infrastructure.policies import policies
from infrastructure.resources import RECURSIVE_FUNCTIONS, table_definition
from local.paths import ROOT
from tests.harness import project_copies
from tests.infrastructure.simulated_account import BOOTSTRAP, PROD, Account, copy_project, run_account

CAPACITY = ("bootstrap", "--stage", "prod", "--capacity")
ENTRIES_UNTIL = "UNAUTHENTICATED_ENTRIES_UNTIL"
RECORDS_UNTIL = "UNAUTHENTICATED_RECORDS_UNTIL"
SEALS_UNTIL = "SIGNING_KEY_SEALS_UNTIL"

pytestmark = pytest.mark.xdist_group("deploy")


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    """An empty account."""
    with run_account(tmp_path_factory.mktemp("project")) as account:
        yield account


@pytest.fixture(scope="module")
def bootstrapped(account):
    account.run_checked(*BOOTSTRAP)
    further = {"AUTH_OPERATOR_GROUP": "staff", "AUTH_CLAIM_EMAIL": "https://x.example/email,email"}
    assert further.items() <= account.variables().items()
    return account


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
