/** Components that are loaded when they are first shown. `preact/compat` has them too, but is large. */

import type { ComponentChild, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface Loading<Props> {
  Component?: ComponentType<Props>;
  error?: unknown;
}

/** Return a component whose module is loaded when it is first shown. Until then, `fallback` is shown. */
export function lazy<Props extends object>(
  load: () => Promise<{ default: ComponentType<Props> }>,
  fallback: ComponentChild = null,
): ComponentType<Props> {
  let loaded: Loading<Props> = {};
  return function Lazy(props: Props) {
    const [{ Component, error }, setLoading] = useState(loaded);
    useEffect(() => {
      if (loaded.Component) return setLoading(loaded);
      load().then(
        (module) => {
          loaded = { Component: module.default };
          setLoading(loaded);
        },
        (reason: unknown) => setLoading({ error: reason }),
      );
    }, []);
    // The boundary of the screen shows it.
    if (error) throw error;
    return Component ? <Component {...props} /> : <>{fallback}</>;
  };
}
