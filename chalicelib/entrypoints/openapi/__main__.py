"""`python -m chalicelib.entrypoints.openapi > openapi.json`."""

import sys

from chalicelib.entrypoints.openapi import build_document, document_to_indented_json

sys.stdout.write(document_to_indented_json(build_document()))
