/** What is said about a venue. */

import type { Venue } from '../../api/client';

/** Return the years of the editions, such as “2000 to 2025”. */
export function describeYears({ editions }: Venue): string {
  const years = editions.map((each) => each.year);
  return years.length > 0 ? `${Math.min(...years)} to ${Math.max(...years)}` : 'None';
}

/** Return the number of works of all editions. */
export function countOutputs({ editions }: Venue): number {
  return editions.reduce((sum, each) => sum + each.outputCount, 0);
}
