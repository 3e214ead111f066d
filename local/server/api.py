"""Serve the app over HTTP: `python -m local.server.api <port>`."""

import logging
import sys

from chalice.cli.factory import CLIFactory

from local.paths import ROOT
from local.server.http_server import serve

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    # Chalice adds the stage's variables to a copy of the environment, so SETTINGS_FILE stays that of this run.
    config = CLIFactory(str(ROOT)).create_config_obj("local")
    serve(config.chalice_app, config, int(sys.argv[1]))
