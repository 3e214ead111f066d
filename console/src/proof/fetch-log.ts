/** Reads a complete log: in one response or, if that would be too large, in parts by time. */

import type { Client } from '../api/client';
import { ApiProblem } from '../api/problems';
import type { ExportedLog } from './prove';

/** Entries that are requested at once. A part with more than the service exports at once is divided. */
const ENTRIES_PER_PART = 5_000;
/** Time by which the first entry can be older than the organization, because it gets its time earlier. */
const CLOCK_TOLERANCE_MS = 60_000;

/** The sequence at the end of a line. Entries that have none yet come after the checkpoint. */
const SEQUENCE = /,"sequence":(\d+),"integrity":\{[^{}]*\}\}$/;

/** Fetch a log. `onProgress` receives the numbers of loaded entries and of all. */
export async function fetchLog(
  client: Client,
  organizationId: string,
  onProgress: (count: number, total: number) => void,
): Promise<ExportedLog> {
  try {
    const text = await client.organizations.auditLog.export(organizationId, { evidence: true });
    return { text, checkpoint: null };
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return fetchInParts(client, organizationId, onProgress);
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof ApiProblem && error.code === 'export_too_large';
}

async function fetchInParts(
  client: Client,
  organizationId: string,
  onProgress: (count: number, total: number) => void,
): Promise<ExportedLog> {
  const { log } = await client.organizations.getSummary(organizationId);
  const { createdAt } = await client.organizations.get(organizationId);
  if (!log?.checkpoint) throw new Error('The log has no checkpoint yet.');
  const start = Date.parse(createdAt) - CLOCK_TOLERANCE_MS;
  const partMs = Math.ceil((Date.now() + CLOCK_TOLERANCE_MS - start) / Math.ceil(log.size / ENTRIES_PER_PART));
  const lines: string[] = [];
  for (let from = start; from <= Date.now() + CLOCK_TOLERANCE_MS; from += partMs) {
    for await (const part of exportBetween(client, organizationId, from, from + partMs - 1)) {
      for (const line of part.split('\n')) if (SEQUENCE.test(line)) lines.push(line);
      onProgress(Math.min(lines.length, log.size), log.size);
    }
  }
  return { text: sortBySequence(lines).map((line) => `${line}\n`).join(''), checkpoint: log.checkpoint };
}

/** Yield the lines of the entries in a range of times, which is divided until each part fits into a response. */
async function* exportBetween(client: Client, organizationId: string, from: number, to: number): AsyncGenerator<string> {
  try {
    const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    yield await client.organizations.auditLog.export(organizationId, range);
  } catch (error) {
    if (!isTooLarge(error) || from === to) throw error;
    const middle = Math.floor((from + to) / 2);
    yield* exportBetween(client, organizationId, from, middle);
    yield* exportBetween(client, organizationId, middle + 1, to);
  }
}

// Entries get their sequence when they are appended, which need not be in the order of their times.
function sortBySequence(lines: readonly string[]): string[] {
  const numbered = lines.map((line) => ({ line, sequence: Number(SEQUENCE.exec(line)?.[1]) }));
  return numbered.sort((first, second) => first.sequence - second.sequence).map(({ line }) => line);
}
