/** The session: an access token in this tab, from the issuer, by authorization code with PKCE. */

import type { AuthorizationServer } from 'oauth4webapi';
import { consoleUrl, type Configuration } from './configuration';
import { saveDrafts } from './drafts';
import { readStored, SESSION_KEY, writeStored, readToken, type StoredSession } from './token';

const PENDING_KEY = 'atrium.sign-in';
/** A token that the service rejects this soon after signing in will be rejected again, so nobody is redirected. */
const REDIRECT_PAUSE_MS = 15_000;

interface PendingSignIn {
  state: string;
  nonce: string;
  verifier: string;
  /** The address to which to return: a path and fragment on this origin. */
  returnTo: string;
}

/** Pages outside of the console that send people here to sign in. Only their names are accepted as an address. */
const HOSTED_PAGES = ['invitation', 'domain-setup', 'webhook-portal'];

/** The sign-in state of this tab. */
export class Session {
  /** `onFailure`: called with the error if the redirect to the issuer fails. */
  constructor(
    private readonly configuration: Configuration,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  readonly getToken = readToken;

  /** Redirect to the issuer after a token was rejected. Returns false if that cannot help, because it just happened. */
  renew(): boolean {
    const session = readStored<StoredSession>(SESSION_KEY);
    if (session && Date.now() - session.signedInAt < REDIRECT_PAUSE_MS) return false;
    saveDrafts();
    this.signIn(location.pathname + location.hash).catch(this.onFailure);
    return true;
  }

  /** Redirect to the issuer. */
  async signIn(returnTo: string): Promise<void> {
    const oauth = await import('./authorization');
    const server = await this.discover();
    const verifier = oauth.generateRandomCodeVerifier();
    const pending = { state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce(), verifier, returnTo };
    writeStored<PendingSignIn>(PENDING_KEY, pending);
    const url = new URL(requireEndpoint(server, 'authorization_endpoint'));
    const parameters: Record<string, string | null | undefined> = {
      response_type: 'code',
      client_id: this.configuration.clientId,
      redirect_uri: consoleUrl(this.configuration),
      scope: this.configuration.scope,
      ...this.apiParameters(),
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) if (value) url.searchParams.set(name, value);
    location.assign(url);
  }

  /** Redirect to the issuer for a hosted page, and back to it. */
  async signInForHostedPage(name: string): Promise<void> {
    if (!HOSTED_PAGES.includes(name)) throw new Error(`There is no page ${name}.`);
    await this.signIn(`${this.configuration.apiBase}/${name}`);
  }

  /** Exchange the code in the address for a token, if the issuer has just sent somebody back. */
  async completeSignIn(): Promise<void> {
    const url = new URL(location.href);
    if (!url.searchParams.has('state')) return;
    const pending = readStored<PendingSignIn>(PENDING_KEY);
    sessionStorage.removeItem(PENDING_KEY);
    history.replaceState(null, '', pending?.returnTo.startsWith(url.pathname) ? pending.returnTo : url.pathname);
    if (!pending) throw new Error('This tab did not start signing in. Start again.');
    writeStored<StoredSession>(SESSION_KEY, await this.exchangeCode(url, pending));
    if (!pending.returnTo.startsWith(url.pathname)) location.replace(pending.returnTo);
  }

  /** Forget the token, and sign out at the issuer if it supports that. */
  async signOut(): Promise<void> {
    const session = readStored<StoredSession>(SESSION_KEY);
    sessionStorage.clear();
    const endpoint = (await this.discover().catch(() => null))?.end_session_endpoint;
    if (!endpoint) return location.reload();
    const url = new URL(endpoint);
    url.searchParams.set('client_id', this.configuration.clientId);
    url.searchParams.set('post_logout_redirect_uri', consoleUrl(this.configuration));
    if (session?.idToken) url.searchParams.set('id_token_hint', session.idToken);
    location.assign(url);
  }

  private async exchangeCode(url: URL, pending: PendingSignIn): Promise<StoredSession> {
    const oauth = await import('./authorization');
    const server = await this.discover();
    const client = { client_id: this.configuration.clientId };
    const parameters = oauth.validateAuthResponse(server, client, url, pending.state);
    const redirectUri = consoleUrl(this.configuration);
    const options = {
      [oauth.allowInsecureRequests]: isLoopback(requireEndpoint(server, 'token_endpoint')),
      additionalParameters: this.apiParameters(),
    };
    const response = await oauth.authorizationCodeGrantRequest(
      server, client, oauth.None(), parameters, redirectUri, pending.verifier, options,
    );
    const isOpenId = this.configuration.scope.split(' ').includes('openid');
    const result = await oauth.processAuthorizationCodeResponse(server, client, response, {
      ...(isOpenId ? { expectedNonce: pending.nonce, requireIdToken: true } : {}),
    });
    const now = Date.now();
    const expiresAt = result.expires_in === undefined ? null : now + result.expires_in * 1000;
    return { accessToken: result.access_token, idToken: result.id_token ?? null, signedInAt: now, expiresAt };
  }

  /** Name the API for which the token is: `resource` (RFC 8707), and `audience` for Auth0, which does not know it. */
  private apiParameters(): Record<string, string> {
    const { audience } = this.configuration;
    return audience ? { audience, resource: audience } : {};
  }

  private async discover(): Promise<AuthorizationServer> {
    const response = await fetch(this.configuration.discoveryUrl, { credentials: 'omit' }).catch(() => null);
    if (!response?.ok) throw new Error(`The issuer does not answer at ${this.configuration.discoveryUrl}.`);
    return (await response.json()) as AuthorizationServer;
  }
}

function requireEndpoint(server: AuthorizationServer, name: 'authorization_endpoint' | 'token_endpoint'): string {
  const endpoint = server[name];
  if (!endpoint) throw new Error(`The issuer's discovery document has no ${name}.`);
  if (new URL(endpoint).protocol !== 'https:' && !isLoopback(endpoint)) throw new Error(`The ${name} must use https.`);
  return endpoint;
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return ['127.0.0.1', 'localhost', '[::1]'].includes(hostname) || hostname.endsWith('.localhost');
}
