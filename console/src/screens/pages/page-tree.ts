/** The pages of a site as a tree, from the parts of it that are loaded. */

import type { PageSummary } from '../../api/client';

/** Pages by the id of their parent. The pages on the first level are those of null. */
export type Levels = ReadonlyMap<string | null, readonly PageSummary[]>;

/** Group pages by their parents. On each level the home page is first. */
export function groupByParent(pages: readonly PageSummary[]): Levels {
  const unique = [...new Map(pages.map((page) => [page.id, page])).values()];
  const levels = new Map<string | null, PageSummary[]>();
  for (const page of unique) levels.set(page.parentId, [...(levels.get(page.parentId) ?? []), page]);
  for (const level of levels.values()) level.sort((first, second) => Number(second.isHome) - Number(first.isHome));
  return levels;
}

/** A page in its place. */
export interface PlacedPage {
  page: PageSummary;
  depth: number;
}

/** Return a level and everything below it in the order in which a tree shows them, without `excludedId` and what is below. */
export function flatten(levels: Levels, excludedId: string | null, parentId: string | null = null, depth = 0): PlacedPage[] {
  return (levels.get(parentId) ?? [])
    .filter((page) => page.id !== excludedId)
    .flatMap((page) => [{ page, depth }, ...flatten(levels, excludedId, page.id, depth + 1)]);
}
