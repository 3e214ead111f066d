/** How actors and targets of entries are shown. */

import type { AuditEntry } from '../../api/client';
import { toWords } from '../../ui/status';

/** Return the name of an actor, with what they are. */
export function nameActor({ actor }: AuditEntry): string {
  return actor?.name ?? (actor ? toWords(actor.type) : 'Erased');
}

/** Return the name of the record that an entry is about. */
export function nameTarget({ target }: AuditEntry): string {
  return target?.name ?? (target ? toWords(target.type.replaceAll('.', ' ')) : 'None');
}

/** The actor of an entry. Actors that an application named are marked. */
export function ActorName({ entry }: { entry: AuditEntry }) {
  const { actor, reportedBy } = entry;
  if (entry.erased) return <span class="muted">Erased</span>;
  return (
    <span>
      {nameActor(entry)}
      {actor?.asserted && <span class="sub">As {reportedBy?.name ?? 'an application'} reported</span>}
      {actor && actor.type !== 'user' && actor.name && <span class="sub">{toWords(actor.type)}</span>}
    </span>
  );
}

/** What an entry is about. */
export function TargetName({ entry }: { entry: AuditEntry }) {
  if (entry.erased) return <span class="muted">Erased</span>;
  return (
    <span>
      {nameTarget(entry)}
      {entry.target?.name && <span class="sub">{toWords(entry.target.type.replaceAll('.', ' '))}</span>}
    </span>
  );
}
