"""The documents that the search of the documentation finds: operations, and sections of pages."""

import json
from collections.abc import Iterator, Sequence

from local.generators.docs_site.guide_pages import Guide
from local.generators.docs_site.reference_pages import ResourceView

_MAX_TEXT_CHARACTERS = 400


def search_index(resources: Sequence[ResourceView], guides: Sequence[Guide]) -> str:
    """Return the documents as JSON, each with its page and anchor, title, context and text."""
    documents = [*_iter_operations(resources), *_iter_sections(guides)]
    return "[\n" + ",\n".join(json.dumps(document, ensure_ascii=False) for document in documents) + "\n]\n"


def _iter_operations(resources: Sequence[ResourceView]) -> Iterator[dict[str, str]]:
    for resource in resources:
        for operation in resource.operations:
            yield {
                "id": f"{resource.page}#{operation.id}",
                "title": operation.title,
                "context": f"{operation.method} {operation.path}",
                "text": operation.description[:_MAX_TEXT_CHARACTERS],
            }


def _iter_sections(guides: Sequence[Guide]) -> Iterator[dict[str, str]]:
    for guide in guides:
        for heading in guide.headings:
            yield {
                "id": f"{guide.page}#{heading.anchor}",
                "title": heading.title,
                "context": guide.section if heading is guide.headings[0] else guide.title,
                "text": heading.text[:_MAX_TEXT_CHARACTERS],
            }
