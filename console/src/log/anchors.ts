/** The list of anchors: the heads of all logs, which witnesses have cosigned. */

import { areEqual, type Bytes, fromHex, toHex, toUtf8 } from "./bytes";
import { type Checkpoint, verifyCheckpointNote } from "./checkpoints";
import { InvalidInput } from "./errors";
import { isHexHash, isObject, parseHashes, parseJson } from "./json";
import { notA } from "./receipts";
import { MerkleTree, sha256, verifyGrowth } from "./tree";
import { hashAnchor, verifyCosignedCheckpoint, type WitnessPolicy } from "./witnesses";

const NO_PAGE = "This is no page of the list of anchors: save the responses of GET /anchors as they are.";

/** The digest of a log's origin, and the size and the root of its tree. */
interface Anchor {
  readonly index: number;
  readonly log: string;
  readonly size: number;
  readonly root: string;
}

type RootsBySizeByLog = ReadonlyMap<string, ReadonlyMap<number, string>>;

interface GrowthProof {
  readonly origin: string;
  readonly first: number;
  readonly second: number;
  readonly path: readonly Bytes[];
}

/** What is proven about the pages of the list. `growing`: logs whose anchors extend each other, with their number. */
export interface AnchorsResult {
  readonly origin: string;
  readonly anchorCount: number;
  readonly logCount: number;
  readonly cosigned: number;
  readonly keyCount: number;
  readonly growing: readonly { readonly origin: string; readonly count: number }[];
}

/**
 * Verifies all pages of the list. `proofs` are proofs of consistency of single logs: if there is one of a log, all
 * its anchors have to be covered. Throws InvalidInput.
 */
export async function proveAnchors(
  pages: readonly Bytes[],
  proofs: readonly Bytes[],
  keys: readonly Bytes[],
  policy: WitnessPolicy,
): Promise<AnchorsResult> {
  const parsed = pages.map(parsePage);
  const notes = new Set(parsed.flatMap(({ note }) => note ?? []));
  if (notes.size === 0) throw new InvalidInput("No page has a checkpoint: no witness has cosigned the list yet.");
  // All witnesses of the policy have cosigned the same log, so the largest checkpoint is that of all pages.
  const verified = [];
  for (const note of notes) verified.push(await verifyCosignedCheckpoint(note, keys, policy));
  const { checkpoint, times } = verified.reduce((largest, each) =>
    each.checkpoint.size > largest.checkpoint.size ? each : largest,
  );
  const anchors = await selectSignedAnchors(parsed.flatMap((page) => page.anchors), checkpoint);
  const roots = groupRoots(anchors);
  const growthProofs = [];
  for (const proof of proofs) growthProofs.push(await parseGrowthProof(proof, keys));
  return {
    origin: checkpoint.origin,
    anchorCount: anchors.length,
    logCount: roots.size,
    cosigned: times.length,
    keyCount: policy.keys.length,
    growing: await verifyGrowthOfLogs(roots, growthProofs),
  };
}

/** Returns what is proven, a sentence in each line. */
export function describeAnchors({ origin, anchorCount, logCount, cosigned, keyCount, growing }: AnchorsResult): string {
  const summary =
    `${origin}: these are the ${anchorCount} anchors of ${logCount} logs that ${cosigned} of ${keyCount} witnesses ` +
    "have cosigned, and no two of one size contradict each other.";
  const growth = growing.map((log) => `${log.origin}: its ${log.count} anchors are proven to extend each other.`);
  return [summary, ...growth].join("\n");
}

function parsePage(bytes: Bytes): { anchors: Anchor[]; note: string | null } {
  const page = parseJson(bytes, "list");
  if (!isObject(page) || !Array.isArray(page.items)) throw new InvalidInput(NO_PAGE);
  const { checkpoint: note } = page;
  if (note !== null && typeof note !== "string") throw new InvalidInput(NO_PAGE);
  return { anchors: page.items.map(parseAnchor), note };
}

function parseAnchor(item: unknown): Anchor {
  if (isObject(item)) {
    const { index, log, treeSize: size, rootHash: root } = item;
    if (Number.isInteger(index) && Number.isInteger(size) && (size as number) > 0 && isHexHash(log) && isHexHash(root)) {
      return { index: index as number, log, size: size as number, root };
    }
  }
  throw new InvalidInput(NO_PAGE);
}

/** Returns the anchors that a checkpoint signs, in their order. Throws InvalidInput. */
async function selectSignedAnchors(anchors: readonly Anchor[], checkpoint: Checkpoint): Promise<Anchor[]> {
  const byIndex = new Map(anchors.map((anchor) => [anchor.index, anchor]));
  const selected: Anchor[] = [];
  for (let index = 0; index < checkpoint.size; index += 1) {
    const anchor = byIndex.get(index);
    if (!anchor) throw new InvalidInput(`The anchor with index ${index} is missing: pass all pages of the list.`);
    selected.push(anchor);
  }
  const tree = new MerkleTree();
  await tree.appendLeaves(await Promise.all(selected.map(({ log, size, root }) => hashAnchor(log, size, fromHex(root)))));
  if (!areEqual(await tree.root(), checkpoint.root)) {
    throw new InvalidInput("These are not the anchors that the witnesses cosigned: their tree has another root.");
  }
  return selected;
}

/** Returns the root of each size of each log. Throws InvalidInput if a log has two of the same size. */
function groupRoots(anchors: readonly Anchor[]): RootsBySizeByLog {
  const roots = new Map<string, Map<number, string>>();
  for (const { log, size, root } of anchors) {
    const bySize = roots.get(log) ?? new Map<number, string>();
    roots.set(log, bySize.set(size, bySize.get(size) ?? root));
    if (bySize.get(size) !== root) {
      throw new InvalidInput(
        `The log with the digest ${log} was anchored with two histories: two anchors with ${size} entries have ` +
          "different roots. Keep the list, which is the evidence.",
      );
    }
  }
  return roots;
}

async function parseGrowthProof(bytes: Bytes, keys: readonly Bytes[]): Promise<GrowthProof> {
  const proof = parseJson(bytes, "proof");
  if (!isObject(proof) || !Array.isArray(proof.path) || typeof proof.checkpoint !== "string") {
    throw notA("proof of consistency");
  }
  const { from: first, to: second } = proof;
  if (!Number.isInteger(first) || !Number.isInteger(second)) throw notA("proof of consistency");
  const { origin } = await verifyCheckpointNote(proof.checkpoint, keys);
  return { origin, first: first as number, second: second as number, path: parseHashes(proof, "path") };
}

/** Returns the logs whose anchors are proven to extend each other, and the number of these. Throws InvalidInput. */
async function verifyGrowthOfLogs(rootsByLog: RootsBySizeByLog, proofs: readonly GrowthProof[]): Promise<AnchorsResult["growing"]> {
  const pairsByOrigin = new Map<string, Set<string>>();
  const noRoots: ReadonlyMap<number, string> = new Map();
  const rootsOf = async (origin: string) => rootsByLog.get(toHex(await sha256(toUtf8(origin)))) ?? noRoots;
  for (const { origin, first, second, path } of proofs) {
    const roots = await rootsOf(origin);
    const [earlier, later] = [roots.get(first), roots.get(second)];
    if (earlier === undefined || later === undefined) {
      throw new InvalidInput(`${origin}: the list has no anchors with ${first} and ${second} entries.`);
    }
    await verifyGrowth({ size: first, root: fromHex(earlier) }, { size: second, root: fromHex(later) }, path);
    pairsByOrigin.set(origin, (pairsByOrigin.get(origin) ?? new Set()).add(`${first} ${second}`));
  }
  const growing = [];
  for (const [origin, pairs] of pairsByOrigin) {
    const sizes = [...(await rootsOf(origin)).keys()].sort((one, other) => one - other);
    const gap = sizes.findIndex((size, index) => index > 0 && !pairs.has(`${sizes[index - 1]} ${size}`));
    if (gap > 0) {
      throw new InvalidInput(`${origin}: pass the proof with from=${sizes[gap - 1]} and to=${sizes[gap]}, too.`);
    }
    growing.push({ origin, count: sizes.length });
  }
  return growing;
}
