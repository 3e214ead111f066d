"""AWS as moto has it, as a server of its own: `python -m tests.harness.moto_server`. It prints its port and stays.

Two things that API Gateway does and moto 5.2 does not are done here: it takes Swagger 2.0, whose `info` may lack a
description and whose mock integrations have no address, and it takes gateway responses out of the document.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moto.apigateway.models import APIGatewayBackend
from moto.core.config import default_user_config
from moto.server import ThreadedMotoServer

from local.paths import ROOT

_put, _import = APIGatewayBackend.put_rest_api, APIGatewayBackend.import_rest_api


def put_rest_api(self: Any, function_id: str, api_doc: dict[str, Any], *words: Any, **more: Any) -> Any:
    document = {**api_doc, "openapi": "3.0.0"}
    document.pop("swagger", None)
    for method in (method for path in document["paths"].values() for method in path.values()):
        method.get("x-amazon-apigateway-integration", {}).setdefault("uri", "")
    api = _put(self, function_id, document, *words, **more)
    api.description = api_doc["info"].get("description", "")
    if words[-1:] == ("overwrite",) or more.get("mode") == "overwrite":
        api.gateway_responses = {}
    for kind, response in api_doc.get("x-amazon-apigateway-gateway-responses", {}).items():
        parameters, templates = response["responseParameters"], response["responseTemplates"]
        self.put_gateway_response(function_id, kind, response["statusCode"], parameters, templates)
    return api


def import_rest_api(self: Any, api_doc: dict[str, Any], *words: Any, **more: Any) -> Any:
    api_doc["info"].setdefault("description", "")
    return _import(self, api_doc, *words, **more)


@contextmanager
def serving() -> Iterator[str]:
    """Let it answer within the block, and give its address."""
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.terminate()


def main() -> None:
    APIGatewayBackend.put_rest_api = put_rest_api  # type: ignore[method-assign]
    APIGatewayBackend.import_rest_api = import_rest_api  # type: ignore[method-assign]
    default_user_config["lambda"] = {"use_docker": False}
    default_user_config["iam"] = {"load_aws_managed_policies": True}
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    sys.stdout.write(f"{server.get_host_and_port()[1]}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
