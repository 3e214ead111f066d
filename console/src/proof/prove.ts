/** Proves a whole log. It runs in the page or, for a long log, in a worker, so its input and its result are plain data. */

import { type Bytes, toUtf8 } from '../log/bytes';
import { parseNoteOrRecord, parsePublicKeys, verifyCheckpointNote } from '../log/checkpoints';
import { splitLines } from '../log/exports';
import { type ProofResult, proveExport } from '../log/proof';

/** A complete log, as the service exports it. */
export interface ExportedLog {
  /** The lines of the entries. */
  text: string;
  /** The signed head. Null if the first line contains it. */
  checkpoint: string | null;
}

export interface ProofJob extends ExportedLog {
  /** The public keys of the service, in base64. */
  keys: readonly string[];
}

/** What is proven, and the checkpoint that says so. */
export interface ProvenLog extends ProofResult {
  checkpoint: string;
}

/** Prove that a log is complete and unaltered. `onProgress` receives counts of entries. Throws InvalidInput. */
export async function proveLog({ text, checkpoint, keys }: ProofJob, onProgress: (count: number) => void): Promise<ProvenLog> {
  const lines = splitLines(inOneChunk(text));
  const note = checkpoint ?? parseNoteOrRecord((await lines.next()).value ?? new Uint8Array()).note;
  const head = await verifyCheckpointNote(note, parsePublicKeys(keys));
  // The whole log was requested, so no evidence can excuse a missing entry.
  return { ...(await proveExport(lines, head, [], onProgress)), checkpoint: note };
}

async function* inOneChunk(text: string): AsyncGenerator<Bytes> {
  yield toUtf8(text);
}
