/** The page to which the link in an invitation leads. It acts by a button only. */

import { render } from 'preact';
import { readConfiguration } from '../api/configuration';
import { readToken } from '../api/token';
import { createHostedClient } from './client';
import { InvitationPage } from './invitation-page';
import { takeToken } from './token';

// The first statement removes the token from the address, before anything else can read or send it.
const token = takeToken('invitation');
const configuration = readConfiguration();
const client = createHostedClient({ baseUrl: configuration.apiBase, getToken: readToken });
const consoleAddress = `${configuration.apiBase}/console`;

const root = document.getElementById('page');
if (root) render(<InvitationPage client={client} token={token} consoleAddress={consoleAddress} />, root);
