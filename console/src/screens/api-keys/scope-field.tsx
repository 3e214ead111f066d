/** The matrix of scopes: a row for each area, and a column for each level. */

import { FieldNotes } from '../../ui/field-notes';
import { useField } from '../../ui/form';
import { toWords } from '../../ui/status';
import { AREAS, fieldOf, hasLevel, LEVELS } from './scopes';

/** The field. The problems of the form's `scopes` appear below it. */
export function ScopeMatrix() {
  const { problem, problemId } = useField('scopes', false);
  return (
    <fieldset class="field" aria-describedby={problem ? problemId : undefined}>
      <legend>More in single areas</legend>
      <div class="matrix" role="presentation">
        <div class="matrix-row head" aria-hidden="true">
          <span>Area</span>
          {LEVELS.map((level) => (
            <span key={level}>{toWords(level)}</span>
          ))}
        </div>
        {AREAS.map((area) => (
          <AreaRow key={area} area={area} />
        ))}
      </div>
      <FieldNotes problem={problem} problemId={problemId} />
    </fieldset>
  );
}

function AreaRow({ area }: { area: string }) {
  const { value, setValue } = useField(fieldOf(area), false);
  const title = toWords(area.replaceAll('-', ' '));
  return (
    <div class="matrix-row" role="radiogroup" aria-label={title}>
      <span>{title}</span>
      {LEVELS.map((level) => (
        <label key={level}>
          {hasLevel(area, level) && (
            <input
              type="radio"
              name={fieldOf(area)}
              aria-label={`${title}: ${level}`}
              checked={(value || 'none') === level}
              onChange={() => setValue(level)}
            />
          )}
        </label>
      ))}
    </div>
  );
}
