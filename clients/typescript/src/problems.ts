/** The errors that calls throw. */

import type { FieldError, Problem } from './generated/schema.ts';

/** What went wrong, for programs. The meaning of a code never changes. */
export type ProblemCode = Problem['code'];

/** Base of all errors of the client. */
export class AtriumError extends Error {}

/** The service did not answer, or not in time. */
export class ConnectionFailed extends AtriumError {}

/** The answer is not that of Atrium: a proxy may have answered, or `baseUrl` is wrong. */
export class UnexpectedAnswer extends AtriumError {
  /** The status, or null if it was that of a success. */
  readonly status: number | null;

  constructor(message: string, status: number | null, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The service rejected the request (RFC 9457). The subclasses are the statuses that programs tell apart. */
export class ApiProblem extends AtriumError {
  readonly status: number;
  /** What went wrong, for programs. */
  readonly code: ProblemCode;
  /** A short description of the code, for people. */
  readonly title: string;
  /** What is wrong with this request, for people. */
  readonly detail: string;
  /** The errors of the fields and parameters of the request. `pointer` is a JSON Pointer (RFC 6901). */
  readonly errors: readonly FieldError[];
  /** Identifies the request for those who run the service. */
  readonly requestId: string | null;
  /** How many seconds to wait before the request is sent again. */
  readonly retryAfterSeconds: number | null;
  /** The id of the record that already exists, if the caller may read it. */
  readonly existingId: string | null;

  constructor(problem: Partial<Problem>, response: Response) {
    const { status, headers } = response;
    const { code = status === 429 ? 'rate_limited' : 'unavailable', title = response.statusText || code } = problem;
    const { detail = title, errors = [] } = problem;
    super([`${status} ${code}: ${detail}`, ...errors.map((each) => `${each.pointer}: ${each.detail}`)].join('\n  '));
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = detail;
    this.errors = errors;
    this.requestId = problem.requestId ?? headers.get('X-Request-Id');
    this.retryAfterSeconds = readRetryAfterOrNull(headers);
    this.existingId = problem.existingId ?? null;
  }
}

/** 400, 405, 413, 415: the request is malformed. */
export class InvalidRequest extends ApiProblem {}
/** 401: the credential is missing, invalid or expired. */
export class Unauthenticated extends ApiProblem {}
/** 403: the caller's role or scope does not suffice. */
export class Forbidden extends ApiProblem {}
/** 404: there is no such record, or the caller must not see it. */
export class NotFound extends ApiProblem {}
/** 409: the request contradicts the state of a record. */
export class Conflict extends ApiProblem {}
/** 410: the record has ended, such as an expired invitation. */
export class Gone extends ApiProblem {}
/** 412: the record has changed since its ETag was read. */
export class PreconditionFailed extends ApiProblem {}
/** 422: fields or parameters are invalid. `errors` names them. */
export class ValidationFailed extends ApiProblem {}
/** 429: the caller sent too many requests. */
export class RateLimited extends ApiProblem {}
/** 500 and above: the service failed. */
export class ServiceUnavailable extends ApiProblem {}

// Minifiers shorten the names of classes, so those that logs show are texts.
const NAMED = { AtriumError, ConnectionFailed, UnexpectedAnswer, ApiProblem, InvalidRequest, Unauthenticated, Forbidden };
const ALSO_NAMED = { NotFound, Conflict, Gone, PreconditionFailed, ValidationFailed, RateLimited, ServiceUnavailable };
for (const [name, { prototype }] of Object.entries({ ...NAMED, ...ALSO_NAMED })) {
  Object.defineProperty(prototype, 'name', { value: name });
}

const CLASSES: Readonly<Record<number, typeof ApiProblem>> = {
  401: Unauthenticated,
  403: Forbidden,
  404: NotFound,
  409: Conflict,
  410: Gone,
  412: PreconditionFailed,
  422: ValidationFailed,
  429: RateLimited,
};

/**
 * Return the error of an answer. `body` is parsed if it is JSON.
 *
 * Gateways in front of the service answer 429 and 5xx without a problem. Any other such answer is not that of Atrium.
 */
export function createProblem(body: unknown, response: Response): ApiProblem | UnexpectedAnswer {
  const { status } = response;
  const problem = isProblem(body) ? body : {};
  if (!('code' in problem) && status < 500 && status !== 429) {
    return new UnexpectedAnswer(`Status ${status} without a problem of Atrium. Check baseUrl.`, status);
  }
  return new (CLASSES[status] ?? (status < 500 ? InvalidRequest : ServiceUnavailable))(problem, response);
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'status' in body;
}

/** Return the seconds of `Retry-After`, which can also be a date. */
function readRetryAfterOrNull(headers: Headers): number | null {
  const value = headers.get('Retry-After') ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  const time = Date.parse(value);
  return Number.isNaN(time) ? null : Math.max(0, Math.ceil((time - Date.now()) / 1000));
}
