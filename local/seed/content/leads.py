"""Who asked for something, and how far the operators of the service have got with them."""

from typing import Any, Final

OPERATOR: Final = "desk"

_CONSENT: Final = {"textVersion": "2026-03", "givenAt": "2026-11-02T09:12:00Z"}

LEADS: Final[list[dict[str, Any]]] = [
    {
        "lead": {
            "contactName": "Agnes Rowbottam",
            "contactEmail": "a.rowbottam@example.com",
            "companyName": "Selewater Catchment Board",
            "message": "We have 40 kilometres of river and three gauges. Shall we talk about the other thirty-seven?",
            "source": "open day",
            "consent": _CONSENT,
        },
        "steps": [
            ("contacted", "Called. They have money until April."),
            ("qualified", "Twelve Terns and a day of training. Offer sent."),
            ("converted", "Signed."),
        ],
    },
    {
        "lead": {
            "contactName": "Bram Oosterlinck",
            "contactEmail": "bram@example.com",
            "companyName": "Polder Ten",
            "message": "Does the Dipper measure brackish water?",
            "source": "/gauges/dipper",
            "consent": _CONSENT,
        },
        "steps": [("contacted", "It does. Sent him the data sheet."), ("qualified", "Wants two on loan first.")],
    },
    {
        "lead": {
            "contactName": "Priyamvada Sethuraman",
            "contactEmail": "p.sethuraman@example.com",
            "companyName": "Millbeck Primary School",
            "message": "A gauge for class 5, who are jealous of class 6.",
            "source": "/stories/a-gauge-for-the-school",
            "consent": _CONSENT,
        },
        "steps": [("contacted", None)],
    },
    {
        "lead": {
            "contactName": "Ignatius Fell",
            "contactEmail": "ignatius@example.com",
            "message": "My cellar floods. Will a gauge stop it?",
            "source": "/",
        },
        "steps": [("contacted", None), ("unqualified", "It will not. Gave him the number of a good plumber.")],
    },
    {
        "lead": {
            "contactName": "Best Rank",
            "contactEmail": "offers@example.com",
            "message": "We put your site on page one of every search engine!!!",
        },
        "steps": [("spam", None)],
    },
    {
        "lead": {
            "contactName": "Solveig Dahlmark",
            "contactEmail": "solveig@example.com",
            "companyName": "Skarvik Modelling",
            "message": "We would like the readings of the Arrel since 2019, for a model of small catchments.",
            "source": "/guides/your-readings",
            "consent": _CONSENT,
        },
        "steps": [],
    },
    {
        "noted": True,
        "lead": {
            "contactName": "Corwin Hatherley",
            "contactEmail": "c.hatherley@example.com",
            "companyName": "Hatherley & Sons, Fish Farms",
            "message": "Met at the county show. Wants an alarm for low oxygen, which we do not make yet.",
            "source": "county show",
        },
        "steps": [("contacted", "Asked whether he would try a Kingfisher.")],
    },
]
"""`noted`: an operator wrote it down; the others wrote themselves. Each step is a status, and a note or none."""
