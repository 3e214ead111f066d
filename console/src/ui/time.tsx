/** Times, in UTC or in the time zone of the browser. The zone is named in the head of each column. */

import { createStore, useStore } from './store';
import { formatTime, localZoneName, type Zone } from './time-format';

const STORAGE_KEY = 'atrium.zone';

const zoneStore = createStore<Zone>(localStorage.getItem(STORAGE_KEY) === 'local' ? 'local' : 'utc');

/** Return the zone in which times are shown. */
export function useZone(): Zone {
  return useStore(zoneStore);
}

/** A short time on one line. Pointing at it shows the exact time. */
export function Time({ value }: { value: string | null | undefined }) {
  const zone = useZone();
  if (!value) return <span class="muted">Never</span>;
  return (
    <time dateTime={value} title={value}>
      {formatTime(value, zone)}
    </time>
  );
}

/** The name of the zone, for heads of columns and labels. */
export function ZoneName() {
  return <>{nameZone(useZone())}</>;
}

/** Return the name of a zone. */
export function nameZone(zone: Zone): string {
  return zone === 'utc' ? 'UTC' : localZoneName();
}

/** A label with the zone, such as “Joined (UTC)”. */
export function TimeLabel({ children }: { children: string }) {
  return (
    <>
      {children} (<ZoneName />)
    </>
  );
}

/** The switch between UTC and local time. */
export function ZoneSwitch() {
  const zone = useZone();
  const next: Zone = zone === 'utc' ? 'local' : 'utc';
  const change = () => {
    localStorage.setItem(STORAGE_KEY, next);
    zoneStore.set(next);
  };
  return (
    <div>
      Times in <ZoneName />
      <button type="button" class="quiet" onClick={change}>
        Use {next === 'utc' ? 'UTC' : 'local time'}
      </button>
    </div>
  );
}
