/** The jobs that the user started: imports, reconciliations and backfills. */

import type { ResearchJob } from '../../api/client';
import { useList } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { isPendingJob, JobStatus } from '../../ui/job-status';
import { useMe } from '../../ui/place';
import { Empty } from '../../ui/states';
import { List, type Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { titleOf } from './job-dialog';
import { ResearchHeader } from './research-header';

const COLUMNS: readonly Column<ResearchJob>[] = [
  {
    title: 'Job',
    kind: 'primary',
    render: (each) => (
      <>
        <a href={linkTo('/research/jobs', { dialog: `job:${each.id}` })}>{titleOf(each)}</a>
        {each.detail && <span class="sub">{each.detail}</span>}
      </>
    ),
  },
  { title: 'Status', render: (each) => <JobStatus status={each.status} /> },
  { title: 'Library', render: (each) => <Library job={each} /> },
  { title: 'Created', kind: 'number', render: (each) => each.counts.created },
  { title: 'Updated', kind: 'number', render: (each) => each.counts.updated },
  { title: 'Conflicts', kind: 'number', render: (each) => each.counts.conflicts },
  { title: 'Started', kind: 'time', render: (each) => <Time value={each.createdAt} /> },
];

function Library({ job }: { job: ResearchJob }) {
  const organizations = useMe().data?.data.organizations ?? [];
  if (job.kind === 'backfill') return <>Public</>;
  if (!job.organizationId) return <>My own</>;
  return <>{organizations.find((each) => each.id === job.organizationId)?.name ?? 'An organization'}</>;
}

/** The screen. */
export default function ResearchJobs() {
  const query = useList(['research', 'jobs'], (client, page, options) => client.research.jobs.list(page, options), {
    isLive: (items) => items.some(isPendingJob),
  });
  return (
    <>
      <ResearchHeader />
      <List
        query={query}
        noun="job"
        columns={COLUMNS}
        getKey={(each) => each.id}
        empty={<Empty title="No jobs yet">An import or a reconciliation runs in the background. Its job is listed here for 30 days.</Empty>}
      />
    </>
  );
}
