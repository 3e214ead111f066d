/** What a screen shows instead of data: loading, nothing yet, a failure, or a role that is not enough. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiProblem, describeError } from '../api/problems';
import { CopyButton } from './copy';

/** Grey lines while data loads. */
export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="hidden-visually">Loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <i key={index} aria-hidden="true" />
      ))}
    </div>
  );
}

interface EmptyProps {
  title: string;
  /** What will be here, and how it gets here. */
  children: ComponentChildren;
  action?: ComponentChildren;
}

/** A list without items, which says what the list is for. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div class="state">
      <h2>{title}</h2>
      <p>{children}</p>
      {action && <div class="buttons">{action}</div>}
    </div>
  );
}

/** A read that failed, with what support needs to find it. */
export function Failed({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const { title, detail } = describeError(error);
  return (
    <div class="state" role="alert">
      <h2>{title}</h2>
      <p>{detail}</p>
      <RequestIdentity error={error} />
      {onRetry && (
        <div class="buttons">
          <RetryButton error={error} onRetry={onRetry} isRead />
        </div>
      )}
    </div>
  );
}

/** A change that failed, beside the form that made it. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { title, detail } = describeError(error);
  return (
    <div class="notice bad" role="alert">
      <strong>{title}.</strong> {detail}
      <RequestIdentity error={error} />
      {onRetry && (
        <div class="buttons">
          <RetryButton error={error} onRetry={onRetry} />
        </div>
      )}
    </div>
  );
}

/** The code of an error, and the id of its request to copy. */
export function RequestIdentity({ error }: { error: unknown }) {
  const { code, requestId } = describeError(error);
  return (
    <p class="request">
      <code>{code}</code>
      {requestId && (
        <>
          <span>
            Request <code>{requestId}</code>
          </span>
          <CopyButton text={requestId} label="Copy request id" />
        </>
      )}
    </p>
  );
}

interface RetryButtonProps {
  error: unknown;
  onRetry: () => void;
  /** Whether it repeats a read, which it then does by itself when the time is over. */
  isRead?: boolean;
}

/** A button that waits until the service accepts requests again. */
export function RetryButton({ error, onRetry, isRead = false }: RetryButtonProps) {
  const seconds = useCountdown(error, isRead ? onRetry : undefined);
  return (
    <button type="button" class="button" disabled={seconds > 0} onClick={onRetry}>
      {seconds > 0 ? `Try again in ${seconds} s` : 'Try again'}
    </button>
  );
}

/** Return how many seconds the service still asks to wait after an error. `onEnd` is called when none is left. */
function useCountdown(error: unknown, onEnd?: () => void): number {
  const delay = (error instanceof ApiProblem && error.retryAfterSeconds) || 0;
  const [left, setLeft] = useState(delay);
  const end = useRef(onEnd);
  end.current = onEnd;
  useEffect(() => {
    setLeft(delay);
    if (!delay) return;
    const endsAt = Date.now() + delay * 1000;
    const timer = setInterval(() => {
      const seconds = Math.max(0, Math.ceil((endsAt - Date.now()) / 1000));
      setLeft(seconds);
      if (seconds > 0) return;
      clearInterval(timer);
      end.current?.();
    }, 1000);
    return () => clearInterval(timer);
  }, [error]);
  return left;
}
