// Reads JavaScript regular expressions as JSON and prints recheck's findings, in Unicode mode if the expression is valid
// in it.
import { text } from "node:stream/consumers";
import recheck from "recheck/lib/browser.js";

// It counts steps instead of time, so that its results do not depend on the machine's load. Otherwise a timeout would
// count as a successful attack.
const withoutTimeouts = { timeout: null, attackTimeout: null, incubationTimeout: null, seedingTimeout: null, randomSeed: 1 };
const check = (source, flags) => recheck.checkSync(source, flags, withoutTimeouts);

const findings = JSON.parse(await text(process.stdin)).map(({ source, flags }) => {
  const unicodeResult = check(source, `${flags}u`);
  const { status, complexity, attack, error } = unicodeResult.error ? check(source, flags) : unicodeResult;
  return { status, complexity: complexity?.summary ?? null, attack: attack?.pattern ?? null, error: error ?? null };
});
console.log(JSON.stringify(findings));
