/** The page of people who are not signed in. */

import { useMutation } from '@tanstack/preact-query';
import { useEffect } from 'preact/hooks';
import { useEnvironment } from '../../api/context';

/** Lead to the issuer. `error`: why signing in just failed, if it did. */
export function SignIn({ error }: { error: unknown }) {
  const { session } = useEnvironment();
  const signIn = useMutation<void, Error>({ mutationFn: () => session.signIn(location.pathname + location.hash) });
  const failure = signIn.error ?? error;
  useEffect(() => void (document.title = 'Sign in · Atrium'), []);
  return (
    <main class="narrow stack">
      <div>
        <h1>Atrium</h1>
        <p class="muted">Organizations, their sites and platforms, and a log that your browser can prove.</p>
      </div>
      {failure instanceof Error && (
        <div class="notice bad" role="alert">
          <strong>Signing in failed.</strong> {failure.message}
        </div>
      )}
      <button type="button" class="button primary wide" disabled={signIn.isPending} onClick={() => signIn.mutate()}>
        {signIn.isPending ? 'Opening the sign-in page' : 'Sign in'}
      </button>
      <p class="small muted">Your identity provider asks for your password. The token stays in this tab.</p>
    </main>
  );
}
