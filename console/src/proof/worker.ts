/** The worker that proves a long log, so that the page stays responsive. */

import { InvalidInput } from '../log/errors';
import { type ProofJob, proveLog, type ProvenLog } from './prove';

/** What the worker sends. */
export type WorkerMessage =
  | { kind: 'progress'; count: number }
  | { kind: 'proven'; result: ProvenLog }
  | { kind: 'invalid'; message: string; sequence: number | undefined }
  | { kind: 'failed'; message: string };

const ENTRIES_PER_MESSAGE = 500;

const send = (message: WorkerMessage) => postMessage(message);

addEventListener('message', ({ data }: MessageEvent<ProofJob>) => {
  const report = (count: number) => count % ENTRIES_PER_MESSAGE === 0 && send({ kind: 'progress', count });
  proveLog(data, report).then(
    (result) => send({ kind: 'proven', result }),
    (error: unknown) => {
      if (error instanceof InvalidInput) send({ kind: 'invalid', message: error.message, sequence: error.sequence });
      else send({ kind: 'failed', message: String(error) });
    },
  );
});
