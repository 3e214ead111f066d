"""The fields of application events that the schemas of their types mark as personal data (`x-personal-data`)."""

from collections.abc import Collection, Mapping
from contextlib import suppress

from chalicelib.features.events.types.logic.definitions import (
    UnknownType,
    UnknownVersion,
    definition_keys,
    find_definition,
)
from chalicelib.features.privacy.erasures.logic.named_actors import ListPersonalValues, TypeVersion
from chalicelib.kernel.storage import table


def load_personal_values(type_versions: Collection[TypeVersion]) -> Mapping[TypeVersion, ListPersonalValues]:
    """Load the schemas of versions of event types, and return the functions that list the values marked as personal.

    Versions that are not declared are absent in the result.
    """
    from chalicelib.features.events.types.logic.personal_data import PersonalDataFinder

    items = table.get_all({key for each in type_versions for key in definition_keys(*each)})
    result: dict[TypeVersion, ListPersonalValues] = {}
    for event_type, version in type_versions:
        with suppress(UnknownType, UnknownVersion):
            finder = PersonalDataFinder(find_definition(items, event_type, version).schema)
            result[event_type, version] = finder.list_values
    return result
