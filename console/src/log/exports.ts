/** Exports: the lines of a log, verified against its checkpoint. */

import { base64BytesOrEmpty, type Bytes, concatenate, fromHex, startsWith, toBinaryText, toHex, toUtf8 } from "./bytes";
import { type Checkpoint, isSigned, keyId, splitKeyId } from "./checkpoints";
import { InvalidInput } from "./errors";
import { hashLeaf } from "./tree";

/** Length of a line of an export, its end included. */
export const MAX_LINE_BYTES = 1 << 20;

/** The sequence of an entry that has none yet. It comes after all real sequences. */
export const NO_SEQUENCE = 10 ** 15;

/** The beginning of the first line of an export with evidence. */
export const CHECKPOINT_KEY = toUtf8('{"checkpoint":');

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
/** Lines whose hashes are computed at once. */
const LINES_PER_BATCH = 1024;
const USUAL_POSITION_BYTES = 400;
const MAX_CSV_HEADER_BYTES = 20;
const OPENING_BRACE = toUtf8("{");
const ERASED_START = toUtf8('{"actor":null,');
const CSV_HEADER = /^(\xef\xbb\xbf)?"?sequence"?[,;\t]/;
const SEQUENCE_KEY = ',"sequence":';
const POSITION =
  /^,"sequence":(?:null,"integrity":null|(?<sequence>[1-9][0-9]{0,14}),"integrity":\{"leafHash":"(?<leaf>[0-9a-f]{64})","treeSize":(?<size>[1-9][0-9]{0,14})(?:,"erasureSignature":(?<erasure>null|"[A-Za-z0-9+/=]*"))?\})\}$/;
const ERASED_ENTRY =
  /^\{"actor":null,"changes":\[\],"context":null,"data":null,"erased":true,"id":"(?<id>[\w.:-]+)","occurredAt":"(?<time>[\w.:-]+)","organizationId":(?<organization>null|"[^"]*"),"target":null,"type":"(?<type>[\w.:-]+)"$/;
const UNSIGNED_ERASURE =
  "it calls itself erased, and no --public-key signed it: pass all auditPublicKeys of /status";

/** The position of an entry as its line states it. `leaf` is computed from the line, except for an erased entry. */
export interface Entry {
  readonly sequence: number;
  readonly leaf: Bytes;
  readonly treeSize: number;
  readonly isErased: boolean;
}

/** Yields the lines of an export, without their ends. The source yields chunks of any size. */
export async function* splitLines(chunks: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
  let rest: Bytes = new Uint8Array();
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : concatenate(rest, chunk);
    let start = 0;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, start)) {
      yield rest.subarray(start, end);
      start = end + 1;
    }
    rest = rest.slice(start);
    if (rest.length >= MAX_LINE_BYTES) break;
  }
  if (rest.length > 0) yield rest;
}

/** Yields the entries of an export. Throws InvalidInput at a malformed line or an entry that was altered. */
export async function* iterateIntactEntries(
  lines: AsyncIterable<Bytes> | Iterable<Bytes>,
  checkpoint: Checkpoint,
): AsyncGenerator<Entry> {
  let batch: Promise<Entry>[] = [];
  let number = 0;
  for await (const line of lines) {
    number += 1;
    const entry = verifyLine(line, number, checkpoint);
    entry.catch(() => undefined); // An error of a later line is reported when the lines before it are verified.
    batch.push(entry);
    if (batch.length === LINES_PER_BATCH) {
      for (const each of batch) yield await each;
      batch = [];
    }
  }
  for (const each of batch) yield await each;
}

async function verifyLine(line: Bytes, number: number, checkpoint: Checkpoint): Promise<Entry> {
  const [end, position] = findPosition(line);
  if (number === 1 && CSV_HEADER.test(toBinaryText(line.subarray(0, MAX_CSV_HEADER_BYTES)))) {
    throw new InvalidInput("This is an export in CSV, which can't be verified: export with format=ndjson.");
  }
  if (position === undefined || !startsWith(line, OPENING_BRACE)) {
    throw new InvalidInput(`Line ${number} is no line of an export: ${describeMalformedLine(line)}. Save it again.`);
  }
  if (position.sequence === undefined) return { sequence: NO_SEQUENCE, leaf: new Uint8Array(), treeSize: 0, isErased: false };
  const sequence = Number(position.sequence);
  const erased = startsWith(line, ERASED_START) ? matchErasedEntry(line.subarray(0, end), checkpoint) : undefined;
  const content = concatenate(line.subarray(0, end), toUtf8("}"));
  const error = erased
    ? await findErasureError(erased, position, checkpoint)
    : await findLeafError(content, position);
  if (error) throw new InvalidInput(`The entry with sequence ${sequence} was altered: ${error}.`, sequence);
  return { sequence, leaf: fromHex(position.leaf as string), treeSize: Number(position.size), isErased: erased !== undefined };
}

type Groups = { readonly [name: string]: string | undefined };

/** Returns where the position of an entry begins in its line, and its parts, if it is well-formed. */
function findPosition(line: Bytes): [number, Groups | undefined] {
  // Almost all positions are short, so only the end of a line is searched first.
  for (const start of [Math.max(0, line.length - USUAL_POSITION_BYTES), 0]) {
    const text = toBinaryText(line.subarray(start));
    const index = text.lastIndexOf(SEQUENCE_KEY);
    if (index >= 0) return [start + index, POSITION.exec(text.slice(index))?.groups];
  }
  return [0, undefined];
}

function matchErasedEntry(bytes: Bytes, checkpoint: Checkpoint): Groups | undefined {
  const groups = ERASED_ENTRY.exec(toBinaryText(bytes))?.groups;
  const log = logOf(checkpoint);
  const organization = log.startsWith("system") ? "null" : toBinaryText(toUtf8(`"${log}"`));
  return groups?.organization === organization ? groups : undefined;
}

function logOf(checkpoint: Checkpoint): string {
  return checkpoint.origin.replace(/^atrium\//, "");
}

async function findLeafError(content: Bytes, position: Groups): Promise<string> {
  if (position.erasure !== undefined) return "it is signed as erased, and says more than is left then";
  return toHex(await hashLeaf(content)) === position.leaf ? "" : "its text has another hash";
}

async function findErasureError(erased: Groups, position: Groups, checkpoint: Checkpoint): Promise<string> {
  if (position.erasure === "null") return "it says that the service found it so when it was erased";
  const { id, time, type } = erased;
  const claim = `atrium erased entry\n["${logOf(checkpoint)}",${position.sequence},${position.size},"${id}","${time}","${time}","${type}","${position.leaf}"]`;
  const [signatureKeyId, signature] = splitKeyId(base64BytesOrEmpty((position.erasure ?? "").replaceAll('"', "")));
  for (const key of checkpoint.keys) {
    if (!startsWith(signatureKeyId, await keyId(key))) continue;
    return (await isSigned(toUtf8(claim), signature, key)) ? "" : UNSIGNED_ERASURE;
  }
  return UNSIGNED_ERASURE;
}

function describeMalformedLine(line: Bytes): string {
  if (line.at(-1) === CARRIAGE_RETURN) return "it ends in CR LF, so another program has rewritten it";
  if (line.length >= MAX_LINE_BYTES) return "it is too long";
  return toBinaryText(line).trim() ? "its end does not contain the sequence and integrity of the entry" : "it is empty";
}
