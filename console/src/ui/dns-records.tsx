/** The DNS records that a custom domain needs, beside what the last check observed. */

import type { CustomDomain, DnsRecord } from '../api/client';
import { CopyButton } from './copy';
import { Status, toWords, type Tone } from './status';

const TONES: Record<CustomDomain['status'], Tone> = {
  none: 'neutral',
  pending: 'warning',
  verified: 'good',
  failed: 'bad',
  lapsed: 'bad',
};

const PURPOSES: Record<DnsRecord['purpose'], { title: string; description: string }> = {
  ownership: { title: 'Proves the ownership', description: 'It stays in place, because it is checked every day.' },
  routing: { title: 'Leads visitors to the service', description: 'Without it, nothing is served at the domain.' },
};

/** The state of a custom domain. */
export function DomainStatus({ status }: { status: CustomDomain['status'] }) {
  return <Status tone={TONES[status]}>{toWords(status)}</Status>;
}

/** Return whether the state of a domain can change without the user. */
export function isDomainLive(domain: { status: CustomDomain['status'] }): boolean {
  return domain.status === 'pending';
}

/** The records. */
export function DnsRecords({ records, isChecked }: { records: readonly DnsRecord[]; isChecked: boolean }) {
  return (
    <ol class="records">
      {records.map((record) => (
        <li key={`${record.type} ${record.name} ${record.expected}`} class="record">
          <header>
            <h3>
              {record.type} record <span class="muted">{PURPOSES[record.purpose].title}</span>
            </h3>
            <RecordStatus record={record} isChecked={isChecked} />
          </header>
          <dl class="details">
            <dt>Name</dt>
            <Copied text={record.relativeName} note={record.relativeName === record.name ? null : `In full: ${record.name}`} />
            <dt>Value</dt>
            <Copied text={record.expected} note={PURPOSES[record.purpose].description} />
            <dt>Observed</dt>
            <dd>
              {record.observed.map((value) => (
                <code key={value} class="block">
                  {value}
                </code>
              ))}
              {record.observed.length === 0 && <span class="muted">{isChecked ? 'No such record' : 'Not checked yet'}</span>}
            </dd>
          </dl>
        </li>
      ))}
    </ol>
  );
}

function RecordStatus({ record, isChecked }: { record: DnsRecord; isChecked: boolean }) {
  if (record.ok) return <Status tone="good">Correct</Status>;
  if (!isChecked) return <Status tone="neutral">Not checked</Status>;
  return record.observed.length > 0 ? <Status tone="bad">Another value</Status> : <Status tone="warning">Missing</Status>;
}

function Copied({ text, note }: { text: string; note: string | null }) {
  return (
    <dd>
      <span class="copied">
        <code>{text}</code>
        <CopyButton text={text} label={`Copy ${text}`} />
      </span>
      {note && <span class="hint">{note}</span>}
    </dd>
  );
}
