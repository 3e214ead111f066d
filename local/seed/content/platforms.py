"""The platforms: what they look like, who takes part, their spaces and modules, and how their things are sorted."""

from typing import Any, Final

Json = dict[str, Any]

ARREL_WATCH: Final[Json] = {
    "platform": {
        "name": "Arrel Watch",
        "slug": "arrel-watch",
        "description": "Where the people who look after a gauge compare notes with those who built it.",
        "joinPolicy": "open",
    },
    "domain": "rivers.harrowmere.example.com",
    "theme": {
        "mode": "light",
        "colors": {
            "text": "#16242c",
            "background": "#fbfaf6",
            "primary": "#0b5563",
            "onPrimary": "#ffffff",
            "accent": "#8a3f0c",
        },
        "fonts": {"heading": "Zilla Slab", "body": "Source Sans 3"},
        "logoUrl": "https://assets.harrowmere.example.com/arrel-watch.svg",
        "faviconUrl": "https://assets.harrowmere.example.com/arrel-watch.png",
        "tokens": {"radius": "4px", "spacing": {"block": "2rem", "line": "1.5"}},
    },
    "navigation": [
        {"id": "start", "label": "Start here", "type": "space", "target": "first-gauge"},
        {
            "id": "rivers",
            "label": "Rivers",
            "type": "group",
            "children": [
                {"id": "upper", "label": "Upper Arrel", "type": "space", "target": "upper-arrel"},
                {"id": "lower", "label": "Lower Arrel", "type": "space", "target": "lower-arrel"},
            ],
        },
        {"id": "calendar", "label": "Calendar", "type": "module", "target": "events"},
        {"id": "gauges", "label": "Our gauges", "type": "url", "target": "https://www.harrowmere.example.com/gauges"},
    ],
    "home": {
        "layout": "two-columns",
        "blocks": [
            {
                "id": "welcome",
                "type": "hero",
                "settings": {
                    "title": "One river, two hundred and eleven gauges",
                    "text": "Read the level near you, or look after a gauge yourself.",
                },
            },
            {"id": "levels", "type": "map", "settings": {"centre": [52.14, -2.86], "zoom": 10, "layer": "stage"}},
            {"id": "next", "type": "calendar", "settings": {"most": 3}},
        ],
    },
    "opens": "first-gauge",
    "project_blocks": [
        {"projectBlockId": "summer-low-flow", "title": "Summer low flow survey", "settings": {"columns": 2}},
        {"projectBlockId": "school-gauges", "title": "A gauge for every school on the Arrel"},
        {"projectBlockId": "old-marks", "title": "Flood marks on old bridges", "enabled": False},
    ],
    "modules": [
        {"moduleId": "events", "settings": {"view": "month", "reminderHours": 24}},
        {"moduleId": "announcements", "locked": True, "settings": {"whoWrites": "editors"}},
        {"moduleId": "jobs", "enabled": False},
        {"moduleId": "gauge-levels", "settings": {"unit": "m", "datum": "local", "refreshSeconds": 900}},
    ],
    "members": {"tomas": "admin", "devan": "editor", "lucja": "editor"},
    "curator": "devan",
    "joins": ["wren", "joao", "mirja", "hattie"],
    "spaces": [
        {
            "space": {
                "name": "Your first gauge",
                "slug": "first-gauge",
                "description": "From the box to the first week of readings. No question is too small.",
            },
            "capabilities": [{"capabilityKey": "polls"}, {"capabilityKey": "photo-upload", "settings": {"most": 12}}],
            "overrides": [{"moduleId": "courses", "settings": {"startWith": "siting"}}],
            "joins": ["wren", "joao", "mirja"],
        },
        {
            "space": {
                "name": "Upper Arrel",
                "slug": "upper-arrel",
                "description": "From the moor to Harrowmere weir: 74 gauges, the first of them from 2019.",
            },
            "capabilities": [{"capabilityKey": "live-map"}, {"capabilityKey": "alerts", "settings": {"above": 2.4}}],
            "overrides": [
                {"moduleId": "gauge-levels", "settings": {"refreshSeconds": 300}},
                {"moduleId": "research", "enabled": False},
            ],
            "members": {"lucja": "editor"},
            "joins": ["joao"],
        },
        {
            "space": {
                "name": "Lower Arrel",
                "slug": "lower-arrel",
                "description": "Below the weir, where the tide has a say. 137 gauges.",
            },
            "capabilities": [{"capabilityKey": "live-map"}, {"capabilityKey": "tide-table", "settings": {"days": 7}}],
            "overrides": [{"moduleId": "gauge-levels", "settings": {"tidal": True}}],
            "joins": ["mirja"],
        },
        {
            "space": {
                "name": "Stewards",
                "slug": "stewards",
                "description": "For those who visit the gauges of others: rounds, spare parts, who has which key.",
                "visibility": "private",
            },
            "capabilities": [{"capabilityKey": "shared-calendar"}, {"capabilityKey": "file-store"}],
            "overrides": [{"moduleId": "messaging"}, {"moduleId": "feed", "enabled": False}],
            "members": {"lucja": "admin", "wren": "member"},
        },
    ],
    "taxonomy": [
        {
            "name": "Rivers",
            "children": [
                {
                    "name": "Arrel",
                    "altLabels": ["River Arrel", "Arrelwater"],
                    "description": "118 km from Cold Moor to the sea.",
                    "children": [
                        {"name": "Upper Arrel", "description": "Above Harrowmere weir."},
                        {"name": "Lower Arrel", "description": "Below Harrowmere weir."},
                        {"name": "Arrel estuary", "altLabels": ["The Sands"]},
                    ],
                },
                {"name": "Sele", "children": [{"name": "Sele headwaters"}, {"name": "Sele mill leats"}]},
                {"name": "Dunbeck", "description": "Dry in most summers since 2018."},
            ],
        },
        {
            "name": "Measurements",
            "children": [
                {
                    "name": "Level",
                    "altLabels": ["Stage", "Water level"],
                    "children": [{"name": "Datum"}, {"name": "Flood mark"}, {"name": "Low water"}],
                },
                {"name": "Flow", "altLabels": ["Discharge"], "children": [{"name": "Rating curve"}]},
                {"name": "Quality", "children": [{"name": "Temperature"}, {"name": "Turbidity"}]},
            ],
        },
        {
            "name": "Work",
            "children": [
                {"name": "Siting"},
                {"name": "Calibration", "children": [{"name": "Bench"}, {"name": "In the field"}]},
                {"name": "Repair", "altLabels": ["Maintenance"]},
            ],
        },
    ],
    "sorted": {
        "rivers/arrel/upper-arrel": [("space", "upper-arrel")],
        "rivers/arrel/lower-arrel": [("space", "lower-arrel"), ("page", "/stories/tide-at-the-weir")],
        "measurements/level": [("page", "/guides/reading-a-hydrograph")],
        "measurements/level/datum": [("page", "/gauges/tern/installation")],
        "work/siting": [("page", "/guides/choosing-a-place"), ("space", "first-gauge")],
        "featured": [("page", "/stories/tide-at-the-weir")],
        "official": [("space", "stewards")],
    },
}

GAUGE_LAB: Final[Json] = {
    "platform": {
        "name": "Gauge Lab",
        "slug": "gauge-lab",
        "description": "Next year's gauge, with the partners who break this year's.",
    },
    "theme": {
        "mode": "dark",
        "colors": {"text": "#eef2f3", "background": "#11181c", "primary": "#7cc7d6", "onPrimary": "#08222a"},
        "fonts": {"body": "Fira Sans", "code": "Fira Mono"},
    },
    "navigation": [
        {"id": "firmware", "label": "Firmware", "type": "space", "target": "firmware"},
        {"id": "trials", "label": "Field trials", "type": "space", "target": "field-trials"},
    ],
    "home": {"layout": "list", "blocks": [{"id": "builds", "type": "feed", "settings": {"tag": "firmware"}}]},
    "opens": "firmware",
    "project_blocks": [
        {"projectBlockId": "kingfisher", "title": "Kingfisher: a gauge without a battery"},
        {"projectBlockId": "summer-low-flow", "title": "Loan gauges for the low flow survey"},
    ],
    "modules": [
        {"moduleId": "research", "locked": True},
        {"moduleId": "courses", "enabled": False},
        {"moduleId": "directory", "enabled": False},
    ],
    "members": {"tomas": "admin", "piet": "editor"},
    "curator": "piet",
    "invited": {
        "email": "trials@example.com",
        "role": "editor",
        "message": "You asked for the raw counts; they are in the space for the field trials.",
        "expiresInDays": 30,
    },
    "spaces": [
        {
            "space": {"name": "Firmware", "slug": "firmware", "description": "Builds, and what they broke."},
            "capabilities": [{"capabilityKey": "file-store", "settings": {"mostMegabytes": 64}}],
            "overrides": [{"moduleId": "announcements", "enabled": False}],
            "members": {"piet": "editor"},
        },
        {
            "space": {
                "name": "Field trials",
                "slug": "field-trials",
                "description": "Six loan gauges, four rivers, one winter.",
                "visibility": "private",
            },
            "capabilities": [{"capabilityKey": "file-store"}, {"capabilityKey": "live-map"}],
            "overrides": [{"moduleId": "library", "settings": {"folders": ["raw", "checked"]}}],
            "members": {"piet": "admin", "hattie": "member"},
        },
        {
            "space": {
                "name": "Suppliers",
                "slug": "suppliers",
                "description": "Who makes what, for how much, and who answers the telephone.",
                "visibility": "private",
            },
            "capabilities": [],
            "overrides": [{"moduleId": "discussions", "enabled": False}],
            "members": {"piet": "member"},
        },
    ],
    "taxonomy": [
        {
            "name": "Parts",
            "children": [
                {"name": "Float", "children": [{"name": "Seal"}, {"name": "Counterweight"}]},
                {"name": "Board", "children": [{"name": "Radio"}, {"name": "Clock"}]},
            ],
        },
    ],
    "sorted": {"parts/board": [("space", "firmware")], "pinned": [("space", "field-trials")]},
}

PLATFORMS: Final = (ARREL_WATCH, GAUGE_LAB)
