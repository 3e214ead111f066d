/** One entry of the log: what happened, the difference it made, where the request came from, and its proof. */

import { useParams } from 'wouter-preact';
import type { AuditEntry } from '../../api/client';
import { useRecord } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { Changes } from '../../ui/changes';
import { CopyButton } from '../../ui/copy';
import { PageHeader, Section } from '../../ui/page';
import { useOrganizationId } from '../../ui/place';
import { RecordView } from '../../ui/table';
import { Time, TimeLabel } from '../../ui/time';
import { EntryProof } from './entry-proof';
import { ActorName, nameActor, nameTarget, TargetName } from './names';

/** The screen. */
export default function Entry() {
  const organizationId = useOrganizationId();
  const { entry = '' } = useParams<{ entry: string }>();
  const query = useRecord(['organizations', organizationId, 'audit-log', 'entries', entry], (client, options) =>
    client.organizations.auditLog.get(organizationId, entry, options),
  );
  return (
    <RecordView query={query}>
      {(found) => (
        <>
          <PageHeader title={found.type} description={describe(found)} actions={<LogLink />} />
          <Facts entry={found} />
          <EntryProof entry={found} />
          <Difference entry={found} />
          <Context entry={found} />
          {found.data && (
            <Section title="Data" description={found.version ? 'What the application sent.' : 'The public record after the change.'}>
              <pre class="code">{JSON.stringify(found.data, null, 2)}</pre>
            </Section>
          )}
        </>
      )}
    </RecordView>
  );
}

function LogLink() {
  return (
    <a class="button" href={linkTo(`/o/${useOrganizationId()}/log`)}>
      All entries
    </a>
  );
}

function describe(entry: AuditEntry): string {
  if (entry.erased) return 'This entry named a person whose data was erased. Its position, type and time remain, and are signed.';
  return entry.target ? `${nameActor(entry)} acted on ${nameTarget(entry)}.` : `By ${nameActor(entry)}.`;
}

function Facts({ entry }: { entry: AuditEntry }) {
  const path = `/o/${useOrganizationId()}/log`;
  const { actor, target } = entry;
  return (
    <dl class="details">
      <dt>
        <TimeLabel>Occurred</TimeLabel>
      </dt>
      <dd>
        <Time value={entry.occurredAt} />
      </dd>
      {entry.receivedAt && (
        <>
          <dt>
            <TimeLabel>Received</TimeLabel>
          </dt>
          <dd>
            <Time value={entry.receivedAt} />
          </dd>
        </>
      )}
      <dt>Actor</dt>
      <dd>
        <ActorName entry={entry} /> {actor?.id && <a href={linkTo(path, { actorId: actor.id })}>All entries by this actor</a>}
      </dd>
      <dt>Target</dt>
      <dd>
        <TargetName entry={entry} /> {target && <a href={linkTo(path, { targetId: target.id })}>All entries about this record</a>}
      </dd>
      <dt>Type</dt>
      <dd>
        <a href={linkTo(path, { type: entry.type })}>All entries of this type</a>
      </dd>
      <dt>Id</dt>
      <dd>
        <code class="hash">{entry.id}</code> <CopyButton text={entry.id} label="Copy id" />
      </dd>
    </dl>
  );
}

function Difference({ entry }: { entry: AuditEntry }) {
  if (entry.changes.length === 0) return null;
  return (
    <Section title="Difference" description="Each field before and after.">
      <Changes changes={entry.changes} />
    </Section>
  );
}

function Context({ entry: { context } }: { entry: AuditEntry }) {
  if (!context) return null;
  const { operationId, requestId, ipAddress, userAgent } = context;
  const facts = [
    ['Operation', operationId],
    ['Request', requestId],
    ['Address', ipAddress],
    ['User agent', userAgent],
  ] as const;
  return (
    <Section title="Request">
      <dl class="details">
        {facts.map(([label, value]) => [
          <dt key={label}>{label}</dt>,
          <dd key={`${label} value`}>{value ? <code class="hash">{value}</code> : <span class="muted">Not recorded</span>}</dd>,
        ])}
      </dl>
    </Section>
  );
}
