/** What every screen gets: the client, the session and the configuration. */

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Client } from './client';
import type { Configuration } from './configuration';
import type { Session } from './session';

export interface Environment {
  client: Client;
  /** Add the operations to the client that the first screen does not call. */
  completeClient: () => Promise<void>;
  session: Session;
  configuration: Configuration;
}

export const EnvironmentContext = createContext<Environment | null>(null);

/** Return the client, the session and the configuration. */
export function useEnvironment(): Environment {
  const environment = useContext(EnvironmentContext);
  if (!environment) throw new Error('There is no environment around this component.');
  return environment;
}
