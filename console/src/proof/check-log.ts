/** Checks the log of an organization: its entries against its checkpoint, and this against the last one that was seen. */

import type { Client } from '../api/client';
import { toUtf8 } from '../log/bytes';
import { type Checkpoint, parsePublicKeys, verifyCheckpointNote } from '../log/checkpoints';
import { InvalidInput } from '../log/errors';
import { isSameTree, proveGrowth } from '../log/receipts';
import { fetchLog } from './fetch-log';
import { type KnownCheckpoint, keepCheckpoint, readKnownCheckpoint } from './known-checkpoints';
import type { ProvenLog } from './prove';
import { runProof } from './run';
import { requireOrigin } from './origin';

const ENTRIES_PER_REPORT = 250;

/** How far a check is. */
export interface Progress {
  step: 'loading' | 'checking';
  count: number;
  /** The number of all entries. Null while it is not known. */
  total: number | null;
}

export type Verdict =
  | { kind: 'proven'; log: ProvenLog; checkedAt: string; earlier: KnownCheckpoint | null }
  | { kind: 'broken'; message: string; sequence: number | null; checkpoints: readonly string[] };

/** Check a log. Errors of requests are thrown: they say nothing about the log. */
export async function checkLog(client: Client, organizationId: string, onProgress: (progress: Progress) => void): Promise<Verdict> {
  onProgress({ step: 'loading', count: 0, total: null });
  const { auditPublicKeys: keys } = await client.status.get();
  const exported = await fetchLog(client, organizationId, (count, total) => onProgress({ step: 'loading', count, total }));
  const checkpoints: string[] = [];
  try {
    const log = await runProof({ ...exported, keys }, (count) => {
      if (count % ENTRIES_PER_REPORT === 0) onProgress({ step: 'checking', count, total: null });
    });
    requireOrigin(log.origin, organizationId);
    checkpoints.push(log.checkpoint);
    const earlier = readKnownCheckpoint(log.origin);
    if (earlier) {
      checkpoints.unshift(earlier.note);
      await verifyGrowthSince(client, organizationId, earlier, log.checkpoint, keys);
    }
    keepCheckpoint(log.origin, log.checkpoint);
    return { kind: 'proven', log, checkedAt: new Date().toISOString(), earlier };
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    return { kind: 'broken', message: error.message, sequence: error.sequence ?? null, checkpoints };
  }
}

/** Verify that the log begins with the one that this browser proved earlier. Throws InvalidInput. */
async function verifyGrowthSince(
  client: Client,
  organizationId: string,
  earlier: KnownCheckpoint,
  note: string,
  keyTexts: readonly string[],
): Promise<void> {
  const keys = parsePublicKeys(keyTexts);
  const known = await verifyCheckpointNote(earlier.note, keys).catch(() => {
    throw new InvalidInput(
      `On ${dateOf(earlier)} this browser proved a checkpoint, and the service no longer names the key that signed it.`,
    );
  });
  const current = await verifyCheckpointNote(note, keys);
  if (isSameTree(known, current)) return;
  if (known.size >= current.size) throw describeRewriting(known, current, earlier);
  const query = { from: known.size, to: current.size };
  const proof = await client.organizations.auditLog.getConsistencyProof(organizationId, query);
  await proveGrowth(toUtf8(JSON.stringify(proof)), [known, current], keys).catch((error: unknown) => {
    throw error instanceof InvalidInput ? describeRewriting(known, current, earlier) : error;
  });
}

function describeRewriting(known: Checkpoint, current: Checkpoint, earlier: KnownCheckpoint): InvalidInput {
  const change = current.size < known.size ? `It has only ${current.size} entries now` : 'It no longer begins with them';
  return new InvalidInput(
    `The history was rewritten. On ${dateOf(earlier)} this browser proved a log with ${known.size} entries. ${change}.`,
  );
}

function dateOf({ provenAt }: KnownCheckpoint): string {
  return provenAt.slice(0, 10);
}
