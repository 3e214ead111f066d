/** The dialog with the progress and the result of a job of research. */

import { useQueryClient } from '@tanstack/preact-query';
import { useEffect } from 'preact/hooks';
import type { ResearchJob } from '../../api/client';
import { useRecord } from '../../api/queries';
import { Details, timeDetail } from '../../ui/details';
import { DetailDialog } from '../../ui/dialog';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { RecordView } from '../../ui/table';
import { toWords } from '../../ui/status';

/** Show a job, until it ends and after that. Its end changes what the lists of research contain. */
export function JobDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const cache = useQueryClient();
  const query = useRecord(['research', 'jobs', id], (client, options) => client.research.jobs.get(id, options), {
    isLive: isPendingJob,
  });
  const status = query.data?.data.status;
  useEffect(() => {
    if (status === 'completed') void cache.invalidateQueries({ queryKey: ['research'], predicate: ({ queryKey }) => queryKey[2] !== id });
  }, [status]);
  return (
    <DetailDialog title={query.data ? titleOf(query.data.data) : 'Job'} onClose={onClose}>
      <RecordView query={query}>{(job) => <Job job={job} />}</RecordView>
    </DetailDialog>
  );
}

/** Return what a job does, such as “Import of 0000-0002-1825-0097”. */
export function titleOf({ kind, researcherId, editionId }: ResearchJob): string {
  const subject = researcherId ?? editionId;
  const title = { import: 'Import', reconcile: 'Reconciliation', backfill: 'Backfill' }[kind];
  return subject ? `${title} of ${subject}` : title;
}

function Job({ job }: { job: ResearchJob }) {
  const { counts, error, detail, skipped, skippedCount } = job;
  return (
    <div class="stack">
      <Details
        items={[
          ['Status', <JobStatus status={job.status} />],
          ['Created', counts.created],
          ['Updated', counts.updated],
          ['Unchanged', counts.unchanged],
          ['Conflicts', counts.conflicts],
          ['Unreadable records', skippedCount],
          timeDetail('Started', job.createdAt),
        ]}
      />
      {error && (
        <p class="notice bad">
          <strong>{toWords(error)}.</strong> {detail}
        </p>
      )}
      {counts.conflicts > 0 && (
        <p class="notice warning">
          A conflict is two works that look alike, but share no identifier. They have the same title and first author, and are at
          most a year apart. They are not merged.
        </p>
      )}
      {skipped.length > 0 && (
        <>
          <h3>Unreadable records</h3>
          <ul class="stack">
            {skipped.map((reason, index) => (
              <li key={index}>{reason}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
