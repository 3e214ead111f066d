/** Repeats requests after failures that may pass: those of the network and the service, and too many requests. */

import { ApiProblem, ConnectionFailed, RateLimited, ServiceUnavailable } from './problems.ts';

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 8_000;

/** How often and how long requests are repeated. */
export interface RetrySettings {
  maxRetries: number;
  /** The longest `Retry-After` that is waited for. Beyond it, the caller decides. */
  maxRetryAfterSeconds: number;
  signal?: AbortSignal | undefined;
}

/** Return the result of the first attempt that succeeds, or throw the error of the last one. */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  { maxRetries, maxRetryAfterSeconds, signal }: RetrySettings,
): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      const waitMs = retries < maxRetries ? waitMsOrNull(error, retries, maxRetryAfterSeconds) : null;
      if (waitMs === null) throw error;
      await sleep(waitMs, signal);
    }
  }
}

/** Return how long to wait after a failure: as the service says, or twice as long each time with jitter. */
export function waitMsOrNull(error: unknown, retries: number, maxRetryAfterSeconds: number): number | null {
  if (!canPass(error)) return null;
  const seconds = error instanceof ApiProblem ? error.retryAfterSeconds : null;
  if (seconds !== null) return seconds > maxRetryAfterSeconds ? null : seconds * 1000;
  return Math.min(FIRST_WAIT_MS * 2 ** retries, MAX_WAIT_MS) * (0.5 + Math.random() / 2);
}

function canPass(error: unknown): boolean {
  if (error instanceof ConnectionFailed || error instanceof RateLimited) return true;
  if (error instanceof ServiceUnavailable) return true;
  // The first attempt of this POST, whose answer was lost, is still at work.
  return error instanceof ApiProblem && error.code === 'idempotency_in_progress';
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
