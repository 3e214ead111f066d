// Makes load with autocannon, as standard input says, and prints what came of it as JSON:
// {url, connections, seconds, token, requests: [{method, path} | {method, renames: [path]}]}.
// What is renamed takes turns, and gets a name that nothing else has; `names` lists those that were acknowledged. Who
// was told that others kept changing it (409) may try again: `putOff` counts these, `failed` all other failures.
import { readFileSync } from "node:fs";
import autocannon from "autocannon";

const { url, connections, seconds, token, requests } = JSON.parse(readFileSync(0, "utf8"));
const names = [];
let turn = 0;
let putOff = 0;

const renaming = ({ method, renames }) => ({
  method,
  path: renames[0],
  setupRequest: (request) => ({
    ...request,
    path: renames[turn++ % renames.length],
    body: JSON.stringify({ name: crypto.randomUUID() }),
  }),
  onResponse: (status, body) => {
    const answer = JSON.parse(body);
    if (status === 200) names.push(answer.name);
    if (answer.code === "conflict") putOff++;
  },
});

const result = await autocannon({
  url,
  connections,
  duration: seconds,
  timeout: 60,
  headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
  requests: requests.map((request) => (request.renames ? renaming(request) : request)),
});
const { errors, timeouts, non2xx, latency, statusCodeStats } = result;
console.log(JSON.stringify({
  answered: result["2xx"], seconds: result.duration, p50: latency.p50, p99: latency.p99,
  failed: errors + timeouts + non2xx - putOff, putOff, statuses: statusCodeStats, names,
}));
