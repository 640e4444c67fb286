/**
 * `session.view()`: the panel's views as one module for anywidget, read-only.
 *
 * It needs ipywidgets and anywidget in the page, but not our labextension.
 */
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { createRoot } from 'react-dom/client';
import { SessionView } from '../views/chat/readOnlySession';
import { HostProvider, useHost } from '../views/host';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import { WidgetSession } from './widgetSession';
import { HOST } from './browserHost';
import type { IAnyWidgetModel } from './anywidgetModel';
import { MountPoints } from './mountPoints';
import { deferToExtensionStyles, VIEW_SHEET } from './stylesheetOrder';
import { applyTheme } from './theme';

const SESSIONS = new Map<string, WidgetSession>();

interface IModelProps {
  model: IAnyWidgetModel;
}

/** Starts to follow the session, and draws it in the widget's saved HTML in cells. */
function initialize({ model }: IModelProps): () => void {
  const session = sessionOf(model);
  const places = new MountPoints(mountClass(model), container =>
    drawSession(container, session)
  );
  return () => {
    places.dispose();
    session.dispose();
    SESSIONS.delete(model.get('key'));
  };
}

/** Draws in the widget's own element, such as in a box of widgets. */
function render({ model, el }: IModelProps & { el: HTMLElement }): () => void {
  return drawSession(el, sessionOf(model));
}

export default { initialize, render };

function sessionOf(model: IAnyWidgetModel): WidgetSession {
  deferToExtensionStyles(document, VIEW_SHEET);
  const key = model.get('key');
  const session = SESSIONS.get(key) ?? new WidgetSession(model);
  SESSIONS.set(key, session);
  return session;
}

function mountClass(model: IAnyWidgetModel): string {
  return `plm-view-${model.get('key')}`;
}

function drawSession(
  container: HTMLElement,
  session: WidgetSession
): () => void {
  const removeTheme = applyTheme(container);
  const root = createRoot(container);
  root.render(
    <HostProvider value={HOST}>
      <WidgetContent container={container} session={session} />
    </HostProvider>
  );
  return () => {
    root.unmount();
    removeTheme();
  };
}

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
