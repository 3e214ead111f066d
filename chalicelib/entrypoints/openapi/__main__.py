"""`python -m chalicelib.entrypoints.openapi > openapi.json`."""

import sys

from chalicelib.entrypoints.openapi import as_text, document

sys.stdout.write(as_text(document()))
