/** An event type: its schema in each version, an example, and the latest events of an application's type. */

import { useParams } from 'wouter-preact';
import { operations } from '../../api/access';
import type { AuditEntry, EventType } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { linkTo, useDialog, useParameter } from '../../ui/address';
import { CodeBlock } from '../../ui/code-block';
import { Details, timeDetail } from '../../ui/details';
import { DialogButton } from '../../ui/dialog-buttons';
import { isOwnType } from '../../ui/event-types';
import { BackLink, PageHeader, Section } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { Status, toWords } from '../../ui/status';
import { List, RecordView, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { SendEventDialog } from './send-dialog';

const LATEST_EVENTS = 10;

/** The screen. */
export default function EventTypeScreen() {
  const organizationId = useOrganizationId();
  const type = useParams<{ type?: string }>().type ?? '';
  const [versionText] = useParameter('version');
  const version = Number(versionText) || undefined;
  const { name, close } = useDialog();
  const canSend = useCan(operations.create_event);
  const query = useRecord(['event-types', type, { version }], (client, options) =>
    client.eventTypes.get(type, version ? { version } : {}, options),
  );
  return (
    <RecordView query={query}>
      {(eventType) => (
        <>
          <BackLink path={`/o/${organizationId}/event-types`}>Event types</BackLink>
          <PageHeader
            title={eventType.type}
            description={eventType.description}
            actions={
              canSend &&
              isOwnType(eventType) && <DialogButton dialog="send">Send an event</DialogButton>
            }
          />
          {isOwnType(eventType) && <OwnDetails eventType={eventType} />}
          <Schema eventType={eventType} />
          {isOwnType(eventType) && <LatestEvents type={type} />}
          {name === 'send' && <SendEventDialog eventType={eventType} onClose={close} />}
        </>
      )}
    </RecordView>
  );
}

function OwnDetails({ eventType }: { eventType: EventType }) {
  const shown = eventType.versions?.find((each) => each.version === eventType.version);
  return (
    <Details
      items={[
        ['Sentence', eventType.sentence],
        ['Status', eventType.deprecated ? <Status tone="warning">Deprecated</Status> : <Status tone="good">In use</Status>],
        ['Version', <VersionChoice eventType={eventType} />],
        ...(shown ? [timeDetail('Declared', shown.createdAt)] : []),
      ]}
    />
  );
}

function VersionChoice({ eventType }: { eventType: EventType }) {
  const [, setVersion] = useParameter('version');
  const versions = eventType.versions ?? [];
  if (versions.length < 2) return <>{eventType.version}</>;
  return (
    <select class="short" aria-label="Version" value={String(eventType.version)} onChange={(event) => setVersion(event.currentTarget.value)}>
      {versions.map(({ version }) => (
        <option key={version} value={String(version)}>
          {version}
        </option>
      ))}
    </select>
  );
}

function Schema({ eventType }: { eventType: EventType }) {
  const { example } = eventType;
  return (
    <>
      <Section title="Schema" description="The JSON Schema of the event's data.">
        <CodeBlock label="JSON Schema" text={JSON.stringify(eventType.schema, null, 2)} />
      </Section>
      {example && (
        <Section title="Example" description="Data that the schema allows.">
          <CodeBlock label="Example" text={JSON.stringify(example, null, 2)} />
        </Section>
      )}
    </>
  );
}

function LatestEvents({ type }: { type: string }) {
  const organizationId = useOrganizationId();
  const query = useList(['organizations', organizationId, 'events', type], (client, _, options) =>
    client.organizations.events.list(organizationId, { type, limit: LATEST_EVENTS }, options),
  );
  const columns: readonly Column<AuditEntry>[] = [
    {
      title: 'Target',
      kind: 'primary',
      render: (each) => (
        <a href={linkTo(`/o/${organizationId}/log/${each.id}`)}>{each.target?.name ?? each.target?.id ?? 'No target'}</a>
      ),
    },
    { title: 'Actor', render: (each) => each.actor?.name ?? toWords(each.actor?.type ?? 'erased') },
    { title: 'Occurred', kind: 'time', render: (each) => <Time value={each.occurredAt} /> },
  ];
  return (
    <Section title="Latest events">
      <List
        query={{ ...query, hasNextPage: false }}
        noun="event"
        caption="Latest events"
        columns={columns}
        getKey={(each) => each.id}
        empty={<Empty title="No such event yet">Events of this type appear here when a program writes them.</Empty>}
      />
    </Section>
  );
}
