/** Bytes and their texts: hexadecimal, base64 and UTF-8. */

export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

/** Returns the UTF-8 bytes of a text. A lone surrogate becomes U+FFFD, which no signed text contains. */
export function toUtf8(text: string): Bytes {
  return encoder.encode(text);
}

/** Returns the text of UTF-8 bytes. Invalid bytes become U+FFFD. */
export function fromUtf8(bytes: Bytes): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** Returns a text with one character for each byte, for patterns over bytes. */
export function toBinaryText(bytes: Bytes): string {
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x2000) {
    text += String.fromCharCode(...bytes.subarray(start, start + 0x2000));
  }
  return text;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function toHex(bytes: Bytes): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/** Returns the bytes of a text of hexadecimal digits, of which it has an even number. */
export function fromHex(text: string): Bytes {
  return Uint8Array.from({ length: text.length / 2 }, (_, index) => parseInt(text.slice(2 * index, 2 * index + 2), 16));
}

export function toBase64(bytes: Bytes): string {
  return btoa(toBinaryText(bytes));
}

/** Returns the bytes of canonical base64, or none if the text is anything else. */
export function base64BytesOrEmpty(text: string): Bytes {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return toBase64(bytes) === text ? bytes : new Uint8Array();
  } catch {
    return new Uint8Array();
  }
}

export function concatenate(...parts: readonly Bytes[]): Bytes {
  const result = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let end = 0;
  for (const part of parts) {
    result.set(part, end);
    end += part.length;
  }
  return result;
}

export function areEqual(first: Bytes, second: Bytes): boolean {
  return first.length === second.length && first.every((byte, index) => byte === second[index]);
}

export function startsWith(bytes: Bytes, prefix: Bytes): boolean {
  return bytes.length >= prefix.length && prefix.every((byte, index) => byte === bytes[index]);
}
