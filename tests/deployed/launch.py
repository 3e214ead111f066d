"""Start the emulator with the changes that this suite needs. Run it in the emulator's own Python.

.venv-emulator/bin/python tests/deployed/launch.py PYTHON    # in which functions run
"""

import importlib
import re
import runpy
import sys
from typing import Any, Final
from uuid import uuid4

Handler = dict[str, Any]

_URL_WITH_BUCKET_IN_HOST: Final = re.compile(r"^https://([^./]+)\.s3\.[^/]+/")


def main(python: str) -> None:
    """Run the emulator, whose functions run in the given Python."""
    handlers = importlib.import_module("ministack.services.cloudformation.provisioners")._RESOURCE_HANDLERS  # noqa: SLF001
    _accept_metric_math_alarms(handlers["AWS::CloudWatch::Alarm"])
    _accept_buckets_in_hosts(importlib.import_module("ministack.services.cloudformation.helpers"))
    # The emulator rejects stacks with saved queries of Logs Insights. Nothing depends on them.
    handlers["AWS::Logs::QueryDefinition"] = {"create": lambda *_: (str(uuid4()), {}), "delete": lambda *_: None}
    # In the emulator's Python, functions would find its libraries, which would hide a library missing in the package.
    sys.executable = python
    sys.argv = ["ministack"]
    runpy.run_module("ministack", run_name="__main__")


def _accept_metric_math_alarms(alarm: Handler) -> None:
    # The emulator rejects alarms on metric math, so such an alarm watches only the first metric.
    create = alarm["create"]

    def create_with_first_metric(
        logical_id: str, properties: dict[str, Any], *arguments: Any
    ) -> tuple[str, dict[str, str]]:
        stats = [query["MetricStat"] for query in properties.get("Metrics", []) if "MetricStat" in query]
        simple_properties = {name: value for name, value in properties.items() if name != "Metrics"}
        for stat in stats[:1]:
            simple_properties |= stat["Metric"] | {"Period": stat["Period"], "Statistic": "Sum"}
        created: tuple[str, dict[str, str]] = create(logical_id, simple_properties, *arguments)
        return created

    alarm["create"] = create_with_first_metric


def _accept_buckets_in_hosts(helpers: Any) -> None:
    # The emulator finds the bucket of a template only in the path of its URL.
    resolve = helpers._resolve_document  # noqa: SLF001 - the emulator has no other place for this

    def resolve_with_bucket_in_path(parameters: dict[str, Any], body_key: str, url_key: str, label: str) -> Any:
        if url := helpers._p(parameters, url_key):  # noqa: SLF001 - reads a parameter in any protocol
            parameters = {**parameters, url_key: [_URL_WITH_BUCKET_IN_HOST.sub(r"https://s3/\1/", url)]}
        return resolve(parameters, body_key, url_key, label)

    helpers._resolve_document = resolve_with_bucket_in_path  # noqa: SLF001


if __name__ == "__main__":
    main(sys.argv[1])
