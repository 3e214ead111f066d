"""What the library holds: by whom, and of which conference. On `make run` the sources are stand-ins that know both."""

from typing import Final

RESEARCHER: Final = "0000-0002-1825-0097"
"""The fictional researcher of ORCID's own documentation."""

EDITION: Final = "neurips-2025"
