"""What the site tells of those who use the gauges."""

from typing import Any, Final

STORIES: Final[dict[str, Any]] = {
    "page": {
        "title": "Stories",
        "blocks": [
            {"id": "head", "type": "heading", "level": 2, "text": "Stories from the bank"},
            {"id": "why", "type": "text", "text": "What people found out once they had looked for long enough."},
        ],
    },
    "children": [
        {
            "page": {
                "title": "The tide at the weir",
                "slug": "tide-at-the-weir",
                "seo": {"description": "How eleven gauges found a tide where no map has one."},
                "blocks": [
                    {
                        "id": "odd",
                        "type": "text",
                        "text": "On the maps the tide of the Arrel ends at Fordhouse. On the curve of gauge 88 there is"
                        " a ripple of four millimetres, twice a day, eleven kilometres further up.",
                    },
                    {
                        "id": "found",
                        "type": "text",
                        "text": "It took eleven readers and one winter to believe it. The sea does come to Harrowmere;"
                        " it is just very polite about it.",
                    },
                    {"id": "rule", "type": "divider"},
                    {
                        "id": "join",
                        "type": "button",
                        "label": "Read with us",
                        "url": "https://rivers.harrowmere.example.com/",
                    },
                ],
            }
        },
        {
            "page": {
                "title": "A gauge for the school",
                "slug": "a-gauge-for-the-school",
                "blocks": [
                    {
                        "id": "numbers",
                        "type": "text",
                        "text": "Class 6 of Millbeck has missed four readings in two years, all of them on a Sunday.",
                    },
                    {
                        "id": "voice",
                        "type": "quote",
                        "text": "We do percentages with it. They have stopped asking what they are for.",
                        "cite": "Their teacher",
                    },
                ],
            }
        },
    ],
}
