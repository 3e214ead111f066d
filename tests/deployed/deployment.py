"""A stage that the project's own commands and CloudFormation deploy to the emulator."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from infrastructure.names import Stage
from infrastructure.resources import queue_name
from local.paths import write_private
from local.server.issuer import AUDIENCE, ISSUER
from tests.deployed.emulated_account import REGION, EmulatedAccount
from tests.harness import project_copies
from tests.harness.waiting import wait_until

STAGE: Final = Stage("dev", "000000000000", REGION)
APPLICATION: Final = f"{STAGE.prefix}-app"

_PROJECT: Final = ("app.py", "chalicelib", "openapi.json", "requirements.txt", ".chalice", "infrastructure")
_BUCKET: Final = "code"
_TIMEOUT_SECONDS: Final = 240


@dataclass
class Deployment:
    """The deployed stage `dev`, with the same interface as a local stage."""

    account: EmulatedAccount
    state: Path
    migration_results: list[dict[str, Any]] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return self.account.endpoint

    @property
    def url(self) -> str:
        """The base URL of the API. The emulator selects the API by the host name in `headers`."""
        return f"{self.endpoint}/{STAGE.name}"

    @cached_property
    def headers(self) -> Mapping[str, str]:
        return {"Host": f"{self._outputs['RestAPIId']}.execute-api.localhost"}

    def deploy(self, jwks: str) -> None:
        """Create the data stores, deploy the package and apply the migrations. `jwks` is the URL of the issuer keys."""
        self._project.mkdir()
        project_copies.copy_project(_PROJECT, self._project, "deployed", "deployments", "venv")
        self._allow_private_webhook_targets()
        domain, sender = "--domain=platforms.atrium.example", "--mail-from=Atrium <mail@atrium.example>"
        issuer = [f"--issuer={ISSUER}", f"--audience={AUDIENCE}", f"--jwks={jwks}"]
        self._run_command("bootstrap", *issuer, f"--public-url={self.url}", domain, sender)
        self._run_command("template")
        self._deploy_stack(self._upload_package())
        self._create_gateway_responses()
        self.migration_results = self.account.invoke(STAGE.function_name("migrate"))
        write_private(self.state / "settings.json", json.dumps({"aws_endpoint_url": self.endpoint}))

    def queue_url(self, name: str) -> str:
        return str(self.account.client("sqs").get_queue_url(QueueName=queue_name(STAGE.prefix, name))["QueueUrl"])

    def count_messages(self, name: str) -> int:
        """Return the number of messages in a queue, including those in flight."""
        names, url = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"], self.queue_url(name)
        attributes = self.account.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(attributes[each]) for each in names)

    @contextmanager
    def pause_function(self, function: str) -> Iterator[None]:
        """Disable the queue mapping of a function within the block, as an operator can."""
        functions = self.account.client("lambda")
        mappings = functions.list_event_source_mappings(FunctionName=STAGE.function_name(function))
        (mapping,) = [each["UUID"] for each in mappings["EventSourceMappings"]]
        functions.update_event_source_mapping(UUID=mapping, Enabled=False)
        try:
            yield
        finally:
            functions.update_event_source_mapping(UUID=mapping, Enabled=True)

    @property
    def _project(self) -> Path:
        return self.state / "project"

    @property
    def _output_folder(self) -> Path:
        return self._project / "build" / STAGE.name / "out"

    def _allow_private_webhook_targets(self) -> None:
        # The receiver of webhooks is on this machine.
        file = self._project / ".chalice" / "config.json"
        config = json.loads(file.read_text())
        config["stages"][STAGE.name]["environment_variables"]["WEBHOOK_ALLOW_PRIVATE"] = "1"
        file.write_text(json.dumps(config))

    def _run_command(self, name: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "infrastructure", name, "--stage", STAGE.name, *arguments]
        project_copies.run_in_copy(command, self._project, **self.account.environment)

    def _upload_package(self) -> dict[str, Any]:
        """Upload the package and return the template that refers to it, as `aws cloudformation package` does."""
        s3 = self.account.client("s3")
        s3.create_bucket(Bucket=_BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        s3.upload_file(str(self._output_folder / "deployment.zip"), _BUCKET, "package.zip")
        template: dict[str, Any] = json.loads((self._output_folder / "sam.json").read_text())
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::Serverless::Function":
                resource["Properties"]["CodeUri"] = {"Bucket": _BUCKET, "Key": "package.zip"}
        return template

    def _deploy_stack(self, template: Mapping[str, Any]) -> None:
        """Create the application's stack, as `aws cloudformation deploy` does."""
        self.account.client("s3").put_object(Bucket=_BUCKET, Key="template.json", Body=json.dumps(template))
        self.account.client("cloudformation").create_stack(
            StackName=APPLICATION,
            TemplateURL=f"{self.endpoint}/{_BUCKET}/template.json",
            Parameters=[{"ParameterKey": "Stage", "ParameterValue": STAGE.name}],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        wait_until(lambda: not self._stack["StackStatus"].endswith("_IN_PROGRESS"), timeout_seconds=_TIMEOUT_SECONDS)
        assert self._stack["StackStatus"] == "CREATE_COMPLETE", self._failures()

    @property
    def _stack(self) -> dict[str, Any]:
        stacks: list[dict[str, Any]]
        stacks = self.account.client("cloudformation").describe_stacks(StackName=APPLICATION)["Stacks"]
        return stacks[0]

    @cached_property
    def _outputs(self) -> Mapping[str, str]:
        return {output["OutputKey"]: output["OutputValue"] for output in self._stack["Outputs"]}

    def _failures(self) -> list[str]:
        events = self.account.client("cloudformation").describe_stack_events(StackName=APPLICATION)["StackEvents"]
        failed_events = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
        return [f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}" for event in failed_events]

    def _create_gateway_responses(self) -> None:
        """Create the gateway responses of the template, which the emulator ignores."""
        gateway, api = self.account.client("apigateway"), self._outputs["RestAPIId"]
        template = json.loads((self._output_folder / "sam.json").read_text())
        responses = template["Resources"]["RestAPI"]["Properties"]["GatewayResponses"]
        for response_type, gateway_response in responses.items():
            headers = gateway_response["ResponseParameters"]["Headers"]
            gateway.put_gateway_response(
                restApiId=api,
                responseType=response_type,
                statusCode=str(gateway_response["StatusCode"]),
                responseParameters={f"gatewayresponse.header.{name}": value for name, value in headers.items()},
                responseTemplates=gateway_response["ResponseTemplates"],
            )
        deployment_id = gateway.create_deployment(restApiId=api)["id"]
        patch = {"op": "replace", "path": "/deploymentId", "value": deployment_id}
        gateway.update_stage(restApiId=api, stageName=STAGE.name, patchOperations=[patch])
