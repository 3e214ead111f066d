/** The proof of an export: that its entries, and what its filters left out, are the signed tree. */

import { areEqual, type Bytes } from "./bytes";
import type { Checkpoint } from "./checkpoints";
import { InvalidInput } from "./errors";
import type { OmittedRun } from "./evidence";
import { type Entry, iterateIntactEntries, NO_SEQUENCE } from "./exports";
import { MerkleTree, subtreeLevels } from "./tree";

const EVIDENCE_HINT = "; if filters left it out, pass the record with --evidence, or export with evidence=true";
const EMPTY =
  "The export is empty: save it again or, if its filters found nothing, pass its record with --evidence.";

/** Leaves that are appended at once, which is much faster than one by one. */
const LEAVES_PER_BATCH = 1024;

/** What is proven about an export. `unproven` entries are younger than the checkpoint. */
export interface ProofResult {
  readonly origin: string;
  readonly size: number;
  readonly count: number;
  readonly erased: number;
  readonly unproven: number;
  readonly first: number;
  readonly last: number;
}

/** Verifies the lines of an export, without their ends. Throws InvalidInput. `onProgress` receives counts of entries. */
export async function proveExport(
  lines: AsyncIterable<Bytes> | Iterable<Bytes>,
  checkpoint: Checkpoint,
  evidence?: readonly OmittedRun[],
  onProgress?: (count: number) => void,
): Promise<ProofResult> {
  const entries = iterateIntactEntries(lines, checkpoint);
  const proof = new Proof(checkpoint, evidence);
  let number = 0;
  for (let next = await entries.next(); !next.done; next = await entries.next()) {
    number += 1;
    try {
      await proof.add(next.value);
    } catch (error) {
      throw error instanceof InvalidInput ? await locateError(error, number, next.value, proof, entries) : error;
    }
    onProgress?.(number);
  }
  return proof.finish();
}

async function locateError(
  error: InvalidInput,
  number: number,
  entry: Entry,
  proof: Proof,
  laterEntries: AsyncGenerator<Entry>,
): Promise<InvalidInput> {
  const isLater = proof.missing > 0 && (await hasSequence(laterEntries, proof.missing));
  const message = isLater ? `The entry with sequence ${proof.missing} is out of order.` : error.message;
  const sequence = entry.sequence === NO_SEQUENCE ? "no sequence" : `sequence ${entry.sequence}`;
  return new InvalidInput(`${message} Line ${number} has ${sequence}.`, error.sequence ?? entry.sequence);
}

async function hasSequence(entries: AsyncGenerator<Entry>, sequence: number): Promise<boolean> {
  try {
    for await (const entry of entries) if (entry.sequence === sequence) return true;
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
  }
  return false;
}

/** Returns one sentence that states what is proven. */
export function describeProof(result: ProofResult): string {
  const { origin, size, count, erased, unproven, first, last } = result;
  const sequences = count > 0 ? `, sequence ${first} to ${last}` : "";
  const younger = unproven > 0 ? `; ${unproven} younger than the checkpoint, not proven` : "";
  return (
    `${origin}: ${count} of ${size} entries are proven to be in the signed tree${sequences}: ` +
    `${count - erased} unaltered, ${erased} erased${younger}.`
  );
}

/** The Merkle tree of an export's entries and evidence, built from left to right up to a checkpoint. */
class Proof {
  /** The sequence of the missing entry that no evidence covers; 0 if there is none. */
  missing = 0;
  readonly #checkpoint: Checkpoint;
  readonly #omitted: OmittedRun[];
  readonly #lacksEvidence: boolean;
  readonly #tree = new MerkleTree();
  /** Leaves of the last entries, which are appended together. */
  #leaves: Bytes[] = [];
  #previous: Pick<Entry, "sequence" | "treeSize"> = { sequence: 0, treeSize: 0 };
  #counts = { count: 0, erased: 0, unproven: 0, first: 0, last: 0 };

  constructor(checkpoint: Checkpoint, evidence: readonly OmittedRun[] | undefined) {
    this.#checkpoint = checkpoint;
    this.#lacksEvidence = evidence === undefined;
    this.#omitted = [...(evidence ?? [])];
  }

  /** Appends the next entry. Throws InvalidInput if it can't come next, or an entry before it is missing. */
  async add(entry: Entry): Promise<void> {
    const previous = this.#previous;
    const { sequence, treeSize } = entry;
    this.#previous = entry;
    if (sequence <= previous.sequence && sequence !== NO_SEQUENCE) {
      const error = sequence === previous.sequence ? "there twice" : "out of order";
      throw new InvalidInput(`The entry with sequence ${sequence} is ${error}.`, sequence);
    }
    if (sequence > this.#checkpoint.size) {
      await this.#appendOmittedSubtrees(this.#checkpoint.size); // All sequenced entries come before it.
      this.#counts.unproven += 1;
      return;
    }
    await this.#appendOmittedSubtrees(sequence - 1);
    // Entries appended in one batch share the tree size after that batch.
    const fitsBatch = treeSize === previous.treeSize || sequence > previous.treeSize;
    if (sequence > treeSize || treeSize > this.#checkpoint.size || !fitsBatch) {
      throw new InvalidInput(`The entry with sequence ${sequence} was altered: its treeSize can't be right.`, sequence);
    }
    this.#count(entry);
    this.#leaves.push(entry.leaf);
    if (this.#leaves.length >= LEAVES_PER_BATCH) await this.#appendLeaves();
  }

  /** Returns what is proven after the last entry. Throws InvalidInput if entries are missing. */
  async finish(): Promise<ProofResult> {
    const { origin, size, root } = this.#checkpoint;
    if (this.#lacksEvidence && size > 0 && this.#previous.sequence === 0) throw new InvalidInput(EMPTY);
    await this.#appendOmittedSubtrees(size);
    const [omitted] = this.#omitted;
    if (omitted && omitted.first <= size) throw contradiction(omitted.first);
    await this.#appendLeaves();
    if (!areEqual(await this.#tree.root(), root)) {
      throw new InvalidInput("These are not the entries that were signed: their tree has another root.");
    }
    return { origin, size, ...this.#counts };
  }

  #count({ sequence, isErased }: Entry): void {
    const counts = this.#counts;
    this.#counts = {
      ...counts,
      count: counts.count + 1,
      erased: counts.erased + Number(isErased),
      first: counts.first || sequence,
      last: sequence,
    };
  }

  /** Appends omitted subtrees until the tree has a size. Throws InvalidInput if the evidence does not fit. */
  async #appendOmittedSubtrees(untilSize: number): Promise<void> {
    while (this.#size < untilSize) {
      const run = this.#nextOmittedRun(this.#size + 1, untilSize);
      await this.#appendLeaves();
      for (const [index, level] of subtreeLevels(run.first, run.last).entries()) {
        await this.#tree.appendSubtree(run.hashes[index] as Bytes, level);
      }
    }
  }

  get #size(): number {
    return this.#tree.size + this.#leaves.length;
  }

  async #appendLeaves(): Promise<void> {
    await this.#tree.appendLeaves(this.#leaves);
    this.#leaves = [];
  }

  #nextOmittedRun(expected: number, untilSize: number): OmittedRun {
    const [omitted] = this.#omitted;
    if (!omitted || omitted.first > expected) {
      this.missing = expected;
      const hint = this.#lacksEvidence ? EVIDENCE_HINT : "";
      throw new InvalidInput(
        `The entry with sequence ${expected} is missing, and no evidence says that it was left out${hint}.`,
        expected,
      );
    }
    this.#omitted.shift();
    if (omitted.first < expected) throw contradiction(omitted.first);
    if (omitted.last > this.#checkpoint.size) {
      throw new InvalidInput("The evidence belongs to a longer log: take the checkpoint of the same export.");
    }
    if (omitted.last > untilSize) throw contradiction(untilSize + 1);
    return omitted;
  }
}

function contradiction(sequence: number): InvalidInput {
  return new InvalidInput(
    `The entry with sequence ${sequence} is there, and the evidence says that it was left out.`,
    sequence,
  );
}
