/** The difference between two versions of a record, field by field. */

export interface Change {
  field: string;
  from?: unknown;
  to?: unknown;
}

/** Show each field before and after. */
export function Changes({ changes }: { changes: readonly Change[] }) {
  return (
    <dl class="changes">
      {changes.map((change) => (
        <div key={change.field}>
          <dt>{change.field}</dt>
          <dd>
            <Value label="Before" value={change.from} isOld />
            <Value label="After" value={change.to} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ label, value, isOld = false }: { label: string; value: unknown; isOld?: boolean }) {
  const Element = isOld ? 'del' : 'ins';
  const isEmpty = value === null || value === undefined || value === '';
  return (
    <>
      <span class="hidden-visually">{label}:</span>
      {isEmpty ? <span class="muted">Empty</span> : <Element>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</Element>}
    </>
  );
}
