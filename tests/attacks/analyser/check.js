// Says of each regular expression of JavaScript that it is given as JSON what recheck finds about it: as one of Unicode
// if it can be read so.
import { text } from "node:stream/consumers";
import recheck from "recheck/lib/browser.js";

const checked = (source, flags) => recheck.checkSync(source, flags, { timeout: null, randomSeed: 1 });

const found = JSON.parse(await text(process.stdin)).map(({ source, flags }) => {
  const inUnicode = checked(source, `${flags}u`);
  const { status, complexity, attack, error } = inUnicode.error ? checked(source, flags) : inUnicode;
  return { status, complexity: complexity?.summary ?? null, attack: attack?.pattern ?? null, error: error ?? null };
});
console.log(JSON.stringify(found));
