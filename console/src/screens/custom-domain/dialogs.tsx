/** The dialogs that set, verify and remove a domain, and create a link for whoever manages its DNS. */

import type { CustomDomain } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { useDialog } from '../../ui/address';
import { SecretDialog } from '../../ui/dialog';
import { Field } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { usePlatformId } from '../../ui/place';
import { Time, ZoneName } from '../../ui/time';

interface DomainDialogProps {
  domain: CustomDomain;
  etag: string | null;
  onClose: () => void;
}

/** The dialog that the address names. */
export function CustomDomainDialogs({ domain, etag }: Omit<DomainDialogProps, 'onClose'>) {
  const { name, close } = useDialog();
  const props = { domain, etag, onClose: close };
  if (name === 'set' && !domain.domain) return <SetDialog {...props} />;
  if (!domain.domain) return null;
  if (name === 'verify') return <VerifyDialog {...props} />;
  if (name === 'link') return <LinkDialog {...props} />;
  return name === 'remove' ? <RemoveDialog {...props} /> : null;
}

function useChanges() {
  const platformId = usePlatformId();
  return { platformId, changes: [['platforms', platformId, 'custom-domain']] };
}

function SetDialog({ etag, onClose }: DomainDialogProps) {
  const { platformId, changes } = useChanges();
  return (
    <FormDialog
      title="Set the domain"
      name="set-domain"
      initial={{ domain: '' }}
      submitLabel="Set domain"
      call={(client, { domain = '' }, options) => client.platforms.customDomain.set(platformId, { domain }, { ...options, ifMatch: etag })}
      changes={changes}
      onClose={onClose}
    >
      {() => <Field name="domain" label="Domain" required autoComplete="off" hint="A domain that you own, or a subdomain of it, such as community.example.com." />}
    </FormDialog>
  );
}

function VerifyDialog({ domain, onClose }: DomainDialogProps) {
  const { platformId, changes } = useChanges();
  return (
    <ActionDialog
      title={`Verify ${domain.domain}?`}
      confirmLabel="Verify now"
      isDangerous={false}
      call={(client, options) => client.platforms.customDomain.verify(platformId, options)}
      changes={changes}
      doneText={(result) => (result.status === 'verified' ? `${result.domain} is verified.` : `Not all records of ${result.domain} were found.`)}
      onClose={onClose}
    >
      <p>The service reads the DNS now. Without you, it checks pending domains often, and verified ones once a day.</p>
    </ActionDialog>
  );
}

function LinkDialog({ domain, onClose }: DomainDialogProps) {
  const { platformId } = useChanges();
  return (
    <ActionDialog
      title="Share the instructions?"
      confirmLabel="Create link"
      isDangerous={false}
      call={(client, options) => client.platforms.customDomain.createLink(platformId, options)}
      changes={[]}
      renderResult={({ url, expiresAt }) => (
        <SecretDialog title="The link was created" secret={url} onClose={onClose}>
          Send it to the person who manages the DNS of {domain.domain}. It works until <Time value={expiresAt} /> (<ZoneName />).
        </SecretDialog>
      )}
      onClose={onClose}
    >
      <p>
        Whoever has the link sees the records of {domain.domain} and can check them, for one hour and without an account. They see
        nothing else.
      </p>
    </ActionDialog>
  );
}

function RemoveDialog({ domain, etag, onClose }: DomainDialogProps) {
  const { platformId, changes } = useChanges();
  return (
    <ActionDialog
      title="Remove the domain?"
      confirmLabel="Remove"
      typed={domain.domain ?? ''}
      call={(client) => client.platforms.customDomain.remove(platformId, { ifMatch: etag })}
      changes={changes}
      doneText={`${domain.domain} was removed.`}
      onClose={onClose}
    >
      <p>Visitors of {domain.domain} no longer reach the platform. To use the domain again, set and verify it again.</p>
    </ActionDialog>
  );
}
