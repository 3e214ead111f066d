"""Venues whose editions can be backfilled, and where the DBLP computer science bibliography has their contents.

The keys are those of the tables of contents at dblp.org/db/conf/…, as of November 2026; editions begin in 2000.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.http.fields import fold_text


@dataclass(frozen=True)
class Venue:
    """A conference: `names` are what sources call it, `years` when it was held, `tocs` a year's contents at DBLP."""

    id: str
    name: str
    names: tuple[str, ...]
    years: tuple[int, ...]
    tocs: Callable[[int], tuple[str, ...]]

    def edition_id(self, year: int) -> str:
        """Return what the edition of a year is called."""
        return f"{self.id}-{year}"


@dataclass(frozen=True)
class VenueEdition:
    """One year of a venue."""

    venue: Venue
    year: int

    @property
    def tocs(self) -> tuple[str, ...]:
        """Its tables of contents at DBLP: one for each volume."""
        return self.venue.tocs(self.year)


_LAST: Final = 2025
_NEURIPS_SINCE: Final = 2019
_LAST_VLDB: Final = 2007


def _volumes(stem: str, two: Iterable[int] = (), one: Iterable[int] = ()) -> Callable[[int], tuple[str, ...]]:
    """Return the contents of years in one volume, but for those in `two`, and those whose `one` is numbered."""

    def tocs(year: int) -> tuple[str, ...]:
        if year in two:
            return f"db/conf/{stem}{year}-1", f"db/conf/{stem}{year}-2"
        return (f"db/conf/{stem}{year}-1",) if year in one else (f"db/conf/{stem}{year}",)

    return tocs


def _neurips(year: int) -> tuple[str, ...]:
    # Renamed at the end of 2018; of the year after that both are asked for, since both are referred to.
    former, present = f"db/conf/nips/nips{year}", f"db/conf/nips/neurips{year}"
    return (former, present) if year == _NEURIPS_SINCE else (present if year > _NEURIPS_SINCE else former,)


def _vldb(year: int) -> tuple[str, ...]:
    # Since 2008 what is presented is published in a journal, a volume a year.
    journal = year > _LAST_VLDB
    return (f"db/journals/pvldb/pvldb{year - _LAST_VLDB}",) if journal else (f"db/conf/vldb/vldb{year}",)


def _yearly(first: int, last: int = _LAST, *, but: Iterable[int] = ()) -> tuple[int, ...]:
    return tuple(year for year in range(first, last + 1) if year not in but)


def _every_other(first: int, last: int, *also: int) -> tuple[int, ...]:
    return (*range(first, last + 1, 2), *also)


VENUES: Final[tuple[Venue, ...]] = (
    Venue(
        "neurips",
        "Conference on Neural Information Processing Systems",
        (
            "NeurIPS",
            "NIPS",
            "Advances in Neural Information Processing Systems",
            "Neural Information Processing Systems",
        ),
        _yearly(2000),
        _neurips,
    ),
    Venue("icml", "International Conference on Machine Learning", ("ICML",), _yearly(2000), _volumes("icml/icml")),
    Venue(
        "iclr", "International Conference on Learning Representations", ("ICLR",), _yearly(2013), _volumes("iclr/iclr")
    ),
    Venue(
        "aaai",
        "AAAI Conference on Artificial Intelligence",
        ("AAAI", "Proceedings of the AAAI Conference on Artificial Intelligence"),
        _yearly(2000, but=(2001, 2003, 2009)),
        _volumes("aaai/aaai"),
    ),
    Venue(
        "ijcai",
        "International Joint Conference on Artificial Intelligence",
        ("IJCAI",),
        (*_every_other(2001, 2015), *_yearly(2016)),
        _volumes("ijcai/ijcai"),
    ),
    Venue(
        "kdd",
        "ACM SIGKDD Conference on Knowledge Discovery and Data Mining",
        ("KDD", "KDD (1)", "KDD (2)", "Knowledge Discovery and Data Mining"),
        _yearly(2000),
        _volumes("kdd/kdd", two=(2025,)),
    ),
    Venue(
        "www",
        "The Web Conference",
        ("WWW", "International World Wide Web Conference"),
        _yearly(2001),
        _volumes("www/www"),
    ),
    Venue(
        "cvpr",
        "IEEE/CVF Conference on Computer Vision and Pattern Recognition",
        ("CVPR", "CVPR (1)", "CVPR (2)", "Computer Vision and Pattern Recognition"),
        _yearly(2000, but=(2002,)),
        _volumes("cvpr/cvpr", two=(2001, 2003, 2004, 2005, 2006)),
    ),
    Venue(
        "acl",
        "Annual Meeting of the Association for Computational Linguistics",
        ("ACL", "ACL (1)", "ACL (2)", "Meeting of the Association for Computational Linguistics"),
        _yearly(2000),
        _volumes("acl/acl", two=(*range(2012, 2019), *range(2021, 2026)), one=(2019,)),
    ),
    Venue(
        "emnlp",
        "Conference on Empirical Methods in Natural Language Processing",
        ("EMNLP", "EMNLP (1)", "Empirical Methods in Natural Language Processing"),
        _yearly(2000),
        _volumes("emnlp/emnlp", one=(2019, 2020, 2021)),
    ),
    Venue(
        "sigmod",
        "ACM SIGMOD International Conference on Management of Data",
        ("SIGMOD Conference", "SIGMOD", "International Conference on Management of Data"),
        _yearly(2000, 2022),
        _volumes("sigmod/sigmod"),
    ),
    Venue(
        "vldb",
        "International Conference on Very Large Data Bases",
        ("VLDB", "PVLDB", "Proc. VLDB Endow.", "Proceedings of the VLDB Endowment"),
        _yearly(2000),
        _vldb,
    ),
    Venue(
        "icse",
        "International Conference on Software Engineering",
        ("ICSE", "ICSE (1)", "ICSE (2)"),
        _yearly(2000),
        _volumes("icse/icse", two=(2010, 2015)),
    ),
    Venue(
        "chi",
        "ACM CHI Conference on Human Factors in Computing Systems",
        ("CHI", "Human Factors in Computing Systems"),
        _yearly(2000),
        _volumes("chi/chi"),
    ),
    Venue(
        "sosp",
        "ACM Symposium on Operating Systems Principles",
        ("SOSP", "Symposium on Operating Systems Principles"),
        _every_other(2001, 2023, 2024, 2025),
        _volumes("sosp/sosp"),
    ),
    Venue(
        "osdi",
        "USENIX Symposium on Operating Systems Design and Implementation",
        ("OSDI", "Operating Systems Design and Implementation"),
        (*_every_other(2000, 2020), *_yearly(2021)),
        _volumes("osdi/osdi"),
    ),
    Venue(
        "nsdi",
        "USENIX Symposium on Networked Systems Design and Implementation",
        ("NSDI", "Networked Systems Design and Implementation"),
        _yearly(2004),
        _volumes("nsdi/nsdi"),
    ),
    Venue(
        "ccs",
        "ACM Conference on Computer and Communications Security",
        ("CCS", "Computer and Communications Security"),
        _yearly(2000),
        _volumes("ccs/ccs"),
    ),
    Venue(
        "stoc",
        "ACM Symposium on Theory of Computing",
        ("STOC", "Symposium on the Theory of Computing"),
        _yearly(2000),
        _volumes("stoc/stoc"),
    ),
    Venue(
        "focs",
        "IEEE Symposium on Foundations of Computer Science",
        ("FOCS", "Foundations of Computer Science"),
        _yearly(2000),
        _volumes("focs/focs"),
    ),
)
"""In the order in which they are listed."""

_EDITIONS: Final = {venue.edition_id(year): VenueEdition(venue, year) for venue in VENUES for year in venue.years}
_BY_NAME: Final = {fold_text(name): venue.id for venue in VENUES for name in (*venue.names, venue.name)}


def edition_of(edition_id: str) -> VenueEdition | None:
    """Return an edition by its id, or None if there is none."""
    return _EDITIONS.get(edition_id)


def venue_named(name: str | None) -> str | None:
    """Return the id of the venue that a source calls so, or None."""
    return _BY_NAME.get(fold_text(name)) if name else None
