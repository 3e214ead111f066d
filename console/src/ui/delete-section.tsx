/** The part of a screen with the button that opens the dialog `delete`, or who can press it. */

import { DialogButton } from './dialog-buttons';
import { Section } from './page';
import { useCan } from './place';
import { RoleNotice } from './role-notice';

interface DeleteSectionProps {
  /** The access rule of deleting. */
  rule: string;
  /** What is deleted, such as “space”. */
  noun: string;
  description: string;
}

/** Show the button. */
export function DeleteSection({ rule, noun, description }: DeleteSectionProps) {
  return (
    <Section title="Delete" description={description}>
      {useCan(rule) && (
        <DialogButton dialog="delete" kind="danger">
          Delete {noun}
        </DialogButton>
      )}
      <RoleNotice rule={rule}>{`You cannot delete this ${noun}.`}</RoleNotice>
    </Section>
  );
}
