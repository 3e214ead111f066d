"""The emulator with what this suite needs of it otherwise. Run in the emulator's own Python.

.venv-emulator/bin/python tests/deployed/launch.py PYTHON    # which functions run in
"""

import importlib
import runpy
import sys
from typing import Any
from uuid import uuid4

Handler = dict[str, Any]


def main(python: str) -> None:
    """Run the emulator, whose functions run in another Python than its own."""
    handlers = importlib.import_module("ministack.services.cloudformation.provisioners")._RESOURCE_HANDLERS  # noqa: SLF001
    _tell_names_for_mail(handlers["AWS::SES::EmailIdentity"])
    _take_alarms_of_formulas(handlers["AWS::CloudWatch::Alarm"])
    # It knows no saved queries of Logs Insights, and refuses a stack that has some. Nothing depends on them.
    handlers["AWS::Logs::QueryDefinition"] = {"create": lambda *_: (str(uuid4()), {}), "delete": lambda *_: None}
    # In its own, they would find the emulator's libraries, and nobody saw that the package lacks one.
    sys.executable = python
    sys.argv = ["ministack"]
    runpy.run_module("ministack", run_name="__main__")


def _tell_names_for_mail(identity: Handler) -> None:
    # An identity has no attributes DkimDNSToken...: a stack that puts them out can't be made.
    create = identity["create"]

    def create_with_names(*words: Any) -> tuple[str, dict[str, str]]:
        name, attributes = create(*words)
        tokens = {f"DkimDNSTokenName{n}": f"token{n}._domainkey.{name}" for n in range(1, 4)}
        values = {f"DkimDNSTokenValue{n}": f"token{n}.dkim.amazonses.com" for n in range(1, 4)}
        return name, attributes | tokens | values

    identity["create"] = create_with_names


def _take_alarms_of_formulas(alarm: Handler) -> None:
    # It refuses an alarm on a formula of metrics: such a one watches the first metric of the formula alone.
    create = alarm["create"]

    def create_simply(logical_id: str, properties: dict[str, Any], *words: Any) -> tuple[str, dict[str, str]]:
        stats = [query["MetricStat"] for query in properties.get("Metrics", []) if "MetricStat" in query]
        simple = {name: value for name, value in properties.items() if name != "Metrics"}
        for stat in stats[:1]:
            simple |= stat["Metric"] | {"Period": stat["Period"], "Statistic": "Sum"}
        made: tuple[str, dict[str, str]] = create(logical_id, simple, *words)
        return made

    alarm["create"] = create_simply


if __name__ == "__main__":
    main(sys.argv[1])
