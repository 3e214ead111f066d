/** The field with who can become a member of a platform. */

import { ChoiceField } from '../../ui/form';

const CHOICES = [
  { value: 'invite', label: 'Invited people', hint: 'An admin invites each person.' },
  { value: 'open', label: 'Everybody', hint: 'Anybody who is signed in can join while the platform is published.' },
];

/** Who can join. */
export function JoinPolicyField() {
  return <ChoiceField name="joinPolicy" label="Who can join" choices={CHOICES} />;
}
