/** The settings of an organization. */

import { operations } from '../../api/access';
import type { Organization, OrganizationPatch } from '../../api/client';
import { useDialog } from '../../ui/address';
import { CheckField } from '../../ui/check-field';
import { DeleteSection } from '../../ui/delete-section';
import { EditPage } from '../../ui/edit-form';
import { Field } from '../../ui/form';
import type { Fields } from '../../ui/merge';
import { PageHeader, Section } from '../../ui/page';
import { useCan, useOrganization, useOrganizationId } from '../../ui/place';
import { RoleNotice } from '../../ui/role-notice';
import { DeleteOrganizationDialog } from './delete-dialog';

const LABELS = {
  name: 'Name',
  slug: 'Slug',
  companyName: 'Company name',
  companyLegalName: 'Legal name',
  companyId: 'Company number',
  companyCountry: 'Country',
  companyAddress: 'Address',
  legalEmail: 'Address for legal mail',
  supportEmail: 'Address for support',
  notifications: 'Send mails about roles',
} as const;

const FORMATS = { notifications: (value: boolean) => (value ? 'On' : 'Off') };

/** Return the settings that the form edits. */
function toFields(organization: Organization): Fields {
  return Object.fromEntries(Object.keys(LABELS).map((name) => [name, organization[name as keyof typeof LABELS]]));
}

/** The screen. */
export default function SettingsScreen() {
  const organizationId = useOrganizationId();
  return (
    <>
      <PageHeader title="Settings" description="What the organization is called, and who is behind it." />
      <RoleNotice rule={operations.update_organization}>You can read the settings.</RoleNotice>
      <EditPage
        canEdit={useCan(operations.update_organization)}
        recordKey={['organizations', organizationId]}
        read={(client, options) => client.organizations.get(organizationId, options)}
        toFields={toFields}
        save={(client, changes, options) => client.organizations.update(organizationId, changes as OrganizationPatch, options)}
        changes={[['organizations'], ['me']]}
        subject="the organization"
        labels={LABELS}
        formats={FORMATS}
        savedText="The settings were saved."
      >
        {() => <SettingsFields />}
      </EditPage>
      <Deletion />
    </>
  );
}

function Deletion() {
  const { name, close } = useDialog();
  const canDelete = useCan(operations.delete_organization);
  const organization = useOrganization().data;
  return (
    <>
      <DeleteSection
        rule={operations.delete_organization}
        noun="organization"
        description="It can be restored for 30 days. Then it is purged with all it contains."
      />
      {name === 'delete' && canDelete && organization && (
        <DeleteOrganizationDialog organization={organization.data} etag={organization.etag} onClose={close} />
      )}
    </>
  );
}

function SettingsFields() {
  return (
    <>
      <Section title="Organization">
        <div class="form-grid">
          <Field name="name" label={LABELS.name} required autoComplete="off" />
          <Field name="slug" label={LABELS.slug} required autoComplete="off" hint="Part of addresses. The former slug redirects for 90 days." />
        </div>
      </Section>
      <Section title="Company" description="For imprints and contracts.">
        <div class="form-grid">
          <Field name="companyName" label={LABELS.companyName} autoComplete="off" />
          <Field name="companyLegalName" label={LABELS.companyLegalName} autoComplete="off" />
          <Field name="companyId" label={LABELS.companyId} autoComplete="off" hint="The number in the register of companies." />
          <Field name="companyCountry" label={LABELS.companyCountry} autoComplete="off" hint="Two letters (ISO 3166-1), such as GB." />
          <Field name="companyAddress" label={LABELS.companyAddress} type="textarea" />
        </div>
      </Section>
      <Section title="Contact">
        <div class="form-grid">
          <Field name="legalEmail" label={LABELS.legalEmail} type="email" autoComplete="off" />
          <Field name="supportEmail" label={LABELS.supportEmail} type="email" autoComplete="off" />
        </div>
      </Section>
      <Section title="Notifications">
        <CheckField
          name="notifications"
          label={LABELS.notifications}
          hint="People get a mail when somebody else changes their role, makes them the owner, or removes them."
        />
      </Section>
    </>
  );
}
