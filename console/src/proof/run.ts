/** Runs a proof: short ones in the page, long ones in a worker. */

import { InvalidInput } from '../log/errors';
import { type ProofJob, proveLog, type ProvenLog } from './prove';
import type { WorkerMessage } from './worker';
import workerUrl from './worker?worker&url';

/** The number of entries from which a proof takes so long that it would hold up the page. */
const MIN_WORKER_ENTRIES = 2_000;

/** The name that the policy of the page allows. */
const POLICY_NAME = 'atrium-worker';

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): string };
}

let trustedWorkerUrl: string | undefined;

/** Prove a log. Throws InvalidInput. */
export function runProof(job: ProofJob, onProgress: (count: number) => void): Promise<ProvenLog> {
  return countLines(job.text) < MIN_WORKER_ENTRIES ? proveLog(job, onProgress) : proveInWorker(job, onProgress);
}

/** Return the number of lines, as far as it decides where the proof runs. */
function countLines(text: string): number {
  let count = 0;
  for (let end = text.indexOf('\n'); end >= 0 && count < MIN_WORKER_ENTRIES; end = text.indexOf('\n', end + 1)) count += 1;
  return count;
}

function proveInWorker(job: ProofJob, onProgress: (count: number) => void): Promise<ProvenLog> {
  const worker = new Worker(getTrustedUrl(), { type: 'module' });
  const result = new Promise<ProvenLog>((resolve, reject) => {
    worker.onerror = (event) => reject(new Error(event.message || 'The browser could not start the check.'));
    worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => {
      if (data.kind === 'progress') onProgress(data.count);
      else if (data.kind === 'proven') resolve(data.result);
      else reject(data.kind === 'invalid' ? new InvalidInput(data.message, data.sequence) : new Error(data.message));
    };
    worker.postMessage(job);
  });
  return result.finally(() => worker.terminate());
}

/** Return the URL of the worker's script. The policy of the page accepts no other text as the URL of a script. */
function getTrustedUrl(): string {
  if (trustedWorkerUrl === undefined) {
    const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
    const policy = trustedTypes?.createPolicy(POLICY_NAME, { createScriptURL: requireWorkerUrl });
    trustedWorkerUrl = policy?.createScriptURL(workerUrl) ?? workerUrl;
  }
  return trustedWorkerUrl;
}

function requireWorkerUrl(url: string): string {
  if (url !== workerUrl) throw new TypeError('This is not the script of the worker.');
  return url;
}
