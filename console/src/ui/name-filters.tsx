/** The search by name and the order of a list. Both are in the address. */

import { useChoice, useParameter } from './address';
import { TextFilter } from './filters';

const ORDERS = ['name', '-name'] as const;

/** Return the parameters of the API's lists that the filters select. */
export function useNameQuery(): { q: string | undefined; sort: (typeof ORDERS)[number] | undefined } {
  const [q] = useParameter('q');
  const [sort] = useChoice('sort', ORDERS);
  return { q: q?.trim() || undefined, sort };
}

/** What is told if a search finds nothing. */
export const TRY_ANOTHER_WORD = 'Try the beginning of another word.';

interface NameFiltersProps {
  /** What the search compares. */
  placeholder: string;
  /** The order without a search, unless the user chooses one. */
  usualOrder: string;
}

/** Show the filters. The result of a search is always in alphabetical order. */
export function NameFilters({ placeholder, usualOrder }: NameFiltersProps) {
  const { q } = useNameQuery();
  const [sort, setSort] = useChoice('sort', ORDERS);
  return (
    <>
      <TextFilter parameter="q" label="Search" placeholder={placeholder} />
      <label>
        Order
        <select value={sort ?? (q ? 'name' : '')} onChange={(event) => setSort(ORDERS.find((each) => each === event.currentTarget.value) ?? null)}>
          {!q && <option value="">{usualOrder}</option>}
          <option value="name">Name, A to Z</option>
          <option value="-name">Name, Z to A</option>
        </select>
      </label>
    </>
  );
}
