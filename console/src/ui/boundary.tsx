/** Catches faults of one screen, so that the others keep working. */

import { Component, type ComponentChildren } from 'preact';
import { Failed } from './states';

interface BoundaryProps {
  children: ComponentChildren;
}

/** Show a fault of the screen inside, with a button that renders it again. */
export class Boundary extends Component<BoundaryProps, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <Failed error={this.state.error} onRetry={() => this.setState({ error: null })} />;
  }
}
