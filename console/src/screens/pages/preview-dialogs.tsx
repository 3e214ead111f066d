/** The dialogs that create a preview link, and end all links. */

import { operations } from '../../api/access';
import type { Answer, Page } from '../../api/client';
import { ActionDialog } from '../../ui/action-dialog';
import { SecretDialog } from '../../ui/dialog';
import { ChoiceField } from '../../ui/form';
import { FormDialog } from '../../ui/form-dialog';
import { useCan } from '../../ui/place';
import { WebLink } from '../../ui/web-link';
import { keysOfPage } from './page-keys';

const VALIDITIES = [
  { value: '3600', label: 'One hour' },
  { value: '86400', label: 'One day' },
  { value: '604800', label: '7 days' },
  { value: '2592000', label: '30 days' },
];
const MAX_MEMBER_SECONDS = 86_400;

interface PreviewDialogProps {
  page: Pick<Page, 'id' | 'siteId' | 'title'>;
  /** The previewed revision; the draft if omitted. */
  revisionId?: string;
  /** Called to end all links. Absent if the dialog does not offer it. */
  onRevoke?: () => void;
  onClose: () => void;
}

/** Create a link that shows a page to people without an account, and show it once. */
export function PreviewDialog({ page, revisionId, onRevoke, onClose }: PreviewDialogProps) {
  const canEdit = useCan(operations.update_page);
  const choices = VALIDITIES.map((each) => ({ ...each, disabled: !canEdit && Number(each.value) > MAX_MEMBER_SECONDS }));
  return (
    <FormDialog
      title={`Preview ${page.title}`}
      name={`preview-${page.id}`}
      initial={{ expiresIn: '3600' }}
      submitLabel="Create link"
      call={(client, { expiresIn }) =>
        client.sites.pages.preview(page.siteId, page.id, { expiresIn: Number(expiresIn), ...(revisionId && { revisionId }) })
      }
      changes={[]}
      renderResult={({ previewUrl }) => (
        <SecretDialog title="The preview link" secret={previewUrl} onClose={onClose}>
          Anybody with this link sees the preview, without signing in. <WebLink href={previewUrl}>Open the preview</WebLink>
        </SecretDialog>
      )}
      onClose={onClose}
    >
      {() => (
        <>
          <p class="muted">
            The link shows the page as visitors would see it{revisionId ? ', as of this revision' : ', with the saved draft'}. It ends
            early if you leave the organization.{!canEdit && ' Links of more than a day need an editor.'}
          </p>
          <ChoiceField name="expiresIn" label="Valid for" choices={choices} />
          {onRevoke && canEdit && (
            <p>
              <button type="button" class="quiet danger" onClick={onRevoke}>
                End all links of this page
              </button>
            </p>
          )}
        </>
      )}
    </FormDialog>
  );
}

/** End all preview links of a page. */
export function RevokePreviewsDialog({ base, onClose }: { base: Answer<Page>; onClose: () => void }) {
  const { id, siteId, title } = base.data;
  return (
    <ActionDialog
      title={`End all preview links of ${title}?`}
      confirmLabel="End links"
      call={(client) => client.sites.pages.update(siteId, id, { revokePreviews: true }, { ifMatch: base.etag })}
      changes={keysOfPage(base.data)}
      doneText={`All preview links of ${title} have ended.`}
      onClose={onClose}
    >
      <p>Whoever opens one of them gets nothing. You can create new links.</p>
    </ActionDialog>
  );
}
