/** What a proof in the browser is worth, and where to get a verifier that does not come with the page. */

import { useEnvironment } from '../api/context';

/** Say that the page itself comes from the service, and link the offline verifier. */
export function VerifierNote() {
  const { apiBase } = useEnvironment().configuration;
  return (
    <p class="small muted">
      This page comes from the same service as the log. To rely on neither, export the log and verify it with{' '}
      <a href={`${apiBase}/docs/verify.py`} rel="noopener">
        verify.py
      </a>
      , as the{' '}
      <a href={`${apiBase}/docs/proofs`} rel="noopener">
        guide to proofs
      </a>{' '}
      describes.
    </p>
  );
}
