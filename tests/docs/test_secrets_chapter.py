"""The chapter on secrets in `docs/operations/running.md` lists existing commands and all secrets of a stage."""

import re
import shlex

from infrastructure.__main__ import _parser
from infrastructure.secrets import FINISH_DELAYS, SECRETS, format_days
from local.__main__ import _parser as _local_parser
from local.paths import ROOT

CHAPTER = (ROOT / "docs/operations/running.md").read_text().partition("## Secrets")[2].partition("\n## ")[0]
COMMAND = re.compile(r"^ +\.venv/bin/python -m (infrastructure|local) (.*?)(?:  #.*)?$", re.MULTILINE)


def test_the_commands_exist_and_are_in_the_order_of_the_steps():
    parsers = {"infrastructure": _parser(), "local": _local_parser()}
    commands = [parsers[program].parse_args(shlex.split(arguments)) for program, arguments in COMMAND.findall(CHAPTER)]
    steps = [getattr(command, "step", command.command.__name__) for command in commands]
    assert steps == ["begin", "switch", "finish", "_renew_seals", "_reseal", "return"]


def test_the_table_lists_the_setting_and_waiting_time_of_every_secret():
    rows = {cells[0]: cells for line in CHAPTER.splitlines() if (cells := [c.strip() for c in line.split("|")[1:-1]])}
    for secret, setting in SECRETS.items():
        row = rows[f"`/atrium/prod/{secret}`"]
        assert row[1] == f"`{setting}`"
        wait, _ = FINISH_DELAYS[secret]
        assert row[4].startswith(format_days(wait) if wait else "not at all")
