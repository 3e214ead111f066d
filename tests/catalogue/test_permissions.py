"""Who may call what: every operation by every kind of caller, with the exact problem for whoever may not."""

import base64
import json
from dataclasses import replace
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.features.sites.entities.sites import Site
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.access_rules import Caller, RequireRecordToken, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import scope_areas
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.registry import example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness import callers
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation
from tests.harness.callers import Issuer
from tests.harness.clock import Clock
from tests.harness.organizations import make_key

_AREAS: Final = tuple(area.name for area in scope_areas())


def is_shown(operation: Operation) -> bool:
    """Whether anybody sees what an operation's example is about: the world's site is published, its platform isn't."""
    needs = operation.access
    return operation.allows_anonymous or (
        isinstance(needs, RequireRole) and needs.if_published and needs.container_type is Site
    )


shown = by_operation(lambda o: isinstance(o.access, RequireRole) and is_shown(o))
at_a_place = by_operation(lambda o: isinstance(o.access, RequireRole) and not is_shown(o))
by_role = pytest.mark.parametrize("role", list(Role))

OPENED_BY: Final = {
    "member": {"read", "write", "admin"},
    "editor": {"write", "admin"},
    "admin": {"admin"},
}
"""General scopes of a key that open what a role may read; `read` opens nothing that writes."""


def attempt(operation: Operation, world: World, as_: callers.Caller | str | None, **words: Any) -> str:
    """Call an operation's example, and return `success` or the problem."""
    return told(operation, perform(operation, world, as_=as_, **words))


def told(operation: Operation, answer: Answer) -> str:
    return "success" if answer.status == operation.success else answer.code


@by_operation()
class TestWithoutACredential:
    def test_only_public_operations_answer(self, operation: Operation, world: World) -> None:
        hidden = isinstance(operation.access, RequireRole) and operation.access.if_published
        unknown = "404 not_found" if hidden else "401 unauthenticated"
        # What one person alone decides, nobody in particular does, though they may look at it.
        theirs = example_of(operation, world).only is not None
        expected = "success" if is_shown(operation) and not theirs else unknown
        assert attempt(operation, world, None) == expected


def broken_credentials(issuer: Issuer, elsewhere: Issuer, person: callers.Person) -> dict[str, tuple[str, str]]:
    """Values of `Authorization` that prove nothing, and the code of the 401 that each gets."""
    good = {"sub": person.id, "email": person.email}
    head, claims, signature = person.credential.split(".")
    unsigned = base64.urlsafe_b64encode(json.dumps({"alg": "none"}).encode()).decode().rstrip("=")
    operators = base64.urlsafe_b64encode(json.dumps({**good, "groups": ["operators"]}).encode()).decode().rstrip("=")
    wrong_sum = api_key_format.generate_api_key()[:-1] + "!"
    return {
        "no token at all": ("Bearer", "unauthenticated"),
        "another scheme": (f"Basic {person.credential}", "unauthenticated"),
        "not a token": ("Bearer nonsense", "unauthenticated"),
        "another issuer": (f"Bearer {issuer.token(**good, iss='https://other.example')}", "unauthenticated"),
        "another audience": (f"Bearer {issuer.token(**good, aud='another')}", "unauthenticated"),
        "expired": (f"Bearer {issuer.token(**good, exp=1_600_000_000)}", "token_expired"),
        "not valid yet": (f"Bearer {issuer.token(**good, nbf=4_000_000_000)}", "unauthenticated"),
        "another's signature": (f"Bearer {elsewhere.token(**good)}", "unauthenticated"),
        "unsigned": (f"Bearer {unsigned}.{claims}.", "unauthenticated"),
        "altered": (f"Bearer {head}.{operators}.{signature}", "unauthenticated"),
        "a key with a wrong checksum": (f"Bearer {wrong_sum}", "unauthenticated"),
        "a key that was never made": (f"Bearer {api_key_format.generate_api_key()}", "unauthenticated"),
    }


@by_operation()
class TestWithABrokenCredential:
    def test_even_public_operations_are_refused(
        self, operation: Operation, world: World, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        elsewhere = Issuer(tmp_path_factory.mktemp("elsewhere"))
        broken = broken_credentials(world.people.issuer, elsewhere, world.people.of_role(Role.OWNER))
        answers = {
            name: attempt(operation, world, None, headers={"Authorization": value})
            for name, (value, _) in broken.items()
        }
        assert answers == {name: f"401 {code}" for name, (_, code) in broken.items()}


def is_its_makers(operation: Operation, world: World) -> bool:
    """Whether its example is about a record that is nobody's but its maker's."""
    of_a_record = bool(operation.records) and not isinstance(operation.access, RequireRole)
    return of_a_record and example_of(operation, world).only is not None


def to_strangers(operation: Operation, world: World) -> str:
    """What users are told who have no part in it."""
    if is_its_makers(operation, world):
        return "404 not_found"
    if isinstance(operation.access, RequireRole):
        return "success" if is_shown(operation) or example_of(operation, world).everybodys else "404 not_found"
    if operation.access is Caller.OPERATOR:
        return "403 forbidden"
    return "403 email_mismatch" if example_of(operation, world).only else "success"


@by_operation()
class TestAStranger:
    def test_finds_no_place_and_sees_nothing_of_it(self, operation: Operation, world: World) -> None:
        answer = perform(operation, world, as_=world.people.outsider)
        assert told(operation, answer) == to_strangers(operation, world)
        assert is_shown(operation) or world.id not in answer.text.replace(answer.path, "")
        assert world.organization.record["name"] not in answer.text

    def test_an_operator_has_no_part_in_tenants_either(self, operation: Operation, world: World) -> None:
        expected = "success" if operation.access is Caller.OPERATOR else to_strangers(operation, world)
        assert attempt(operation, world, world.people.operator) == expected


class TestWhatIsForeign:
    @at_a_place
    def test_is_answered_like_what_is_missing(self, operation: Operation, world: World) -> None:
        assert isinstance(operation.access, RequireRole)
        example, owner, needs = example_of(operation, world), world.people.owner, operation.access
        foreign = perform(operation, world, example.at(needs, world.rivals_own(needs.parameter)), as_=owner)
        missing = perform(operation, world, example.at(needs), as_=owner)
        malformed = perform(operation, world, example.at(needs, "NO PLACE/AT:ALL"), as_=owner)
        assert foreign.code == "404 not_found"
        assert foreign.refusal == missing.refusal
        if needs.in_body:
            assert malformed.faults == {f"/{needs.field}": "malformed"}
        else:
            assert malformed.refusal == missing.refusal

    @by_operation(lambda o: isinstance(o.access, RequireRole) and o.scope and not is_shown(o))
    def test_is_so_to_an_api_key_too(self, operation: Operation, world: World) -> None:
        assert isinstance(operation.access, RequireRole)
        example, key, needs = example_of(operation, world), world.key("admin"), operation.access
        foreign = perform(operation, world, example.at(needs, world.rivals_own(needs.parameter)), as_=key)
        missing = perform(operation, world, example.at(needs), as_=key)
        assert foreign.code == "404 not_found"
        assert foreign.refusal == missing.refusal


@shown
class TestWhatIsShownToAll:
    def test_is_not_found_where_there_is_none(self, operation: Operation, world: World) -> None:
        assert isinstance(operation.access, RequireRole)
        example, needs = example_of(operation, world), operation.access
        missing = perform(operation, world, example.at(needs), as_=None)
        malformed = perform(operation, world, example.at(needs, "NO PLACE/AT:ALL"), as_=None)
        assert missing.code == "404 not_found"
        assert missing.refusal == malformed.refusal

    def test_is_not_found_once_all_above_it_is_deleted(self, operation: Operation, world: World) -> None:
        assert world.api.delete(world.organization.path, as_=world.people.owner).status == 204
        for caller in (None, world.people.outsider, world.people.member, world.people.owner):
            assert attempt(operation, world, caller) == "404 not_found"

    def test_is_shown_to_its_own_members_only_while_it_is_a_draft(self, operation: Operation, world: World) -> None:
        taken_back = world.api.patch(world.site.path, as_=world.people.owner, json={"status": "draft"})
        assert taken_back.status == 200
        unseen = "success" if operation.allows_anonymous else "404 not_found"
        for caller in (None, world.people.outsider):
            assert attempt(operation, world, caller) == unseen


class TestARecordOfOthers:
    # What a PUT names and isn't there, it makes.
    @by_operation(lambda o: o.records and isinstance(o.access, RequireRole) and o.method != "PUT")
    def test_is_answered_like_a_missing_one(self, operation: Operation, world: World) -> None:
        example, owner = example_of(operation, world), world.people.owner
        for record in operation.records.values():
            name = record.parameter
            foreign = perform(operation, world, example.but(**{name: world.rivals_own(name)}), as_=owner)
            missing = perform(operation, world, example.of_nothing(name), as_=owner)
            malformed = perform(operation, world, example.but(**{name: "#"}), as_=owner)
            assert foreign.code == "404 not_found"
            assert foreign.refusal == missing.refusal == malformed.refusal

    @by_operation(
        lambda o: (
            o.records and isinstance(o.access, RequireRole) and o.access.role is not Role.MEMBER and o.method != "PUT"
        )
    )
    def test_is_not_looked_for_where_the_role_is_missing(self, operation: Operation, world: World) -> None:
        missing = example_of(operation, world).of_nothing(next(reversed(operation.path_parameters)))
        assert perform(operation, world, missing, as_=world.people.member).code == "404 not_found"


def forged(token: str) -> dict[str, str]:
    """Tokens that the service didn't make, or not so, by what is wrong with them."""
    middle = len(token) // 2
    swapped = "B" if token[middle] == "A" else "A"
    return {
        "empty": "",
        "nonsense": "nonsense",
        "cut": token[:-1],
        "longer": f"{token}A",
        "altered": token[:middle] + swapped + token[middle + 1 :],
    }


@by_operation(lambda o: isinstance(o.access, RequireRecordToken))
class TestWithATokenOfARecord:
    def test_what_it_opens_is_there_whoever_carries_it(self, operation: Operation, world: World) -> None:
        for caller in (None, world.people.outsider, world.people.operator, world.key("read")):
            assert attempt(operation, world, caller) == "success"

    def test_one_that_was_not_made_here_is_refused(self, operation: Operation, world: World) -> None:
        assert isinstance(operation.access, RequireRecordToken)
        header, (token,) = operation.access.header, example_of(operation, world).headers.values()
        answers = {why: attempt(operation, world, None, headers={header: bad}) for why, bad in forged(token).items()}
        assert answers == dict.fromkeys(answers, "401 unauthenticated")

    def test_one_that_has_ended_is_told_so(self, operation: Operation, world: World, clock: Clock) -> None:
        clock.shift(days=89)
        assert attempt(operation, world, None) == "success"
        clock.shift(days=1)
        assert attempt(operation, world, None) == "401 token_expired"

    def test_no_cache_keeps_what_it_opens(self, operation: Operation, world: World) -> None:
        assert perform(operation, world).headers["Cache-Control"] == "no-store"


@by_operation(lambda o: isinstance(o.access, RequireRecordToken) and o.records)
class TestWithATokenOfAnotherRecord:
    def test_it_is_answered_like_a_missing_one(self, operation: Operation, world: World) -> None:
        example, (name,) = example_of(operation, world), operation.path_parameters
        others = {world.rivals_own(name): "another's", "#": "malformed"}
        answers = [perform(operation, world, example.but(**{name: other})) for other in others]
        missing = perform(operation, world, example.of_nothing(name))
        assert missing.code == "404 not_found"
        assert all(answer.refusal == missing.refusal for answer in answers)

    def test_without_one_nobody_is_let_in(self, operation: Operation, world: World) -> None:
        for caller in (None, world.people.owner, world.people.operator, world.key("admin")):
            bare = replace(example_of(operation, world), headers={})
            answer = perform(operation, world, bare, as_=caller)
            assert answer.code == "401 unauthenticated"
            assert answer.headers["WWW-Authenticate"] == "Bearer"


@by_role
@by_operation(lambda o: isinstance(o.access, RequireRole) and o.access.role)
class TestAMember:
    def test_may_what_their_role_may(self, operation: Operation, role: Role, world: World) -> None:
        assert isinstance(operation.access, RequireRole)
        found = attempt(operation, world, world.people.of_role(role))
        order = list(Role)
        needed = operation.access.role
        assert needed
        if order.index(role) < order.index(needed):
            assert found == "403 insufficient_role"
        elif role is needed:
            assert found == "success"
        else:
            assert not found.startswith(("401", "403", "404"))  # the owner can't leave, say


def opened(operation: Operation, scope: str) -> bool:
    """Whether a key with one scope may perform an operation, by the contract's words."""
    area, _, verb = (operation.scope or "").partition(":")
    role = (operation.access.role if isinstance(operation.access, RequireRole) else None) or "member"
    if operation.scope is None or scope.startswith("all but"):
        return False
    if scope in GENERAL:
        return scope in OPENED_BY[role] and not (scope == "read" and verb == "write")
    return scope in (f"{area}:{verb}", f"{area}:write")


AREA_OF: Final = {o.id: o.scope.partition(":")[0] for o in operations() if o.scope}
GENERAL: Final = ("read", "write", "admin")
Keys = dict[str, callers.Caller]


def keys_of_every_kind(world: World) -> Keys:
    """Keys of the organization by their single scope, or by why they open nothing; and two of the rivals."""
    keys = {scope: world.key(scope) for scope in GENERAL}
    for area in sorted(set(AREA_OF.values())):
        keys |= {f"{area}:{verb}": world.key(f"{area}:{verb}") for verb in ("read", "write")}
        keys[f"all but {area}"] = world.key(*(f"{other}:write" for other in _AREAS if other != area))
    keys["revoked"], keys["rotated"] = world.key("admin"), world.key("admin")
    keys["expired"] = world.key("admin", expiresAt=after(now(), days=1))
    keys["elsewhere"] = world.key("admin", allowedIps=["198.51.100.0/24"])
    keys |= {f"rivals' {scope}": make_key(world.api, world.rivals, scope) for scope in ("read", "admin")}
    path, owner = f"{world.organization.path}/api-keys", world.people.owner
    world.api.delete(f"{path}/{keys['revoked'].id}", as_=owner)
    world.api.post(f"{path}/{keys['rotated'].id}/rotate", as_=owner, json={"graceHours": 0})
    return keys


def open_to_keys(operation: Operation, world: World) -> bool:
    """Whether it is for everyone, so that a key does no harm."""
    return is_shown(operation) and example_of(operation, world).only is None


def expected(operation: Operation, world: World, problem: str) -> str:
    """What a key gets that would get the problem where keys are let in."""
    if operation.scope or problem.startswith(("401", "403 ip")):  # that it has ended comes before what it may
        return problem
    return "success" if open_to_keys(operation, world) else "403 forbidden"


@by_operation()
class TestAnApiKey:
    def test_may_what_its_scope_may(self, operation: Operation, world: World, begin: Begin) -> None:
        area = AREA_OF.get(operation.id)
        for scope in (*GENERAL, *((f"{area}:read", f"{area}:write", f"all but {area}") if area else ())):
            key = begin(keys_of_every_kind)[scope]
            allowed = open_to_keys(operation, world) or opened(operation, scope)
            found = "404 not_found" if is_its_makers(operation, world) else "success"
            wanted = found if allowed else expected(operation, world, "403 insufficient_scope")
            assert attempt(operation, world, key) == wanted, scope

    def test_of_another_tenant_finds_nothing(self, operation: Operation, world: World, begin: Begin) -> None:
        for scope in ("read", "admin"):
            key = begin(keys_of_every_kind)[f"rivals' {scope}"]
            hidden = is_its_makers(operation, world) or (
                isinstance(operation.access, RequireRole) and not is_shown(operation)
            )
            wanted = "404 not_found" if hidden else "success"
            if operation.scope and not (isinstance(operation.access, RequireRole) or opened(operation, scope)):
                wanted = "403 insufficient_scope"  # It is refused for that, whatever it would find.
            assert attempt(operation, world, key) == expected(operation, world, wanted)

    def test_that_holds_no_more_opens_nothing(
        self, operation: Operation, world: World, begin: Begin, clock: Clock
    ) -> None:
        keys = begin(keys_of_every_kind)
        clock.shift(days=2)
        answers = {why: attempt(operation, world, keys[why]) for why in ENDED}
        assert answers == {why: expected(operation, world, problem) for why, problem in ENDED.items()}


ENDED: Final = {
    "revoked": "401 api_key_revoked",
    "rotated": "401 api_key_revoked",
    "expired": "401 api_key_expired",
    "elsewhere": "403 ip_not_allowed",
}
"""Why keys open nothing any more, or not from here; and the problem each gets."""
