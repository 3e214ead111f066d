/** The dialogs of a page, by the name in the address. */

import type { Answer, Page } from '../../api/client';
import { useDialog } from '../../ui/address';
import { PreviewDialog, RevokePreviewsDialog } from './preview-dialogs';
import { PublishDialog, UnpublishDialog } from './publish-dialogs';
import { ScheduleDialog, SettingsDialog } from './settings-dialogs';

/** The dialog that the address names. */
export default function PageEditorDialogs({ base }: { base: Answer<Page> }) {
  const { name, open, close } = useDialog();
  const page = base.data;
  switch (name) {
    case 'preview':
      return <PreviewDialog page={page} onRevoke={() => open('revoke-previews')} onClose={close} />;
    case 'revoke-previews':
      return <RevokePreviewsDialog base={base} onClose={close} />;
    case 'publish':
      return <PublishDialog base={base} onClose={close} />;
    case 'unpublish':
      return <UnpublishDialog base={base} onClose={close} />;
    case 'schedule':
      return <ScheduleDialog page={page} onClose={close} />;
    case 'settings':
      return <SettingsDialog page={page} onClose={close} />;
    default:
      return null;
  }
}
