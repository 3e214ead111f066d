/** The names of logs in checkpoints. */

import { InvalidInput } from '../log/errors';

/** Require that a checkpoint is that of an organization's log. Throws InvalidInput. */
export function requireOrigin(origin: string, organizationId: string): void {
  if (origin !== `atrium/${organizationId}`) throw new InvalidInput(`The service sent the log ${origin} in place of this one.`);
}
