/** The proof badge: whether this browser has proven the log of the organization. */

import { useEnvironment } from '../api/context';
import { useOrganizationId } from '../ui/place';
import { Problem } from '../ui/states';
import { Status, type Tone } from '../ui/status';
import { Time, TimeLabel } from '../ui/time';
import { downloadText } from '../ui/download';
import { type Check, startCheck, useCheck } from './checks';
import type { Verdict } from './check-log';
import { VerifierNote } from './verifier-note';

type Proven = Extract<Verdict, { kind: 'proven' }>;
type Broken = Extract<Verdict, { kind: 'broken' }>;

/** The state of the proof in one line, with the button that starts it. */
export function ProofBadge() {
  const { client } = useEnvironment();
  const organizationId = useOrganizationId();
  const check = useCheck(organizationId);
  const { tone, text } = describeCheck(check);
  const isRunning = check.kind === 'running';
  return (
    <div class="proof-badge" aria-busy={isRunning}>
      <span role="status">
        <Status tone={tone}>{text}</Status>
      </span>
      <button type="button" class="button" disabled={isRunning} onClick={() => void startCheck(client, organizationId)}>
        {check.kind === 'none' || isRunning ? 'Check the log' : 'Check again'}
      </button>
    </div>
  );
}

/** The badge with what was checked, and what a failure means. */
export function ProofPanel() {
  const check = useCheck(useOrganizationId());
  return (
    <section class={`proof ${check.kind}`} aria-label="Proof of the log">
      <ProofBadge />
      {check.kind === 'none' && (
        <p class="small muted">
          This browser can load all entries, compute their hashes, and compare the result with the signature of the service.
        </p>
      )}
      {check.kind === 'proven' && <ProvenFacts verdict={check} />}
      {check.kind === 'broken' && <BrokenFacts verdict={check} />}
      {check.kind === 'failed' && <Problem error={check.error} />}
      <VerifierNote />
    </section>
  );
}

function describeCheck(check: Check): { tone: Tone; text: string } {
  switch (check.kind) {
    case 'none':
      return { tone: 'neutral', text: 'Not checked' };
    case 'running': {
      const { step, count, total } = check.progress;
      const progress = `${count.toLocaleString('en')}${total === null ? '' : ` of ${total.toLocaleString('en')}`} entries`;
      if (count === 0) return { tone: 'neutral', text: 'Loading entries' };
      return { tone: 'neutral', text: step === 'loading' ? `Loaded ${progress}` : `Checked ${progress}` };
    }
    case 'proven': {
      const { count, size } = check.log;
      return { tone: 'good', text: `Proven in this browser: ${count.toLocaleString('en')} of ${size.toLocaleString('en')}` };
    }
    case 'broken':
      return { tone: 'bad', text: check.sequence === null ? 'Not proven' : `Not proven: entry ${check.sequence}` };
    case 'failed':
      return { tone: 'warning', text: 'The check did not finish' };
  }
}

function ProvenFacts({ verdict }: { verdict: Proven }) {
  const { log, checkedAt, earlier } = verdict;
  return (
    <dl class="facts">
      <div>
        <dt>Unaltered</dt>
        <dd>{log.count - log.erased}</dd>
      </div>
      <div>
        <dt>Erased, with a signature</dt>
        <dd>{log.erased}</dd>
      </div>
      <div>
        <dt>
          <TimeLabel>Checked</TimeLabel>
        </dt>
        <dd>
          <Time value={checkedAt} />
        </dd>
      </div>
      <div>
        <dt>
          <TimeLabel>Extends the log proven</TimeLabel>
        </dt>
        <dd>{earlier ? <Time value={earlier.provenAt} /> : 'First check in this browser'}</dd>
      </div>
    </dl>
  );
}

function BrokenFacts({ verdict }: { verdict: Broken }) {
  const { message, checkpoints } = verdict;
  return (
    <div class="notice bad" role="alert">
      <p>{message}</p>
      <p>Do not rely on this log. Tell the people who operate the service, and keep what you have exported.</p>
      {checkpoints.length > 0 && (
        <div class="buttons">
          <button type="button" class="button" onClick={() => downloadText('checkpoints.txt', checkpoints.join('\n'), 'text/plain')}>
            Download the signed checkpoints
          </button>
        </div>
      )}
    </div>
  );
}
