/** Checkpoints: the signed heads of logs (c2sp.org/tlog-checkpoint and c2sp.org/signed-note). */

import { areEqual, base64BytesOrEmpty, type Bytes, concatenate, fromUtf8, startsWith, toUtf8 } from "./bytes";
import { InvalidInput, UsageError } from "./errors";
import { isObject, parseJson } from "./json";
import { type OmittedRun, omittedRunsOfJson } from "./evidence";
import { HASH_BYTES, sha256, type Tree } from "./tree";

const ED25519 = Uint8Array.of(1);
const KEY_ID_BYTES = 4;
const TREE_SIZE = /^(?:0|[1-9][0-9]{0,14})$/;
const SIGNATURE_LINE = /^— (?<name>[^\s+]+) (?<bytes>[A-Za-z0-9+/=]+)$/u;

/** The signed head of a log, and the public keys that the caller accepts. */
export interface Checkpoint extends Tree {
  readonly origin: string;
  readonly keys: readonly Bytes[];
}

/** A signature in a note: who signed, and the id of the key followed by the signature. */
export interface NoteSignature {
  readonly name: string;
  readonly bytes: Bytes;
}

/** Returns whether an Ed25519 public key has signed a text (RFC 8032). */
export async function isSigned(text: Bytes, signature: Bytes, key: Bytes): Promise<boolean> {
  try {
    const imported = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
    return await crypto.subtle.verify("Ed25519", imported, signature, text);
  } catch (error) {
    if (error instanceof DOMException && error.name === "NotSupportedError") throw error;
    return false;
  }
}

/** Returns the first bytes of a hash, which name a key in signatures. */
export async function keyId(text: Bytes): Promise<Bytes> {
  return (await sha256(text)).slice(0, KEY_ID_BYTES);
}

/** Returns the id of a key, and the signature that follows it. */
export function splitKeyId(signature: Bytes): [Bytes, Bytes] {
  return [signature.slice(0, KEY_ID_BYTES), signature.slice(KEY_ID_BYTES)];
}

/** Returns the public keys in base64, as `auditPublicKeys` of `GET /status` has them. Throws UsageError. */
export function parsePublicKeys(texts: readonly string[]): Bytes[] {
  const keys = texts.map(base64BytesOrEmpty);
  if (keys.length === 0 || keys.some((key) => key.length !== HASH_BYTES)) {
    throw new UsageError("A public key is 32 bytes in base64, as `auditPublicKey` of GET /status has it.");
  }
  return keys;
}

/** Returns the signed text of a note, its final newline included, and its signature lines. */
export function splitNote(note: string): { text: string; signatureLines: string[] } {
  // Trailing newlines are not signed, and shells often add one.
  const trimmed = note.replace(/\n+$/, "");
  const end = trimmed.lastIndexOf("\n\n");
  return { text: `${trimmed.slice(0, Math.max(end, 0))}\n`, signatureLines: trimmed.slice(end < 0 ? 0 : end + 2).split("\n") };
}

/** Returns a signature in a note, or undefined if the line is malformed. */
export function parseSignatureLine(line: string): NoteSignature | undefined {
  const groups = SIGNATURE_LINE.exec(line)?.groups;
  return groups && { name: groups.name as string, bytes: base64BytesOrEmpty(groups.bytes as string) };
}

/** Returns the checkpoint in a note after verifying its signature. Throws InvalidInput. */
export async function verifyCheckpointNote(note: string, keys: readonly Bytes[]): Promise<Checkpoint> {
  const { text, signatureLines } = splitNote(note);
  const [origin = "", size = "", root = ""] = text.slice(0, -1).split("\n");
  const signatures = signatureLines.map(parseSignatureLine);
  const rootHash = base64BytesOrEmpty(root);
  const isWellFormed = TREE_SIZE.test(size) && rootHash.length === HASH_BYTES && !text.includes("\r");
  if (!isWellFormed || signatures.includes(undefined)) {
    throw new InvalidInput("This is no checkpoint: pass `checkpoint` of verify-integrity as it is.");
  }
  const named = signatures.filter((each) => each?.name === origin).map((each) => (each as NoteSignature).bytes);
  if (!(await hasValidSignature(origin, toUtf8(text), named, keys))) {
    throw new InvalidInput("No --public-key signed the checkpoint: pass each of auditPublicKeys of GET /status.");
  }
  return { origin, size: Number(size), root: rootHash, keys };
}

/** Returns whether one of the keys has signed. Throws InvalidInput if a signature of one of the keys is wrong. */
async function hasValidSignature(
  origin: string,
  text: Bytes,
  signatures: readonly Bytes[],
  keys: readonly Bytes[],
): Promise<boolean> {
  let isFound = false;
  const ids = await Promise.all(keys.map((key) => keyId(concatenate(toUtf8(`${origin}\n`), ED25519, key))));
  for (const bytes of signatures) {
    const [id, signature] = splitKeyId(bytes);
    const key = keys[ids.findLastIndex((each) => areEqual(each, id))];
    if (key === undefined) continue;
    if (!(await isSigned(text, signature, key))) {
      throw new InvalidInput("The checkpoint was altered: its signature is wrong.");
    }
    isFound = true;
  }
  return isFound;
}

/** Returns a checkpoint note and, if the text is a JSON record, its evidence. Throws InvalidInput. */
export function parseNoteOrRecord(bytes: Bytes): { note: string; evidence: OmittedRun[] | undefined } {
  const text = fromUtf8(bytes);
  if (!startsWith(toUtf8(text.trimStart()), toUtf8("{"))) return { note: text, evidence: undefined };
  const record = parseJson(bytes, "checkpoint");
  if (!isObject(record) || typeof record.checkpoint !== "string") {
    throw new UsageError("the record has no checkpoint: get it again once the export is completed");
  }
  const evidence = record.evidence ?? undefined;
  return { note: record.checkpoint, evidence: evidence === undefined ? undefined : omittedRunsOfJson(evidence) };
}
