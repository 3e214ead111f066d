/** Witnesses: the cosignatures of other parties under the history of a log (c2sp.org/tlog-cosignature). */

import { areEqual, base64BytesOrEmpty, type Bytes, concatenate, fromHex, toBase64, toHex, toUtf8 } from "./bytes";
import { type Checkpoint, isSigned, keyId, parseSignatureLine, splitKeyId, splitNote, verifyCheckpointNote } from "./checkpoints";
import { InvalidInput, UsageError } from "./errors";
import { isObject, type JsonObject, parseHashes, parseJson } from "./json";
import { HASH_BYTES, hashLeaf, rootOfInclusionPath, sha256, verifyGrowth } from "./tree";

const LOG_KEY = Uint8Array.of(1);
const COSIGNATURE = 4;
const TIME_BYTES = 8;
/** The last second of the year 9999. */
const MAX_TIME = 253_402_300_799n;
const WITNESS_KEY = /^(?<name>[^\s+]+)\+(?<id>[0-9a-f]{8})\+(?<key>[A-Za-z0-9+/=]+)$/u;
const NO_COSIGNATURES =
  "The receipt has no cosignatures. An entry gets them about an hour after it was written: request the proof again.";
const NO_WITNESS = "`witness` is not what the service sends: save its response as it is.";

/** The key of a witness: its name, its id in signatures, and the Ed25519 public key. */
export interface WitnessKey {
  readonly name: string;
  readonly keyId: Bytes;
  readonly publicKey: Bytes;
}

/** What a verifier demands: cosignatures by `required` of the keys, in the log of anchors with this origin. */
export interface WitnessPolicy {
  readonly keys: readonly WitnessKey[];
  readonly required: number;
  readonly origin: string;
}

/** What the cosignatures prove. `latestAt` is in seconds since 1970. */
export interface WitnessResult {
  readonly origin: string;
  readonly cosigned: number;
  readonly keyCount: number;
  readonly latestAt: number;
}

/** Returns a witness's verifier key, NAME+ID+KEY. Throws UsageError. */
export async function parseWitnessKey(text: string): Promise<WitnessKey> {
  const groups = WITNESS_KEY.exec(text)?.groups as { name: string; id: string; key: string } | undefined;
  const typedKey = base64BytesOrEmpty(groups?.key ?? "");
  if (!groups || typedKey.length !== HASH_BYTES + 1 || typedKey[0] !== COSIGNATURE) {
    throw new UsageError(`'${text}' is no verifier key of a witness, which is NAME+ID+KEY: take it from the witness`);
  }
  const id = await keyId(concatenate(toUtf8(`${groups.name}\n`), typedKey));
  if (toHex(id) !== groups.id) {
    throw new UsageError(`'${text}' was changed: its id is not that of its name and key`);
  }
  return { name: groups.name, keyId: id, publicKey: typedKey.slice(1) };
}

/** Returns the verifier key of a log, which its witnesses need (c2sp.org/signed-note). */
export async function logVerifierKey(origin: string, publicKey: Bytes): Promise<string> {
  const typedKey = concatenate(LOG_KEY, publicKey);
  const id = await keyId(concatenate(toUtf8(`${origin}\n`), typedKey));
  return `${origin}+${toHex(id)}+${toBase64(typedKey)}`;
}

/**
 * Verifies the cosignatures in a receipt that was verified. With an earlier receipt, its cosigned log has to be the
 * beginning of that of the receipt. Throws InvalidInput.
 */
export async function proveWitnesses(
  receiptBytes: Bytes,
  keys: readonly Bytes[],
  policy: WitnessPolicy,
  earlierBytes?: Bytes,
): Promise<WitnessResult> {
  const { receipt, witness } = parseReceipt(receiptBytes);
  const { checkpoint, times } = await verifyCosignedCheckpoint(witness.checkpoint, keys, policy);
  const leaf = await verifyAnchor(receipt, witness.anchor, keys);
  const root = await rootOfInclusionPath(witness.index, checkpoint.size, leaf, parseHashes(witness, "path"));
  if (root === undefined || !areEqual(root, checkpoint.root)) {
    throw new InvalidInput("The anchor of the log is not in the log of anchors that the witnesses cosigned.");
  }
  if (earlierBytes) {
    const earlier = parseReceipt(earlierBytes).witness;
    const cosigned = await verifyCosignedCheckpoint(earlier.checkpoint, keys, policy);
    await verifyExtension(cosigned.checkpoint, checkpoint, witness);
  }
  return { origin: checkpoint.origin, cosigned: times.length, keyCount: policy.keys.length, latestAt: Math.max(...times) };
}

/** Returns one sentence that states what the cosignatures prove. */
export function describeWitnesses({ origin, cosigned, keyCount, latestAt }: WitnessResult): string {
  const time = new Date(latestAt * 1000).toISOString().replace(".000Z", "Z");
  return `${origin}: ${cosigned} of ${keyCount} witnesses have cosigned this history, the last of them at ${time}.`;
}

interface Witness extends JsonObject {
  readonly anchor: JsonObject & { readonly checkpoint: string };
  readonly index: number;
  readonly checkpoint: string;
}

interface WitnessedReceipt extends JsonObject {
  readonly checkpoint: string;
  readonly leafHash: string;
  readonly sequence: number;
}

function parseReceipt(bytes: Bytes): { receipt: WitnessedReceipt; witness: Witness } {
  const receipt = parseJson(bytes, "receipt");
  const witness = isObject(receipt) ? (receipt.witness ?? undefined) : undefined;
  if (witness === undefined) throw new InvalidInput(NO_COSIGNATURES);
  if (!isWitness(witness)) throw new InvalidInput(NO_WITNESS);
  return { receipt: receipt as WitnessedReceipt, witness };
}

function isWitness(value: unknown): value is Witness {
  return (
    isObject(value) &&
    isObject(value.anchor) &&
    typeof value.anchor.checkpoint === "string" &&
    Number.isInteger(value.index) &&
    Array.isArray(value.path) &&
    typeof value.checkpoint === "string"
  );
}

/** Returns the leaf of the anchor in the log of anchors, after verifying that it contains the entry. */
async function verifyAnchor(receipt: WitnessedReceipt, anchor: Witness["anchor"], keys: readonly Bytes[]): Promise<Bytes> {
  const checkpoint = await verifyCheckpointNote(anchor.checkpoint, keys);
  if (checkpoint.origin !== (await verifyCheckpointNote(receipt.checkpoint, keys)).origin) {
    throw new InvalidInput("The anchor belongs to another log than the entry.");
  }
  const leaf = fromHex(receipt.leafHash);
  const root = await rootOfInclusionPath(receipt.sequence - 1, checkpoint.size, leaf, parseHashes(anchor, "path"));
  if (root === undefined || !areEqual(root, checkpoint.root)) {
    throw new InvalidInput("The entry is not in the tree that was anchored and cosigned.");
  }
  return hashAnchor(toHex(await sha256(toUtf8(checkpoint.origin))), checkpoint.size, checkpoint.root);
}

/** Returns the leaf of an anchor in the log of anchors, given the digest of its log's origin. */
export function hashAnchor(logDigest: string, size: number, root: Bytes): Promise<Bytes> {
  return hashLeaf(toUtf8(`${logDigest}\n${size}\n${toBase64(root)}\n`));
}

/** Returns the checkpoint of the log of anchors and the times of its cosignatures. Throws InvalidInput. */
export async function verifyCosignedCheckpoint(
  note: string,
  keys: readonly Bytes[],
  policy: WitnessPolicy,
): Promise<{ checkpoint: Checkpoint; times: number[] }> {
  const checkpoint = await verifyCheckpointNote(note, keys);
  if (checkpoint.origin !== policy.origin) {
    throw new InvalidInput(`The witnesses cosigned the log ${checkpoint.origin}, and you expect ${policy.origin}.`);
  }
  const { text, signatureLines } = splitNote(note);
  const timesByKey = new Map<string, number>();
  for (const key of policy.keys) {
    for (const signature of signatureLines.map(parseSignatureLine)) {
      const [id, timedSignature] = splitKeyId(signature?.bytes ?? new Uint8Array());
      if (signature?.name !== key.name || !areEqual(id, key.keyId)) continue;
      timesByKey.set(toHex(key.publicKey), await verifyCosignature(toUtf8(text), timedSignature, key));
    }
  }
  if (timesByKey.size < policy.required) {
    throw new InvalidInput(
      `${timesByKey.size} of ${policy.keys.length} witnesses have cosigned, and ${policy.required} are required: ` +
        "request the proof again later.",
    );
  }
  return { checkpoint, times: [...timesByKey.values()] };
}

/** Returns the time of a cosignature in seconds since 1970. Throws InvalidInput. */
async function verifyCosignature(text: Bytes, timedSignature: Bytes, key: WitnessKey): Promise<number> {
  const time = BigInt(`0x0${toHex(timedSignature.subarray(0, TIME_BYTES))}`);
  const statement = concatenate(toUtf8(`cosignature/v1\ntime ${time}\n`), text);
  const isValid = time > 0n && time <= MAX_TIME;
  if (!isValid || !(await isSigned(statement, timedSignature.slice(TIME_BYTES), key.publicKey))) {
    throw new InvalidInput(`The cosignature of ${key.name} is wrong.`);
  }
  return Number(time);
}

/** Verifies that the cosigned log of a receipt begins with that of an earlier one. Throws InvalidInput. */
async function verifyExtension(earlier: Checkpoint, later: Checkpoint, witness: JsonObject): Promise<void> {
  const path = parseHashes(witness, "consistencyPath");
  if (earlier.size > later.size || (earlier.size < later.size && path.length === 0)) {
    throw new InvalidInput(
      `The receipt does not say how it extends the earlier one: request it with witnessedSize=${earlier.size}.`,
    );
  }
  await verifyGrowth(earlier, later, path);
}
