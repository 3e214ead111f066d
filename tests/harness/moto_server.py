"""moto as a server: `python -m tests.harness.moto_server` prints its port and runs until it is terminated.

Adds three features of API Gateway that moto 5.2 lacks: imports of Swagger 2.0, whose `info` may have no description and
whose mock integrations have no URI, gateway responses in the document, and changes of the minimum size to compress.
Also adds the recursive-loop configuration of Lambda functions, and updates of CloudFormation stacks that keep the
default of a parameter. The throttle quota of API Gateway is that of the 13 regions where it is smallest.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.apigateway.models import Account, APIGatewayBackend, RestAPI
from moto.awslambda import urls
from moto.awslambda.responses import LambdaResponse
from moto.cloudformation.models import CloudFormationBackend
from moto.core.config import default_user_config
from moto.server import ThreadedMotoServer

from local.paths import ROOT

_original_put, _original_import = APIGatewayBackend.put_rest_api, APIGatewayBackend.import_rest_api
_original_account = Account.__init__
_original_patch = RestAPI.apply_patch_operations
_original_resolve = CloudFormationBackend._resolve_update_parameters  # noqa: SLF001 - public calls fail before it


def put_rest_api(self: Any, function_id: str, api_doc: dict[str, Any], *args: Any, **options: Any) -> Any:
    """Replace a REST API, also from Swagger 2.0, with its gateway responses."""
    document = {**api_doc, "openapi": "3.0.0"}
    document.pop("swagger", None)
    for method in (method for path in document["paths"].values() for method in path.values()):
        method.get("x-amazon-apigateway-integration", {}).setdefault("uri", "")
    api = _original_put(self, function_id, document, *args, **options)
    api.description = api_doc["info"].get("description", "")
    if args[-1:] == ("overwrite",) or options.get("mode") == "overwrite":
        api.gateway_responses = {}
    for kind, response in api_doc.get("x-amazon-apigateway-gateway-responses", {}).items():
        parameters, templates = response["responseParameters"], response["responseTemplates"]
        self.put_gateway_response(function_id, kind, response["statusCode"], parameters, templates)
    return api


def import_rest_api(self: Any, api_doc: dict[str, Any], *args: Any, **options: Any) -> Any:
    """Import a REST API whose `info` may have no description."""
    api_doc["info"].setdefault("description", "")
    return _original_import(self, api_doc, *args, **options)


def apply_patch_operations(self: Any, patch_operations: list[dict[str, Any]]) -> None:
    """Change a REST API, also the minimum size of bodies to compress."""
    _original_patch(self, patch_operations)
    for operation in patch_operations:
        if operation["path"] == "/minimumCompressionSize":
            self.minimum_compression_size = int(operation["value"]) if operation["value"] else None


def initialize_account(self: Any) -> None:
    """Initialize the settings of API Gateway in an account, with the smallest throttle quota."""
    _original_account(self)
    self.throttle_settings = {"burstLimit": 1250, "rateLimit": 2500.0}


def get_function_recursion_config(self: Any) -> Any:
    """Return the recursive-loop configuration of a function."""
    function = self.backend.get_function(self.path.split("/")[-2])
    return 200, {}, json.dumps({"RecursiveLoop": getattr(function, "recursive_loop", "Terminate")})


def put_function_recursion_config(self: Any) -> Any:
    """Set the recursive-loop configuration of a function.

    Unlike Lambda, refuse to set it for the first time when the function has an event source, which may be too late.
    """
    function = self.backend.get_function(self.path.split("/")[-2])
    mappings = self.backend.list_event_source_mappings(None, function.function_name)
    if mappings and not hasattr(function, "recursive_loop"):
        return (
            409,
            {"x-amzn-errortype": "ResourceConflictException"},
            json.dumps({"Message": "It has messages already."}),
        )
    function.recursive_loop = self._get_param("RecursiveLoop")
    return 200, {}, json.dumps({"RecursiveLoop": function.recursive_loop})


def resolve_update_parameters(self: Any, instance: Any, incoming_params: list[dict[str, Any]]) -> dict[str, str]:
    """Return the parameters of a stack's update. The previous value of one that was never given is its default."""
    given = [
        each
        for each in incoming_params
        if each["ParameterKey"] in instance.parameters or not each.get("UsePreviousValue")
    ]
    return _original_resolve(self, instance, given)


@contextmanager
def run_moto_server() -> Iterator[str]:
    """Run the server within the block, and yield its URL."""
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.terminate()


def main() -> None:
    APIGatewayBackend.put_rest_api = put_rest_api  # type: ignore[method-assign]
    APIGatewayBackend.import_rest_api = import_rest_api  # type: ignore[method-assign]
    Account.__init__ = initialize_account  # type: ignore[method-assign]
    RestAPI.apply_patch_operations = apply_patch_operations  # type: ignore[method-assign]
    CloudFormationBackend._resolve_update_parameters = resolve_update_parameters  # type: ignore[method-assign]  # noqa: SLF001
    LambdaResponse.get_function_recursion_config = get_function_recursion_config  # type: ignore[attr-defined]
    LambdaResponse.put_function_recursion_config = put_function_recursion_config  # type: ignore[attr-defined]
    urls.url_paths[r"{0}/2024-08-31/functions/(?P<function_name>[\w_-]+)/recursion-config$"] = LambdaResponse.dispatch
    default_user_config["lambda"] = {"use_docker": False}
    default_user_config["iam"] = {"load_aws_managed_policies": True}
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    sys.stdout.write(f"{server.get_host_and_port()[1]}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
