/** Links to addresses that come from data. */

import type { ComponentChildren } from 'preact';

/** Return whether an address is one of the web. Others, such as `javascript:`, are never links. */
export function isWebAddress(address: string): boolean {
  return /^https?:\/\//i.test(address) && URL.canParse(address);
}

/** A link that opens in a new tab. An address that is not of the web is only text. */
export function WebLink({ href, children = href }: { href: string; children?: ComponentChildren }) {
  if (!isWebAddress(href)) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
