/** The configuration that the service writes into each page. */

export interface Configuration {
  /** The path of the API on this origin, without a slash at its end. Empty if the API is at the root. */
  apiBase: string;
  clientId: string;
  discoveryUrl: string;
  scope: string;
  /** The API for which tokens are requested, for issuers that need to be told. */
  audience?: string | null;
}

/** Read the configuration of this page. */
export function readConfiguration(): Configuration {
  const element = document.querySelector<HTMLMetaElement>('meta[name="atrium-configuration"]');
  return JSON.parse(element?.content ?? '{}') as Configuration;
}

/** Return the address of the console, which is also the address to which the issuer sends people back. */
export function consoleUrl({ apiBase }: Configuration): string {
  return `${location.origin}${apiBase}/console`;
}
