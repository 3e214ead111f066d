/** The start page of operators: the state of the service, and where to look when something is wrong. */

import type { Check, MigrationsHealth, ServiceStatus } from '../../api/client';
import { useRecord } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { CopyButton } from '../../ui/copy';
import { Details } from '../../ui/details';
import { PageHeader, Section } from '../../ui/page';
import { Status, toWords } from '../../ui/status';
import { RecordView, Table, type Column } from '../../ui/table';
import { Tile } from '../../ui/tile';
import { Time, TimeLabel } from '../../ui/time';

const CHECKS: readonly Column<Check>[] = [
  { title: 'Check', kind: 'primary', render: (each) => toWords(each.name) },
  { title: 'Status', render: (each) => <Status tone={each.status === 'ok' ? 'good' : 'bad'}>{toWords(each.status)}</Status> },
  { title: 'What is wrong', render: (each) => each.detail ?? <span class="muted">Nothing</span> },
];

const LINKS = [
  { path: '/operate/dead-letters', title: 'Dead letters', text: 'Work that failed five times and waits for you.' },
  { path: '/operate/log-verifications', title: 'Log verifications', text: 'Whether every log is as the service wrote it.' },
  { path: '/operate/audit-log', title: 'System log', text: 'What operators did, and what concerns no organization.' },
  { path: '/operate/organizations', title: 'Organizations', text: 'The organization that a support request names.' },
] as const;

/** The screen. */
export default function ServiceStatusScreen() {
  // The service may recover or fail at any time, so the status is always live.
  const status = useRecord(['status'], (client, options) => client.status.get(options), { isLive: () => true });
  return (
    <>
      <PageHeader title="Status" description="The state of the service, its dependencies and its migrations." />
      <RecordView query={status}>{(service) => <Service service={service} />}</RecordView>
    </>
  );
}

function Service({ service }: { service: ServiceStatus }) {
  return (
    <>
      <dl class="tiles">
        <Tile label="Service">
          <Status tone={service.status === 'ok' ? 'good' : 'bad'}>{toWords(service.status)}</Status>
        </Tile>
        <Migrations />
        <Tile label="Release" note={`API ${service.apiVersion}`}>
          {service.version}
        </Tile>
        <Tile label={<TimeLabel>Answered</TimeLabel>}>
          <Time value={service.time} />
        </Tile>
      </dl>
      <Section title="Dependencies">
        <Table caption="Dependencies" columns={CHECKS} items={service.checks} getKey={(each) => each.name} />
      </Section>
      <Section title="Where to look">
        <Details items={LINKS.map(({ path, title, text }) => [<a href={linkTo(path)}>{title}</a>, text])} />
      </Section>
      <SigningKeys service={service} />
    </>
  );
}

function Migrations() {
  const health = useRecord(['system', 'migrations', 'health'], (client, options) => client.system.migrations.getHealth(options));
  return (
    <Tile label="Migrations" note={<a href={linkTo('/operate/migrations')}>All migrations</a>}>
      {health.data ? <MigrationsState health={health.data.data} /> : health.error ? 'Unknown' : '…'}
    </Tile>
  );
}

function MigrationsState({ health }: { health: MigrationsHealth }) {
  if (health.failed > 0) return <Status tone="bad">{`${health.failed} failed`}</Status>;
  return health.healthy ? <Status tone="good">Applied</Status> : <Status tone="warning">{`${health.pending} pending`}</Status>;
}

function SigningKeys({ service }: { service: ServiceStatus }) {
  const former = service.auditPublicKeys.filter((key) => key !== service.auditPublicKey);
  return (
    <Section title="Public keys" description="Ed25519 keys that verify the checkpoints of all logs. Former keys verify older checkpoints.">
      <ul class="stack">
        {[service.auditPublicKey, ...former].map((key) => (
          <li key={key} class="secret">
            <code>{key}</code>
            <span class="muted small">{key === service.auditPublicKey ? 'Signs now' : 'Former or next'}</span>
            <CopyButton text={key} label="Copy public key" />
          </li>
        ))}
      </ul>
    </Section>
  );
}
