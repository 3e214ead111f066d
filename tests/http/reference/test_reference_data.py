"""Reference data: found by name and country, cached for a day, and served from memory."""

import pytest

from chalicelib.features.reference.logic import cache
from chalicelib.features.reference.models.dataset_file import LATEST_VERSION
from tests.harness import memory_aws
from tests.harness.reference_data import DATASET_NAMES, load_full_dataset, load_small_dataset

COUNTRY_NAMES = """
TR Turkey, CI ivory coast, MM Burma, SZ Swaziland, CV Cape Verde, CZ Czech Rep, TL East Timor, MK Macedonia, VA vatican,
US USA, US America, GB UK, GB Great Britain, NL The Netherlands, KP North Korea, KR South Korea, KR Republic of Korea,
RU Russia, VI U.S. Virgin, CD Democratic Republic of the Congo, CH switz, CH SWITZ, CH schweiz, CH suisse,
CH Swiss Conf, CH che, CH 756
"""
CITY_NAMES = {
    "Munich": ["mun", "MÜNCHEN", "Muenchen", "munchen", "monaco di b"],
    "Köln": ["koln", "köln", "Cologne"],
    "São Paulo": ["sao paulo"],
    "St. Louis": ["st. louis"],
    "Xi\N{RIGHT SINGLE QUOTATION MARK}an": ["xi'an", "xian"],
    "Næstved": ["naestved", "næst"],
    "Łódź": ["łódź", "lodz"],
    "The Hague": ["den haag"],
}


def without_times(record):
    return {name: value for name, value in record.items() if name not in ("createdAt", "updatedAt")}


@pytest.fixture
def cached_api(api):
    """A service with all reference data in its memory."""
    load_full_dataset()
    return api


@pytest.fixture
def find_names(cached_api):
    """A function that returns the names of the first records that match a query."""
    return lambda kind, **query: [
        item["name"] for item in cached_api.get(f"/reference/{kind}", query=query).json["items"]
    ]


class TestCountries:
    def test_all_countries_are_listed_by_id(self, cached_api):
        ids = [country["id"] for country in cached_api.get_items("/reference/countries", query={"limit": 100})]
        assert ids == sorted(ids)
        assert len(ids) == 249

    @pytest.mark.parametrize("code_and_name", COUNTRY_NAMES.strip().replace(",\n", ", ").split(", "))
    def test_a_country_is_found_by_each_of_its_names_and_codes(self, cached_api, code_and_name):
        code, _, name = code_and_name.partition(" ")
        assert code in [country["id"] for country in cached_api.get_items("/reference/countries", query={"q": name})]

    def test_a_query_without_a_match_finds_nothing(self, find_names):
        assert find_names("countries", q="?!") == find_names("countries", q="zzz") == []

    def test_a_country_is_found_by_its_code_in_any_case(self, cached_api):
        country = cached_api.get("/reference/countries/ch").json
        assert (country["id"], country["languages"]) == ("CH", ["deu", "fra", "ita", "roh"])
        for unknown_code in ("XX", "CHE", "756", "%20", "é", "x" * 500):
            assert cached_api.get(f"/reference/countries/{unknown_code}").status_and_code == "404 not_found"


class TestCurrencies:
    def test_currencies_are_found_by_country_and_by_name(self, find_names):
        for query, names in [
            ({"countryId": "pa"}, ["Balboa", "US Dollar"]),
            ({"countryId": "AQ"}, []),
            ({"countryId": "XX"}, []),
            ({"q": "u", "countryId": "PA"}, ["US Dollar"]),
            ({"q": "978"}, ["Euro"]),
            ({"q": "eur"}, ["Euro"]),
            ({"q": "zł"}, ["Zloty"]),
            ({"q": "€"}, []),  # Signs are not indexed.
        ]:
            assert find_names("currencies", **query) == names, query
        assert find_names("currencies", q="euro")[0] == "Euro"

    @pytest.mark.parametrize("country_code", ["CHE", "", "1"])
    def test_a_country_code_has_two_letters(self, cached_api, country_code):
        response = cached_api.get("/reference/currencies", query={"countryId": country_code})
        assert [*response.validation_errors] == ["query/countryId"]

    def test_a_currency_has_its_number_of_decimals_its_number_as_text_and_its_symbol(self, cached_api):
        codes = ("EUR", "JPY", "KWD", "CLF", "XAU", "all")
        euro, *others, albanian = (cached_api.get(f"/reference/currencies/{code}").json for code in codes)
        assert [currency["minorUnits"] for currency in (euro, *others)] == [2, 0, 3, 4, None]
        assert (albanian["id"], albanian["numeric"]) == ("ALL", "008")
        assert (euro["symbol"], euro["name"]) == ("€", "Euro")


class TestLanguages:
    def test_languages_are_found_by_country_and_by_name(self, find_names):
        assert set(find_names("languages", countryId="CH")) == {"German", "French", "Italian", "Romansh"}
        names = {"franc": "French", "espan": "Spanish", "greek": "Modern Greek (1453-)", "bokmal": "Norwegian Bokmål"}
        for q, name in names.items():
            assert name in find_names("languages", q=q)
        assert find_names("languages", q="nynorsk") == find_names("languages", q="norwegian nynorsk")

    def test_all_languages_of_iso_639_3_are_listed(self, cached_api):
        assert len(cached_api.get_items("/reference/languages", query={"limit": 100})) > 7_800

    def test_a_language_has_its_native_name(self, cached_api):
        for code, values in (("deu", ["de", "German", "Deutsch"]), ("AAA", [None, "Ghotuo", None])):
            language = cached_api.get(f"/reference/languages/{code}").json
            assert [language[name] for name in ("alpha2", "name", "nativeName")] == values


class TestTimezones:
    def test_time_zones_are_found_by_country_by_name_and_by_city(self, find_names):
        german = [f"Europe/{city}" for city in ("Berlin", "Busingen", "Zurich")]
        assert find_names("timezones", countryId="DE") == german
        assert "Europe/Berlin" in find_names("timezones", q="europe/ber")
        cities = {"los angeles": "Los_Angeles", "new york": "New_York", "são paulo": "Sao_Paulo"}
        assert [find_names("timezones", q=q) for q in cities] == [[f"America/{name}"] for name in cities.values()]
        assert find_names("timezones", q="berl") == ["Europe/Berlin"]

    def test_time_zones_have_their_offsets_at_a_given_time(self, cached_api):
        for at, offset in (({"at": "2026-03-29T01:00:00Z"}, "+02:00"), ({}, None)):
            zones = cached_api.get_items("/reference/timezones", query={"countryId": "DE", **at})
            assert [zone["offset"] for zone in zones] == [offset] * 3

    @pytest.mark.parametrize("name", ["Europe.Berlin", "Europe%2FBerlin", "europe.berlin"])
    def test_a_time_zone_is_found_by_id_or_by_name(self, cached_api, name):
        zone = cached_api.get(f"/reference/timezones/{name}").json
        assert (zone["id"], zone["name"], zone["countries"][0]) == ("Europe.Berlin", "Europe/Berlin", "DE")

    @pytest.mark.parametrize(
        ("name", "at", "standard_offset", "dst_offset"),
        [
            ("Europe.Berlin", None, "+01:00", "+02:00"),
            ("Asia.Kolkata", None, "+05:30", None),
            ("UTC", None, "+00:00", None),
            ("America.St_Johns", None, "-03:30", "-02:30"),
            ("Australia.Lord_Howe", None, "+10:30", "+11:00"),
            ("Europe.Dublin", None, "+00:00", "+01:00"),
            ("Pacific.Chatham", None, "+12:45", "+13:45"),
            ("America.Vancouver", "2026-11-22T00:00:00Z", "-07:00", None),
            ("America.Vancouver", "2025-07-01T00:00:00Z", "-08:00", "-07:00"),
            ("Africa.Casablanca", "2026-11-22T00:00:00Z", "+00:00", None),
            ("Africa.Casablanca", "2026-09-19T00:00:00Z", "+00:00", "+01:00"),
            ("Europe.Berlin", "2028-02-29T00:00:00Z", "+01:00", "+02:00"),
            ("Europe.Berlin", "2037-12-31T23:59:59Z", "+01:00", "+02:00"),
            ("Australia.Sydney", "2037-12-31T23:59:59Z", "+10:00", "+11:00"),
            ("Asia.Tokyo", "2037-12-31T23:59:59Z", "+09:00", None),
        ],
    )
    def test_a_time_zone_has_its_offsets_in_the_12_months_after_now_or_a_given_time(
        self, cached_api, name, at, standard_offset, dst_offset
    ):
        zone = cached_api.get(f"/reference/timezones/{name}", query={"at": at} if at else {}).json
        assert (zone["utcOffset"], zone["dstOffset"]) == (standard_offset, dst_offset)

    def test_a_time_zone_has_its_offset_at_a_given_time_covered_by_the_data(self, cached_api):
        for at, offset in {
            "2026-03-29T00:59:59.999Z": "+01:00",
            "2026-03-29T01:00:00Z": "+02:00",
            "2026-10-25T02:59:59+02:00": "+02:00",
            "2026-10-25T02:00:00+01:00": "+01:00",
            "2000-01-01T00:00:00Z": "+01:00",
            "2037-12-31T23:59:59Z": "+01:00",
        }.items():
            assert cached_api.get("/reference/timezones/Europe.Berlin", query={"at": at}).json["offset"] == offset, at
        for at in ("1999-12-31T23:59:59Z", "2038-01-01T00:00:00Z", "2026-03-29T01:00:00", "now"):
            response = cached_api.get("/reference/timezones/Europe.Berlin", query={"at": at})
            assert [*response.validation_errors] == ["query/at"]


class TestCities:
    @pytest.mark.parametrize(("name", "q"), [(name, q) for name, queries in CITY_NAMES.items() for q in queries])
    def test_a_city_is_found_by_a_prefix_of_its_name_in_any_spelling(self, find_names, name, q):
        assert name in find_names("cities", q=q)

    def test_the_largest_cities_are_listed_first(self, cached_api, find_names):
        for query in ({"limit": 100}, {"q": "san", "limit": 100}, {"q": "b", "countryId": "DE"}, {"countryId": "CH"}):
            cities = cached_api.get("/reference/cities", query=query).json["items"]
            populations = [city["population"] for city in cities]
            assert populations == sorted(populations, reverse=True)
            assert len(populations) >= 20
        assert find_names("cities", q="b", countryId="DE", limit=1) == ["Berlin"]
        assert find_names("cities", countryId="CH", limit=1) == ["Zürich"]

    def test_pages_of_a_query_have_no_duplicates(self, cached_api):
        cities = cached_api.get_items("/reference/cities", query={"q": "spring", "countryId": "US", "limit": 6})
        assert len({city["id"] for city in cities}) == len(cities) > 10

    def test_a_city_is_found_by_its_id(self, cached_api):
        city = cached_api.get("/reference/cities/2657896").json
        assert (city["name"], city["asciiName"], city["admin"]) == ("Zürich", "Zurich", "ZH")
        assert cached_api.get("/reference/cities/1").status_and_code == "404 not_found"


def get_first(api, kind):
    listed = api.get(f"/reference/{kind}", query={"limit": 1})
    return listed, api.get(f"/reference/{kind}/{listed.json['items'][0]['id']}")


@pytest.mark.parametrize("kind", DATASET_NAMES)
class TestEveryKind:
    def test_records_are_cached_for_a_day(self, cached_api, kind):
        listed, record = get_first(cached_api, kind)
        for answer in (listed, record):
            response = cached_api.get(answer.path, query={"limit": 1}, headers={"If-None-Match": answer.etag})
            assert (response.status, response.headers["Cache-Control"]) == (304, "public, max-age=86400")
        assert record.json == listed.json["items"][0]
        assert cached_api.get(f"/reference/{kind}", query={"limit": 2}).etag != listed.etag

    def test_the_documentation_has_the_same_attribution_and_example(self, cached_api, kind):
        paths = cached_api.get("/openapi.json").json["paths"]
        documented = [
            paths[path]["get"]["responses"] for path in sorted(paths) if path.startswith(f"/reference/{kind}")
        ]
        examples = [responses["200"]["content"]["application/json"]["example"] for responses in documented]
        for answer, example in zip(get_first(cached_api, kind), examples, strict=True):
            assert example["attribution"] == answer.json["attribution"]
        assert all(
            "Cache-Control" in responses[status]["headers"] for responses in documented for status in ("200", "304")
        )
        record = cached_api.get(f"/reference/{kind}/{examples[1]['id']}").json
        assert without_times(examples[1]) == without_times(record)

    def test_records_are_unavailable_until_the_migrations_have_run_and_then_read_once(self, api, kind):
        api.get(f"/reference/{kind}").expect_problem("503 unavailable", "migrations")
        load_small_dataset()
        cold, warm = get_first(api, kind)
        assert cold.calls.call_names == ["dynamodb:GetItem", "dynamodb:BatchGetItem"]
        assert warm.calls.call_names == []


class TestNewerDataset:
    def test_a_process_with_an_older_dataset_looks_for_the_newest(self, api, monkeypatch):
        load_small_dataset()
        assert get_first(api, "countries")[1].calls.call_names == []
        monkeypatch.setattr(cache, "LATEST_VERSION", "2027-01-01")
        monkeypatch.setattr(cache, "_REFRESH_AFTER_SECONDS", 0)
        assert api.get("/reference/countries/AD").calls.call_names == ["dynamodb:GetItem"]

    def test_a_cursor_of_the_former_dataset_is_rejected(self, api, monkeypatch):
        load_small_dataset()
        cursor = api.get("/reference/countries", query={"limit": 1}).json["nextCursor"]
        (dataset_item,) = [item for item in memory_aws.all_items() if item["pk"] == "DATA"]
        dataset = cache.load_current_dataset_cache()
        monkeypatch.setattr(dataset, "data", dataset.data.replace(id="2027-01-01"))
        response = api.get("/reference/countries", query={"limit": 1, "cursor": cursor})
        assert (dataset_item["id"], response.status_and_code) == (LATEST_VERSION, "400 invalid_cursor")
