// Says of each regular expression of JavaScript that it is given as JSON what recheck finds about it: as one of Unicode
// if it can be read so.
import { text } from "node:stream/consumers";
import recheck from "recheck/lib/browser.js";

// It counts steps and never looks at the clock, so that it says the same on a machine that is busy: what takes longer
// than it may is taken for an attack that works.
const unhurried = { timeout: null, attackTimeout: null, incubationTimeout: null, seedingTimeout: null, randomSeed: 1 };
const checked = (source, flags) => recheck.checkSync(source, flags, unhurried);

const found = JSON.parse(await text(process.stdin)).map(({ source, flags }) => {
  const inUnicode = checked(source, `${flags}u`);
  const { status, complexity, attack, error } = inUnicode.error ? checked(source, flags) : inUnicode;
  return { status, complexity: complexity?.summary ?? null, attack: attack?.pattern ?? null, error: error ?? null };
});
console.log(JSON.stringify(found));
