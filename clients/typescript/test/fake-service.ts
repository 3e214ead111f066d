/** A service in place of `fetch`, which answers as the test says and records what it was asked. */

import { Atrium, type AtriumSettings } from '../src/index.ts';

export const BASE_URL = 'https://api.example.com/api';

export interface RecordedRequest {
  method: string;
  path: string;
  headers: Headers;
  body: unknown;
}

type FakeAnswer = Response | Error | ((request: Request) => Response | Promise<Response>);

/** Return a client whose requests get the answers in their order, and the requests that it sent. */
export function createFakeService(answers: FakeAnswer[], settings: Partial<AtriumSettings> = {}) {
  const requests: RecordedRequest[] = [];
  const client = new Atrium({
    baseUrl: BASE_URL,
    fetch: async (request) => {
      const text = await request.clone().text();
      const body = text ? JSON.parse(text) : undefined;
      const path = request.url.replace(BASE_URL, '');
      requests.push({ method: request.method, path, headers: request.headers, body });
      const answer = answers.shift();
      if (answer === undefined) throw new Error('The service was asked more often than the test expects.');
      if (answer instanceof Error) throw answer;
      return typeof answer === 'function' ? answer(request) : answer;
    },
    ...settings,
  });
  return { client, requests };
}

export function json(body: unknown, init: ResponseInit = {}): Response {
  return Response.json(body, init);
}

export function problem(status: number, code: string, fields: object = {}, headers: HeadersInit = {}): Response {
  const body = { type: `urn:atrium:problem:${code}`, title: 'Title', status, detail: 'Detail.', code, ...fields };
  return Response.json(body, { status, headers: { 'Content-Type': 'application/problem+json', ...headers } });
}
