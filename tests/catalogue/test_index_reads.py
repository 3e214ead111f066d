"""Every read of an index is known, and so is what becomes of it where the index lags.

Reads are found in the source, so that none is missed that no test happens to make: wherever a list or a filter is named
that an index holds, or a partition of an index.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final, get_type_hints

from chalicelib.kernel.storage.entity import Entity, Facet
from local.generators.table_document import entities
from local.paths import ROOT
from tests.catalogue.index_reads import READS, Decides


def _facet_properties(entity: type[Entity]) -> set[str]:
    properties = {name: value.fget for name, value in vars(entity).items() if isinstance(value, property)}
    return {name for name, fget in properties.items() if fget and get_type_hints(fget).get("return") is Facet}


LISTS: Final[Mapping[str, set[str]]] = {
    entity.__name__: {
        *entity.facets,
        *_facet_properties(entity),
        *(name for name, listed in entity.collections.items() if listed.index),
    }
    for entity in entities()
}
"""The collections and facets of each entity that are in an index, and its properties that return one."""

CONSTANTS: Final = {
    name
    for entity in entities()
    for name, value in vars(import_module(entity.__module__)).items()
    if isinstance(value, Facet)
}
"""The filters that several records share, which have names of their own."""

NO_LISTS: Final = ("ctx.access.descendants", "self.descendants", "part.below", "node.listed")
"""What is called as a list is, and is none."""

OF_KEYS: Final = ("index", "sk")
"""What is asked of a list without reading it: the names of its keys."""

WHAT_TO_DO: Final = (
    "An index lags without a bound. List each read in tests/catalogue/index_reads.py: as one that Shows, if nobody is "
    "let in or kept out by it and nothing is lost, or as one that Decides, with a test that lets the index lag by each "
    "of LAGS (tests/harness/index_lag.py). What decides reads the table: `table.read_current` or rows that stand in it."
)


def listed_by(node: ast.AST) -> Iterator[str]:
    """Yield the list of an index that a node of the source names itself, if it does."""
    if isinstance(node, ast.Attribute):
        known = LISTS.get(ast.unparse(node.value), set[str]().union(*LISTS.values()))
        if node.attr in known and ast.unparse(node) not in NO_LISTS:
            yield node.attr
    elif isinstance(node, ast.Name) and node.id in CONSTANTS:
        yield node.id
    elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Partition":
        yield from (ast.unparse(given) for given in [*node.args[1:], *(word.value for word in node.keywords)])


def reads_in(node: ast.AST, where: str) -> Iterator[tuple[str, str]]:
    """Yield each function of some source that names a list of an index, and that list."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and child.attr in OF_KEYS:
            continue
        within = f"{where}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else where
        yield from ((within, name) for name in listed_by(child))
        yield from reads_in(child, within)


def reads() -> set[str]:
    """Return all reads of indexes in the source, as `index_reads.py` names them."""
    found = defaultdict(set)
    for file in (ROOT / "chalicelib").rglob("*.py"):
        module = ".".join(file.relative_to(ROOT / "chalicelib").with_suffix("").parts)
        # Lists are declared there, which says what their partitions are; whatever reads one names it.
        if not (module.endswith("kernel.storage.entity") or "entities" in module.split(".")):
            for where, name in reads_in(ast.parse(file.read_text()), module):
                found[where].add(name)
    return {f"{where} {' '.join(sorted(names))}" for where, names in found.items()}


def lagging_in(name: str) -> Iterator[str]:
    """Yield the tests of a file of `tests/http` that let indexes lag by each of `LAGS`."""
    file = ast.parse((ROOT / "tests" / "http" / name).read_text())
    assert "LAGS" in {each.id for each in ast.walk(file) if isinstance(each, ast.Name)}, f"{name} has no LAGS"
    for node in file.body:
        if isinstance(node, ast.ClassDef):
            yield from (f"{name}::{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef))
        elif isinstance(node, ast.FunctionDef):
            yield f"{name}::{node.name}"


def test_each_is_known() -> None:
    unlisted = sorted(reads() - READS.keys())
    assert unlisted == [], f"These reads of an index are not listed. {WHAT_TO_DO}"


def test_none_is_known_that_there_is_not() -> None:
    gone = sorted(READS.keys() - reads())
    assert gone == [], (
        "Nothing reads these indexes any more, or not these: take them from tests/catalogue/index_reads.py"
    )


def test_what_decides_has_a_test_in_which_the_index_lags() -> None:
    wanted = {known.test for known in READS.values() if isinstance(known, Decides)}
    there = {test for name in {test.partition("::")[0] for test in wanted} for test in lagging_in(name)}
    assert sorted(wanted - there) == []


def test_one_that_is_new_is_found() -> None:
    source = (
        "class Reader:\n"
        "    def one(self): return Member.in_organization.partition(organization_id=1)\n"
        "    def another(self, kind): return kind.by_email, Partition('X', 'facet3'), e.Partition('X', index='due')\n"
        "    def shared(self): return DEPENDENTS_OF_MEMBER\n"
        "    def neither(self): return Partition('X'), ApiKey.in_organization, Member.in_organization.index\n"
    )
    assert {*reads_in(ast.parse(source), "new")} == {
        ("new.Reader.one", "in_organization"),
        ("new.Reader.another", "by_email"),
        ("new.Reader.another", "'facet3'"),
        ("new.Reader.another", "'due'"),
        ("new.Reader.shared", "DEPENDENTS_OF_MEMBER"),
    }
