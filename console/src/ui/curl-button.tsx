/** The button that copies a call of the API as a curl command. */

import type { Client } from '../api/client';
import { useEnvironment } from '../api/context';
import { createCurlCommand } from '../api/curl';
import { copyText } from './copy';

/** Copy a call of the API as a curl command. */
export function CurlButton({ call }: { call: (client: Client) => PromiseLike<unknown> }) {
  const { configuration } = useEnvironment();
  const copy = async () => copyText(await createCurlCommand(location.origin + configuration.apiBase, call));
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      Copy as curl
    </button>
  );
}
