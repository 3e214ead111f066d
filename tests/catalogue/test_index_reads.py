"""Checks that `index_reads.py` lists every read of an index, and that reads with decisions have a test with lags.

Reads are found in the source, so that no read is missed: wherever code refers to a collection or facet in an index, or
to a partition of an index.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final, get_type_hints

from chalicelib.kernel.storage.entity import Entity, Facet
from local.generators.table_document import entities
from local.paths import ROOT
from tests.catalogue.index_reads import INDEX_READS, DecisionRead


def _facet_properties(entity: type[Entity]) -> set[str]:
    properties = {name: value.fget for name, value in vars(entity).items() if isinstance(value, property)}
    return {name for name, fget in properties.items() if fget and get_type_hints(fget).get("return") is Facet}


INDEXED_NAMES: Final[Mapping[str, set[str]]] = {
    entity.__name__: {
        *entity.facets,
        *_facet_properties(entity),
        *(name for name, listed in entity.collections.items() if listed.index),
    }
    for entity in entities()
}
"""The collections and facets of each entity that are in an index, and its properties that return one."""

SHARED_FACETS: Final = {
    name
    for entity in entities()
    for name, value in vars(import_module(entity.__module__)).items()
    if isinstance(value, Facet)
}
"""The facets that several entities share."""

NOT_COLLECTIONS: Final = ("ctx.access.descendants", "self.descendants", "part.below", "node.listed")
"""Expressions with the name of a collection that are not collections."""

KEY_NAME_ATTRIBUTES: Final = ("index", "sk")
"""Attributes of a collection that do not read it: the names of its keys."""

ADVICE: Final = (
    "An index lags without a bound. List each read in tests/catalogue/index_reads.py: as DisplayRead, if no access and "
    "no data depend on it, or as DecisionRead, with a test in which the index lags by each of the lags of "
    "tests/harness/index_lag.py. A decision needs current items: `table.read_current` or derived items."
)


def indexes_named_by(node: ast.AST) -> Iterator[str]:
    """Yield the names of indexes to which a node of the source itself refers."""
    if isinstance(node, ast.Attribute):
        names = INDEXED_NAMES.get(ast.unparse(node.value), set[str]().union(*INDEXED_NAMES.values()))
        if node.attr in names and ast.unparse(node) not in NOT_COLLECTIONS:
            yield node.attr
    elif isinstance(node, ast.Name) and node.id in SHARED_FACETS:
        yield node.id
    elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Partition":
        yield from (
            ast.unparse(argument) for argument in [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        )


def reads_in(node: ast.AST, where: str) -> Iterator[tuple[str, str]]:
    """Yield each function in a source that refers to an index, with the name of the index."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and child.attr in KEY_NAME_ATTRIBUTES:
            continue
        within = f"{where}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else where
        yield from ((within, name) for name in indexes_named_by(child))
        yield from reads_in(child, within)


def find_reads() -> set[str]:
    """Return all reads of indexes in the source, in the format of `index_reads.py`."""
    found = defaultdict(set)
    for file in (ROOT / "chalicelib").rglob("*.py"):
        module = ".".join(file.relative_to(ROOT / "chalicelib").with_suffix("").parts)
        # Entities only declare collections.
        if not (module.endswith("kernel.storage.entity") or "entities" in module.split(".")):
            for where, name in reads_in(ast.parse(file.read_text()), module):
                found[where].add(name)
    return {f"{where} {' '.join(sorted(names))}" for where, names in found.items()}


def lagging_tests_in(name: str) -> Iterator[str]:
    """Yield the tests of a file of `tests/http` that let indexes lag."""
    file = ast.parse((ROOT / "tests" / "http" / name).read_text())
    names = {each.id for each in ast.walk(file) if isinstance(each, ast.Name)}
    marks = [each.value for each in file.body if isinstance(each, ast.Assign) and "pytestmark" in ast.unparse(each)]
    fixtures = {each.value for mark in marks for each in ast.walk(mark) if isinstance(each, ast.Constant)}
    assert "LAGS" in names or "lag" in fixtures, f"{name} uses neither LAGS nor the fixture `lag` for all its tests"
    for node in file.body:
        if isinstance(node, ast.ClassDef):
            yield from (f"{name}::{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef))
        elif isinstance(node, ast.FunctionDef):
            yield f"{name}::{node.name}"


def test_each_read_is_listed():
    unlisted = sorted(find_reads() - INDEX_READS.keys())
    assert unlisted == [], f"These reads of an index are not listed. {ADVICE}"


def test_each_listed_read_exists():
    removed = sorted(INDEX_READS.keys() - find_reads())
    assert removed == [], "These reads of indexes no longer exist: remove them from tests/catalogue/index_reads.py"


def test_each_read_with_a_decision_has_a_test_in_which_the_index_lags():
    expected = {read.test for read in INDEX_READS.values() if isinstance(read, DecisionRead)}
    existing = {test for name in {test.partition("::")[0] for test in expected} for test in lagging_tests_in(name)}
    assert sorted(expected - existing) == []


def test_a_new_read_is_found():
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
