"""Reports to the recorder what runs once in a process, and dependencies that no executed line shows.

Cached functions, cached properties of the service, and scenarios that tests restore from a copy become steps. A step is
shared by all arguments of a function. A test also depends on each file that it opens, each folder that it lists, and
the declaration of each operation that it calls.
"""

import builtins
import functools
import importlib
import io
import os
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from local.paths import ROOT
from local.test_selection.recorder import Recorder
from local.test_selection.source_files import CONTENT, MODULE, entries_by_folder, is_code, list_files, path_of_module


class Instrumentation:
    """Patches functions of this process. Import modules that cache functions only after `start`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        files = list_files()
        self._paths = {f"{ROOT}/{path}".rstrip("/"): path for path in [*files, *entries_by_folder(files)]}
        self._property_patch = patch.object(functools, "cached_property", _property_class(recorder))

    def start(self) -> None:
        """Report read files and folders, cached functions and cached properties."""
        # An audit hook would release the lock that installing a trace function needs.
        for module, name in ((builtins, "open"), (io, "open"), (os, "scandir"), (os, "listdir")):
            patch.object(module, name, self._reporting_read(getattr(module, name))).start()
        functools.lru_cache = self._reporting_lru_cache(functools.lru_cache)  # `functools.cache` calls it.
        self._property_patch.start()

    def import_service(self) -> None:
        """Import all modules of the service, so that no test imports one on behalf of the others.

        From then on, called operations and restored scenarios are reported.
        """
        importlib.import_module("app")
        for found in pkgutil.walk_packages(importlib.import_module("chalicelib").__path__, "chalicelib."):
            if not found.name.endswith(".__main__"):
                importlib.import_module(found.name)
        self._property_patch.stop()  # Other libraries compare classes with the original one.
        for module_name, function, replaced in (
            ("chalicelib.entrypoints.http", "load_operation", self._reporting_load_operation),
            ("tests.harness.snapshots", "create_or_restore", self._reporting_create_or_restore),
        ):
            module = importlib.import_module(module_name)
            patch.object(module, function, replaced(getattr(module, function))).start()

    def _reporting_read(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def read_and_report(*args: Any, **kwargs: Any) -> Any:
            file = args[0] if args else None
            if isinstance(file, str | Path) and (path := self._paths.get(str(file))):
                self._recorder.depend_on_block(path, CONTENT)
                if importer := self._importing_path_or_none():
                    self._recorder.depend_at_import(path, importer)
            return read(*args, **kwargs)

        return read_and_report

    def _importing_path_or_none(self) -> str | None:
        """Return the path of the module that is being imported."""
        frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the documented way to a caller's frame
        while frame and not (frame.f_code.co_name == "<module>" and frame.f_code.co_filename in self._paths):
            frame = frame.f_back
        return self._paths[frame.f_code.co_filename] if frame else None

    def _reporting_load_operation(self, load_operation: Callable[[str], Any]) -> Callable[[str], Any]:
        def load_and_report(function_path: str) -> Any:
            self._recorder.depend_on_block(path_of_module(function_path.partition(":")[0]), MODULE)
            return load_operation(function_path)

        return load_and_report

    def _reporting_create_or_restore(self, create_or_restore: Callable[..., Any]) -> Callable[..., Any]:
        def create_or_restore_and_report(key: tuple[object, ...], create: Callable[[], Any]) -> Any:
            name = f"scenario {key}"

            def create_as_step() -> Any:
                with self._recorder.record_step(name):
                    return create()

            self._recorder.depend_on_step(name)
            return create_or_restore(key, create_as_step)

        return create_or_restore_and_report

    def _reporting_lru_cache(self, lru_cache: Callable[..., Any]) -> Callable[..., Any]:
        def lru_cache_and_report(maxsize: Any = 128, typed: Any = False) -> Any:  # noqa: FBT002 - as in functools
            if callable(maxsize):
                return lru_cache_and_report()(maxsize)

            def decorate_function(function: Callable[..., Any]) -> Any:
                decorator = lru_cache(maxsize, typed)
                return self._reporting_cache(function, decorator) if _is_ours(function) else decorator(function)

            return decorate_function

        return lru_cache_and_report

    def _reporting_cache(self, function: Callable[..., Any], decorator: Callable[..., Any]) -> Any:
        step = _step_of(function)

        @decorator
        def cached(*args: Any, **kwargs: Any) -> Any:
            with self._recorder.record_step(step):
                return function(*args, **kwargs)

        @functools.wraps(function)
        def call_cached(*args: Any, **kwargs: Any) -> Any:
            self._recorder.depend_on_step(step)
            return cached(*args, **kwargs)

        for name in ("cache_clear", "cache_info", "cache_parameters"):
            setattr(call_cached, name, getattr(cached, name))
        return call_cached


def _property_class(recorder: Recorder) -> type:
    class ReportingProperty(functools.cached_property[Any]):
        """Reports each access. Without `__set__`, Python would not call `__get__` once there is a value."""

        def __init__(self, func: Callable[[Any], Any]) -> None:
            super().__init__(func)
            self._step = _step_of(func) if _is_ours(func) else None

        def __get__(self, instance: object, owner: type | None = None) -> Any:
            if instance is not None and self._step:
                if self.func.__name__ not in vars(instance):
                    with recorder.record_step(self._step):
                        return super().__get__(instance, owner)
                recorder.depend_on_step(self._step)
            return super().__get__(instance, owner)

        def __set__(self, instance: object, value: object) -> None:
            vars(instance)[self.func.__name__] = value

        def __delete__(self, instance: object) -> None:
            del vars(instance)[self.func.__name__]

    return ReportingProperty


def _is_ours(function: Callable[..., Any]) -> bool:
    return is_code(path_of_module(function.__module__))


def _step_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
