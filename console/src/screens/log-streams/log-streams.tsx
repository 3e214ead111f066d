/** The log streams of an organization. */

import { operations } from '../../api/access';
import type { LogStreamDetail } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo, useDialog } from '../../ui/address';
import { DialogButton } from '../../ui/dialog-buttons';
import { EventPatterns } from '../../ui/event-patterns';
import { PageHeader } from '../../ui/page';
import { useCan, useOrganizationId } from '../../ui/place';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { CreateDialog } from './create-dialog';
import { describeDestination, kindName } from './destinations';
import { describeLag, StreamState } from './states';

/** The screen. */
export default function LogStreams() {
  const organizationId = useOrganizationId();
  const { name, close } = useDialog();
  const canCreate = useCan(operations.create_log_stream);
  const query = useList(
    ['organizations', organizationId, 'log-streams'],
    (client, page, options) => client.organizations.logStreams.list(organizationId, page, options),
    { isLive: (streams) => streams.some((each) => each.enabled) },
  );
  const createButton = canCreate && <DialogButton dialog="create" kind="primary">Create log stream</DialogButton>;
  return (
    <>
      <PageHeader title="Log streams" description="Systems of yours that receive a copy of the log." actions={createButton} />
      <List
        query={query}
        noun="log stream"
        columns={useColumns()}
        getKey={(each) => each.id}
        empty={
          <Empty title="No log streams yet" action={createButton}>
            A log stream sends the entries of the log, in their order, to an HTTPS endpoint, Splunk, Datadog or a bucket in
            Amazon S3. Use it to keep the log in your SIEM, and webhooks to react to single events.
          </Empty>
        }
      />
      {name === 'create' && <CreateDialog onClose={close} />}
    </>
  );
}

function useColumns(): readonly Column<LogStreamDetail>[] {
  const organizationId = useOrganizationId();
  return [
    {
      title: 'Destination',
      kind: 'primary',
      render: (each) => (
        <>
          <a class="break" href={linkTo(`/o/${organizationId}/log-streams/${each.id}`)}>
            {describeDestination(each.destination)}
          </a>
          <span class="sub">{each.description ?? kindName(each.destination)}</span>
        </>
      ),
    },
    {
      title: 'Status',
      render: (each) => (
        <>
          <StreamState stream={each} />
          {each.status === 'failing' && each.lastError && <span class="sub break">{each.lastError.message}</span>}
        </>
      ),
    },
    { title: 'Events', render: (each) => <EventPatterns patterns={each.events} isShort /> },
    { title: 'Behind the log', render: (each) => describeLag(each) },
  ];
}
