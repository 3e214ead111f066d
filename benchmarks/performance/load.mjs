// Runs autocannon with the options that standard input contains as JSON, and prints the results as JSON:
// {url, connections, seconds, token, requests: [{method, path} | {method, renames: [path]}]}.
// The paths in `renames` are used in turn, and each rename has a unique name. `names` lists the acknowledged names.
// `putOff` counts conflicts with concurrent changes (409), which a client may repeat. `failed` counts all other failures.
import { readFileSync } from "node:fs";
import autocannon from "autocannon";

const { url, connections, seconds, token, requests } = JSON.parse(readFileSync(0, "utf8"));
const names = [];
let renameCount = 0;
let putOff = 0;

const renaming = ({ method, renames }) => ({
  method,
  path: renames[0],
  setupRequest: (request) => ({
    ...request,
    path: renames[renameCount++ % renames.length],
    body: JSON.stringify({ name: crypto.randomUUID() }),
  }),
  onResponse: (status, body) => {
    const content = JSON.parse(body);
    if (status === 200) names.push(content.name);
    if (content.code === "conflict") putOff++;
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
