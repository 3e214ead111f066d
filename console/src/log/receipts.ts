/** Receipts: the proof of one entry, and the proof that a log has only grown. */

import { areEqual, type Bytes, fromHex, toHex, toUtf8 } from "./bytes";
import { type Checkpoint, verifyCheckpointNote } from "./checkpoints";
import { InvalidInput } from "./errors";
import { type Entry, iterateIntactEntries } from "./exports";
import { canonicalJson, isHexHash, isObject, type JsonObject, parseHashes, parseJson } from "./json";
import { rootOfInclusionPath, type Tree, verifyGrowth } from "./tree";

/** What is proven about the entry of a receipt. */
export interface ReceiptResult {
  readonly origin: string;
  readonly size: number;
  readonly entryId: string;
  readonly sequence: number;
  readonly isErased: boolean;
  readonly checkpoint: Checkpoint;
}

/** What is proven about two checkpoints: the log with `second` entries begins with the `first` entries. */
export interface GrowthResult {
  readonly origin: string;
  readonly first: number;
  readonly second: number;
}

export function notA(what: string): InvalidInput {
  return new InvalidInput(`This is no ${what}: save the response of the service as it is.`);
}

/** Verifies the proof of an entry, as the service sent it. Throws InvalidInput. */
export async function proveReceipt(bytes: Bytes, keys: readonly Bytes[]): Promise<ReceiptResult> {
  const receipt = parseJson(bytes, "receipt");
  if (!isReceipt(receipt)) throw notA("receipt");
  const checkpoint = await verifyCheckpointNote(receipt.checkpoint, keys);
  const entry = await verifyEntry(receipt.entry, checkpoint);
  const { sequence, treeSize: size } = receipt;
  const isOfEntry = entry.sequence === sequence && toHex(entry.leaf) === receipt.leafHash;
  if (!isOfEntry || sequence > entry.treeSize || entry.treeSize > checkpoint.size) {
    throw new InvalidInput("The receipt was altered: its sequence, hash and tree size are not those of the entry.", sequence);
  }
  const root = await rootOfInclusionPath(sequence - 1, size, entry.leaf, parseHashes(receipt, "path"));
  if (root === undefined || toHex(root) !== receipt.rootHash) {
    throw new InvalidInput(
      "The path does not lead from the entry to `rootHash`. Save the response of the service again.",
      sequence,
    );
  }
  await verifyGrowth({ size, root }, checkpoint, parseHashes(receipt, "consistencyPath"));
  return { ...checkpoint, checkpoint, entryId: receipt.entry.id, sequence, isErased: entry.isErased };
}

/** Returns one sentence that states what is proven. */
export function describeReceipt({ origin, entryId, sequence, size, isErased }: ReceiptResult): string {
  const state = isErased ? "erased" : "unaltered";
  return `${origin}: the entry ${entryId} with sequence ${sequence} is proven to be in the signed tree of ${size} entries: ${state}.`;
}

/**
 * Verifies that a log has only grown between saved checkpoints: the earlier one and, if there is one, the later one.
 * Throws InvalidInput.
 */
export async function proveGrowth(
  bytes: Bytes,
  saved: readonly [Checkpoint, Checkpoint?],
  keys: readonly Bytes[],
): Promise<GrowthResult> {
  const proof = parseJson(bytes, "proof");
  if (!isGrowthProof(proof)) throw notA("proof of consistency");
  const newest = await verifyCheckpointNote(proof.checkpoint, keys);
  const { from: firstSize, to: secondSize } = proof;
  const [earlier, later] = saved;
  requireProofOf(earlier, firstSize, newest.origin);
  if (later) requireProofOf(later, secondSize, newest.origin);
  const second: Tree = { size: secondSize, root: later?.root ?? fromHex(proof.toRootHash) };
  await verifyGrowth({ size: firstSize, root: earlier.root }, second, parseHashes(proof, "path"));
  await verifyGrowth(second, newest, parseHashes(proof, "consistencyPath"));
  return { origin: newest.origin, first: firstSize, second: secondSize };
}

/** Returns one sentence that states what is proven. */
export function describeGrowth({ origin, first, second }: GrowthResult): string {
  return `${origin}: the log with ${second} entries is proven to begin with the ${first} entries of the earlier checkpoint.`;
}

function requireProofOf(checkpoint: Checkpoint, size: number, origin: string): void {
  if (checkpoint.origin === origin && checkpoint.size === size) return;
  throw new InvalidInput(
    `The proof is about ${origin} with ${size} entries, and the checkpoint about ${checkpoint.origin} ` +
      `with ${checkpoint.size}: request a proof with the sizes in the checkpoints.`,
  );
}

interface Receipt extends JsonObject {
  readonly entry: JsonObject & { readonly id: string };
  readonly leafHash: string;
  readonly sequence: number;
  readonly treeSize: number;
  readonly rootHash: string;
  readonly checkpoint: string;
}

function isReceipt(value: unknown): value is Receipt {
  return (
    isObject(value) &&
    isObject(value.entry) &&
    [value.entry.id, value.leafHash, value.rootHash, value.checkpoint].every((each) => typeof each === "string") &&
    [value.sequence, value.treeSize].every(Number.isInteger) &&
    Array.isArray(value.path)
  );
}

interface GrowthProof extends JsonObject {
  readonly from: number;
  readonly to: number;
  readonly toRootHash: string;
  readonly checkpoint: string;
}

function isGrowthProof(value: unknown): value is GrowthProof {
  return (
    isObject(value) &&
    [value.from, value.to].every(Number.isInteger) &&
    isHexHash(value.toRootHash) &&
    Array.isArray(value.path) &&
    typeof value.checkpoint === "string"
  );
}

/** Returns the position of an entry, after verifying its hash or, if it is erased, its signature. */
async function verifyEntry(content: JsonObject, checkpoint: Checkpoint): Promise<Entry> {
  const { sequence = null, integrity = null, ...fields } = content;
  let line: Bytes;
  try {
    const text = canonicalJson(fields).slice(0, -1);
    line = toUtf8(`${text},"sequence":${JSON.stringify(sequence)},"integrity":${JSON.stringify(integrity)}}`);
  } catch (error) {
    throw error instanceof RangeError ? notA("receipt") : error;
  }
  const { value } = await iterateIntactEntries([line], checkpoint).next();
  return value as Entry;
}

/** Returns whether a checkpoint is that of another one. */
export function isSameTree(first: Tree, second: Tree): boolean {
  return first.size === second.size && areEqual(first.root, second.root);
}
