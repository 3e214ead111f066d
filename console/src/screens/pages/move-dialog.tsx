/** The dialog that moves a page below another. */

import type { Page, PagePatch } from '../../api/client';
import { EditDialog } from '../../ui/edit-form';
import { useSiteId } from '../../ui/place';
import { SelectField } from '../../ui/select-field';
import { parentChoices } from './page-dialogs';
import type { Levels } from './page-tree';

interface MoveDialogProps {
  levels: Levels;
  pageId: string;
  onClose: () => void;
}

const LABELS = { parentId: 'Below' };

/** Move a page. */
export function MoveDialog({ levels, pageId, onClose }: MoveDialogProps) {
  const siteId = useSiteId();
  const choices = parentChoices(levels, pageId);
  const parentId = (id: string | null) => choices.find((choice) => choice.value === (id ?? ''))?.label.trim() ?? id ?? '';
  return (
    <EditDialog
      title={(page) => `Move ${page?.title ?? 'the page'}`}
      recordKey={['sites', siteId, 'pages', pageId]}
      read={(client, options) => client.sites.pages.get(siteId, pageId, options)}
      toFields={(page: Page) => ({ parentId: page.parentId })}
      save={(client, changes, options) => client.sites.pages.update(siteId, pageId, changes as PagePatch, options)}
      changes={[['sites', siteId, 'pages']]}
      subject={(page) => page.title}
      labels={LABELS}
      formats={{ parentId }}
      savedText="The page was moved. Visitors find it at its new path once you publish it."
      submitLabel="Move page"
      onClose={onClose}
    >
      {() => <SelectField name="parentId" label="Below" choices={choices} hint="The pages below it move with it." />}
    </EditDialog>
  );
}
