"""The site's guides, page by page."""

from typing import Any, Final

_READINGS: Final = """\
import csv

with open("readings.csv", newline="") as file:
    for row in csv.DictReader(file):
        print(row["time"], float(row["level"]) - 0.412)
"""

GUIDES: Final[dict[str, Any]] = {
    "page": {
        "title": "Guides",
        "blocks": [
            {
                "id": "why",
                "type": "text",
                "text": "Written by those who made every mistake in them. If one is missing, [ask for it](/contact).",
            },
            {
                "id": "all",
                "type": "list",
                "items": [
                    "[Choosing a place](/guides/choosing-a-place)",
                    "[Reading a hydrograph](/guides/reading-a-hydrograph)",
                    "[Your readings in a table](/guides/your-readings)",
                ],
            },
        ],
    },
    "children": [
        {
            "page": {
                "title": "Choosing a place",
                "blocks": [
                    {"id": "head", "type": "heading", "level": 2, "text": "What makes a good one"},
                    {
                        "id": "first",
                        "type": "text",
                        "text": "A gauge tells the truth about *one* cross-section of a river. Choose one that stays as"
                        " it is: rock or masonry, a straight reach, no sandbank that moves with every flood.",
                    },
                    {"id": "not", "type": "heading", "level": 3, "text": "Where not to put one"},
                    {
                        "id": "nots",
                        "type": "list",
                        "items": [
                            "Just below a weir: the water jumps.",
                            "Just above one that is opened by hand: you will measure the miller.",
                            "Where cattle drink. They rub against everything.",
                        ],
                    },
                    {
                        "id": "side-by-side",
                        "type": "columns",
                        "columns": [
                            [{"id": "bridge", "type": "text", "text": "**With a bridge:** take a Tern."}],
                            [{"id": "no-bridge", "type": "text", "text": "**Without one:** take a Dipper."}],
                        ],
                    },
                ],
            }
        },
        {
            "page": {
                "title": "Reading a hydrograph",
                "blocks": [
                    {
                        "id": "shape",
                        "type": "text",
                        "text": "Time runs to the right, the level goes up. A steep left side is rain on wet ground;"
                        " the long tail on the right is the valley giving the water back.",
                    },
                    {
                        "id": "picture",
                        "type": "image",
                        "url": "https://assets.harrowmere.example.com/hydrograph-sele-bridge.png",
                        "alt": "A curve that rises by a metre within five hours and takes two days to fall",
                    },
                    {"id": "old", "type": "quote", "text": "It comes like a horse and goes like a snail."},
                ],
            }
        },
        {
            "page": {
                "title": "Your readings in a table",
                "slug": "your-readings",
                "blocks": [
                    {
                        "id": "how",
                        "type": "text",
                        "text": "Every gauge gives out its readings as CSV: UTC, and metres above its staff. To have"
                        " them above your own datum, take away what the staff stands at:",
                    },
                    {"id": "program", "type": "code", "language": "python", "text": _READINGS},
                ],
            }
        },
    ],
}
