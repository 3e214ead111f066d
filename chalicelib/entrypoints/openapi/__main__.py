"""`python -m chalicelib.entrypoints.openapi > openapi.json`."""

import sys

from chalicelib.entrypoints.openapi import build_document, serialize_document

sys.stdout.write(serialize_document(build_document()))
