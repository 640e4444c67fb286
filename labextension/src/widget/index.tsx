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
  const places = new MountPoints(mountClass(model), place =>
    draw(place, session)
  );
  return () => {
    places.dispose();
    session.dispose();
    SESSIONS.delete(model.get('key'));
  };
}

/** Draws in the widget's own element, such as in a box of widgets. */
function render({ model, el }: IModelProps & { el: HTMLElement }): () => void {
  return draw(el, sessionOf(model));
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

function draw(place: HTMLElement, session: WidgetSession): () => void {
  const removeTheme = applyTheme(place);
  const root = createRoot(place);
  root.render(
    <HostProvider value={HOST}>
      <WidgetContent place={place} session={session} />
    </HostProvider>
  );
  return () => {
    root.unmount();
    removeTheme();
  };
}

function WidgetContent({
  place,
  session
}: {
  place: HTMLElement;
  session: WidgetSession;
}) {
  const { words } = useHost();
  const { transcript, known, hasEnded } = useSyncExternalStore(
    session.subscribe,
    session.getSnapshot
  );
  useWatch(place, session);
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
function useWatch(place: HTMLElement, session: WidgetSession): void {
  const end = useRef<(() => void) | null>(null);
  useEffect(() => {
    const check = () => {
      if (place.isConnected && end.current === null) {
        end.current = session.watch();
      } else if (!place.isConnected && end.current !== null) {
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
  }, [place, session]);
}

const CHECK_MS = 1_000;

/** Returns whether our labextension is present and announces events to screen readers. */
function isAnnouncedElsewhere(): boolean {
  return document.querySelector('.plm-Announcer') !== null;
}
