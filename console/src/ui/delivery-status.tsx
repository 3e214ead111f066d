/** The state of a delivery as a word and a colour. */

import type { Delivery } from '../api/client';
import { Status, toWords, type Tone } from './status';

const TONES: Record<Delivery['status'], Tone> = { pending: 'warning', succeeded: 'good', failed: 'bad', skipped: 'neutral' };

/** Show the state. */
export function DeliveryStatus({ status }: { status: Delivery['status'] }) {
  return <Status tone={TONES[status]}>{toWords(status)}</Status>;
}
