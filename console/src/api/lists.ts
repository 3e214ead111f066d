/** Lists that are read completely, because an edit replaces them as a whole. */

/** Return all items of a list. */
export async function readAll<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}
