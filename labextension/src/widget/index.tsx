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
import { HOST } from './browserHost';
import type { IAnyWidgetModel } from './anywidgetModel';
import { VIEW_SHEET } from './stylesheetOrder';
import { widgetModule } from './widgetModule';

export default widgetModule({
  sheet: VIEW_SHEET,
  savedClass: 'plm-view',
  host: HOST,
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
  const { transcript, known, hasEnded } = useSyncExternalStore(
    session.subscribe,
    session.getSnapshot
  );
  useWatch(container, session);
  if (!known) {
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
  const end = useRef<(() => void) | null>(null);
  useEffect(() => {
    const check = () => {
      if (container.isConnected && end.current === null) {
        end.current = session.watch();
      } else if (!container.isConnected && end.current !== null) {
        end.current();
        end.current = null;
      }
    };
    check();
    const timer = setInterval(check, CHECK_MS);
    return () => {
      clearInterval(timer);
      end.current?.();
      end.current = null;
    };
  }, [container, session]);
}

const CHECK_MS = 1_000;

/** Returns whether our labextension is present and announces events to screen readers. */
function isAnnouncedElsewhere(): boolean {
  return document.querySelector('.plm-Announcer') !== null;
}
