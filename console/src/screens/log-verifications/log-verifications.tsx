/** The verifications of all logs, and what they found. */

import type { LogFailure, LogVerification } from '../../api/client';
import { useList, useRecord } from '../../api/queries';
import { ActionDialog } from '../../ui/action-dialog';
import { linkTo, useDialog } from '../../ui/address';
import { Details, timeDetail } from '../../ui/details';
import { DetailDialog } from '../../ui/dialog';
import { DialogButton } from '../../ui/dialog-buttons';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { PageHeader } from '../../ui/page';
import { Empty } from '../../ui/states';
import { Status, toWords } from '../../ui/status';
import { List, RecordView, Table, type Column } from '../../ui/table';
import { Time } from '../../ui/time';

const PATH = '/operate/log-verifications';

const COLUMNS: readonly Column<LogVerification>[] = [
  {
    title: 'Requested',
    kind: 'time',
    render: (each) => (
      <a href={linkTo(PATH, { dialog: each.id })}>
        <Time value={each.createdAt} />
      </a>
    ),
  },
  { title: 'Status', render: (each) => <JobStatus status={each.status} /> },
  { title: 'Result', render: (each) => <Result verification={each} /> },
  { title: 'Logs', kind: 'number', render: (each) => each.logsChecked.toLocaleString('en') },
  { title: 'Entries', kind: 'number', render: (each) => each.entriesChecked.toLocaleString('en') },
  { title: 'Ended', kind: 'time', render: (each) => <Time value={each.completedAt} /> },
];

const FAILURES: readonly Column<LogFailure>[] = [
  { title: 'Log', kind: 'primary', render: (each) => <code>{each.logId}</code> },
  { title: 'Finding', render: (each) => <Status tone="bad">{toWords(each.failure)}</Status> },
  { title: 'From sequence', kind: 'number', render: (each) => each.firstInvalidSequence ?? 'Unknown' },
];

function Result({ verification }: { verification: LogVerification }) {
  const { failureCount, status } = verification;
  if (failureCount > 0) return <Status tone="bad">{failureCount === 1 ? '1 log differs' : `${failureCount} logs differ`}</Status>;
  return status === 'completed' ? <Status tone="good">All intact</Status> : <span class="muted">Not known yet</span>;
}

/** The screen. */
export default function LogVerifications() {
  const { name, open, close } = useDialog();
  const query = useList(['system', 'log-verifications'], (client, page, options) => client.system.logVerifications.list(page, options), {
    isLive: (items) => items.some(isPendingJob),
  });
  const startButton = <DialogButton dialog="start" kind="primary">Verify all logs</DialogButton>;
  return (
    <>
      <PageHeader
        title="Log verifications"
        description="Each log is compared with its signed head and its newest anchor. This finds entries that were changed, removed or added in the database."
        actions={startButton}
      />
      <List
        query={query}
        noun="verification"
        caption="Log verifications"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={
          <Empty title="The logs have not been verified yet" action={startButton}>
            Verify them after an incident, and regularly as evidence for an auditor. It runs in the background.
          </Empty>
        }
      />
      {name === 'start' && <StartDialog onClose={close} onStart={open} />}
      {name && name !== 'start' && <VerificationDialog id={name} onClose={close} />}
    </>
  );
}

function StartDialog({ onClose, onStart }: { onClose: () => void; onStart: (id: string) => void }) {
  return (
    <ActionDialog
      title="Verify all logs?"
      confirmLabel="Verify"
      isDangerous={false}
      call={(client, options) => client.system.logVerifications.create(options)}
      changes={[['system', 'log-verifications']]}
      onDone={(verification) => onStart(verification.id)}
      onClose={onClose}
    >
      <p>The verification reads every entry of every log, in the background. One runs at a time.</p>
    </ActionDialog>
  );
}

function VerificationDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useRecord(
    ['system', 'log-verifications', id],
    (client, options) => client.system.logVerifications.get(id, options),
    { isLive: isPendingJob },
  );
  return (
    <DetailDialog title="Verification of all logs" onClose={onClose}>
      <RecordView query={query}>{(verification) => <Verification verification={verification} />}</RecordView>
    </DetailDialog>
  );
}

function Verification({ verification }: { verification: LogVerification }) {
  const { status, logsChecked, entriesChecked, failures, failureCount, error } = verification;
  return (
    <div class="stack">
      <Details
        items={[
          ['Status', <JobStatus status={status} />],
          ['Result', <Result verification={verification} />],
          ['Logs checked', logsChecked.toLocaleString('en')],
          ['Entries checked', entriesChecked.toLocaleString('en')],
          ['Why it failed', error],
          timeDetail('Requested', verification.createdAt),
          timeDetail('Started', verification.startedAt),
          timeDetail('Ended', verification.completedAt),
        ]}
      />
      {failures.length > 0 && (
        <>
          <p class="notice bad">Keep exports of these logs as evidence before anything else is done.</p>
          <Table caption="Findings" columns={FAILURES} items={failures} getKey={(each) => each.logId} />
          {failureCount > failures.length && <p class="small muted">The first {failures.length} of {failureCount} are listed.</p>}
        </>
      )}
    </div>
  );
}
