/** What all screens of a space show: its name, and the links between them. */

import type { ComponentChildren } from 'preact';
import type { Space } from '../../api/client';
import { useRecord } from '../../api/queries';
import { linkTo, useFragmentPath } from '../../ui/address';
import { PageHeader } from '../../ui/page';
import { useSpaceId } from '../../ui/place';
import { RecordView } from '../../ui/table';
import { Tabs } from '../../ui/tabs';

/** Read the space of this screen. */
export function useSpace() {
  const id = useSpaceId();
  return useRecord(['spaces', id], (client, options) => client.spaces.get(id, options));
}

const SCREENS = [
  ['Settings', ''],
  ['Members', '/members'],
  ['Modules', '/modules'],
  ['Capabilities', '/capabilities'],
] as const;

interface SpaceFrameProps {
  actions?: ComponentChildren;
  children: (space: Space) => ComponentChildren;
}

/** The frame. */
export function SpaceFrame({ actions, children }: SpaceFrameProps) {
  const [current] = useFragmentPath();
  return (
    <RecordView query={useSpace()}>
      {(space) => {
        const path = `/p/${space.platformId}/spaces/${space.id}`;
        const tabs = SCREENS.map(([title, suffix]) => ({ title, href: linkTo(path + suffix), isCurrent: current === path + suffix }));
        return (
          <>
            <PageHeader title={space.name} description={space.description ?? undefined} actions={actions} />
            <Tabs label="Screens of the space" tabs={tabs} />
            {children(space)}
          </>
        );
      }}
    </RecordView>
  );
}
