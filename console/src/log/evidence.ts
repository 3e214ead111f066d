/** Evidence: the roots of the subtrees that an export with filters leaves out. */

import { type Bytes, fromHex } from "./bytes";
import { InvalidInput, UsageError } from "./errors";
import { isHexHash, isObject, parseJson } from "./json";
import { subtreeLevels } from "./tree";

const NO_EVIDENCE = "This is no evidence (`from`, `to` and `hashes` of subtrees): pass the record of the export.";

/** A run of entries that an export leaves out, from sequence `first` to `last`, as the roots of their subtrees. */
export interface OmittedRun {
  readonly first: number;
  readonly last: number;
  readonly hashes: readonly Bytes[];
}

/** Returns the evidence in JSON: a list, or a record of an export. Throws InvalidInput, or UsageError without one. */
export function parseOmittedRuns(bytes: Bytes): OmittedRun[] {
  const content = parseJson(bytes, "evidence");
  const evidence = isObject(content) ? (content.evidence ?? null) : content;
  if (evidence === null) {
    throw new UsageError("the record has no evidence: the export is CSV, not completed, or leaves out too many entries");
  }
  return omittedRunsOfJson(evidence);
}

/** Returns the evidence in a value that was parsed from JSON. Throws InvalidInput. */
export function omittedRunsOfJson(content: unknown): OmittedRun[] {
  if (!Array.isArray(content)) throw new InvalidInput(NO_EVIDENCE);
  const runs = content.map(parseOmittedRun);
  for (const [index, run] of runs.entries()) {
    if (run.first <= (runs[index - 1]?.last ?? 0)) {
      throw new InvalidInput(`The evidence says twice, or too late, that sequence ${run.first} was left out.`);
    }
  }
  return runs;
}

function parseOmittedRun(run: unknown): OmittedRun {
  if (!isObject(run)) throw new InvalidInput(NO_EVIDENCE);
  const { from: first, to: last, hashes } = run;
  if (!isSequence(first) || !isSequence(last) || first > last || !Array.isArray(hashes) || !hashes.every(isHexHash)) {
    throw new InvalidInput(NO_EVIDENCE);
  }
  if (hashes.length !== subtreeLevels(first, last).length) throw new InvalidInput(NO_EVIDENCE);
  return { first, last, hashes: hashes.map(fromHex) };
}

function isSequence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
