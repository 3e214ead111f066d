/** A log stream: how far it is, what went wrong last, and what it can be told to do. */

import { useParams } from 'wouter-preact';
import { operations } from '../../api/access';
import type { LogStreamDetail } from '../../api/client';
import { useRecord } from '../../api/queries';
import { CopyText } from '../../ui/copy-text';
import { Details, timeDetail } from '../../ui/details';
import { DialogButtons } from '../../ui/dialog-buttons';
import { EventPatterns } from '../../ui/event-patterns';
import { lazyDialogs } from '../../ui/lazy-dialogs';
import { BackLink, PageHeader, Section } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { RecordView } from '../../ui/table';
import { Tile } from '../../ui/tile';
import { Time, TimeLabel, ZoneName } from '../../ui/time';
import { describeDestination, FIELD_LABELS, kindName } from './destinations';
import { describeLag, StreamState } from './states';

const StreamDialogs = lazyDialogs(() => import('./stream-dialogs'));

/** The screen. */
export default function LogStreamScreen() {
  const organizationId = useOrganizationId();
  const streamId = useParams<{ stream?: string }>().stream ?? '';
  const query = useRecord(
    ['organizations', organizationId, 'log-streams', streamId],
    (client, options) => client.organizations.logStreams.get(organizationId, streamId, options),
    { isLive: (stream) => stream.enabled },
  );
  return (
    <RecordView query={query}>
      {(stream) => (
        <>
          <BackLink path={`/o/${organizationId}/log-streams`}>Log streams</BackLink>
          <PageHeader title={describeDestination(stream.destination)} description={stream.description ?? undefined} actions={<Actions />} />
          <StreamNotice stream={stream} />
          <Progress stream={stream} />
          <Section title="Settings">
            <StreamDetails stream={stream} />
          </Section>
          <MoreActions stream={stream} />
          <StreamDialogs stream={stream} />
        </>
      )}
    </RecordView>
  );
}

function Actions() {
  const actions = [
    { dialog: 'test', text: 'Send test', isShown: useCan(operations.test_log_stream) },
    { dialog: 'edit', text: 'Edit', isShown: useCan(operations.update_log_stream) },
  ];
  return <DialogButtons actions={actions} />;
}

function StreamNotice({ stream }: { stream: LogStreamDetail }) {
  if (stream.status === 'disabled') {
    return (
      <div class="notice bad">
        <strong>The service disabled this stream.</strong> {stream.disabledReason} Entries wait in the log. Repair the
        destination, and turn the stream on with “Edit”.
      </div>
    );
  }
  if (stream.status !== 'failing' || !stream.failingSince) return null;
  return (
    <div class="notice warning">
      <strong>Every attempt fails</strong> since <Time value={stream.failingSince} /> <ZoneName />. The same batch is repeated,
      and no entry is lost. After five days without a success, the service disables the stream.
    </div>
  );
}

function Progress({ stream }: { stream: LogStreamDetail }) {
  return (
    <dl class="tiles">
      <Tile label="Status">
        <StreamState stream={stream} />
      </Tile>
      <Tile label="Sent up to entry">{stream.position.toLocaleString('en')}</Tile>
      <Tile label="Behind the log">{describeLag(stream)}</Tile>
      <Tile label={<TimeLabel>Last error</TimeLabel>} note={stream.lastError && <LastError error={stream.lastError} />}>
        {stream.lastError ? <Time value={stream.lastError.at} /> : 'None'}
      </Tile>
    </dl>
  );
}

function LastError({ error }: { error: NonNullable<LogStreamDetail['lastError']> }) {
  return (
    <span class="break">
      {error.statusCode !== null && `Answer ${error.statusCode}. `}
      {error.message}
    </span>
  );
}

function StreamDetails({ stream }: { stream: LogStreamDetail }) {
  const { type, ...fields } = stream.destination;
  const texts = Object.entries(fields).flatMap(([name, value]) => (typeof value === 'string' ? [[name, <code class="break">{value}</code>] as const] : []));
  return (
    <Details
      items={[
        ['Destination', kindName(stream.destination)],
        ...texts.map(([name, text]) => [FIELD_LABELS[name] ?? name, text] as const),
        ['External id', stream.externalId && <CopyText text={stream.externalId} label="Copy the external id" />],
        ['Events', <EventPatterns patterns={stream.events} />],
        ['Areas', stream.areas?.join(', ')],
        ['Starts with entry', stream.startSequence.toLocaleString('en')],
        ['Id', <CopyText text={stream.id} label="Copy id" />],
        timeDetail('Created', stream.createdAt),
        ...(stream.formerSecretsUntil ? [timeDetail('Former secret until', stream.formerSecretsUntil)] : []),
      ]}
    />
  );
}

function MoreActions({ stream }: { stream: LogStreamDetail }) {
  const actions = [
    { dialog: 'rotate', text: 'Replace secret', isShown: useCan(operations.rotate_log_stream_secret) && stream.destination.type === 'https' },
    { dialog: 'restart', text: 'Restart', isShown: useCan(operations.update_log_stream) },
    { dialog: 'delete', text: 'Delete', kind: 'danger' as const, isShown: useCan(operations.delete_log_stream) },
  ];
  return (
    <Section title="More">
      <div class="buttons">
        <DialogButtons actions={actions} />
      </div>
    </Section>
  );
}
