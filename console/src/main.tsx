/** Starts the console. */

import { render } from 'preact';
import { createGrowingClient } from './api/client';
import { readConfiguration } from './api/configuration';
import { createQueryClient } from './api/queries';
import { Session } from './api/session';
import { App } from './app';
import { parseFragment } from './ui/address';

const configuration = readConfiguration();
const session = new Session(configuration, show);
const { client, complete } = createGrowingClient({ baseUrl: configuration.apiBase, getToken: session.getToken });
const queries = createQueryClient(() => session.renew());

/** Show the console. `signInError`: why signing in failed, if it just did. */
function show(signInError: unknown): void {
  const root = document.getElementById('console');
  if (root) render(<App environment={{ client, completeClient: complete, session, configuration }} queries={queries} signInError={signInError} />, root);
}

async function start(): Promise<void> {
  await session.completeSignIn();
  const { path, parameters } = parseFragment(location.hash);
  if (path === '/sign-in') await session.signInForHostedPage(parameters.get('then') ?? '');
  else show(null);
}

start().catch(show);
