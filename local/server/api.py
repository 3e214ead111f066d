"""Serves the app over HTTP: `python -m local.server.api <port>`."""

import logging
import sys

from chalice.cli.factory import CLIFactory

from local.paths import ROOT
from local.server.http_server import serve

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    # The stage's variables stay in a copy of the environment, so that SETTINGS_FILE is this run's, not the last one's.
    config = CLIFactory(str(ROOT)).create_config_obj("local")
    serve(config.chalice_app, config, int(sys.argv[1]))
