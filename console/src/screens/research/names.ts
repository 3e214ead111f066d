/** How sources and authors are named. */

import type { Artefact, Work } from '../../api/client';

export const SOURCES: Record<Artefact['source'], string> = { orcid: 'ORCID', openalex: 'OpenAlex', dblp: 'DBLP' };

const MAX_AUTHORS = 4;

/** Return the names of the first authors. */
export function nameAuthors(authors: Work['authors']): string {
  const names = authors.slice(0, MAX_AUTHORS).map((each) => each.name);
  const rest = authors.length - names.length;
  return names.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
