/** The dialogs that start a redrive, and show its progress. */

import type { Client, DeadLetterQueue, Redrive } from '../../api/client';
import { useAction, useRecord } from '../../api/queries';
import { Details, timeDetail } from '../../ui/details';
import { DetailDialog, Dialog, DialogFooter } from '../../ui/dialog';
import { Field, Form, type Values } from '../../ui/form';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { RecordView } from '../../ui/table';

interface RedriveDialogProps {
  queue: DeadLetterQueue;
  onClose: () => void;
  /** Called with the id of the redrive. */
  onStart: (id: string) => void;
}

/** Send the messages of a queue back. */
export function RedriveDialog({ queue, onClose, onStart }: RedriveDialogProps) {
  const call = (client: Client, values: Values, options = {}) =>
    client.system.deadLetters.redrive({ queue: queue.queue, maxMessages: Number(values.maxMessages) }, options);
  const action = useAction({ call, changes: [['system', 'redrives']], onSuccess: (redrive: Redrive) => onStart(redrive.id) });
  return (
    <Dialog title={`Send back the messages of ${queue.queue}`} onClose={onClose}>
      <Form name="redrive" initial={{ maxMessages: '1000' }} error={action.error} onSubmit={action.mutate}>
        {(values) => (
          <>
            <p>
              The work is tried again. Messages of tasks that this release does not have are skipped. Those that fail again
              return after five attempts.
            </p>
            <Field name="maxMessages" label="Messages at most" type="number" required hint="Up to 10,000." />
            <DialogFooter submitLabel="Send back" onCancel={onClose} isPending={action.isPending} call={(client) => call(client, values)} />
          </>
        )}
      </Form>
    </Dialog>
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
              ['State', <JobStatus status={redrive.status} />],
              ['Queue', redrive.queue],
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
