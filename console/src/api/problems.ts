/** What the interface says about errors, and what it does about them. */

import { ApiProblem, ConnectionFailed } from 'atrium-client';

export { ApiProblem, ConnectionFailed };

const TITLES: Partial<Record<number, string>> = {
  401: 'You are signed out',
  403: 'Your role does not allow this',
  404: 'Nothing here that you can see',
  410: 'This has ended',
  412: 'Somebody else changed this in the meantime',
  429: 'Too many requests',
};

/** What the interface shows about an error. */
export interface ErrorDescription {
  title: string;
  detail: string;
  code: string;
  requestId: string | null;
}

/** Describe an error for people. Errors that are not answers are faults of the console itself. */
export function describeError(error: unknown): ErrorDescription {
  if (error instanceof ApiProblem) {
    const title = TITLES[error.status] ?? (error.status >= 500 ? 'The service failed' : 'This did not work');
    return { title, detail: error.detail, code: error.code, requestId: error.requestId };
  }
  if (error instanceof ConnectionFailed) {
    const detail = 'The service did not answer. Check your connection.';
    return { title: 'No connection', detail, code: 'offline', requestId: null };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { title: 'This screen failed', detail, code: 'console_fault', requestId: null };
}

/** Return whether an answer has this status. */
export function hasStatus(error: unknown, status: number): error is ApiProblem {
  return error instanceof ApiProblem && error.status === status;
}

/** Return whether sending a read again may help: after failures of the network or the service, and too many requests. */
export function isTransient(error: unknown): boolean {
  return error instanceof ConnectionFailed || (error instanceof ApiProblem && (error.status >= 500 || error.status === 429));
}

/** Return the message about a field of a request, by the pointer to it (RFC 6901), or null if nothing is wrong. */
export function fieldProblemOrNull(error: unknown, pointer: string): string | null {
  if (!(error instanceof ApiProblem)) return null;
  const found = error.errors.find((each) => each.pointer === pointer || each.pointer.startsWith(`${pointer}/`));
  return found ? `This ${found.detail}.` : null;
}
