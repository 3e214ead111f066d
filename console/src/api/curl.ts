/** Writes a call of the API as a curl command, so that people can automate what they see. */

import type { Client } from './client';
import { createClient } from './full-client';

/**
 * Return the curl command for a call, which is not sent. The token is taken from the variable ATRIUM_TOKEN, and never
 * copied.
 */
export async function createCurlCommand(baseUrl: string, call: (client: Client) => PromiseLike<unknown>): Promise<string> {
  let captured: Request | undefined;
  const capture = (request: Request): Promise<Response> => {
    captured = request;
    return Promise.reject(new Error('The request was captured.'));
  };
  await call(createClient({ baseUrl, fetch: capture })).then(null, () => undefined);
  if (!captured) throw new Error('The call sent no request.');
  return writeCommand(captured, await captured.text());
}

function writeCommand({ method, url, headers }: Request, body: string): string {
  const names = ['If-Match', 'Idempotency-Key', 'Content-Type'];
  const lines = names.flatMap((name) => (headers.has(name) ? `-H ${quote(`${name}: ${headers.get(name)}`)}` : []));
  return [
    `curl -X ${method} ${quote(url)}`,
    '-H "Authorization: Bearer $ATRIUM_TOKEN"',
    ...lines,
    ...(body ? [`-d ${quote(body)}`] : []),
  ].join(' \\\n  ');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
