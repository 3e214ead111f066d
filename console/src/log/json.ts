/** JSON without repeated names, and canonical JSON (RFC 8785). */

import { type Bytes, fromHex, fromUtf8 } from "./bytes";
import { InvalidInput } from "./errors";

export type JsonObject = { readonly [name: string]: unknown };

const STRING_AND_COLON = /"(?:[^"\\]|\\.)*"(\s*:)?/g;
const HEX_HASH = /^[0-9a-f]{64}$/;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isHexHash(value: unknown): value is string {
  return typeof value === "string" && HEX_HASH.test(value);
}

/** Returns the value of JSON. Throws InvalidInput, which names `what`, also if an object contains a name twice. */
export function parseJson(bytes: Bytes, what: string): unknown {
  const text = fromUtf8(bytes);
  try {
    const value: unknown = JSON.parse(text);
    if (countNames(value) < countWrittenNames(text)) throw new SyntaxError("an object contains a name twice");
    return value;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidInput(`The ${what} is no JSON: ${reason}. Save the response of the service again.`);
  }
}

// `JSON.parse` keeps the last of several members with one name, so a count tells whether there were any.
function countWrittenNames(text: string): number {
  let count = 0;
  for (const match of text.matchAll(STRING_AND_COLON)) if (match[1] !== undefined) count += 1;
  return count;
}

function countNames(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const children = Object.values(value).reduce<number>((count, child) => count + countNames(child), 0);
  return children + (Array.isArray(value) ? 0 : Object.keys(value).length);
}

/** Returns the hashes in a field of a proof; none if it is null. Throws InvalidInput. */
export function parseHashes(record: JsonObject, name: string): Bytes[] {
  const hashes = record[name] ?? [];
  if (!Array.isArray(hashes) || !hashes.every(isHexHash)) {
    throw new InvalidInput(`\`${name}\` is no list of hashes: save the response of the service as it is.`);
  }
  return hashes.map(fromHex);
}

/** Returns a value that was parsed from JSON as canonical JSON. Throws RangeError if it contains an infinite number. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (isObject(value)) {
    // The default order of `sort` is that of UTF-16 code units, as RFC 8785 demands.
    const members = Object.keys(value).sort().map((name) => `${canonicalJson(name)}:${canonicalJson(value[name])}`);
    return `{${members.join(",")}}`;
  }
  if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError("JSON has no infinite number");
  return JSON.stringify(value);
}
