/** The DNS records of a domain for whoever manages its DNS, with a live check. */

import { useEffect } from 'preact/hooks';
import type { CustomDomain } from '../api/client';
import { DnsRecords, DomainStatus, isDomainLive } from '../ui/dns-records';
import { Section } from '../ui/page';
import { Failed, Loading, Problem } from '../ui/states';
import { formatTime } from '../ui/time-format';
import { showToast } from '../ui/toast';
import { nameCreator } from './link-page';
import { useChange, useLink, useReading } from './link';

/** The page. */
export function DomainSetup({ platformId }: { platformId: string }) {
  const { client, link } = useLink();
  const reading = useReading(platformId, () => client.platforms.customDomain.get(platformId), isDomainLive);
  const check = useChange(
    (_: null, options) => client.platforms.customDomain.verify(platformId, options),
    async (domain) => {
      await reading.reload();
      showToast(domain.status === 'verified' ? 'The domain is verified.' : 'Checked. It is not verified yet.');
    },
  );
  const domain = reading.data;
  const title = `Set up DNS for ${domain?.domain ?? 'a domain'}`;
  useEffect(() => void (document.title = `${title} · Atrium`), [title]);
  if (!domain) return reading.error ? <Failed error={reading.error} onRetry={() => void reading.reload()} /> : <Loading />;
  return (
    <div class="stack">
      <header class="page-header">
        <div>
          <h1>{title}</h1>
          <p>
            {link.organization.name} wants to serve a platform at this domain. Add these records at the DNS provider of the domain.{' '}
            {nameCreator(link)} asked you to.
          </p>
        </div>
        <button type="button" class="button primary" disabled={check.isPending} onClick={() => check.run(null)}>
          {check.isPending ? 'Checking' : 'Check now'}
        </button>
      </header>
      {check.error !== null && <Problem error={check.error} />}
      <Progress domain={domain} />
      <Section title="DNS records">
        <DnsRecords records={domain.records} isChecked={domain.lastCheckedAt !== null} />
      </Section>
    </div>
  );
}

const NOTICES: Record<CustomDomain['status'], { tone: string; text: string }> = {
  none: { tone: 'warning', text: 'The domain was removed. There is nothing to set up.' },
  pending: { tone: 'warning', text: 'Add the records, then check. DNS providers need from a minute to some hours to publish them.' },
  verified: { tone: 'good', text: 'The domain is verified. You can close this page. Leave the records in place.' },
  failed: { tone: 'bad', text: 'The records were not found in time. Add them, then check again.' },
  lapsed: { tone: 'bad', text: 'The ownership record was missing for too long. Add it, then check again.' },
};

/** The state of the domain, what the last check found, and when the next one is. */
function Progress({ domain }: { domain: CustomDomain }) {
  const { tone, text } = NOTICES[domain.status];
  return (
    <div class={`notice ${tone}`} role="status">
      <DomainStatus status={domain.status} />
      <p>{text}</p>
      {domain.status !== 'none' && domain.lastErrorDetail && domain.lastCheckedAt && <p>{domain.lastErrorDetail}</p>}
      <p class="small muted">
        {domain.lastCheckedAt ? `Last checked ${toUtc(domain.lastCheckedAt)}.` : 'Not checked yet.'}{' '}
        {domain.nextCheckAt && `The service checks again by itself, next at ${toUtc(domain.nextCheckAt)}.`}
      </p>
    </div>
  );
}

function toUtc(time: string): string {
  return `${formatTime(time, 'utc')} UTC`;
}
