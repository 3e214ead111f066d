/** The attempts of a delivery as a timeline, the latest one first. */

import type { ComponentChildren } from 'preact';
import type { Attempt, Delivery } from '../api/client';
import { Status } from './status';
import { Time, ZoneName } from './time';

interface AttemptsProps {
  delivery: Pick<Delivery, 'attempts' | 'nextAttemptAt' | 'status'>;
  renderAnswer: (label: string, text: string) => ComponentChildren;
}

/** Show all attempts, and when the next one follows. */
export function Attempts({ delivery, renderAnswer }: AttemptsProps) {
  const { attempts, nextAttemptAt, status } = delivery;
  return (
    <ol class="attempts">
      {nextAttemptAt && (
        <li class="warning">
          <strong>Attempt {attempts.length + 1} follows</strong>
          <span class="muted">
            <Time value={nextAttemptAt} /> <ZoneName />
          </span>
        </li>
      )}
      {attempts.length === 0 && !nextAttemptAt && (
        <li>
          <strong>{status === 'skipped' ? 'Not sent, because the webhook was off' : 'No attempt yet'}</strong>
        </li>
      )}
      {attempts.toReversed().map((attempt) => (
        <AttemptItem key={attempt.number} attempt={attempt} renderAnswer={renderAnswer} />
      ))}
    </ol>
  );
}

function AttemptItem({ attempt, renderAnswer }: { attempt: Attempt; renderAnswer: AttemptsProps['renderAnswer'] }) {
  const { number, at, durationMs, statusCode, error, responseBody } = attempt;
  const isAccepted = statusCode !== null && statusCode >= 200 && statusCode < 300;
  return (
    <li class={isAccepted ? 'good' : 'bad'}>
      <strong>Attempt {number}</strong>
      <Status tone={isAccepted ? 'good' : 'bad'}>{statusCode === null ? 'No response' : `Answer ${statusCode}`}</Status>
      <span class="muted">
        <Time value={at} /> <ZoneName />
      </span>
      <span class="muted">{durationMs.toLocaleString('en')} ms</span>
      {error && <p>{error}</p>}
      {responseBody && renderAnswer(`Answer to attempt ${number}`, responseBody)}
    </li>
  );
}
