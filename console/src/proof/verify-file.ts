/** Verifies saved files: receipts, and exports with their checkpoint. */

import type { AuditExport } from '../api/client';
import { type Bytes, startsWith, toUtf8 } from '../log/bytes';
import { parseNoteOrRecord, parsePublicKeys, verifyCheckpointNote } from '../log/checkpoints';
import { InvalidInput, UsageError } from '../log/errors';
import { type OmittedRun, omittedRunsOfJson } from '../log/evidence';
import { CHECKPOINT_KEY, splitLines } from '../log/exports';
import { describeProof, proveExport } from '../log/proof';
import { describeReceipt, proveReceipt } from '../log/receipts';
import { requireOrigin } from './origin';
import type { FileVerdict } from './verdict-notice';

const GZIP_START = Uint8Array.of(0x1f, 0x8b);

/** Verify the file of an export in the background, given its record. */
export function verifyExportFile(
  file: File,
  record: AuditExport,
  organizationId: string,
  keys: readonly string[],
): Promise<FileVerdict> {
  return judge(async () => {
    if (record.checkpoint === null) throw new UsageError('The export has no checkpoint yet.');
    const evidence = record.evidence === null ? undefined : omittedRunsOfJson(record.evidence);
    const verdict = await describeExport(splitLines(inOneChunk(await readFile(file))), record.checkpoint, evidence, keys);
    requireOrigin(verdict.origin, organizationId);
    return verdict.text;
  });
}

/** Verify a receipt, or an export whose first line has the checkpoint. */
export function verifyFile(file: Blob, keys: readonly string[]): Promise<FileVerdict> {
  return judge(async () => {
    const bytes = await readFile(file);
    if (!startsWith(bytes, CHECKPOINT_KEY)) return describeReceipt(await proveReceipt(bytes, parsePublicKeys(keys)));
    const lines = splitLines(inOneChunk(bytes));
    const { note, evidence } = parseNoteOrRecord((await lines.next()).value ?? new Uint8Array());
    return (await describeExport(lines, note, evidence, keys)).text;
  });
}

async function describeExport(
  lines: AsyncIterable<Bytes>,
  note: string,
  evidence: readonly OmittedRun[] | undefined,
  keys: readonly string[],
): Promise<{ origin: string; text: string }> {
  const result = await proveExport(lines, await verifyCheckpointNote(note, parsePublicKeys(keys)), evidence);
  return { origin: result.origin, text: describeProof(result) };
}

/** Return what is proven, or why it is not. Errors that say nothing about the file are thrown. */
async function judge(describe: () => Promise<string>): Promise<FileVerdict> {
  try {
    return { isProven: true, text: await describe() };
  } catch (error) {
    if (error instanceof InvalidInput || error instanceof UsageError) return { isProven: false, text: error.message };
    throw error;
  }
}

/** Return the bytes of a file, decompressed if it is gzip. Throws UsageError. */
async function readFile(file: Blob): Promise<Bytes> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (!startsWith(bytes, GZIP_START)) return bytes;
  try {
    const stream = file.stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    // Files over 5 MB consist of several gzip members, of which browsers read only the first.
    throw new UsageError('The browser cannot decompress this file. Decompress it with gunzip, and choose the result.');
  }
}

async function* inOneChunk(bytes: Bytes): AsyncGenerator<Bytes> {
  yield bytes;
}

/** Return a text as a file, without the spaces around it. */
export function toFile(text: string): Blob {
  return new Blob([toUtf8(text.trim())]);
}
