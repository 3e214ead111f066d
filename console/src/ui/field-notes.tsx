/** The hint of a field, and what is wrong with its value. */

import type { ComponentChildren } from 'preact';

interface FieldNotesProps {
  hint?: ComponentChildren;
  hintId?: string;
  problem: ComponentChildren;
  problemId?: string;
}

/** What a field is for, and what is wrong with its value. */
export function FieldNotes({ hint, hintId, problem, problemId }: FieldNotesProps) {
  return (
    <>
      {hint && (
        <span class="hint" id={hintId}>
          {hint}
        </span>
      )}
      {problem && (
        <span class="problem" id={problemId}>
          {problem}
        </span>
      )}
    </>
  );
}
