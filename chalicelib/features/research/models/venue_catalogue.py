"""Venues whose editions can be backfilled, with the keys of their tables of contents at DBLP.

The keys are paths of dblp.org, as of November 2026. Editions begin in 2000.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from chalicelib.kernel.http.fields import fold_case_accents_and_spaces


@dataclass(frozen=True)
class Venue:
    """A conference.

    `names` are the names that sources use for it, and `years` the years of its editions.
    `table_of_contents_keys_of_year` returns the keys of the tables of contents of a year at DBLP.
    """

    id: str
    name: str
    names: tuple[str, ...]
    years: tuple[int, ...]
    table_of_contents_keys_of_year: Callable[[int], tuple[str, ...]]

    def edition_id(self, year: int) -> str:
        """Return the id of the edition of a year."""
        return f"{self.id}-{year}"


@dataclass(frozen=True)
class VenueEdition:
    """The edition of a venue in one year."""

    venue: Venue
    year: int

    @property
    def dblp_table_of_contents_keys(self) -> tuple[str, ...]:
        """The keys of its tables of contents at DBLP, one for each volume."""
        return self.venue.table_of_contents_keys_of_year(self.year)


_LAST_YEAR: Final = 2025
_NEURIPS_RENAMED_YEAR: Final = 2019
_LAST_VLDB_CONFERENCE_YEAR: Final = 2007


def _create_conference_contents_keys_function(
    key_prefix: str, two_volume_years: Iterable[int] = (), numbered_years: Iterable[int] = ()
) -> Callable[[int], tuple[str, ...]]:
    """Return a function from a year to the keys of its tables of contents.

    `numbered_years` are years whose only volume has a number at DBLP.
    """

    def tocs(year: int) -> tuple[str, ...]:
        if year in two_volume_years:
            return f"db/conf/{key_prefix}{year}-1", f"db/conf/{key_prefix}{year}-2"
        return (f"db/conf/{key_prefix}{year}-1",) if year in numbered_years else (f"db/conf/{key_prefix}{year}",)

    return tocs


def _neurips_contents_keys(year: int) -> tuple[str, ...]:
    # The conference was renamed at the end of 2018. For 2019 DBLP has keys with both names.
    former_key, current_key = f"db/conf/nips/nips{year}", f"db/conf/nips/neurips{year}"
    return (
        (former_key, current_key)
        if year == _NEURIPS_RENAMED_YEAR
        else (current_key if year > _NEURIPS_RENAMED_YEAR else former_key,)
    )


def _vldb_contents_keys(year: int) -> tuple[str, ...]:
    # Since 2008 the papers are published in a journal, one volume a year.
    is_journal = year > _LAST_VLDB_CONFERENCE_YEAR
    return (
        (f"db/journals/pvldb/pvldb{year - _LAST_VLDB_CONFERENCE_YEAR}",)
        if is_journal
        else (f"db/conf/vldb/vldb{year}",)
    )


def _years(first: int, last: int = _LAST_YEAR, *, except_years: Iterable[int] = ()) -> tuple[int, ...]:
    return tuple(year for year in range(first, last + 1) if year not in except_years)


def _every_other_year_and_further_ones(first: int, last: int, *further_years: int) -> tuple[int, ...]:
    return (*range(first, last + 1, 2), *further_years)


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
        _years(2000),
        _neurips_contents_keys,
    ),
    Venue(
        "icml",
        "International Conference on Machine Learning",
        ("ICML",),
        _years(2000),
        _create_conference_contents_keys_function("icml/icml"),
    ),
    Venue(
        "iclr",
        "International Conference on Learning Representations",
        ("ICLR",),
        _years(2013),
        _create_conference_contents_keys_function("iclr/iclr"),
    ),
    Venue(
        "aaai",
        "AAAI Conference on Artificial Intelligence",
        ("AAAI", "Proceedings of the AAAI Conference on Artificial Intelligence"),
        _years(2000, except_years=(2001, 2003, 2009)),
        _create_conference_contents_keys_function("aaai/aaai"),
    ),
    Venue(
        "ijcai",
        "International Joint Conference on Artificial Intelligence",
        ("IJCAI",),
        (*_every_other_year_and_further_ones(2001, 2015), *_years(2016)),
        _create_conference_contents_keys_function("ijcai/ijcai"),
    ),
    Venue(
        "kdd",
        "ACM SIGKDD Conference on Knowledge Discovery and Data Mining",
        ("KDD", "KDD (1)", "KDD (2)", "Knowledge Discovery and Data Mining"),
        _years(2000),
        _create_conference_contents_keys_function("kdd/kdd", two_volume_years=(2025,)),
    ),
    Venue(
        "www",
        "The Web Conference",
        ("WWW", "International World Wide Web Conference"),
        _years(2001),
        _create_conference_contents_keys_function("www/www"),
    ),
    Venue(
        "cvpr",
        "IEEE/CVF Conference on Computer Vision and Pattern Recognition",
        ("CVPR", "CVPR (1)", "CVPR (2)", "Computer Vision and Pattern Recognition"),
        _years(2000, except_years=(2002,)),
        _create_conference_contents_keys_function("cvpr/cvpr", two_volume_years=(2001, 2003, 2004, 2005, 2006)),
    ),
    Venue(
        "acl",
        "Annual Meeting of the Association for Computational Linguistics",
        ("ACL", "ACL (1)", "ACL (2)", "Meeting of the Association for Computational Linguistics"),
        _years(2000),
        _create_conference_contents_keys_function(
            "acl/acl", two_volume_years=(*range(2012, 2019), *range(2021, 2026)), numbered_years=(2019,)
        ),
    ),
    Venue(
        "emnlp",
        "Conference on Empirical Methods in Natural Language Processing",
        ("EMNLP", "EMNLP (1)", "Empirical Methods in Natural Language Processing"),
        _years(2000),
        _create_conference_contents_keys_function("emnlp/emnlp", numbered_years=(2019, 2020, 2021)),
    ),
    Venue(
        "sigmod",
        "ACM SIGMOD International Conference on Management of Data",
        ("SIGMOD Conference", "SIGMOD", "International Conference on Management of Data"),
        _years(2000, 2022),
        _create_conference_contents_keys_function("sigmod/sigmod"),
    ),
    Venue(
        "vldb",
        "International Conference on Very Large Data Bases",
        ("VLDB", "PVLDB", "Proc. VLDB Endow.", "Proceedings of the VLDB Endowment"),
        _years(2000),
        _vldb_contents_keys,
    ),
    Venue(
        "icse",
        "International Conference on Software Engineering",
        ("ICSE", "ICSE (1)", "ICSE (2)"),
        _years(2000),
        _create_conference_contents_keys_function("icse/icse", two_volume_years=(2010, 2015)),
    ),
    Venue(
        "chi",
        "ACM CHI Conference on Human Factors in Computing Systems",
        ("CHI", "Human Factors in Computing Systems"),
        _years(2000),
        _create_conference_contents_keys_function("chi/chi"),
    ),
    Venue(
        "sosp",
        "ACM Symposium on Operating Systems Principles",
        ("SOSP", "Symposium on Operating Systems Principles"),
        _every_other_year_and_further_ones(2001, 2023, 2024, 2025),
        _create_conference_contents_keys_function("sosp/sosp"),
    ),
    Venue(
        "osdi",
        "USENIX Symposium on Operating Systems Design and Implementation",
        ("OSDI", "Operating Systems Design and Implementation"),
        (*_every_other_year_and_further_ones(2000, 2020), *_years(2021)),
        _create_conference_contents_keys_function("osdi/osdi"),
    ),
    Venue(
        "nsdi",
        "USENIX Symposium on Networked Systems Design and Implementation",
        ("NSDI", "Networked Systems Design and Implementation"),
        _years(2004),
        _create_conference_contents_keys_function("nsdi/nsdi"),
    ),
    Venue(
        "ccs",
        "ACM Conference on Computer and Communications Security",
        ("CCS", "Computer and Communications Security"),
        _years(2000),
        _create_conference_contents_keys_function("ccs/ccs"),
    ),
    Venue(
        "stoc",
        "ACM Symposium on Theory of Computing",
        ("STOC", "Symposium on the Theory of Computing"),
        _years(2000),
        _create_conference_contents_keys_function("stoc/stoc"),
    ),
    Venue(
        "focs",
        "IEEE Symposium on Foundations of Computer Science",
        ("FOCS", "Foundations of Computer Science"),
        _years(2000),
        _create_conference_contents_keys_function("focs/focs"),
    ),
)
"""The venues in the order in which they are listed."""

_EDITIONS: Final = {venue.edition_id(year): VenueEdition(venue, year) for venue in VENUES for year in venue.years}
_BY_NAME: Final = {
    fold_case_accents_and_spaces(name): venue.id for venue in VENUES for name in (*venue.names, venue.name)
}


def find_edition(edition_id: str) -> VenueEdition | None:
    """Return an edition by its id, or None."""
    return _EDITIONS.get(edition_id)


def find_venue_id(name: str | None) -> str | None:
    """Return the id of the venue with a name, or None."""
    return _BY_NAME.get(fold_case_accents_and_spaces(name)) if name else None
