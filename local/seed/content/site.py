"""The site: its pages from the home down, its menus, where its former addresses lead, and what crawlers leave alone."""

from typing import Any, Final

from local.seed.content.guides import GUIDES
from local.seed.content.stories import STORIES

Json = dict[str, Any]

SITE: Final[Json] = {
    "name": "Harrowmere Instruments",
    "slug": "harrowmere",
    "description": "River gauges that a school can afford and a hydrologist can trust.",
    "robots": {
        "disallow": ["/thanks"],
        "extra": "# Levels are at the community's own address; please read them there.",
    },
}

HOME: Final[Json] = {
    "page": {
        "title": "Know your river",
        "isHome": True,
        "seo": {"description": "River gauges that a school can afford and a hydrologist can trust."},
        "blocks": [
            {
                "id": "opening",
                "type": "text",
                "text": "We build **river gauges** in an old pump house by the Arrel. They cost what a bicycle costs,"
                " run for five years on one battery, and are read by 211 people who live beside the water.",
            },
            {"id": "look", "type": "button", "label": "See the gauges", "url": "/gauges"},
            {
                "id": "two-kinds",
                "type": "columns",
                "columns": [
                    [
                        {"id": "tern-name", "type": "heading", "level": 2, "text": "Tern"},
                        {"id": "tern-text", "type": "text", "text": "For a bridge or a wall. [More](/gauges/tern)"},
                    ],
                    [
                        {"id": "dipper-name", "type": "heading", "level": 2, "text": "Dipper"},
                        {"id": "dipper-text", "type": "text", "text": "For the river bed. [More](/gauges/dipper)"},
                    ],
                ],
            },
            {
                "id": "voice",
                "type": "quote",
                "text": "The morning it rose a metre I knew before the road did.",
                "cite": "A reader at Sele Bridge",
            },
        ],
    }
}

GAUGES: Final[Json] = {
    "page": {
        "title": "Gauges",
        "blocks": [
            {"id": "head", "type": "heading", "level": 2, "text": "Two gauges, one logger"},
            {
                "id": "choice",
                "type": "text",
                "text": "| | Tern | Dipper |\n| --- | --- | --- |\n| Measures | from above, by ultrasound | from below,"
                " by pressure |\n| Range | 0.3 to 8 m | 0 to 10 m |\n| Resolution | 2 mm | 1 mm |\n"
                "| Price | £290 | £240 |",
            },
            {"id": "help", "type": "button", "label": "Which one for my river?", "url": "/guides/choosing-a-place"},
        ],
    },
    "children": [
        {
            "page": {
                "title": "Tern",
                "blocks": [
                    {"id": "head", "type": "heading", "level": 2, "text": "Tern looks down"},
                    {
                        "id": "picture",
                        "type": "image",
                        "url": "https://assets.harrowmere.example.com/tern-on-sele-bridge.jpg",
                        "alt": "A grey box the size of a loaf under the arch of a stone bridge",
                    },
                    {
                        "id": "what",
                        "type": "text",
                        "text": "Tern hangs over the water and listens to its own echo. Nothing of it gets wet, so ice"
                        " and branches pass below it.",
                    },
                    {
                        "id": "box",
                        "type": "list",
                        "items": [
                            "The gauge, with its battery",
                            "A bracket of stainless steel",
                            "A 2 m staff to check it",
                        ],
                    },
                ],
            },
            "children": [
                {
                    "page": {
                        "title": "Installation",
                        "blocks": [
                            {"id": "head", "type": "heading", "level": 2, "text": "Hanging a Tern"},
                            {
                                "id": "steps",
                                "type": "list",
                                "ordered": True,
                                "items": [
                                    "Ask whoever owns the bridge. Keep the letter.",
                                    "Find a place with *one metre* of free air all around the beam.",
                                    "Drill, set the anchors, and let them cure for a day.",
                                    "Hang the gauge, level it, and read the staff. That reading is your datum.",
                                ],
                            },
                            {"id": "rule", "type": "divider"},
                            {
                                "id": "warning",
                                "type": "text",
                                "text": "Never work over moving water alone. **Two people, two life jackets,"
                                " one rope.**",
                            },
                        ],
                    }
                },
                {
                    "page": {
                        "title": "Data sheet",
                        "slug": "data-sheet",
                        "blocks": [
                            {"id": "head", "type": "heading", "level": 2, "text": "Tern in numbers"},
                            {
                                "id": "numbers",
                                "type": "text",
                                "text": "| | |\n| --- | --- |\n| Beam | 10° |\n| Interval | 15 min, 1 min in a"
                                " flood |\n| Radio | 868 MHz, up to 9 km |\n| Works at | 50 °C, and at -20 |\n"
                                "| Weight | 1.1 kg |",
                            },
                        ],
                    }
                },
            ],
        },
        {
            "page": {
                "title": "Dipper",
                "blocks": [
                    {"id": "head", "type": "heading", "level": 2, "text": "Dipper looks up"},
                    {
                        "id": "what",
                        "type": "text",
                        "text": "Dipper lies in a pipe on the river bed and weighs the water above it. It suits streams"
                        " without a bridge, and everybody who would rather not be seen.",
                    },
                    {
                        "id": "film",
                        "type": "embed",
                        "url": "https://video.harrowmere.example.com/dipper-in-two-minutes",
                    },
                ],
            },
            "rework": {"title": "Dipper 2"},
        },
        {
            "page": {
                "title": "Kingfisher",
                "blocks": [
                    {"id": "head", "type": "heading", "level": 2, "text": "Kingfisher has no battery"},
                    {"id": "note", "type": "text", "text": "Photos and the price follow after the winter trials."},
                ],
            },
            "draft": True,
        },
    ],
}

ABOUT: Final[Json] = {
    "page": {
        "title": "About us",
        "slug": "about",
        "blocks": [
            {"id": "head", "type": "heading", "level": 2, "text": "Nine people and a pump house"},
            {
                "id": "how",
                "type": "text",
                "text": "Harrowmere Instruments began when the official gauge of our valley was taken away. We put up"
                " one of our own, then one for the school, and then the neighbours came.",
            },
        ],
    },
    "children": [
        {
            "page": {
                "title": "Working here",
                "slug": "jobs",
                "blocks": [
                    {"id": "now", "type": "text", "text": "There is no vacancy now. Write all the same: we remember."},
                    {"id": "mail", "type": "button", "label": "Write to us", "url": "mailto:support@example.com"},
                ],
            }
        }
    ],
}

CONTACT: Final[Json] = {
    "page": {
        "title": "Contact",
        "blocks": [
            {"id": "head", "type": "heading", "level": 2, "text": "Come by, or write"},
            {"id": "where", "type": "text", "text": "The Old Pump House, 3 Weir Lane, Harrowmere. The bell is broken."},
            {"id": "form", "type": "custom", "data": {"form": "enquiry", "sendsTo": "/public/leads"}},
        ],
    },
    "children": [
        {
            "page": {
                "title": "Thank you",
                "slug": "thanks",
                "seo": {"noindex": True},
                "blocks": [{"id": "head", "type": "heading", "level": 2, "text": "Thank you, we have it"}],
            }
        }
    ],
}

OPEN_DAY: Final[Json] = {
    "page": {
        "title": "Open day",
        "blocks": [
            {"id": "head", "type": "heading", "level": 2, "text": "The workshop is open, and the kettle is on"},
            {"id": "when", "type": "text", "text": "Bring the gauge that puzzles you. Soup at one."},
        ],
    },
    "published_in_days": 14,
}

PAGES: Final = (HOME, GAUGES, GUIDES, STORIES, ABOUT, CONTACT, OPEN_DAY)

MENUS: Final[dict[str, Json]] = {
    "main": {
        "name": "Main menu",
        "items": [
            {
                "id": "gauges",
                "label": "Gauges",
                "page": "/gauges",
                "children": [
                    {"id": "tern", "label": "Tern", "page": "/gauges/tern"},
                    {"id": "dipper", "label": "Dipper", "page": "/gauges/dipper"},
                    {"id": "kingfisher", "label": "Kingfisher", "page": "/gauges/kingfisher"},
                ],
            },
            {"id": "guides", "label": "Guides", "page": "/guides"},
            {"id": "stories", "label": "Stories", "page": "/stories"},
            {"id": "community", "label": "Arrel Watch", "url": "https://rivers.harrowmere.example.com/"},
        ],
    },
    "footer": {
        "name": "Footer",
        "items": [
            {"id": "about", "label": "About us", "page": "/about"},
            {"id": "contact", "label": "Contact", "page": "/contact"},
            {"id": "mail", "label": "support@example.com", "url": "mailto:support@example.com"},
        ],
    },
}
"""By their ids. `page` stands for a page's path, and `url` for any other address."""

REDIRECTS: Final[list[Json]] = [
    {"fromPath": "/shop", "toPath": "/gauges"},
    {"fromPath": "/manuals/*", "toPath": "/guides/:splat", "statusCode": 308},
    {"fromPath": "/community", "toPath": "https://rivers.harrowmere.example.com/", "statusCode": 302},
]
