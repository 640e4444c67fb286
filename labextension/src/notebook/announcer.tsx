/** Announces the agent's activity to screen readers, once per notebook. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { useSyncExternalStore } from 'react';
import { createRoot } from 'react-dom/client';
import type { ILink } from '../kernel/kernelLink';
import { Announcements } from '../views/transcript/liveRegion';
import { HostProvider, type IHost } from '../views/host';

/** Adds the live region to a notebook; returns a function that removes it. */
export function addAnnouncer(
  panel: NotebookPanel,
  link: ILink,
  host: IHost
): () => void {
  const node = document.createElement('div');
  node.className = 'plm-Announcer';
  panel.node.append(node);
  const root = createRoot(node);
  // The panel has a live region of its own, and background notebooks are not announced.
  const isQuiet = () =>
    !panel.isVisible || document.querySelector(PANEL_LIVE_REGION) !== null;
  root.render(
    <HostProvider value={host}>
      <NotebookLiveRegion link={link} isQuiet={isQuiet} />
    </HostProvider>
  );
  return () => {
    root.unmount();
    node.remove();
  };
}

const PANEL_LIVE_REGION =
  '.lm-Widget:not(.lm-mod-hidden) > .plm-Panel [role="log"]';

function NotebookLiveRegion({
  link,
  isQuiet
}: {
  link: ILink;
  isQuiet: () => boolean;
}) {
  const transcript = useSyncExternalStore(link.store.subscribe, () => {
    const { current, sessions } = link.store.getSnapshot();
    return current === null ? undefined : sessions.get(current)?.transcript;
  });
  return transcript === undefined ? null : (
    <Announcements transcript={transcript} isQuiet={isQuiet} />
  );
}
