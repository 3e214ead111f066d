"""Lists that are searched by name with `q`, and read in alphabetical order with `sort=name`."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from chalicelib.features.platforms.logic import visibility
from chalicelib.features.tenancy.logic import membership_groups
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.storage.name_index import MAX_ROWS_PER_INDEX
from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.erasures import PersonEraser, keys_of_items_containing
from tests.harness.named_lists import LISTS, NAMES, build_list, name_rows
from tests.harness.organizations import (
    CreatedOrganization,
    create_api_key,
    create_organization,
    remove_member,
    set_role,
)
from tests.harness.platforms import add_platform_member, create_platform
from tests.harness.sites import create_site
from tests.harness.stored_records import create_membership


def begins_with(text: str, name: str) -> bool:
    """Return whether a name, or a word of it, begins with a text."""
    folded = fold_case_accents_and_spaces(name)
    starts = [0] + [n + 1 for n, letter in enumerate(folded) if letter in " -"]
    return any(folded[start:].startswith(fold_case_accents_and_spaces(text)) for start in starts)


@pytest.mark.parametrize("kind", LISTS)
class TestEachList:
    def test_the_beginning_of_any_word_finds_a_record(self, make_list, kind):
        named = make_list(kind)
        assert named.names(q="ada") == named.names(q="ADA LOVE") == ["Ada Lovelace"]
        assert named.names(q="love") == ["Ada Lovelace", "Jean-Luc Lovell", "lovelock ltd"]
        assert named.names(q="luc") == named.names(q="luc l") == ["Jean-Luc Lovell"]
        assert named.names(q="velace") == named.names(q="ada l l") == []

    def test_case_accents_and_spaces_do_not_matter(self, make_list, kind):
        named = make_list(kind)
        assert named.names(q="ase  ODE") == named.names(q="ÓDEGARD") == [NAMES[1]]
        assert len(named.read(q="zoe angstr")) == len(named.read(q=" ångström ")) == 1

    def test_the_order_is_alphabetical_or_reversed(self, make_list, kind):
        named = make_list(kind)
        expected = sorted(NAMES, key=fold_case_accents_and_spaces)
        folded = [fold_case_accents_and_spaces(each) for each in named.names(sort="name") if "owner" not in each]
        assert folded == [*map(fold_case_accents_and_spaces, expected)]
        for limit in (1, 2, 100):
            assert named.names(sort="name", limit=limit) == named.names(sort="-name", limit=limit)[::-1]
            assert named.names(q="l", limit=limit) == named.names(q="l", sort="-name", limit=limit)[::-1]
            assert named.names(q="l", limit=limit) == named.names(q="l", sort="name")
        assert {*named.names(sort="name")} == {*named.names()}

    @pytest.mark.parametrize("limit", [1, 2, 3])
    def test_each_record_occurs_once_on_all_pages(self, make_list, kind, limit):
        named = make_list(kind, ("Love Lovelace", "Lo Lo Lo", "Lomax", "love love"))
        for query in ({"q": "lo"}, {"q": "lo", "sort": "-name"}):
            ids = [each["id"] for each in named.read(limit=limit, **query)]
            assert len(ids) == len({*ids}) == 4
        assert named.names(q="lo", limit=limit) == ["Lo Lo Lo", "Lomax", "love love", "Love Lovelace"]

    def test_a_search_in_order_of_creation_is_refused(self, make_list, kind):
        named = make_list(kind, ())
        for sort in ("createdAt", "-createdAt"):
            query = {**dict(named.query), "q": "a", "sort": sort}
            (error,) = named.api.get(named.path, caller=named.caller, query=query).expect(422).json["errors"]
            assert (error["pointer"], error["code"]) == ("query/sort", "out_of_range")
            assert "must be `name` or `-name`" in error["detail"]
        for q in ("", "x" * 201):
            query = {**dict(named.query), "q": q}
            assert named.api.get(named.path, caller=named.caller, query=query).status == 422

    @pytest.mark.parametrize(
        ("q", "code"), [("\u0301", "out_of_range"), (" ", "too_short"), (" \u0301 ", "out_of_range")]
    )
    def test_a_text_without_letters_is_refused(self, make_list, kind, q, code):
        named = make_list(kind, ())
        query = {**dict(named.query), "q": q}
        (error,) = named.api.get(named.path, caller=named.caller, query=query).expect(422).json["errors"]
        assert (error["pointer"], error["code"]) == ("query/q", code)

    def test_other_orders_do_not_change(self, make_list, kind):
        named = make_list(kind)
        oldest_first = [each for each in named.names(sort="createdAt") if "owner" not in each]
        assert [*map(fold_case_accents_and_spaces, oldest_first)] == [*map(fold_case_accents_and_spaces, NAMES)]
        assert named.names(sort="-createdAt") == named.names(sort="createdAt")[::-1]

    def test_a_cursor_belongs_to_its_text_and_order(self, make_list, kind):
        named = make_list(kind)
        query = {**dict(named.query), "q": "l", "limit": 1}
        cursor = named.api.get(named.path, caller=named.caller, query=query).json["nextCursor"]
        for other in ({"q": "lo"}, {"sort": "-name"}):
            response = named.api.get(named.path, caller=named.caller, query={**query, **other, "cursor": cursor})
            assert response.status_and_code == "400 invalid_cursor"

    def test_long_names_and_the_separator_of_keys(self, make_list, kind):
        words = [f"word{n}" for n in range(20)]
        names = ("C# Tools", "x" * 200, " ".join(words))
        named = make_list(kind, names)
        for name in names:
            assert named.names(q=name) == [name]
        assert named.names(q="c#") == ["C# Tools"]
        assert named.names(q="c##") == []
        assert named.names(q=words[3]) == [names[2]]

    @given(
        names=st.lists(st.text("aáb -L#", min_size=1, max_size=6).filter(str.strip), max_size=5),
        q=st.text("AbB -l#", min_size=1, max_size=2).filter(str.strip),
        limit=st.integers(1, 3),
    )
    @effort(max_examples=15)
    def test_a_search_finds_what_a_filter_finds(self, issuer, operator, kind, names, q, limit):
        from app import app

        with memory_aws.aws_in_memory():
            memory_aws.reset()
            api = ApiClient(app)
            organization = create_organization(api, issuer.create_person("zz-owner", "? owner"), name="Somewhere")
            named = build_list(api, issuer, operator, organization, kind)
            for name in names:
                named.add(name.strip())
            found = named.names(q=q, limit=limit)
        expected = [name.strip() for name in names if begins_with(q.strip(), name)]
        folded = [*map(fold_case_accents_and_spaces, found)]
        assert sorted(folded) == sorted(map(fold_case_accents_and_spaces, expected))


class TestMembers:
    def test_names_usernames_and_for_admins_addresses_are_searched(self, api, organization, ada, grace, mary):
        def find(caller: object, q: str) -> list[str]:
            query = {"q": q, "limit": 1}
            return [
                each["username"] for each in api.get_items(f"{organization.path}/members", caller=caller, query=query)
            ]

        assert find(ada, "hopp") == find(ada, "grac") == find(mary, "grac") == ["grace"]
        assert find(ada, "grace@ex") == find(create_api_key(api, organization, "admin"), "grace@ex") == ["grace"]
        assert find(mary, "grace@") == find(create_api_key(api, organization, "read"), "grace@") == []

    def test_a_page_does_not_tell_others_that_an_address_exists(self, api, organization, mary):
        query = {"q": "grace@", "limit": 1}
        page = api.get(f"{organization.path}/members", caller=mary, query=query).json
        assert (page["items"], page["nextCursor"]) == ([], None)

    def test_members_without_a_name_are_at_their_address_for_admins_and_last_for_others(
        self, api, organization, ada, mary
    ):
        profile = Profile(None, None, "bob@example.org", email_verified=True)
        create_membership(organization.id, User(str(uuid4()), profile), "member")
        path = f"{organization.path}/members"

        def read(caller: object, **query: object) -> list[str]:
            return [each["username"] for each in api.get_items(path, caller=caller, query=query)]

        for limit in (1, 100):
            everyone = read(ada, sort="name", limit=limit)
            assert everyone == ["ada", None, "edith", "grace", "mary"]
            assert read(mary, sort="name", limit=limit) == ["ada", "edith", "grace", "mary", None]
            assert read(mary, sort="-name", limit=limit) == [None, "mary", "grace", "edith", "ada"]
            assert read(ada, sort="-name", limit=limit) == everyone[::-1]

    @pytest.mark.parametrize("sort", ["name", "-name"])
    def test_no_page_in_alphabetical_order_is_short_if_all_members_have_names(self, api, organization, ada, sort):
        query: Json = {"sort": sort, "limit": 1}
        for _ in range(4):
            page = api.get(f"{organization.path}/members", caller=ada, query=query).json
            assert len(page["items"]) == 1
            query["cursor"] = page["nextCursor"]

    def test_a_removed_or_erased_member_leaves_no_name(self, api, organization, grace, mary, ada, workers, clock):
        erase = PersonEraser(api, organization, workers, clock)
        remove_member(api, organization, grace)
        assert api.get_items(f"{organization.path}/members", caller=ada, query={"q": "grace"}) == []
        assert not [item for item in name_rows() if "grace" in item["sk"]]
        assert [item for item in name_rows() if "mary" in item["sk"]]
        erase(userId=mary.id)
        assert not [item for item in name_rows() if mary.id in item["sk"] or "mary" in item["sk"]]
        assert keys_of_items_containing(mary.email) == []

    def test_a_change_of_the_role_keeps_the_rows(self, api, organization, mary):
        before = name_rows()
        set_role(api, organization, mary, "admin").expect(200)
        assert name_rows() == before

    def test_strangers_find_nothing(self, api, organization, stranger):
        for query in ({"q": "ada"}, {"sort": "name"}):
            for path in (f"{organization.path}/members", f"{organization.path}/sites"):
                assert api.get(path, caller=stranger, query=query).status_and_code == "404 not_found"
            assert api.get("/marketing-leads", caller=stranger, query=query).status == 403


class TestPlatformsAndSites:
    @pytest.mark.parametrize("kind", ["platforms", "sites"])
    def test_a_new_name_and_slug_replace_the_old_ones(self, make_list, kind):
        named = make_list(kind, ("Looms",))
        record = named.add("Old Mill")
        named.api.patch(record.path, caller=named.caller, json={"name": "Windmill", "slug": "a-wheel"}).expect(200)
        assert named.names(q="mill") == named.names(q="old") == named.names(q=record.record["slug"]) == []
        assert named.names(q="wind") == named.names(q="a-wh") == named.names(q="wheel") == ["Windmill"]
        named.api.delete(record.path, caller=named.caller).expect(204)
        assert named.names(q="w") == []
        assert not [row for row in name_rows() if record.id in row["sk"]]

    @pytest.mark.parametrize("kind", ["platforms", "sites"])
    def test_rows_of_former_names_are_ignored(self, make_list, kind):
        named = make_list(kind, ("Looms",))
        record = named.add("Old Mill")
        old = [row for row in name_rows() if record.id in row["sk"]]
        named.api.patch(record.path, caller=named.caller, json={"name": "Windmill"}).expect(200)
        for row in old:
            memory_aws.put_item(row)
        assert named.names(q="mill") == []
        assert named.names(sort="name") == ["Looms", "Windmill"]

    def test_the_status_filters_platforms(self, api, organization, ada):
        create_platform(api, organization, name="Love One")
        create_platform(api, organization, name="Love Two", publish=True)
        for query in ({"q": "love"}, {"sort": "name"}):
            found = api.get_items("/platforms", caller=ada, query={**query, "status": "published", "limit": 1})
            assert [each["name"] for each in found] == ["Love Two"]


class TestPlatformsOfSeveralOrganizations:
    def test_all_that_the_caller_sees_are_merged_in_alphabetical_order(self, api, organization, ada, grace, stranger):
        other = create_organization(api, grace, name="Other")
        foreign = create_organization(api, stranger, name="Foreign")
        for name in ("Love C", "Love A"):
            create_platform(api, organization, name=name)
        create_platform(api, other, name="Love B")
        add_platform_member(create_platform(api, foreign, name="A Love B2"), grace, "member")
        create_platform(api, foreign, name="Love Hidden")
        expected = ["Love A", "Love B", "A Love B2", "Love C"]
        for limit in (1, 2, 3, 100):

            def read(caller: object, **query: object) -> list[str]:
                found = api.get_items("/platforms", caller=caller, query={"limit": limit, **query})  # noqa: B023 - it is called in the same round
                return [each["name"] for each in found]

            assert read(grace, q="love") == expected
            assert read(grace, q="love", sort="-name") == expected[::-1]
            assert read(grace, sort="name") == ["A Love B2", "Love A", "Love B", "Love C"]
            assert read(grace, q="love", organizationId=foreign.id) == ["A Love B2"]
            assert read(grace, q="love", organizationId=other.id) == ["Love B"]
            assert read(ada, q="love") == ["Love A", "Love C"]
            assert read(ada, q="love", organizationId=foreign.id) == []
            key = create_api_key(api, organization, "platforms:read")
            assert read(key, q="love") == ["Love A", "Love C"]

    def test_platforms_of_own_organizations_do_not_take_the_place_of_others(
        self, api, organization, ada, grace, stranger, monkeypatch
    ):
        monkeypatch.setattr(visibility, "MAX_PLATFORMS_OUTSIDE", 2)
        own, others = [create_organization(api, grace, name=f"Own {n}") for n in range(2)], list[CreatedOrganization]()
        for each in own:
            for n in range(2):
                add_platform_member(create_platform(api, each, name=f"Love Own {n}"), grace, "member")
        for name in ("A", "B"):
            others.append(create_organization(api, stranger, name=f"Foreign {name}"))
            for n in range(2):
                add_platform_member(create_platform(api, others[-1], name=f"Love {name}{n}"), grace, "member")

        def read(**query: object) -> list[str]:
            return [each["name"] for each in api.get_items("/platforms", caller=grace, query={"q": "love", **query})]

        assert [name for name in read() if "Own" not in name] == ["Love A0", "Love A1"]
        assert read(organizationId=others[1].id) == ["Love B0", "Love B1"]
        assert read(organizationId=own[1].id) == ["Love Own 0", "Love Own 1"]
        monkeypatch.setattr(visibility, "_MAX_PAGES_OF_PLATFORM_MEMBERSHIPS", 2)
        assert read(organizationId=others[0].id) == []

    def test_platforms_of_later_organizations_are_listed_with_them(self, api, organization, grace, ada, monkeypatch):
        monkeypatch.setattr(membership_groups, "MAX_MEMBERSHIPS", 1)
        later = create_organization(api, grace, name="Later")
        for each in (organization, later):
            add_platform_member(create_platform(api, each, name="Love"), grace, "member")
        found = api.get_items("/platforms", caller=grace, query={"q": "love"})
        assert [each["organizationId"] for each in found] == sorted([organization.id, later.id])

    def test_a_page_does_not_tell_that_hidden_platforms_exist(self, api, ada, stranger):
        foreign = create_organization(api, stranger, name="Foreign")
        for name in ("Love A", "Love B"):
            create_platform(api, foreign, name=name)
        query = {"q": "love", "limit": 1, "organizationId": foreign.id}
        page = api.get("/platforms", caller=ada, query=query).json
        assert (page["items"], page["nextCursor"]) == ([], None)


class TestLeads:
    def test_companies_and_addresses_are_searched_and_filters_apply(self, make_list):
        named = make_list("leads", ())
        for name, company in (("Ada", "Analytical Engines"), ("Mary", "Engines and Looms")):
            named.add(name, companyName=company, email=f"{name}@Example.org")
        assert named.names(q="engin") == ["Ada", "Mary"]
        assert named.names(q="mary@ex") == ["Mary"]
        for limit in (1, 25):
            assert named.names(q="engin", email="MARY@example.org", limit=limit) == ["Mary"]
            assert named.names(sort="name", status="new", limit=limit) == ["Ada", "Mary"]
            assert named.names(sort="name", status="spam", limit=limit) == []


class TestPurge:
    def test_an_organization_leaves_no_rows(self, api, organization, ada, workers, clock):
        create_platform(api, organization)
        create_site(api, organization)
        assert name_rows()
        api.delete(organization.path, caller=ada).expect(204)
        clock.shift(days=31)
        workers.run_until_idle()
        assert name_rows() == []


def test_the_number_of_rows_of_a_record_is_limited(api, organization):
    create_platform(api, organization, name="a b c d e f g h i j k l m n o p", slug="some-slug")
    rows = [row for row in name_rows() if row["pk"].endswith("#NAMES#P")]
    assert len(rows) == MAX_ROWS_PER_INDEX
    assert any(row["sk"].startswith("W#some-slug") for row in rows)
