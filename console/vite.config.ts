/** Builds the console into the folder from which the service serves it. The same sources give the same bytes. */

import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { CHUNKS } from './tools/chunks.ts';

const BUNDLE = '../chalicelib/entrypoints/console_bundle';
/** The client of the API is built from its sources, with the dependencies of the console. */
const CLIENT = fileURLToPath(new URL('../clients/typescript/src/index.ts', import.meta.url));
const FETCH = fileURLToPath(new URL('node_modules/openapi-fetch/dist/index.mjs', import.meta.url));
const PAGES = ['index', 'invitation', 'domain-setup', 'webhook-portal'];

/** The service that `npm run dev` shows. */
const SERVICE = process.env.ATRIUM_URL ?? 'http://127.0.0.1:8000';

/** Take the configuration from the running service, as the built page gets it. */
const serviceConfiguration: Plugin = {
  name: 'service-configuration',
  apply: 'serve',
  async transformIndexHtml(html) {
    const page = await (await fetch(`${SERVICE}/console`)).text();
    const content = /name="atrium-configuration" content="([^"]*)"/.exec(page)?.[1];
    if (!content) throw new Error(`${SERVICE}/console has no configuration. Start the service with make run.`);
    return html.replace('${configuration}', content);
  },
};

const WORKER = fileURLToPath(new URL('src/proof/worker.ts', import.meta.url));

/** Build the worker as a part of the bundle, so that it shares the verifier with the page. Vite would build a copy. */
const sharedWorker: Plugin = {
  name: 'shared-worker',
  apply: 'build',
  enforce: 'pre',
  resolveId: (id) => (id === './worker?worker&url' ? '\0worker-url' : null),
  load(id) {
    if (id !== '\0worker-url') return null;
    const file = this.emitFile({ type: 'chunk', id: WORKER, name: 'worker' });
    return `export default import.meta.ROLLUP_FILE_URL_${file};`;
  },
};

export default defineConfig(({ command }) => ({
  plugins: [serviceConfiguration, sharedWorker],
  base: command === 'build' ? './' : '/console',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // The service fills in the path of the API, so that the pages also work below the path of a gateway's stage.
  experimental: {
    renderBuiltUrl: (filename, { hostType }) =>
      hostType === 'html' ? `\${base}/console/${filename.replace('assets/', '')}` : { relative: true },
  },
  resolve: { alias: { 'atrium-client': CLIENT, 'openapi-fetch': FETCH } },
  build: {
    outDir: BUNDLE,
    emptyOutDir: true,
    target: 'es2023',
    cssTarget: 'chrome123',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false, resolveDependencies: (_, files) => files.filter((file) => file.endsWith('.css')) },
    reportCompressedSize: false,
    rolldownOptions: {
      output: { codeSplitting: { includeDependenciesRecursively: false, groups: CHUNKS } },
      input: Object.fromEntries(PAGES.map((page) => [page, fileURLToPath(new URL(`${page}.html`, import.meta.url))])),
    },
  },
  server: { host: '127.0.0.1', proxy: { '^/(?!console|src|node_modules|@|invitation|domain-setup|webhook-portal)': SERVICE } },
}));
