/** A filter by a time, in the zone in which times are shown. The address has it in UTC. */

import { useParameter } from './address';
import { formatTime, type Zone } from './time-format';
import { TimeLabel, useZone } from './time';

/** A filter by a time. */
export function TimeFilter({ parameter, label }: { parameter: string; label: string }) {
  const [value, setValue] = useParameter(parameter);
  const zone = useZone();
  const isTime = value !== null && !Number.isNaN(Date.parse(value));
  return (
    <label>
      <span>
        <TimeLabel>{label}</TimeLabel>
      </span>
      <input
        type="datetime-local"
        value={isTime ? formatTime(value, zone).replace(' ', 'T') : ''}
        onChange={(event) => setValue(parseTimeOrNull(event.currentTarget.value, zone))}
      />
    </label>
  );
}

/** Return a time such as `2026-11-29T05:50` of a zone in UTC, or null if it is empty. */
function parseTimeOrNull(text: string, zone: Zone): string | null {
  return text ? new Date(zone === 'utc' ? `${text}Z` : text).toISOString() : null;
}
