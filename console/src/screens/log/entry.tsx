/** One entry of the log: what happened, the difference it made, where the request came from, and its proof. */

import { useParams } from 'wouter-preact';
import type { AuditEntry } from '../../api/client';
import { useRecord } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { Changes } from '../../ui/changes';
import { CodeBlock } from '../../ui/code-block';
import { CopyText } from '../../ui/copy-text';
import { Details, timeDetail } from '../../ui/details';
import { BackLink, PageHeader, Section } from '../../ui/page';
import { useOrganizationId } from '../../ui/place';
import { RecordView } from '../../ui/table';
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
          <BackLink path={`/o/${organizationId}/log`}>Log</BackLink>
          <PageHeader title={found.type} description={describe(found)} />
          <Facts entry={found} />
          <EntryProof entry={found} />
          <Difference entry={found} />
          <Context entry={found} />
          {found.data && (
            <Section title="Data" description={found.version ? 'What the application sent.' : 'The public record after the change.'}>
              <CodeBlock label="Data" text={JSON.stringify(found.data, null, 2)} />
            </Section>
          )}
        </>
      )}
    </RecordView>
  );
}

function describe(entry: AuditEntry): string {
  if (entry.erased) return 'This entry named a person whose data was erased. Its position, type and time remain, and are signed.';
  return entry.target ? `${nameActor(entry)} acted on ${nameTarget(entry)}.` : `By ${nameActor(entry)}.`;
}

function Facts({ entry }: { entry: AuditEntry }) {
  const path = `/o/${useOrganizationId()}/log`;
  const { actor, target, receivedAt } = entry;
  return (
    <Details
      items={[
        timeDetail('Occurred', entry.occurredAt),
        ...(receivedAt ? [timeDetail('Received', receivedAt)] : []),
        [
          'Actor',
          <>
            <ActorName entry={entry} /> {actor?.id && <a href={linkTo(path, { actorId: actor.id })}>All entries by this actor</a>}
          </>,
        ],
        [
          'Target',
          <>
            <TargetName entry={entry} /> {target && <a href={linkTo(path, { targetId: target.id })}>All entries about this record</a>}
          </>,
        ],
        ['Type', <a href={linkTo(path, { type: entry.type })}>All entries of this type</a>],
        ['Id', <CopyText text={entry.id} label="Copy id" />],
      ]}
    />
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
  const facts = { Operation: operationId, Request: requestId, Address: ipAddress, 'User agent': userAgent };
  return (
    <Section title="Request">
      <Details
        items={Object.entries(facts).map(([label, value]) => [
          label,
          value ? <code class="break">{value}</code> : <span class="muted">Not recorded</span>,
        ])}
      />
    </Section>
  );
}
