/** The head of a screen, and its sections. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { linkTo } from './address';

interface PageHeaderProps {
  title: string;
  description?: ComponentChildren;
  actions?: ComponentChildren;
}

/** The title of a screen. Its lines break after dots and slashes. It gets the focus, so that screen readers announce it. */
export function PageHeader({ title, description, actions }: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Atrium`;
    if (!document.querySelector('dialog[open]')) heading.current?.focus();
  }, [title]);
  return (
    <header class="page-header">
      <div>
        <h1 ref={heading} tabIndex={-1}>
          {title.split(/(?<=[./])/).flatMap((part) => [part, <wbr />])}
        </h1>
        {description && <p>{description}</p>}
      </div>
      {actions && <div class="buttons">{actions}</div>}
    </header>
  );
}

/** A link to the list of which this screen shows one record. */
export function BackLink({ path, children }: { path: string; children: string }) {
  return (
    <a class="back-link" href={linkTo(path)}>
      ← {children}
    </a>
  );
}

interface SectionProps {
  title: string;
  description?: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** A part of a screen. */
export function Section({ title, description, actions, children }: SectionProps) {
  return (
    <section class="section">
      <header class="section-header">
        <h2>{title}</h2>
        {actions}
        {description && <p>{description}</p>}
      </header>
      {children}
    </section>
  );
}
