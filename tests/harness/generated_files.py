"""Compares files that commands generate with the committed ones."""

from collections.abc import Mapping
from pathlib import Path

import pytest


def require_current_files(folder: Path, generated: Mapping[str, str | bytes], command: str) -> None:
    """Fail unless a folder has the generated files and no others. `command` generates them.

    The message names the files. Pytest would compare their texts line by line, which takes hours for some.
    """
    committed = {file.name: file.read_bytes() for file in folder.iterdir()}
    expected = {name: text.encode() if isinstance(text, str) else text for name, text in generated.items()}
    outdated = sorted(name for name in committed.keys() | expected.keys() if committed.get(name) != expected.get(name))
    if outdated:
        pytest.fail(f"Run `{command}`, and review the changes. It would change {', '.join(outdated)}.", pytrace=False)


def require_current_file(file: Path, generated: str | bytes, command: str) -> None:
    """Fail unless a file has the generated content. `command` generates it."""
    content = generated.encode() if isinstance(generated, str) else generated
    if file.read_bytes() != content:
        pytest.fail(f"Run `{command}`, and review the changes. It would change {file.name}.", pytrace=False)
