/** Lists that are read completely, because an edit replaces them as a whole. */

import type { Answer } from './client';
import type { Readable } from './edits';

/** Return all items of a list. */
export async function readAll<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/**
 * Read all items of a list with the version of the platform or space to which they belong. The version is read first, so
 * that a change in between is a conflict, and not lost.
 */
export function readItems<T>(place: Readable<unknown>, list: AsyncIterable<T>): Readable<{ items: T[] }> {
  return {
    withResponse: async (): Promise<Answer<{ items: T[] }>> => ({ ...(await place.withResponse()), data: { items: await readAll(list) } }),
  };
}
