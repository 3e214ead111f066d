/** The dialogs that start a redrive, and show its progress. */

import type { DeadLetterQueue } from '../../api/client';
import { useRecord } from '../../api/queries';
import { Details, timeDetail } from '../../ui/details';
import { DetailDialog } from '../../ui/dialog';
import { Field } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { toWords } from '../../ui/status';
import { RecordView } from '../../ui/table';

/** Return what a queue is called, such as “Deliveries slow”. */
export function nameQueue(queue: DeadLetterQueue['queue']): string {
  return toWords(queue.replaceAll('-', ' '));
}

interface RedriveDialogProps {
  queue: DeadLetterQueue['queue'];
  onClose: () => void;
  /** Called with the id of the redrive. */
  onStart: (id: string) => void;
}

/** Send the messages of a queue back. */
export function RedriveDialog({ queue, onClose, onStart }: RedriveDialogProps) {
  return (
    <FormDialog
      title={`Send back the messages of ${nameQueue(queue)}`}
      name="redrive"
      initial={{ maxMessages: '1000' }}
      submitLabel="Send back"
      call={(client, { maxMessages }, options) => client.system.deadLetters.redrive({ queue, maxMessages: Number(maxMessages) }, options)}
      changes={[['system', 'redrives']]}
      onDone={({ id }) => onStart(id)}
      onClose={onClose}
    >
      {() => (
        <>
          <p>
            The work is tried again. Messages of tasks that this release does not have are skipped. Those that fail again
            return after five attempts.
          </p>
          <Field name="maxMessages" label="Messages at most" type="number" required hint="Up to 10,000." />
        </>
      )}
    </FormDialog>
  );
}

/** Show how far a redrive has got, until it ends. */
export function RedriveProgress({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useRecord(['system', 'redrives', id], (client, options) => client.system.deadLetters.redrives.get(id, options), {
    isLive: isPendingJob,
  });
  return (
    <DetailDialog title="Redrive" onClose={onClose}>
      <RecordView query={query}>
        {(redrive) => (
          <Details
            items={[
              ['Status', <JobStatus status={redrive.status} />],
              ['Queue', nameQueue(redrive.queue)],
              ['Sent back', `${redrive.sent} of at most ${redrive.maxMessages}`],
              ['Skipped', redrive.skipped],
              ['Why it failed', redrive.error],
              timeDetail('Started', redrive.createdAt),
              timeDetail('Ended', redrive.completedAt),
            ]}
          />
        )}
      </RecordView>
    </DetailDialog>
  );
}
