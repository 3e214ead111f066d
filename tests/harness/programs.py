"""Programs that replace those of the machine."""

from pathlib import Path


def write_program(file: Path, script: str) -> None:
    """Write a program that runs a shell script."""
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
