/** The settings of a client, and the options of its calls. */

/** Where the API is, and who calls it. With none of the credentials, requests are anonymous. */
export interface AtriumSettings {
  /** The URL of the service, such as `https://api.example.com`. */
  baseUrl: string;
  /** A user's access token that does not change. */
  token?: string | undefined;
  /**
   * Return a user's access token, or null for an anonymous request. It is called for each attempt, so keep the token.
   * After a response 401 it is called once more with `refresh: true`, and the request is repeated with a new token.
   */
  getToken?: ((request: TokenRequest) => TokenResult | Promise<TokenResult>) | undefined;
  /** An API key or a service key. */
  apiKey?: string | undefined;
  /** The token of a signed link. */
  linkToken?: string | undefined;
  /** A function to use in place of the global `fetch`. */
  fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Whether misspelled query parameters are errors instead of being ignored. The default is true. */
  strict?: boolean | undefined;
  /** The time for each attempt, in milliseconds. The default is 30,000. */
  timeoutMs?: number | undefined;
  /** How often a request is repeated after a failure that may pass. The default is 3. */
  maxRetries?: number | undefined;
  /** The longest `Retry-After` that is waited for, in seconds. The default is 60. Beyond it, the call fails at once. */
  maxRetryAfterSeconds?: number | undefined;
  /** Headers of all requests. */
  headers?: Record<string, string> | undefined;
}

export interface TokenRequest {
  /** Whether the last token was refused, so that a new one is needed. */
  refresh: boolean;
}

export type TokenResult = string | null | undefined;

/** Options of every call. */
export interface CallOptions {
  /** Cancels the call. */
  signal?: AbortSignal | undefined;
  /** The time for each attempt, in milliseconds. */
  timeoutMs?: number | undefined;
  /** How often the request is repeated after a failure that may pass. */
  maxRetries?: number | undefined;
  /** Further headers. */
  headers?: Record<string, string> | undefined;
}

/** Options of a read. */
export interface ReadOptions extends CallOptions {
  /** See `ConditionalOptions`. */
  ifNoneMatch?: undefined;
}

/** Options of a read that is only answered if the record has changed. Otherwise the result is undefined. */
export interface ConditionalOptions extends CallOptions {
  /** The ETag of your copy. */
  ifNoneMatch: string;
}

/** Options of a change. */
export interface ChangeOptions extends CallOptions {
  /** The ETag of the record as you read it. If it has changed since, the call throws `PreconditionFailed`. */
  ifMatch?: string | null | undefined;
}

/** Options of a change that creates the record if it does not exist. */
export interface CreateOnlyOptions extends CallOptions {
  /** With `*`, the record is only created. If it exists already, the call throws `PreconditionFailed`. */
  ifNoneMatch?: '*' | undefined;
}

/** Options of a POST. */
export interface CreateOptions extends CallOptions {
  /**
   * A key of your own, with which other processes can repeat the request without repeating its effect. By default, each
   * call has a key of its own, which its retries reuse.
   */
  idempotencyKey?: string | undefined;
}

/** Options of a call for the person who submitted a lead. */
export interface LeadOptions extends CallOptions {
  /** The token from the response that created the lead. */
  leadToken: string;
}
