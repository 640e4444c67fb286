/**
 * `session.view()`: the panel's views as one module for anywidget, read-only.
 *
 * It needs ipywidgets and anywidget in the page, but not our labextension.
 */
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { SessionView } from '../views/chat/readOnlySession';
import { useHost } from '../views/host';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import { WidgetSession } from './widgetSession';
import { BROWSER_HOST } from './browserHost';
import type { IAnyWidgetModel } from './anywidgetModel';
import { VIEW_SELECTOR } from './stylesheetOrder';
import { widgetModule } from './widgetModule';

export default widgetModule({
  sheetSelector: VIEW_SELECTOR,
  savedClass: 'plm-view',
  host: BROWSER_HOST,
  createSource: (model: IAnyWidgetModel) => new WidgetSession(model),
  draw: (_, session, container) => (
    <WidgetContent container={container} session={session} />
  )
});

function WidgetContent({
  container,
  session
}: {
  container: HTMLElement;
  session: WidgetSession;
}) {
  const { words } = useHost();
  const { transcript, isComplete, hasEnded } = useSyncExternalStore(
    session.subscribe,
    session.getSnapshot
  );
  useWatch(container, session);
  if (!isComplete) {
    return null;
  }
  return (
    <SessionView
      transcript={transcript}
      remark={
        hasEnded
          ? words.__(
              'The kernel has ended: this is the session as far as it was told.'
            )
          : ''
      }
      isQuiet={isAnnouncedElsewhere}
    />
  );
}

/** Watches the session while the element is in the page. */
function useWatch(container: HTMLElement, session: WidgetSession): void {
  const endWatchRef = useRef<(() => void) | null>(null);
  useEffect(() => {
    const updateWatch = () => {
      if (container.isConnected && endWatchRef.current === null) {
        endWatchRef.current = session.watch();
      } else if (!container.isConnected && endWatchRef.current !== null) {
        endWatchRef.current();
        endWatchRef.current = null;
      }
    };
    updateWatch();
    const timer = setInterval(updateWatch, CHECK_MS);
    return () => {
      clearInterval(timer);
      endWatchRef.current?.();
      endWatchRef.current = null;
    };
  }, [container, session]);
}

const CHECK_MS = 1_000;

/** Returns whether our labextension is present and announces events to screen readers. */
function isAnnouncedElsewhere(): boolean {
  return document.querySelector('.plm-Announcer') !== null;
}
