/** States of log streams as words and colours. */

import type { LogStreamDetail } from '../../api/client';
import { Status, toWords, type Tone } from '../../ui/status';

const TONES: Record<LogStreamDetail['status'], Tone> = {
  active: 'good',
  paused: 'neutral',
  failing: 'warning',
  disabled: 'bad',
};

/** Show the state of a log stream. */
export function StreamState({ stream }: { stream: LogStreamDetail }) {
  return <Status tone={TONES[stream.status]}>{toWords(stream.status)}</Status>;
}

/** Return how far a log stream is behind the log. */
export function describeLag({ lagEntries, lagSeconds }: Pick<LogStreamDetail, 'lagEntries' | 'lagSeconds'>): string {
  if (lagEntries === 0) return 'None';
  const entries = `${lagEntries.toLocaleString('en')} ${lagEntries === 1 ? 'entry' : 'entries'}`;
  return `${entries}, ${describeSeconds(lagSeconds)}`;
}

function describeSeconds(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}
