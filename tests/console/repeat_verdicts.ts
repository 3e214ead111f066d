/** Repeats recorded questions to the verifier of the console, and prints each answer that differs, as a line of JSON. */

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { describeAnchors, proveAnchors } from "../../console/src/log/anchors";
import { base64BytesOrEmpty, type Bytes, fromHex, toUtf8 } from "../../console/src/log/bytes";
import { type Checkpoint, parseNoteOrRecord, verifyCheckpointNote } from "../../console/src/log/checkpoints";
import { InvalidInput, UsageError } from "../../console/src/log/errors";
import { type OmittedRun, parseOmittedRuns } from "../../console/src/log/evidence";
import { canonicalJson } from "../../console/src/log/json";
import { describeProof, proveExport } from "../../console/src/log/proof";
import { describeGrowth, describeReceipt, proveGrowth, proveReceipt } from "../../console/src/log/receipts";
import { describeWitnesses, logVerifierKey, parseWitnessKey, proveWitnesses } from "../../console/src/log/witnesses";

// biome-ignore lint: the recorded arguments are JSON of the test's own plugin
type Arguments = any;

const bytes = (text: string): Bytes => base64BytesOrEmpty(text);
const keysOf = (recorded: Arguments): Bytes[] => recorded.keys.map(bytes);
const checkpointOf = (recorded: Arguments): Checkpoint => ({ ...recorded, root: bytes(recorded.root), keys: keysOf(recorded) });

function policyOf({ policy }: Arguments) {
  const keys = policy.keys.map((key: Arguments) => ({ name: key.name, keyId: bytes(key.keyId), publicKey: bytes(key.publicKey) }));
  return { ...policy, keys };
}

function runsOf({ evidence }: Arguments): OmittedRun[] | undefined {
  return evidence?.map(({ from, to, hashes }: Arguments) => ({ first: from, last: to, hashes: hashes.map(fromHex) }));
}

function lineOf(text: string): Bytes {
  const line = bytes(text);
  return line.at(-1) === 10 ? line.subarray(0, -1) : line;
}

const FUNCTIONS: Record<string, (recorded: Arguments) => unknown> = {
  describe_proof: async (recorded) =>
    describeProof(await proveExport(recorded.lines.map(lineOf), checkpointOf(recorded.checkpoint), runsOf(recorded))),
  verify_checkpoint_note: async (recorded) => {
    await verifyCheckpointNote(new TextDecoder().decode(bytes(recorded.note)), keysOf(recorded));
    return null;
  },
  parse_note_or_record: (recorded) => void parseNoteOrRecord(bytes(recorded.text)) ?? null,
  parse_omitted_runs: (recorded) => void parseOmittedRuns(bytes(recorded.text)) ?? null,
  canonical_json: (recorded) => canonicalJson(JSON.parse(recorded.value)),
  describe_receipt: async (recorded) => describeReceipt(await proveReceipt(bytes(recorded.text), keysOf(recorded))),
  describe_consistency: async (recorded) =>
    describeGrowth(await proveGrowth(bytes(recorded.text), recorded.saved.map(checkpointOf), keysOf(recorded))),
  parse_witness_key: async (recorded) => (await parseWitnessKey(recorded.text), null),
  log_verifier_key: (recorded) => logVerifierKey(recorded.origin, bytes(recorded.publicKey)),
  describe_witnesses: async (recorded) => {
    const earlier = recorded.earlier === null ? undefined : bytes(recorded.earlier);
    return describeWitnesses(await proveWitnesses(bytes(recorded.text), keysOf(recorded), policyOf(recorded), earlier));
  },
  describe_anchors: async (recorded) => {
    const [pages, proofs] = [recorded.pages.map(bytes), recorded.proofs.map(bytes)];
    return describeAnchors(await proveAnchors(pages, proofs, keysOf(recorded), policyOf(recorded)));
  },
};

async function answer(name: string, recorded: Arguments): Promise<Record<string, unknown>> {
  try {
    return { result: await FUNCTIONS[name]?.(recorded) };
  } catch (error) {
    if (error instanceof InvalidInput || error instanceof UsageError) return { [error.name]: error.message };
    throw error;
  }
}

// The parsers of JSON describe its errors in their own words.
const withoutParserMessage = (answered: object): string =>
  JSON.stringify(answered).replace(/(is no JSON: ).*(\. Save)/, "$1…$2");

async function main(file: string): Promise<void> {
  let count = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { function: name, arguments: recorded, ...expected } = JSON.parse(line);
    const actual = await answer(name, recorded);
    count += 1;
    if (withoutParserMessage(actual) !== withoutParserMessage(expected)) {
      console.log(JSON.stringify({ function: name, expected, actual, arguments: recorded }));
    }
  }
  console.log(count);
}

void main(process.argv[2] as string);
