"""Paths of the local stage.

.local/issuer/          the development issuer's key, shared by all runs
.local/<port>/          one run: its settings, the emulator's state, its DNS zone, its logs
.local/settings.json    the settings of the last run or provisioning, for `chalice local --stage local`

`LOCAL_STATE` replaces `.local`, so that tests do not use a developer's state.
"""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
STATE: Final = Path(os.environ.get("LOCAL_STATE") or ROOT / ".local").absolute()


def module_name(file: Path) -> str:
    """Return the dotted name of the module in a file of the project. A package has the name of its folder."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def settings_file(port: int | None) -> Path:
    """Return the settings file of the run on a port, by default of the last run or provisioning."""
    return (STATE / str(port) if port else STATE) / "settings.json"


def write_private(file: Path, text: str) -> None:
    """Write a file atomically, readable only by its owner."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.draft")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(text)
    draft.replace(file)
