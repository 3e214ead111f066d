/** The Merkle tree of a log, and proofs about it (RFC 6962, section 2.1, and RFC 9162, sections 2.1.3 and 2.1.4). */

import { areEqual, type Bytes, concatenate } from "./bytes";
import { InvalidInput } from "./errors";

/** Length of a SHA-256 hash. */
export const HASH_BYTES = 32;

const LEAF_PREFIX = Uint8Array.of(0);
const NODE_PREFIX = Uint8Array.of(1);

/** The size and the root of a tree. */
export interface Tree {
  readonly size: number;
  readonly root: Bytes;
}

export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Returns the hash of a leaf with this content. */
export function hashLeaf(content: Bytes): Promise<Bytes> {
  return sha256(concatenate(LEAF_PREFIX, content));
}

/** Returns the hash of the parent of two nodes. */
export function hashNode(left: Bytes, right: Bytes): Promise<Bytes> {
  return sha256(concatenate(NODE_PREFIX, left, right));
}

/** A tree that grows, represented by the roots of its perfect subtrees. The index of a root is the subtree's level. */
export class MerkleTree {
  #size = 0;
  readonly #peaks: (Bytes | undefined)[] = [];

  get size(): number {
    return this.#size;
  }

  /** Appends leaves, whose hashes are combined level by level: one wait for each level instead of one for each leaf. */
  async appendLeaves(leaves: readonly Bytes[]): Promise<void> {
    this.#size += leaves.length;
    await this.#append(leaves, 0);
  }

  /** Appends the root of a perfect subtree with 2**level leaves. The size has to be a multiple of that. */
  async appendSubtree(root: Bytes, level: number): Promise<void> {
    this.#size += 2 ** level;
    await this.#append([root], level);
  }

  async #append(added: readonly Bytes[], lowestLevel: number): Promise<void> {
    let nodes = added;
    for (let level = lowestLevel; nodes.length > 0; level += 1) {
      const peak = this.#peaks[level];
      if (peak) nodes = [peak, ...nodes];
      this.#peaks[level] = nodes.length % 2 === 1 ? nodes.at(-1) : undefined;
      nodes = await hashPairs(nodes);
    }
  }

  async root(): Promise<Bytes> {
    let root: Bytes | undefined;
    for (const peak of this.#peaks) {
      if (peak) root = root ? await hashNode(peak, root) : peak;
    }
    return root ?? sha256(new Uint8Array());
  }
}

/** Returns the parents of nodes. The last of an odd number of nodes has none. */
function hashPairs(nodes: readonly Bytes[]): Promise<Bytes[]> {
  const parents: Promise<Bytes>[] = [];
  for (let index = 1; index < nodes.length; index += 2) {
    parents.push(hashNode(nodes[index - 1] as Bytes, nodes[index] as Bytes));
  }
  return Promise.all(parents);
}

/** Returns the levels of the largest perfect subtrees that hold exactly these entries, from left to right. */
export function subtreeLevels(first: number, last: number): number[] {
  const levels: number[] = [];
  for (let position = first - 1; position < last; ) {
    let level = 0;
    while (position % 2 ** (level + 1) === 0 && position + 2 ** (level + 1) <= last) level += 1;
    levels.push(level);
    position += 2 ** level;
  }
  return levels;
}

/** Returns the root to which an inclusion proof leads, or undefined if it has another length. */
export async function rootOfInclusionPath(
  index: number,
  size: number,
  leaf: Bytes,
  path: readonly Bytes[],
): Promise<Bytes | undefined> {
  if (index < 0 || index >= size) return undefined;
  const walk = new Walk(index, size);
  let node = leaf;
  for (const sibling of path) {
    if (walk.isAtRoot) return undefined;
    node = walk.isSiblingLeft ? await hashNode(sibling, node) : await hashNode(node, sibling);
    walk.ascend();
  }
  return walk.isAtRoot ? node : undefined;
}

/** Verifies that a tree begins with a smaller one. Throws InvalidInput. */
export async function verifyGrowth(first: Tree, second: Tree, path: readonly Bytes[]): Promise<void> {
  if (!(await isGrowthProven(first, second, path))) {
    throw new InvalidInput(
      `The log was not only extended: its tree of ${second.size} entries does not begin with the tree of ${first.size} entries.`,
    );
  }
}

async function isGrowthProven(first: Tree, second: Tree, path: readonly Bytes[]): Promise<boolean> {
  if (first.size === second.size && path.length === 0) return areEqual(first.root, second.root);
  if (first.size <= 0 || first.size >= second.size || path.length === 0) return false;
  const nodes = isPowerOfTwo(first.size) ? [first.root, ...path] : path;
  const roots = await rootsOfConsistencyPath(first.size, second.size, nodes);
  return roots !== undefined && areEqual(roots[0], first.root) && areEqual(roots[1], second.root);
}

function isPowerOfTwo(size: number): boolean {
  return size === 1 || (size % 2 === 0 && isPowerOfTwo(size / 2));
}

async function rootsOfConsistencyPath(
  firstSize: number,
  secondSize: number,
  [start, ...siblings]: readonly Bytes[],
): Promise<[Bytes, Bytes] | undefined> {
  const walk = new Walk(firstSize - 1, secondSize);
  walk.ascendWhileRightChild();
  let first = start as Bytes;
  let second = first;
  for (const sibling of siblings) {
    if (walk.isAtRoot) return undefined;
    if (walk.isSiblingLeft) {
      first = await hashNode(sibling, first);
      second = await hashNode(sibling, second);
    } else {
      second = await hashNode(second, sibling);
    }
    walk.ascend();
  }
  return walk.isAtRoot ? [first, second] : undefined;
}

/** The way from a node to the root. `#last` is the index of the last node on the same level. */
class Walk {
  #index: number;
  #last: number;

  constructor(index: number, size: number) {
    this.#index = index;
    this.#last = size - 1;
  }

  get isAtRoot(): boolean {
    return this.#last === 0;
  }

  get isSiblingLeft(): boolean {
    return this.#isRightChild || this.#index === this.#last;
  }

  get #isRightChild(): boolean {
    return this.#index % 2 === 1;
  }

  /** Moves up past the next sibling. A last node without a sibling on its level moves further. */
  ascend(): void {
    if (!this.#isRightChild && this.#index === this.#last) {
      while (this.#index > 0 && !this.#isRightChild) this.#halve();
    }
    this.#halve();
  }

  ascendWhileRightChild(): void {
    while (this.#isRightChild) this.#halve();
  }

  #halve(): void {
    this.#index = Math.floor(this.#index / 2);
    this.#last = Math.floor(this.#last / 2);
  }
}
