/** The dead-letter queues: work that failed five times, and the redrives that send it back. */

import { useEffect } from 'preact/hooks';
import type { DeadLetter, DeadLetterQueue, Redrive } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { linkTo, useDialog } from '../../ui/address';
import { actionsColumn } from '../../ui/dialog-buttons';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { PageHeader, Section } from '../../ui/page';
import { Empty } from '../../ui/states';
import { Status } from '../../ui/status';
import { List, RecordView, Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { nameQueue, RedriveDialog, RedriveProgress } from './dialogs';

const MESSAGES: readonly Column<DeadLetter>[] = [
  {
    title: 'Task',
    kind: 'primary',
    render: (each) => (
      <>
        {each.task ? <code>{each.task}</code> : 'Unknown'}
        <span class="sub">
          Message <code>{each.messageId}</code>
        </span>
      </>
    ),
  },
  {
    title: 'Redrive',
    render: (each) => (each.canBeRedriven ? <Status tone="good">Possible</Status> : <Status tone="warning">Skipped</Status>),
  },
  { title: 'Requests', render: (each) => each.requestIds.map((id) => <div key={id}><code>{id}</code></div>) },
  { title: 'Received', kind: 'number', render: (each) => each.receiveCount },
  { title: 'Sent', kind: 'time', render: (each) => <Time value={each.sentAt} /> },
];

const QUEUES: readonly Column<DeadLetterQueue>[] = [
  {
    title: 'Queue',
    kind: 'primary',
    render: (each) => (
      <>
        {nameQueue(each.queue)}
        <span class="sub">{each.name}</span>
      </>
    ),
  },
  {
    title: 'Messages',
    render: (each) =>
      each.messageCount > 0 ? <Status tone="bad">{`About ${each.messageCount}`}</Status> : <Status tone="good">None</Status>,
  },
  { title: 'Oldest shown', kind: 'time', render: (each) => <Time value={each.oldestSentAt} /> },
  actionsColumn(({ queue, messageCount }) => ({
    id: queue,
    name: nameQueue(queue),
    actions: [{ dialog: 'redrive', text: 'Send back', isShown: messageCount > 0 }],
  })),
];

const REDRIVES: readonly Column<Redrive>[] = [
  {
    title: 'Queue',
    kind: 'primary',
    render: (each) => <a href={linkTo('/operate/dead-letters', { dialog: `progress:${each.id}` })}>{nameQueue(each.queue)}</a>,
  },
  { title: 'Status', render: (each) => <JobStatus status={each.status} /> },
  { title: 'Sent back', kind: 'number', render: (each) => each.sent },
  { title: 'Skipped', kind: 'number', render: (each) => each.skipped },
  { title: 'Started', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
  { title: 'Ended', kind: 'time', render: (each) => <Time value={each.completedAt} /> },
];

/** The screen. */
export default function DeadLetters() {
  // Each look counts in `receiveCount`, so the queues are read again only when asked for, and after a redrive.
  const query = useRecord(['system', 'dead-letters'], (client, options) => client.system.deadLetters.get(options));
  const { name, id, open, close } = useDialog();
  const queue = query.data?.data.queues.find((each) => each.queue === id)?.queue;
  const lookButton = (
    <button type="button" class="button" disabled={query.isFetching} onClick={() => void query.refetch()}>
      {query.isFetching ? 'Looking' : 'Look again'}
    </button>
  );
  return (
    <>
      <PageHeader
        title="Dead letters"
        description="Messages that failed five times. They stay for 14 days. Remove the cause of the failures, then send them back."
        actions={lookButton}
      />
      <RecordView query={query}>{(letters) => <Queues queues={letters.queues} />}</RecordView>
      <Redrives onEnd={() => void query.refetch()} />
      {name === 'redrive' && queue && <RedriveDialog queue={queue} onClose={close} onStart={(started) => open(`progress:${started}`)} />}
      {name === 'progress' && <RedriveProgress id={id} onClose={close} />}
    </>
  );
}

function Queues({ queues }: { queues: readonly DeadLetterQueue[] }) {
  return (
    <>
      <Table caption="Dead-letter queues" columns={QUEUES} items={queues} getKey={(each) => each.queue} />
      {queues
        .filter((each) => each.messages.length > 0)
        .map(({ queue, messages }) => (
          <Section key={queue} title={`First messages of ${nameQueue(queue)}`} description="Bodies are not shown, because they can name records of customers.">
            <Table caption={`Messages of ${nameQueue(queue)}`} columns={MESSAGES} items={messages} getKey={(each) => each.messageId} />
          </Section>
        ))}
    </>
  );
}

function Redrives({ onEnd }: { onEnd: () => void }) {
  const query = useList(['system', 'redrives'], (client, page, options) => client.system.deadLetters.redrives.list(page, options), {
    isLive: (items) => items.some(isPendingJob),
  });
  const ended = query.items.filter((each) => each.completedAt !== null).length;
  const isRead = !query.isPending;
  useEffect(() => {
    if (isRead && ended > 0) onEnd();
  }, [ended]);
  return (
    <Section title="Redrives">
      <List
        query={query}
        noun="redrive"
        columns={REDRIVES}
        getKey={(each) => each.id}
        empty={<Empty title="No redrives yet">A redrive sends the messages of a queue back to it, in the background.</Empty>}
      />
    </Section>
  );
}
