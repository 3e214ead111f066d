/** The state of work in the background. */

import { Status, toWords, type Tone } from './status';

type JobStatusCode = 'queued' | 'running' | 'completed' | 'failed' | 'expired';

const TONES: Record<JobStatusCode, Tone> = { queued: 'neutral', running: 'warning', completed: 'good', failed: 'bad', expired: 'neutral' };

/** Show the state of a job. */
export function JobStatus({ status }: { status: JobStatusCode }) {
  return <Status tone={TONES[status]}>{toWords(status)}</Status>;
}

/** Return whether a job has not ended, so that it has to be read again. */
export function isPendingJob(job: { status: JobStatusCode }): boolean {
  return job.status === 'queued' || job.status === 'running';
}
