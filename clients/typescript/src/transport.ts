/** Sends requests: headers, credentials, timeouts, and the errors of answers. */

import createFetchClient from 'openapi-fetch';
import { API_VERSION } from './generated/resources.ts';
import type { AtriumSettings, CallOptions } from './options.ts';
import type { Answer } from './pagination.ts';
import { AtriumError, ConnectionFailed, createProblem, Unauthenticated, UnexpectedAnswer } from './problems.ts';
import { withRetries } from './retries.ts';

const TIMEOUT_MS = 30_000;
const MAX_RETRIES = 3;
const MAX_RETRY_AFTER_SECONDS = 60;

/** The options that set a header of their operation. */
const HEADERS_BY_OPTION = {
  ifMatch: 'If-Match',
  ifNoneMatch: 'If-None-Match',
  idempotencyKey: 'Idempotency-Key',
  leadToken: 'Lead-Token',
} as const;

/** The options of all kinds of calls. `query` is that of an operation with a body. */
export type AnyOptions = CallOptions & { query?: object } & {
  [Option in keyof typeof HEADERS_BY_OPTION]?: string | null | undefined;
};

/** A request without credential. */
export interface OperationCall {
  method: string;
  /** The path as in the OpenAPI document, such as `/organizations/{organization_id}`. */
  path: string;
  pathValues: Record<string, string>;
  query: object | undefined;
  body: object | undefined;
  isText: boolean;
}

/** The part of openapi-fetch's client that is used here. Its types are per path, and the resources have their own. */
type SendRequest = (
  method: string,
  path: string,
  init: object,
) => Promise<{ data?: unknown; error?: unknown; response: Response }>;

/** Sends requests to one service as one caller. */
export class Transport {
  readonly #settings: AtriumSettings;
  readonly #request: SendRequest;

  constructor(settings: AtriumSettings) {
    this.#settings = settings;
    // Answers can contain secrets, so no cache stores them. The credential is a header, so cookies are not needed.
    const init = { baseUrl: settings.baseUrl, cache: 'no-store', credentials: 'omit' } as const;
    const client = createFetchClient<object>({ ...init, ...(settings.fetch && { fetch: settings.fetch }) });
    this.#request = client.request as SendRequest;
  }

  /** Send a request, repeat it after failures that may pass, and return its record. */
  async send<T>(call: OperationCall, options: AnyOptions): Promise<Answer<T>> {
    checkPathValues(call.pathValues);
    const headers = this.#createHeaders(call, options);
    const { maxRetryAfterSeconds = MAX_RETRY_AFTER_SECONDS } = this.#settings;
    const { signal, maxRetries = this.#settings.maxRetries ?? MAX_RETRIES } = options;
    const retrySettings = { maxRetries, maxRetryAfterSeconds, signal };
    return withRetries(() => this.#sendOnceOrRefresh<T>(call, headers, options), retrySettings);
  }

  #createHeaders(call: OperationCall, options: AnyOptions): Headers {
    const { strict = true, linkToken, headers } = this.#settings;
    const created = new Headers({ ...headers, 'API-Version': API_VERSION });
    if (!call.isText) created.set('Accept', 'application/json');
    if (strict) created.set('Prefer', 'handling=strict');
    if (linkToken) created.set('Link-Token', linkToken);
    // Retries have the same key, so the request has its effect once.
    if (call.method === 'POST') created.set('Idempotency-Key', crypto.randomUUID());
    for (const [option, header] of Object.entries(HEADERS_BY_OPTION)) {
      const value = options[option as keyof typeof HEADERS_BY_OPTION];
      if (value) created.set(header, value);
    }
    for (const [name, value] of Object.entries(options.headers ?? {})) created.set(name, value);
    return created;
  }

  async #sendOnceOrRefresh<T>(call: OperationCall, headers: Headers, options: AnyOptions): Promise<Answer<T>> {
    const { token, getToken, apiKey } = this.#settings;
    const credential = token ?? (await getToken?.({ refresh: false })) ?? apiKey;
    try {
      return await this.#sendOnce<T>(call, headers, options, credential);
    } catch (error) {
      if (!(error instanceof Unauthenticated)) throw error;
      const refreshed = token ?? (await getToken?.({ refresh: true }));
      if (!refreshed || refreshed === credential) throw error;
      return this.#sendOnce<T>(call, headers, options, refreshed);
    }
  }

  async #sendOnce<T>(
    call: OperationCall,
    headers: Headers,
    options: AnyOptions,
    credential: string | undefined,
  ): Promise<Answer<T>> {
    const timeoutMs = options.timeoutMs ?? this.#settings.timeoutMs ?? TIMEOUT_MS;
    const timeout = AbortSignal.timeout(timeoutMs);
    const answer = await this.#request(call.method.toLowerCase(), call.path, {
      params: { path: call.pathValues, query: call.query },
      body: call.body,
      headers: { ...Object.fromEntries(headers), ...(credential && { authorization: `Bearer ${credential}` }) },
      parseAs: call.isText ? 'text' : 'json',
      signal: options.signal ? AbortSignal.any([options.signal, timeout]) : timeout,
    }).catch((error: unknown) => {
      throw options.signal?.aborted ? error : describeFailure(error, call, timeout.aborted ? timeoutMs : undefined);
    });
    return readAnswer<T>(answer);
  }
}

function readAnswer<T>({ data, error, response }: { data?: unknown; error?: unknown; response: Response }): Answer<T> {
  const isNotModified = response.status === 304;
  if (!response.ok && !isNotModified) throw createProblem(error, response);
  return { data: data as T, etag: response.headers.get('ETag'), response };
}

/** Return the error of a request without an answer. It names the path without values, because these can be secrets. */
function describeFailure(cause: unknown, { method, path }: OperationCall, timeoutMs: number | undefined): AtriumError {
  if (cause instanceof SyntaxError) {
    return new UnexpectedAnswer(`${method} ${path}: the answer is not JSON. Check baseUrl.`, null, { cause });
  }
  const reason = timeoutMs === undefined ? String(cause) : `no answer within ${timeoutMs} ms`;
  return new ConnectionFailed(`${method} ${path} failed: ${reason}`, { cause });
}

/** Throw TypeError for a value that would lead to another path. */
function checkPathValues(values: Record<string, string>): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'string' || ['', '.', '..'].includes(value)) {
      throw new TypeError(`${name} must be a text with at least one character, and not ${JSON.stringify(value)}.`);
    }
  }
}
