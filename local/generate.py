"""Writes what is generated from the operations: `python -m local.generate`, or `make generate`."""

from pathlib import Path
from typing import Final

from chalicelib.entrypoints import catalogue

ROOT: Final = Path(__file__).parent.parent


def routes() -> str:
    """Return the source of the route table."""
    rows = [
        f'    ("{o.group}", "{o.method}", "{o.path}", "{o.function.__module__}:{o.id}"),'
        for o in catalogue.operations()
    ]
    head = (
        '"""Every route: group, method, path, and the function that has its operation. Made by `make generate`."""\n\n'
    )
    return f"{head}ROUTES: tuple[tuple[str, str, str, str], ...] = (\n" + "\n".join(rows) + "\n)\n"


if __name__ == "__main__":
    (ROOT / "chalicelib/entrypoints/routes.py").write_text(routes())
