/** The dialog with all that is known about a lead. */

import type { Lead } from '../../api/client';
import { useRecord } from '../../api/queries';
import { CopyButton } from '../../ui/copy';
import { Details, timeDetail } from '../../ui/details';
import { DetailDialog } from '../../ui/dialog';
import { useMe } from '../../ui/place';
import { toWords } from '../../ui/status';
import { RecordView } from '../../ui/table';
import { Time } from '../../ui/time';

interface LeadDialogProps {
  id: string;
  onClose: () => void;
  onMove: () => void;
}

/** Show a lead. */
export function LeadDialog({ id, onClose, onMove }: LeadDialogProps) {
  const query = useRecord(['leads', 'lead', id], (client, options) => client.marketingLeads.get(id, options));
  const moveButton = query.data && (
    <button type="button" class="button primary" onClick={onMove}>
      Move
    </button>
  );
  return (
    <DetailDialog title={query.data?.data.contactName ?? 'Lead'} onClose={onClose} actions={moveButton}>
      <RecordView query={query}>{(lead) => <LeadDetails lead={lead} />}</RecordView>
    </DetailDialog>
  );
}

function LeadDetails({ lead }: { lead: Lead }) {
  const { contactEmail, companyName, source, message, consent, submissions } = lead;
  const address = (
    <>
      {contactEmail} <CopyButton text={contactEmail} label="Copy e-mail address" />
    </>
  );
  return (
    <div class="stack">
      <Details
        items={[
          ['Status', toWords(lead.status)],
          ['E-mail address', address],
          ['Company', companyName],
          ['Source', source],
          ['Message', message && <span class="as-written">{message}</span>],
          ['Consent to be contacted', consent ? `To the text of version ${consent.textVersion}` : 'None'],
          ...(consent ? [timeDetail('Consent given', consent.givenAt)] : []),
          timeDetail('First submission', lead.createdAt),
        ]}
      />
      <h3>History</h3>
      <History lead={lead} />
      {submissions.length > 1 && (
        <>
          <h3>All {submissions.length} submissions</h3>
          <p class="small muted">Addresses are not verified, so each may have another sender.</p>
          <ul class="stack">
            {submissions.map((each) => (
              <li key={each.id}>
                <strong>{each.contactName}</strong> <Time value={each.submittedAt} />
                <div class="as-written">{each.message ?? 'No message'}</div>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

interface Step {
  at: string;
  by: string | null;
  title: string;
  text: string | null;
}

/** The statuses and notes of a lead, the newest first. */
function History({ lead }: { lead: Lead }) {
  const userId = useMe().data?.data.id;
  const statuses: Step[] = lead.history.map(({ at, by, status }) => ({ at, by, title: toWords(status), text: null }));
  const notes: Step[] = lead.notes.map(({ at, by, text }) => ({ at, by, title: 'Note', text }));
  const steps = [...statuses, ...notes].sort((first, second) => second.at.localeCompare(first.at));
  return (
    <ol class="stack">
      {steps.map(({ at, by, title, text }, index) => (
        <li key={index}>
          <strong>{title}</strong>{' '}
          <span class="muted">
            <Time value={at} /> {by === null ? 'by the sender' : by === userId ? 'by you' : <>by operator {by}</>}
          </span>
          {text && <div class="as-written">{text}</div>}
        </li>
      ))}
    </ol>
  );
}
