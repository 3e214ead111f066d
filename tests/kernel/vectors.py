"""Test vectors of the published formats: logs, checkpoints, API keys and webhook signatures."""

import json
from pathlib import Path
from typing import Any, Final

VECTORS: Final[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "vectors.json").read_text())
