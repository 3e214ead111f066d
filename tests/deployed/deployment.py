"""A stage deployed to an account of the emulator, by the project's own commands and by CloudFormation."""

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
from tests.deployed.account import REGION, Account
from tests.harness import project_copies
from tests.harness.waiting import until

STAGE: Final = Stage("dev", "000000000000", REGION)
APPLICATION: Final = f"{STAGE.prefix}-app"

_PROJECT: Final = ("app.py", "chalicelib", "openapi.json", "requirements.txt", ".chalice", "infrastructure")
_BUCKET: Final = "code"
_SECONDS: Final = 90


@dataclass
class Deployment:
    """The stage `dev`, where callers find it as they find a run of this machine."""

    account: Account
    state: Path
    migrated: list[dict[str, Any]] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        """Where the emulator answers."""
        return self.account.endpoint

    @property
    def url(self) -> str:
        """Where the API answers; the emulator knows it by its name on AWS, which is in `headers`."""
        return f"{self.endpoint}/{STAGE.name}"

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """What a request needs to get there."""
        return {"Host": f"{self._outputs['RestAPIId']}.execute-api.localhost"}

    def bring_up(self, jwks: str) -> None:
        """Make what holds data, deploy the package, and apply the migrations. `jwks`: where the issuer's keys are."""
        self._project.mkdir()
        project_copies.copied(_PROJECT, self._project, "deployed", "deployments", "venv")
        self._allow_private()
        self._command(
            "bootstrap",
            f"--issuer={ISSUER}",
            f"--audience={AUDIENCE}",
            f"--jwks={jwks}",
            f"--public-url={self.url}",
            "--domain=platforms.atrium.example",
            "--mail-from=Atrium <mail@atrium.example>",
        )
        self._command("template")
        self._apply(self._template())
        self._answer_as_a_gateway()
        self.migrated = self.account.invoke(STAGE.function("migrate"))
        write_private(self.state / "settings.json", json.dumps({"aws_endpoint_url": self.endpoint}))

    def queue(self, name: str) -> str:
        """Return where a queue is, by its short name."""
        return str(self.account.client("sqs").get_queue_url(QueueName=queue_name(STAGE.prefix, name))["QueueUrl"])

    def waiting(self, name: str) -> int:
        """Return how many messages a queue holds, those under way with them."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        told = self.account.client("sqs").get_queue_attributes(QueueUrl=self.queue(name), AttributeNames=names)
        return sum(int(told["Attributes"][each]) for each in names)

    @contextmanager
    def paused(self, function: str) -> Iterator[None]:
        """Let a function take nothing from its queue for a while, as whoever operates it can."""
        functions = self.account.client("lambda")
        found = functions.list_event_source_mappings(FunctionName=STAGE.function(function))["EventSourceMappings"]
        (mapping,) = [each["UUID"] for each in found]
        functions.update_event_source_mapping(UUID=mapping, Enabled=False)
        try:
            yield
        finally:
            functions.update_event_source_mapping(UUID=mapping, Enabled=True)

    @property
    def _project(self) -> Path:
        return self.state / "project"

    @property
    def _out(self) -> Path:
        return self._project / "build" / STAGE.name / "out"

    def _allow_private(self) -> None:
        # Who is told of events is on this machine.
        file = self._project / ".chalice" / "config.json"
        config = json.loads(file.read_text())
        config["stages"][STAGE.name]["environment_variables"]["WEBHOOK_ALLOW_PRIVATE"] = "1"
        file.write_text(json.dumps(config))

    def _command(self, name: str, *words: str) -> None:
        command = [sys.executable, "-m", "infrastructure", name, "--stage", STAGE.name, *words]
        project_copies.run(command, self._project, **self.account.environment)

    def _template(self) -> dict[str, Any]:
        """Upload the package, and return the template with the place it has there: `aws cloudformation package`."""
        s3 = self.account.client("s3")
        s3.create_bucket(Bucket=_BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        s3.upload_file(str(self._out / "deployment.zip"), _BUCKET, "package.zip")
        template: dict[str, Any] = json.loads((self._out / "sam.json").read_text())
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::Serverless::Function":
                resource["Properties"]["CodeUri"] = {"Bucket": _BUCKET, "Key": "package.zip"}
        return template

    def _apply(self, template: Mapping[str, Any]) -> None:
        """Let CloudFormation make the application: `aws cloudformation deploy`."""
        self.account.client("s3").put_object(Bucket=_BUCKET, Key="template.json", Body=json.dumps(template))
        self.account.client("cloudformation").create_stack(
            StackName=APPLICATION,
            TemplateURL=f"{self.endpoint}/{_BUCKET}/template.json",
            Parameters=[{"ParameterKey": "Stage", "ParameterValue": STAGE.name}],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        until(lambda: not self._stack["StackStatus"].endswith("_IN_PROGRESS"), seconds=_SECONDS)
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
        failed = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
        return [f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}" for event in failed]

    def _answer_as_a_gateway(self) -> None:
        """Give the API the gateway's answers that its template holds: the emulator leaves them out."""
        gateway, api = self.account.client("apigateway"), self._outputs["RestAPIId"]
        template = json.loads((self._out / "sam.json").read_text())
        for kind, answer in template["Resources"]["RestAPI"]["Properties"]["GatewayResponses"].items():
            headers = answer["ResponseParameters"]["Headers"]
            gateway.put_gateway_response(
                restApiId=api,
                responseType=kind,
                statusCode=str(answer["StatusCode"]),
                responseParameters={f"gatewayresponse.header.{name}": value for name, value in headers.items()},
                responseTemplates=answer["ResponseTemplates"],
            )
        made = gateway.create_deployment(restApiId=api)["id"]
        change = {"op": "replace", "path": "/deploymentId", "value": made}
        gateway.update_stage(restApiId=api, stageName=STAGE.name, patchOperations=[change])
