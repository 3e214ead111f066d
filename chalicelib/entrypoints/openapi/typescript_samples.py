"""Samples for the TypeScript client, in the style of Prettier."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from chalicelib.entrypoints.openapi.client_samples import Credential, SampleCall
from chalicelib.entrypoints.openapi.code_samples import BASE_URL
from chalicelib.entrypoints.openapi.source_layout import Enclosed, Source, enclosed, fits, labelled, lay_out

_STEP: Final = 2


def build_typescript_sample(call: SampleCall) -> dict[str, str]:
    """Return the sample of a call."""
    settings = [labelled("baseUrl: ", _text(BASE_URL))]
    if call.credential is not Credential.NONE:
        settings.append(f"{call.credential.value}: process.env.TOKEN")
    client = enclosed("new Atrium({", settings, "});", padding=" ")
    source = f"import {{ Atrium }} from 'atrium-client';\n\n{_declaration('client', client)}\n\n{_statements(call)}\n"
    return {"lang": "TypeScript", "label": "TypeScript", "source": source.rstrip("\n")}


def _statements(call: SampleCall) -> str:
    operation, name = call.operation, call.result_name
    method = enclosed(f"client.{operation.group}.{operation.method}(", _arguments(call), ")")
    if operation.is_page:
        loop = lay_out(_labelled_call(f"for await (const {name} of ", method), _STEP)
        return f"{loop}) {{\n  console.log({name});\n}}"
    if operation.result is None and not operation.is_text:
        return f"{lay_out(_labelled_call('await ', method), _STEP)};"
    return f"{lay_out(_labelled_call(f'const {name} = await ', method), _STEP)};\nconsole.log({name});"


def _arguments(call: SampleCall) -> list[Source]:
    arguments: list[Source] = [_text(value) for value in call.path_values]
    options: list[Source] = ["leadToken: process.env.TOKEN ?? ''"] if call.has_lead_token else []
    if call.body is not None:
        arguments.append(_value(call.body))
        if call.query:
            options.append(labelled("query: ", _value(call.query)))
    elif call.query:
        arguments.append(_value(call.query))
    elif options and (call.operation.body is not None or call.operation.query):
        arguments.append("{}" if call.operation.body is not None else "undefined")
    return [*arguments, enclosed("{", options, "}", padding=" ")] if options else arguments


def _labelled_call(label: str, method: Enclosed) -> Source:
    """Return a call after a label. If it has one object and space for the rest, only the object has several lines."""
    *texts, last = method.parts or ("",)
    before = "".join(f"{each}, " for each in texts if isinstance(each, str))
    if isinstance(last, Enclosed) and all(isinstance(each, str) for each in texts):
        opening = f"{label}{method.opening}{before}{last.opening}"
        if fits(opening):
            return Enclosed(opening, last.parts, f"{last.closing})", last.padding)
    return labelled(label, method)


def _value(value: Any) -> Source:
    if isinstance(value, Mapping):
        fields = [labelled(f"{_key(name)}: ", _value(each)) for name, each in value.items()]
        return enclosed("{", fields, "}", padding=" ")
    if isinstance(value, list):
        return enclosed("[", map(_value, value), "]")
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_$][\w$]*", name) else _text(name)


def _text(value: str) -> str:
    if "'" in value and '"' not in value:
        return json.dumps(value, ensure_ascii=False)
    inner = json.dumps(value, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{inner}'"


def _declaration(name: str, source: Source) -> str:
    return lay_out(labelled(f"const {name} = ", source), _STEP)
