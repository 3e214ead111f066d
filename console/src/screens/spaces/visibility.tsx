/** The field with who sees a space. */

import { ChoiceField } from '../../ui/form';

const CHOICES = [
  { value: 'open', label: 'Open', hint: 'Every member of the platform takes part.' },
  { value: 'private', label: 'Private', hint: 'Only its members and admins of the platform see it.' },
];

/** Who sees the space. */
export function VisibilityField() {
  return <ChoiceField name="visibility" label="Visibility" choices={CHOICES} />;
}
