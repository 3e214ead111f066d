"""Where the local stage keeps things.

.local/issuer/          the development issuer's key, shared by all runs
.local/<port>/          one run: its settings, the emulator's state, what its DNS holds, the logs
.local/settings.json    the settings of the run or provisioning that came last, for `chalice local --stage local`

`LOCAL_STATE` names another folder than `.local`: tests keep away from a developer's.
"""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
STATE: Final = Path(os.environ.get("LOCAL_STATE") or ROOT / ".local").absolute()


def settings_of_run(port: int | None) -> Path:
    """Return where the settings of the run on a port are, or of the run or provisioning that came last."""
    return (STATE / str(port) if port else STATE) / "settings.json"


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.draft")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(text)
    draft.replace(file)
