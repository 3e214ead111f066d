/** A filter with one event type. */

import { useState } from 'preact/hooks';
import { useEventTypeNames } from './event-types';
import { SuggestFilter } from './suggest-filter';

/** A filter with one event type. The names are read when somebody uses it, not with the screen. */
export function EventTypeFilter({ parameter }: { parameter: string }) {
  const [isUsed, setIsUsed] = useState(false);
  const suggestions = useEventTypeNames(isUsed).map((name) => ({ value: name, label: name }));
  return (
    <SuggestFilter
      parameter={parameter}
      label="Event type"
      placeholder="Any"
      suggestions={suggestions}
      onFocus={() => setIsUsed(true)}
    />
  );
}
