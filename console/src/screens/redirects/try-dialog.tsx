/** The dialog that says what a visitor gets at a path. */

import type { Client, Visit } from '../../api/client';
import { useAction } from '../../api/queries';
import { linkTo } from '../../ui/address';
import { Dialog, DialogFooter } from '../../ui/dialog';
import { Field, Form, type Values } from '../../ui/form';
import { useSite } from '../../ui/place';

/** Ask the service what a path leads to. */
export function TryDialog({ onClose }: { onClose: () => void }) {
  const site = useSite().data?.data;
  const host = site?.host ?? '';
  const call = (client: Client, { path }: Values) => client.sites.resolve({ host, path: path || '/' });
  const action = useAction({ call: (client, values: Values) => call(client, values), changes: [] });
  return (
    <Dialog title="Try an address" onClose={onClose}>
      <Form name="try" initial={{ path: '/' }} error={action.error} onSubmit={action.mutate}>
        {(values) => (
          <>
            <Field name="path" label="Path" required autoComplete="off" hint={`On ${host}.`} />
            {site?.status === 'draft' && <p class="notice">Visitors get nothing until the site is published.</p>}
            <div aria-live="polite">{action.data && <Result visit={action.data} />}</div>
            <DialogFooter submitLabel="Try" onCancel={onClose} isPending={action.isPending} call={(client) => call(client, values)} />
          </>
        )}
      </Form>
    </Dialog>
  );
}

function Result({ visit }: { visit: Visit }) {
  const { match, page, redirect, site } = visit;
  if (page && match === 'page') {
    return (
      <p class="notice good">
        Visitors get the page <a href={linkTo(`/s/${site.id}/pages/${page.id}`)}>{page.title}</a>.
      </p>
    );
  }
  if (redirect) {
    return (
      <p class="notice">
        Visitors are redirected to <code class="break">{redirect.location}</code> ({redirect.statusCode}).
      </p>
    );
  }
  return <p class="notice warning">Visitors get 404: neither a published page nor a redirect is there.</p>;
}
