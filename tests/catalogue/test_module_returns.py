"""A request passes through the modules of the kernel one after the other, and seldom returns to one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

from chalicelib.entrypoints import http
from chalicelib.kernel.execution import pipeline
from chalicelib.kernel.http.request import Request, Response
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation
from tests.harness.parametrize_operations import parametrize_access_rules

PACKAGES: Final = ("execution", "authorization", "operations", "work")
"""The packages of the kernel that perform requests. The packages below them serve other purposes, too."""

MAX_RETURNS: Final = 25
"""How often a request may return to a module. A reader who follows it has to remember where the module was left."""

_KERNEL: Final = Path(pipeline.__file__).parents[1]


def _property_codes() -> set[CodeType]:
    """Return the code of all properties in the packages. Reading a property is no step of a request."""
    classes = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith("chalicelib.kernel")
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__.startswith("chalicelib.kernel")
    }
    attributes = [attribute for each in classes for attribute in vars(each).values()]
    getters: list[Any] = [each.fget for each in attributes if isinstance(each, property)]
    getters += [each.func for each in attributes if isinstance(each, cached_property)]
    return {getter.__code__ for getter in getters}


@contextmanager
def recorded_modules() -> Iterator[list[str]]:
    """Record the modules whose functions are called, in this order, without properties and what they call."""
    modules: list[str] = []
    properties = _property_codes()
    open_properties: list[FrameType] = []

    def record(frame: FrameType, event: str, _argument: object) -> None:
        if event == "return" and open_properties and frame is open_properties[-1]:
            open_properties.pop()
        elif event == "call" and frame.f_code in properties:
            open_properties.append(frame)
        elif event == "call" and not open_properties and not frame.f_code.co_name.startswith("<"):
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(_KERNEL) and path.relative_to(_KERNEL).parts[0] in PACKAGES:
                modules.append(str(path.relative_to(_KERNEL)))

    sys.setprofile(record)
    try:
        yield modules
    finally:
        sys.setprofile(None)


def count_returns(modules: list[str]) -> int:
    """Return how often a module is entered again after another one was entered."""
    entered = [module for number, module in enumerate(modules) if number == 0 or module != modules[number - 1]]
    return len(entered) - len(set(entered))


@parametrize_access_rules()
def test_a_request_seldom_returns_to_a_module_that_it_has_left(operation, tenant, monkeypatch):
    recordings = {}

    def execute_and_record(called: Operation, request: Request) -> Response:
        with recorded_modules() as recordings[called.id]:
            return pipeline.execute_or_raise_problem(called, request)

    monkeypatch.setattr(http, "execute_or_raise_problem", execute_and_record)
    call_operation(operation, tenant)
    modules = recordings[operation.id]
    assert len(set(modules)) > 10, modules  # It did record them.
    assert count_returns(modules) <= MAX_RETURNS, modules
